//! Real drives as a study's bay: opened by path, as often as the study wants.

use std::path::{Path, PathBuf};

use shoal_bench::TargetKind;
use shoal_drive::{Access, Drive, DriveKind, IoEngine};
use shoal_inventory::{join_for, open_drives};
use shoal_labbook::DriveIdentity;
use shoal_study::bay::{Bay, BayError, Opened, Requests};
use shoal_study::model::DriveDescription;
use shoal_volume::RealWorld;

use crate::exit::Failure;
use crate::labbook;

/// Drives by their paths.
pub(crate) struct PathBay {
    io_engine: Option<IoEngine>,
    paths: Vec<PathBuf>,
    descriptions: Vec<DriveDescription>,
    identities: Vec<Option<DriveIdentity>>,
}

impl PathBay {
    /// Looks at the drives, which must be different ones.
    pub(crate) fn new(io_engine: Option<IoEngine>, paths: &[PathBuf]) -> Result<Self, Failure> {
        let drives = open_drives(paths, Access::Read)?;
        let mut descriptions: Vec<DriveDescription> = Vec::new();
        for drive in &drives {
            let mut description = describe(drive);
            if descriptions.iter().any(|other| other.name == description.name) {
                description.name = description.path.clone();
            }
            descriptions.push(description);
        }
        let identities = drives.iter().map(labbook::identity).collect();
        Ok(Self { io_engine, paths: paths.to_vec(), descriptions, identities })
    }
}

impl PathBay {
    /// Who the drives are, as far as they can be known again.
    pub(crate) fn identities(&self) -> &[Option<DriveIdentity>] {
        &self.identities
    }

    /// Where a drive is.
    pub(crate) fn path(&self, drive: u32) -> &Path {
        &self.paths[drive as usize]
    }
}

impl Bay for PathBay {
    type World = RealWorld;

    fn drives(&self) -> &[DriveDescription] {
        &self.descriptions
    }

    fn open(&self, drives: &[u32], requests: Requests) -> Result<Opened<RealWorld>, BayError> {
        let mut opened = Vec::new();
        for &drive in drives {
            opened.push(Drive::open(&self.paths[drive as usize], Access::Write)?);
        }
        let joined = join_for(self.io_engine, opened, (requests.count, requests.bytes))?;
        Ok(Opened { world: joined.world, plan: joined.plan, drives: joined.drives })
    }
}

fn describe(drive: &Drive) -> DriveDescription {
    let path = drive.path();
    let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    let identity = drive.identity();
    DriveDescription {
        name,
        path: path.display().to_string(),
        kind: match drive.kind() {
            DriveKind::File => TargetKind::File,
            DriveKind::BlockDevice => TargetKind::Device,
        },
        size_bytes: drive.size_bytes(),
        logical_block_bytes: drive.logical_block_bytes(),
        model: identity.model,
        bus: identity.usb.map(|port| format!("USB {}", port.path)).or(identity.bus_path),
    }
}
