//! An array that is made of drives for a study, and taken off them when that is over.
//!
//! It is made without a resync, so nothing of it may be left that could be taken for an array whose
//! parity is right: its superblocks are erased however the study ends, unless this program is
//! killed; then whoever looks at the drives finds the array.

use std::path::PathBuf;

use shoal_drive::{Access, Drive};
use shoal_inventory::{open_drives, store};
use shoal_md::Uuid;
use shoal_running::refuse_held;
use shoal_study::run::erase_superblocks;
use shoal_volume::{ArrayVolume, CreateOptions};

use super::target::{Target, absolute};
use crate::args::{ArrayArgs, Cli, NetworkArgs};
use crate::attaching::check_overwritable;
use crate::bay::PathBay;
use crate::exit::Failure;
use crate::output;
use crate::setup::{environment, join, open_options};
use crate::temporary_array::temporary_array;

/// Drives of which an array is to be made, and how.
pub(super) struct NewArray {
    paths: Vec<PathBuf>,
    size_bytes: u64,
    level: String,
    create: CreateOptions,
}

impl NewArray {
    /// Refuses drives that are in use, and those that hold something unless that may be lost.
    pub(super) fn of(args: &NetworkArgs, level: &str) -> Result<Self, Failure> {
        let create = temporary_array(level, args.layout.as_deref(), args.chunk)?;
        let drives = open_drives(&args.targets, Access::Read)?;
        let size_bytes = drives.iter().map(Drive::size_bytes).fold(0, u64::saturating_add);
        drop(drives);
        refuse_held(&args.targets)?;
        check_overwritable(&args.targets, &ArrayArgs::default(), args.force)?;
        Ok(Self { paths: absolute(&args.targets)?, size_bytes, level: level.to_owned(), create })
    }

    /// The drives, in the order of the array's members.
    pub(super) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// How large they are together.
    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// What it will be, for people.
    pub(super) fn description(&self) -> String {
        format!("an array of level {} that is made of {} drives, as ext4", self.level, self.paths.len())
    }

    /// Makes it. It is there until what is returned first is dropped.
    pub(super) fn make(self, cli: &Cli) -> Result<(TemporaryArray, Target), Failure> {
        let drives = PathBay::new(cli.io_engine(), &self.paths)?;
        let opened = join(cli, open_drives(&self.paths, Access::Write)?, 1, 4096)?;
        let options = open_options(cli, true, false)?;
        let volume = ArrayVolume::create(opened.world, opened.plan, &opened.drives, &self.create, &options);
        let volume = volume?;
        let array = volume.status().uuid.parse().map_err(Failure::failed)?;
        let made = TemporaryArray { drives, array };
        volume.close().map_err(Failure::failed)?;
        let named = ArrayArgs { drives: self.paths, ..ArrayArgs::default() };
        let target = Target::at_rest(cli, &named)?;
        Ok((made, target))
    }
}

/// Drives on which there is such an array.
pub(super) struct TemporaryArray {
    drives: PathBay,
    array: Uuid,
}

impl Drop for TemporaryArray {
    fn drop(&mut self) {
        if let Err(error) = erase_superblocks(&self.drives) {
            output::warn(&format!("the array's superblocks are left on the drives: {error}"));
        }
        // Whoever served it has remembered it.
        if let Some(Err(error)) = store(environment()).map(|store| store.forget(self.array)) {
            output::warn(&error.to_string());
        }
    }
}
