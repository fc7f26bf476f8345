//! An array that a study measures: the seam between the study and whoever runs the array, shoal's
//! own engine or another one.

use std::time::Duration;

use shoal_volume::{ArrayStatus, ArrayVolume, DriveId, News, ScrubMode, Volume, World};

use crate::error::BayError;

/// An array that a study measures, and can break and mend. Drives are named by their index in the
/// bay.
pub trait RunningArray {
    /// The content.
    fn content(&self) -> &dyn Volume;
    /// The content, to work with.
    fn content_mut(&mut self) -> &mut dyn Volume;
    /// What it is and how it is now.
    fn status(&self) -> ArrayStatus;
    /// Whether the page cache stands between the array and any of its members.
    fn is_buffered(&self) -> bool;
    /// Takes a member out.
    fn fail_drive(&mut self, drive: u32) -> Result<(), BayError>;
    /// Adds a drive, which may be wiped; it is filled in the place of a missing member.
    fn add_drive(&mut self, drive: u32) -> Result<(), BayError>;
    /// Starts to compare parity and mirrors with the data.
    fn scrub(&mut self, mode: ScrubMode) -> Result<(), BayError>;
    /// Ends that.
    fn stop_scrub(&mut self) -> Result<(), BayError>;
    /// Lets background work go on for so long, or to its end. Returns whether there is more to do.
    fn run_background(&mut self, patience: Duration) -> Result<bool, BayError>;
    /// What has happened since the last call.
    fn take_news(&mut self) -> Vec<News>;
    /// Ends everything in order; the drives are free again.
    fn close(self: Box<Self>) -> Result<(), BayError>;
}

/// An array that shoal's own engine runs.
pub struct OwnArray<W> {
    array: ArrayVolume<W>,
    drives: Vec<(u32, DriveId)>,
}

impl<W: World> OwnArray<W> {
    /// An array in a world in which the bay's drives have these ids.
    pub fn new(array: ArrayVolume<W>, drives: Vec<(u32, DriveId)>) -> Self {
        Self { array, drives }
    }

    fn id(&self, drive: u32) -> Result<DriveId, BayError> {
        let found = self.drives.iter().find(|(number, _)| *number == drive);
        found.map(|(_, id)| *id).ok_or_else(|| format!("drive {drive} was not opened").into())
    }
}

impl<W: World> RunningArray for OwnArray<W> {
    fn content(&self) -> &dyn Volume {
        &self.array
    }

    fn content_mut(&mut self) -> &mut dyn Volume {
        &mut self.array
    }

    fn status(&self) -> ArrayStatus {
        self.array.status()
    }

    fn is_buffered(&self) -> bool {
        let world = self.array.world();
        world.drives().into_iter().any(|drive| !world.facts(drive).direct)
    }

    fn fail_drive(&mut self, drive: u32) -> Result<(), BayError> {
        let id = self.id(drive)?;
        Ok(self.array.fail_drive(id)?)
    }

    fn add_drive(&mut self, drive: u32) -> Result<(), BayError> {
        let id = self.id(drive)?;
        Ok(self.array.add_drive(id)?)
    }

    fn scrub(&mut self, mode: ScrubMode) -> Result<(), BayError> {
        Ok(self.array.scrub(mode)?)
    }

    fn stop_scrub(&mut self) -> Result<(), BayError> {
        self.array.stop_scrub();
        Ok(())
    }

    fn run_background(&mut self, patience: Duration) -> Result<bool, BayError> {
        Ok(self.array.run_background(patience)?)
    }

    fn take_news(&mut self) -> Vec<News> {
        self.array.take_news()
    }

    fn close(self: Box<Self>) -> Result<(), BayError> {
        self.array.close()?;
        Ok(())
    }
}
