//! What runs an array: shoal's own engine, or another one. Everything above this seam (commands,
//! sessions, the network block device) is the same whichever it is.
//!
//! Drives are named by paths here, as people name them; what an engine calls them is its own
//! affair. A drive that is to come has been surveyed and opened by whoever asks, as that may take
//! long, and comes along open.

use std::path::{Path, PathBuf};
use std::time::Duration;

use shoal_documents::{EngineDocument, Fault, HasFault, PauseDocument};
use shoal_drive::Drive;
use shoal_inventory::{ActiveMember, Environment, WipeError};
use shoal_md::Candidate;
use shoal_mdadm::{Growth, KernelError};
use shoal_volume::{
    ArrayStatus, ArrayVolume, Background, CommandError, JobProgress, LiveVolume, ManageError, News, ScrubMode,
    VolumeError,
};

use crate::opening::kernel_fault;
use crate::world::{HostWorld, NewDriveError};

/// Why an engine does not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The array does not do it.
    #[error(transparent)]
    Manage(#[from] ManageError),
    /// The array does not begin a scrub.
    #[error(transparent)]
    Scrub(ManageError),
    /// The world below the array broke.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// The kernel does not do it.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The drive that is to come may not be wiped, or does not open.
    #[error(transparent)]
    Drive(#[from] WipeError),
    /// The array counts on what the drive holds.
    #[error(transparent)]
    Active(#[from] ActiveMember),
    /// The drive does not come into the array's world.
    #[error(transparent)]
    NewDrive(#[from] NewDriveError),
    /// shoal's own engine does not change an array's shape while it runs.
    #[error(
        "the array is running: `shoal stop` it first; it grows while nobody uses it, or while the kernel runs it (--engine kernel)"
    )]
    GrowsAtRest,
    /// The kernel keeps the superblocks of an array that it runs, with the name that it began with.
    #[error("the kernel runs the array, and does not rename it: `shoal stop` it first")]
    RenamedAtRest,
    /// The array's drives have gone away.
    #[error("array {array} {absence}")]
    Absent {
        /// The array's name.
        array: String,
        /// How it is about to do without them.
        absence: Absence,
    },
}

/// How it stands with an array whose drives have gone away together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Absence {
    /// It waits for them.
    #[error("is paused until {waits_for} can be used again: wait, or `shoal stop` it")]
    Paused {
        /// Their names.
        waits_for: String,
    },
    /// It was waited for in vain.
    #[error("was {why}: `shoal stop` it, and start it anew")]
    Over {
        /// How that ended.
        why: String,
    },
    /// Nobody knows yet.
    #[error("has lost its drives")]
    Lost,
}

impl HasFault for EngineError {
    fn fault(&self) -> Fault {
        match self {
            Self::Manage(error) => manage_fault(error),
            Self::Scrub(error) => scrub_fault(error),
            Self::Volume(_) => Fault::Failed,
            Self::Kernel(error) => kernel_fault(error),
            Self::Drive(error) => error.fault(),
            Self::Active(error) => error.fault(),
            Self::NewDrive(error) => error.fault(),
            Self::GrowsAtRest | Self::RenamedAtRest => Fault::Refused,
            Self::Absent { .. } => Fault::Busy,
        }
    }
}

/// What a running array's owner is to tell clients once it goes on after an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumption {
    /// All that was answered had been flushed.
    Whole,
    /// Something was answered and not flushed, and may be lost.
    Unflushed,
}

/// An engine that runs one array: its content as a [`LiveVolume`], its state, and the commands that
/// change it.
pub trait Engine: LiveVolume {
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
    fn progress(&self) -> Option<JobProgress>;
    /// What has happened since the last call.
    fn take_news(&mut self) -> Vec<News>;
    /// What people should know beside that, a sentence each.
    fn take_remarks(&mut self) -> Vec<String> {
        Vec::new()
    }
    /// Has this host remember what the array is like now, if the engine does not see to that by
    /// itself.
    fn remember(&self, environment: &Environment) {
        let _ = environment;
    }
    /// Refuses a drive that is to be wiped for the array, and carries a superblock, if the array
    /// counts on what it holds.
    fn refuse_active(&mut self, newcomer: &Candidate) -> Result<(), EngineError>;
    /// How much was asked of drives that were taken out, which nobody waits for and they have not
    /// answered.
    fn left_behind(&self) -> usize {
        0
    }
    /// Takes a member out, for good; refused where data would be lost by it.
    fn fail(&mut self, member: &Path) -> Result<(), EngineError>;
    /// Adds a drive, which may be wiped: as a spare, or in the place of a missing member.
    fn add(&mut self, path: &Path, opened: Result<Drive, WipeError>) -> Result<(), EngineError>;
    /// Lets a drive go that failed, or a spare.
    fn remove(&mut self, drive: &Path) -> Result<(), EngineError>;
    /// Copies a member to another drive: a spare that the array has, or one that comes along and
    /// may be wiped.
    fn replace(&mut self, member: &Path, spare: &Path, opened: Option<Drive>) -> Result<(), EngineError>;
    /// Takes a former member back.
    fn re_add(&mut self, path: &Path, opened: Result<Drive, WipeError>) -> Result<(), EngineError>;
    /// Gives it more members, by drives that came along and may be wiped and by spares that it has,
    /// another chunk or another layout, while it is used.
    fn grow(&mut self, growth: &Growth, added: Vec<(PathBuf, Drive)>) -> Result<(), EngineError> {
        let _ = (growth, added);
        Err(EngineError::GrowsAtRest)
    }
    /// Gives it another name.
    fn rename(&mut self, name: &str, homehost: Option<&str>) -> Result<(), EngineError> {
        let _ = (name, homehost);
        Err(EngineError::RenamedAtRest)
    }
    /// Whether content is being moved to another shape.
    fn is_reshaping(&self) -> bool {
        false
    }
    /// Starts to compare parity and mirrors with the data.
    fn scrub(&mut self, mode: ScrubMode) -> Result<(), EngineError>;
    /// Whether that goes on.
    fn is_scrubbing(&self) -> bool;
    /// Ends it.
    fn stop_scrub(&mut self) -> Result<(), EngineError>;
    /// Changes the rates of background work.
    fn set_background(&mut self, background: Background) -> Result<(), EngineError>;
    /// Lets background work go on for so long, or to its end.
    fn run_background(&mut self, patience: Duration) -> Result<(), EngineError>;
    /// Brings the array to rest, and lets its members go where another process could want them:
    /// what was written is durable. Nothing but [`Engine::status`] and [`Engine::take_news`] is
    /// asked afterwards.
    fn rest(&mut self) -> Result<(), EngineError>;
}

impl Engine for ArrayVolume<HostWorld> {
    fn status(&self) -> ArrayStatus {
        Self::status(self)
    }

    fn progress(&self) -> Option<JobProgress> {
        Self::progress(self)
    }

    fn take_news(&mut self) -> Vec<News> {
        Self::take_news(self)
    }

    fn refuse_active(&mut self, newcomer: &Candidate) -> Result<(), EngineError> {
        Self::refuse_active(self, &newcomer.drive, &newcomer.superblock).map_err(EngineError::from)
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

    fn fail(&mut self, member: &Path) -> Result<(), EngineError> {
        let member = find(self, member)?;
        self.fail_drive(member).map_err(EngineError::from)
    }

    /// Simulated drives are here already.
    fn add(&mut self, path: &Path, opened: Result<Drive, WipeError>) -> Result<(), EngineError> {
        match (opened, find(self, path)) {
            (Ok(drive), _) => bring_in(self, drive, Self::add_drive),
            (Err(_), Ok(own)) if self.world().is_simulated() || self.is_of_unused_array(own) => {
                self.add_drive(own).map_err(EngineError::from)
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    fn remove(&mut self, drive: &Path) -> Result<(), EngineError> {
        let drive = find(self, drive)?;
        self.remove_drive(drive).map_err(EngineError::from)?;
        self.world_mut().remove_drive(drive);
        Ok(())
    }

    fn replace(&mut self, member: &Path, spare: &Path, opened: Option<Drive>) -> Result<(), EngineError> {
        let member = find(self, member)?;
        match opened {
            Some(drive) => bring_in(self, drive, |array, drive| array.replace_drive(member, drive)),
            None => {
                let spare = find(self, spare)?;
                self.replace_drive(member, spare).map_err(EngineError::from)
            }
        }
    }

    /// As it was opened anew, or, where that cannot be because it has been here all the time, as it
    /// is.
    fn re_add(&mut self, path: &Path, opened: Result<Drive, WipeError>) -> Result<(), EngineError> {
        match (opened, find(self, path)) {
            (Ok(drive), _) => bring_in(self, drive, Self::re_add_drive),
            (Err(_), Ok(own)) => self.re_add_drive(own).map_err(EngineError::from),
            (Err(error), Err(_)) => Err(error.into()),
        }
    }

    fn rename(&mut self, name: &str, homehost: Option<&str>) -> Result<(), EngineError> {
        Self::rename(self, name, homehost).map_err(EngineError::from)
    }

    fn scrub(&mut self, mode: ScrubMode) -> Result<(), EngineError> {
        Self::scrub(self, mode).map_err(EngineError::Scrub)
    }

    fn is_scrubbing(&self) -> bool {
        Self::is_scrubbing(self)
    }

    fn stop_scrub(&mut self) -> Result<(), EngineError> {
        Self::stop_scrub(self);
        // It ends when what it has begun is done.
        self.turn(Duration::ZERO, &mut Vec::new()).map_err(EngineError::from)
    }

    fn set_background(&mut self, background: Background) -> Result<(), EngineError> {
        Self::set_background(self, background);
        Ok(())
    }

    fn run_background(&mut self, patience: Duration) -> Result<(), EngineError> {
        Self::run_background(self, patience).map(drop).map_err(EngineError::from)
    }

    fn rest(&mut self) -> Result<(), EngineError> {
        Self::rest(self).map_err(EngineError::from)
    }
}

/// The drive of the array that a path leads to, or led to when it was opened.
fn find(array: &ArrayVolume<HostWorld>, path: &Path) -> Result<shoal_volume::DriveId, EngineError> {
    let found = array.world().find(path);
    found.ok_or_else(|| ManageError::NotAMember { drive: path.display().to_string() }.into())
}

/// Takes a drive in and has the array do something with it; closes it if the array does not want
/// it.
fn bring_in(
    array: &mut ArrayVolume<HostWorld>,
    drive: Drive,
    take: impl FnOnce(&mut ArrayVolume<HostWorld>, shoal_volume::DriveId) -> Result<(), ManageError>,
) -> Result<(), EngineError> {
    let id = array.world_mut().add_drive(drive)?;
    take(array, id).map_err(|error| {
        // It may have become a spare before the rest went wrong.
        if matches!(array.remove_drive(id), Ok(()) | Err(ManageError::NotAMember { .. })) {
            array.world_mut().remove_drive(id);
        }
        error.into()
    })
}

/// Whose fault it is when an array does not take a command.
fn manage_fault(error: &ManageError) -> Fault {
    match error {
        ManageError::NotAMember { .. }
        | ManageError::NoFormerMember { .. }
        | ManageError::Name(_)
        | ManageError::Add(_) => Fault::Usage,
        ManageError::ActiveMember { .. }
        | ManageError::InUse { .. }
        | ManageError::Degraded { .. }
        | ManageError::Refused { .. }
        | ManageError::ReAdd(_) => Fault::Refused,
        ManageError::SilentNamesake { .. } => Fault::Busy,
        ManageError::Silent { .. }
        | ManageError::NoRoom { .. }
        | ManageError::Superblock(_)
        | ManageError::Volume(_) => Fault::Failed,
    }
}

/// Asking for what the array cannot do endangers nothing.
fn scrub_fault(error: &ManageError) -> Fault {
    match error {
        ManageError::Refused { why: CommandError::Busy, .. } => Fault::Busy,
        ManageError::Refused { .. } => Fault::Usage,
        _ => Fault::Failed,
    }
}
