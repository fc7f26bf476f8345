//! The world of an array at hand: real drives, or simulated ones at the machine's pace.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use shoal_documents::{Fault, HasFault};
use shoal_drive::{Drive, DriveKey, Finished, Io, LoopError};
use shoal_volume::{Arena, DriveFacts, DriveId, Instant, RealWorld, SimulatedWorld, World};

/// How long it may take to find out what a path leads to: the file system of a drive that hangs
/// does not say.
const PATIENCE: Duration = Duration::from_secs(1);

/// Why an open drive does not come into the world of an array.
#[derive(Debug, thiserror::Error)]
pub enum NewDriveError {
    /// It is real, and the array is of simulated ones.
    #[error("{} is a real drive, and the array is of simulated ones: name one of those", drive.display())]
    Real {
        /// The drive.
        drive: PathBuf,
    },
    /// I/O to it cannot be done.
    #[error(transparent)]
    Loop(#[from] LoopError),
}

impl HasFault for NewDriveError {
    fn fault(&self) -> Fault {
        match self {
            Self::Real { .. } => Fault::Usage,
            Self::Loop(_) => Fault::Failed,
        }
    }
}

/// The drives below an array: real ones, or simulated ones whose time passes at the machine's pace.
#[derive(Debug)]
pub enum HostWorld {
    /// Files and devices.
    Real(Box<RealWorld>),
    /// Drives that end with the process.
    Simulated(Box<SimulatedWorld>),
}

impl HostWorld {
    /// Whether its drives end with the process.
    pub(super) fn is_simulated(&self) -> bool {
        matches!(self, Self::Simulated(_))
    }

    /// The drive that a path leads to, or led to when it was opened. Simulated drives have names,
    /// which clients give as paths.
    pub(super) fn find(&self, path: &Path) -> Option<DriveId> {
        match self {
            Self::Real(world) => {
                let key = key_within(path, PATIENCE);
                let same = |drive: &&DriveId| {
                    let open = world.drive(**drive);
                    key.map_or(open.path() == path, |key| open.key() == key)
                };
                world.drives().iter().find(same).copied()
            }
            Self::Simulated(world) => {
                let name = path.file_name()?.to_str()?;
                world.drives().into_iter().find(|&drive| world.facts(drive).name == name)
            }
        }
    }

    /// The drives that are open, by what tells them from others; none of simulated ones.
    pub(super) fn keys(&self) -> Vec<(DriveId, DriveKey)> {
        match self {
            Self::Real(world) => world.drives().into_iter().map(|drive| (drive, world.drive(drive).key())).collect(),
            Self::Simulated(_) => Vec::new(),
        }
    }

    /// Takes a drive in.
    pub(super) fn add_drive(&mut self, drive: Drive) -> Result<DriveId, NewDriveError> {
        match self {
            Self::Real(world) => Ok(world.add_drive(drive)?),
            Self::Simulated(_) => Err(NewDriveError::Real { drive: drive.path().to_owned() }),
        }
    }

    /// Lets a drive go; a simulated one stays where it is, unused.
    pub(super) fn remove_drive(&mut self, drive: DriveId) {
        if let Self::Real(world) = self {
            drop(world.remove_drive(drive));
        }
    }

    fn inner(&self) -> &dyn World {
        match self {
            Self::Real(world) => world.as_ref(),
            Self::Simulated(world) => world.as_ref(),
        }
    }

    fn inner_mut(&mut self) -> &mut dyn World {
        match self {
            Self::Real(world) => world.as_mut(),
            Self::Simulated(world) => world.as_mut(),
        }
    }
}

/// What a path leads to, if that is found out in time: whoever asks owns an array that others use.
fn key_within(path: &Path, patience: Duration) -> Option<DriveKey> {
    let (answer, answered) = std::sync::mpsc::channel();
    let path = path.to_owned();
    // Whoever asked may not wait any more.
    let ask = move || {
        let _ = answer.send(DriveKey::of_path(&path).ok());
    };
    std::thread::Builder::new().name("shoal-look".to_owned()).spawn(ask).ok()?;
    answered.recv_timeout(patience).ok().flatten()
}

impl World for HostWorld {
    fn arena(&self) -> &Arena {
        self.inner().arena()
    }

    fn drives(&self) -> Vec<DriveId> {
        self.inner().drives()
    }

    fn facts(&self, drive: DriveId) -> DriveFacts {
        self.inner().facts(drive)
    }

    fn hardware(&self, drive: DriveId) -> Option<String> {
        self.inner().hardware(drive)
    }

    fn has_lost_content(&self, drive: DriveId) -> bool {
        self.inner().has_lost_content(drive)
    }

    fn refuses_flushes(&self, drive: DriveId) -> bool {
        self.inner().refuses_flushes(drive)
    }

    fn submit(&mut self, io: Io) {
        self.inner_mut().submit(io);
    }

    fn submit_together(&mut self, writes: &[Io]) {
        self.inner_mut().submit_together(writes);
    }

    fn wait(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
    ) -> Result<(), LoopError> {
        self.inner_mut().wait(at_least, timeout, finished)
    }

    fn pending(&self) -> usize {
        self.inner().pending()
    }

    fn go_on(&self) -> Result<(), LoopError> {
        self.inner().go_on()
    }

    fn now(&self) -> Instant {
        self.inner().now()
    }

    fn unix_time_s(&self) -> u64 {
        self.inner().unix_time_s()
    }

    fn sleep(&mut self, duration: Duration) {
        self.inner_mut().sleep(duration);
    }

    fn wait_or_wake(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
    ) -> Result<(), LoopError> {
        self.inner_mut().wait_or_wake(at_least, timeout, finished)
    }

    fn sleep_or_wake(&mut self, duration: Duration) {
        self.inner_mut().sleep_or_wake(duration);
    }

    fn watch(&mut self, file: Arc<OwnedFd>) -> Result<(), LoopError> {
        self.inner_mut().watch(file)
    }

    fn random_bytes(&mut self) -> [u8; 16] {
        self.inner_mut().random_bytes()
    }
}
