//! What runs an array: shoal's own engine, or another one. Everything above this seam (commands, sessions, the network block
//! device) is the same whichever it is.
//!
//! Drives are named by paths here, as people name them; what an engine calls them is its own affair. A drive that is to
//! come has been surveyed and opened by whoever asks, as that may take long, and comes along open.

use std::path::{Path, PathBuf};
use std::time::Duration;

use shoal_drive::Drive;
use shoal_md::{AddError, Candidate};
use shoal_mdadm::Growth;
use shoal_volume::{
    ArrayStatus, ArrayVolume, Background, CommandError, LiveVolume, ManageError, News, Progress, ScrubMode,
};

use super::outage::Resumption;
use super::world::HostWorld;
use crate::documents::{EngineDocument, PauseDocument};
use crate::drives::too_small;
use crate::exit::Failure;

/// Why an array does not grow that is run by shoal's own engine.
pub(super) const GROWS_AT_REST: &str = "the array is running: `shoal stop` it first; it grows while nobody uses it, or while the kernel runs it (--engine kernel)";

/// An engine that runs one array: its content as a [`LiveVolume`], its state, and the commands that
/// change it.
pub(crate) trait Engine: LiveVolume {
    /// Which one it is, if it is not shoal's own.
    fn describe(&self) -> Option<EngineDocument> {
        None
    }
    /// What the array is and how it is, as last seen in a turn.
    fn status(&self) -> ArrayStatus;
    /// That it is paused, if it is.
    fn pause(&self) -> Option<PauseDocument> {
        None
    }
    /// Ends that: what waits fails.
    fn stop_waiting(&mut self) {}
    /// That it goes on after a pause, once: clients are to be told.
    fn take_resumption(&mut self) -> Option<Resumption> {
        None
    }
    /// The background work under way that has most left to do.
    fn progress(&self) -> Option<Progress>;
    /// What has happened since the last call.
    fn take_news(&mut self) -> Vec<News>;
    /// What people should know beside that, a sentence each.
    fn take_remarks(&mut self) -> Vec<String> {
        Vec::new()
    }
    /// Has this host remember what the array is like now, if the engine does not see to that by
    /// itself.
    fn remember(&self) {}
    /// Refuses a drive that is to be wiped for the array, and carries a superblock, if the array counts on what it holds.
    fn refuse_active(&self, newcomer: &Candidate) -> Result<(), Failure>;
    /// How much was asked of drives that were taken out, which nobody waits for and they have not answered.
    fn left_behind(&self) -> usize {
        0
    }
    /// Takes a member out, for good; refused where data would be lost by it.
    fn fail(&mut self, member: &Path) -> Result<(), Failure>;
    /// Adds a drive, which may be wiped: as a spare, or in the place of a missing member.
    fn add(&mut self, path: &Path, opened: Result<Drive, Failure>) -> Result<(), Failure>;
    /// Lets a drive go that failed, or a spare.
    fn remove(&mut self, drive: &Path) -> Result<(), Failure>;
    /// Copies a member to another drive: a spare that the array has, or one that comes along and may be wiped.
    fn replace(&mut self, member: &Path, spare: &Path, opened: Option<Drive>) -> Result<(), Failure>;
    /// Takes a former member back.
    fn re_add(&mut self, path: &Path, opened: Result<Drive, Failure>) -> Result<(), Failure>;
    /// Gives it more members, by drives that came along and may be wiped and by spares that it has, another chunk or another
    /// layout, while it is used.
    fn grow(&mut self, growth: &Growth, added: Vec<(PathBuf, Drive)>) -> Result<(), Failure> {
        let _ = (growth, added);
        Err(Failure::Refused(GROWS_AT_REST.to_owned()))
    }
    /// Whether content is being moved to another shape.
    fn is_reshaping(&self) -> bool {
        false
    }
    /// Starts to compare parity and mirrors with the data.
    fn scrub(&mut self, mode: ScrubMode) -> Result<(), Failure>;
    /// Whether that goes on.
    fn is_scrubbing(&self) -> bool;
    /// Ends it.
    fn stop_scrub(&mut self) -> Result<(), Failure>;
    /// Changes the rates of background work.
    fn set_background(&mut self, background: Background) -> Result<(), Failure>;
    /// Lets background work go on for so long, or to its end.
    fn run_background(&mut self, patience: Duration) -> Result<(), Failure>;
    /// Brings the array to rest, and lets its members go where another process could want them: what was written is
    /// durable. Nothing but [`Engine::status`] and [`Engine::take_news`] is asked afterwards.
    fn rest(&mut self) -> Result<(), Failure>;
}

impl Engine for ArrayVolume<HostWorld> {
    fn status(&self) -> ArrayStatus {
        Self::status(self)
    }

    fn progress(&self) -> Option<Progress> {
        Self::progress(self)
    }

    fn take_news(&mut self) -> Vec<News> {
        Self::take_news(self)
    }

    fn refuse_active(&self, newcomer: &Candidate) -> Result<(), Failure> {
        Self::refuse_active(self, &newcomer.drive, &newcomer.superblock).map_err(manage_failure)
    }

    fn take_remarks(&mut self) -> Vec<String> {
        let silent = |(drive, silence): (String, Duration)| {
            format!("{drive} has not answered for {:.1} s and is taken out", silence.as_secs_f64())
        };
        let silences = self.take_silences().into_iter().map(silent);
        silences.chain(Self::take_remarks(self)).collect()
    }

    fn left_behind(&self) -> usize {
        Self::left_behind(self)
    }

    fn fail(&mut self, member: &Path) -> Result<(), Failure> {
        let member = find(self, member)?;
        self.fail_drive(member).map_err(manage_failure)
    }

    /// Simulated drives are here already.
    fn add(&mut self, path: &Path, opened: Result<Drive, Failure>) -> Result<(), Failure> {
        match (opened, find(self, path)) {
            (Ok(drive), _) => bring_in(self, drive, Self::add_drive),
            (Err(_), Ok(own)) if self.world().is_simulated() => self.add_drive(own).map_err(manage_failure),
            (Err(Failure::Busy(_)), Ok(_)) => Err(Failure::Refused(format!(
                "{0} is in this array already: if it failed, `shoal re-add --drive {0}` takes it back with what it holds; to \
                 add it as a new drive, `shoal remove --drive {0}` first",
                path.display()
            ))),
            (Err(failure), _) => Err(failure),
        }
    }

    fn remove(&mut self, drive: &Path) -> Result<(), Failure> {
        let drive = find(self, drive)?;
        self.remove_drive(drive).map_err(manage_failure)?;
        self.world_mut().remove_drive(drive);
        Ok(())
    }

    fn replace(&mut self, member: &Path, spare: &Path, opened: Option<Drive>) -> Result<(), Failure> {
        let member = find(self, member)?;
        match opened {
            Some(drive) => bring_in(self, drive, |array, drive| array.replace_drive(member, drive)),
            None => {
                let spare = find(self, spare)?;
                self.replace_drive(member, spare).map_err(manage_failure)
            }
        }
    }

    /// As it was opened anew, or, where that cannot be because it has been here all the time, as it is.
    fn re_add(&mut self, path: &Path, opened: Result<Drive, Failure>) -> Result<(), Failure> {
        match (opened, find(self, path)) {
            (Ok(drive), _) => bring_in(self, drive, Self::re_add_drive),
            (Err(_), Ok(own)) => self.re_add_drive(own).map_err(manage_failure),
            (Err(failure), Err(_)) => Err(failure),
        }
    }

    fn scrub(&mut self, mode: ScrubMode) -> Result<(), Failure> {
        Self::scrub(self, mode).map_err(scrub_failure)
    }

    fn is_scrubbing(&self) -> bool {
        Self::is_scrubbing(self)
    }

    fn stop_scrub(&mut self) -> Result<(), Failure> {
        Self::stop_scrub(self);
        // It ends when what it has begun is done.
        self.turn(Duration::ZERO, &mut Vec::new()).map_err(Failure::failed)
    }

    fn set_background(&mut self, background: Background) -> Result<(), Failure> {
        Self::set_background(self, background);
        Ok(())
    }

    fn run_background(&mut self, patience: Duration) -> Result<(), Failure> {
        Self::run_background(self, patience).map(drop).map_err(Failure::failed)
    }

    fn rest(&mut self) -> Result<(), Failure> {
        Self::rest(self).map_err(Failure::failed)
    }
}

/// The drive of the array that a path leads to, or led to when it was opened.
fn find(array: &ArrayVolume<HostWorld>, path: &Path) -> Result<shoal_volume::DriveId, Failure> {
    let found = array.world().find(path);
    found.ok_or_else(|| manage_failure(ManageError::NotAMember { drive: path.display().to_string() }))
}

/// Takes a drive in and has the array do something with it; closes it if the array does not want it.
fn bring_in(
    array: &mut ArrayVolume<HostWorld>,
    drive: Drive,
    take: impl FnOnce(&mut ArrayVolume<HostWorld>, shoal_volume::DriveId) -> Result<(), ManageError>,
) -> Result<(), Failure> {
    let id = array.world_mut().add_drive(drive)?;
    take(array, id).map_err(|error| {
        // It may have become a spare before the rest went wrong.
        if matches!(array.remove_drive(id), Ok(()) | Err(ManageError::NotAMember { .. })) {
            array.world_mut().remove_drive(id);
        }
        manage_failure(error)
    })
}

/// Who is at fault when an array does not take a command.
fn manage_failure(error: ManageError) -> Failure {
    match error {
        ManageError::Add(AddError::DriveTooSmall { drive, size_bytes, needed_bytes }) => {
            Failure::Usage(too_small(&drive, size_bytes, needed_bytes))
        }
        ManageError::NotAMember { .. }
        | ManageError::InUse { .. }
        | ManageError::NoFormerMember { .. }
        | ManageError::Add(_) => Failure::usage(error),
        ManageError::ActiveMember { .. } | ManageError::Refused { .. } | ManageError::ReAdd(_) => {
            Failure::Refused(error.to_string())
        }
        ManageError::Silent { .. }
        | ManageError::NoRoom { .. }
        | ManageError::Superblock(_)
        | ManageError::Volume(_) => Failure::failed(error),
    }
}

/// Asking for what the array cannot do endangers nothing.
fn scrub_failure(error: ManageError) -> Failure {
    match error {
        ManageError::Refused { why: CommandError::Busy, .. } => Failure::Busy(error.to_string()),
        ManageError::Refused { .. } => Failure::usage(error),
        _ => Failure::failed(error),
    }
}
