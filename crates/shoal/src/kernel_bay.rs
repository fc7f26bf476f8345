//! Real drives as a study's bay, with arrays that shoal makes and the kernel's md runs.

use std::path::PathBuf;
use std::time::Duration;

use shoal_drive::{Access, Drive};
use shoal_mdadm::{Kernel, KernelVolume};
use shoal_running::{ClaimError, Setup, hand_over};
use shoal_study::bay::{Bay, BayError, Opened, Requests};
use shoal_study::model::DriveDescription;
use shoal_study::running::RunningArray;
use shoal_volume::{ArrayStatus, ArrayVolume, DriveId, MemberOn, News, OpenOptions, RealWorld, ScrubMode, Volume};

use crate::bay::PathBay;
use crate::exit::Failure;

/// Drives by their paths, for the kernel.
pub(crate) struct KernelBay {
    drives: PathBay,
    engine: String,
    setup: Setup,
    options: OpenOptions,
}

impl KernelBay {
    /// The same drives, if there is a kernel for them.
    pub(crate) fn new(drives: PathBay, setup: Setup) -> Result<Self, Failure> {
        let kernel = Kernel::find().map_err(ClaimError::from)?;
        let options = setup.open_options(true, false);
        Ok(Self { drives, engine: kernel.name, setup, options })
    }
}

impl Bay for KernelBay {
    type World = RealWorld;

    fn drives(&self) -> &[DriveDescription] {
        self.drives.drives()
    }

    fn engine(&self) -> Option<&str> {
        Some(&self.engine)
    }

    fn open(&self, drives: &[u32], requests: Requests) -> Result<Opened<RealWorld>, BayError> {
        self.drives.open(drives, requests)
    }

    fn run(
        &self,
        array: ArrayVolume<RealWorld>,
        drives: Vec<(u32, DriveId)>,
        requests: Requests,
    ) -> Result<Box<dyn RunningArray>, BayError> {
        let members = array.status().members.into_iter().filter_map(|member| match member.on {
            Some(MemberOn::Drive(path)) => Some(PathBuf::from(path)),
            // The kernel has to refuse arrays of arrays by itself.
            Some(MemberOn::Array(_)) | None => None,
        });
        let mut members: Vec<_> = members.collect();
        let paths: Vec<_> = drives.iter().map(|(drive, _)| (*drive, self.drives.path(*drive).to_owned())).collect();
        if members.is_empty() {
            members = paths.iter().map(|(_, path)| path.clone()).collect();
        }
        drop(array.close()?);
        let requests = (requests.count, requests.bytes);
        let mut volume = hand_over(&self.setup, &members, &self.options, None, requests)?;
        volume.array_mut().set_speed(self.options.background)?;
        Ok(Box::new(KernelArray { volume, paths }))
    }
}

/// An array of the bay's drives that the kernel runs.
struct KernelArray {
    volume: KernelVolume,
    paths: Vec<(u32, PathBuf)>,
}

impl KernelArray {
    fn path(&self, drive: u32) -> Result<PathBuf, BayError> {
        let found = self.paths.iter().find(|(number, _)| *number == drive);
        found.map(|(_, path)| path.clone()).ok_or_else(|| format!("drive {drive} was not opened").into())
    }
}

impl RunningArray for KernelArray {
    fn content(&self) -> &dyn Volume {
        &self.volume
    }

    fn content_mut(&mut self) -> &mut dyn Volume {
        &mut self.volume
    }

    fn status(&self) -> ArrayStatus {
        self.volume.array().status()
    }

    fn is_buffered(&self) -> bool {
        self.volume.array().is_buffered()
    }

    fn fail_drive(&mut self, drive: u32) -> Result<(), BayError> {
        let path = self.path(drive)?;
        Ok(self.volume.array_mut().fail(&path)?)
    }

    fn add_drive(&mut self, drive: u32) -> Result<(), BayError> {
        let path = self.path(drive)?;
        let opened = Drive::open(&path, Access::Write)?;
        Ok(self.volume.array_mut().add(&path, opened)?)
    }

    fn scrub(&mut self, mode: ScrubMode) -> Result<(), BayError> {
        Ok(self.volume.array_mut().scrub(mode)?)
    }

    fn stop_scrub(&mut self) -> Result<(), BayError> {
        Ok(self.volume.array_mut().stop_scrub()?)
    }

    fn run_background(&mut self, patience: Duration) -> Result<bool, BayError> {
        Ok(self.volume.run_background(patience)?)
    }

    fn take_news(&mut self) -> Vec<News> {
        self.volume.array_mut().take_news()
    }

    fn close(mut self: Box<Self>) -> Result<(), BayError> {
        Ok(self.volume.rest()?)
    }
}
