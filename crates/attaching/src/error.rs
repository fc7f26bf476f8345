//! Why an array does not become a device of this machine, or does not cease to be one.

use std::io;
use std::path::PathBuf;

use shoal_attach::fuse::FuseError;
use shoal_attach::kernel_nbd::NbdError;
use shoal_attach::records::{Method, RecordError};
use shoal_attach::ublk::UblkError;
use shoal_attach::{ClientError, LoopError};
use shoal_documents::{ErrorDocument, Fault, HasFault};
use shoal_inventory::WipeError;
use shoal_running::{ExecuteError, PlaceError, ReachError};

/// Why it is not attached, not detached, or not overwritten.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// What is written down of it cannot be read or written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// There is no place for that.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The array is not reached.
    #[error(transparent)]
    Reach(Box<ReachError>),
    /// The array does not say how it is.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// FUSE does not do it.
    #[error(transparent)]
    Fuse(#[from] FuseError),
    /// The kernel's nbd does not do it.
    #[error(transparent)]
    Nbd(#[from] NbdError),
    /// ublk does not do it.
    #[error(transparent)]
    Ublk(#[from] UblkError),
    /// There is no loop device for its file.
    #[error(transparent)]
    Loop(LoopError),
    /// The loop device does not let its file go.
    #[error(transparent)]
    LoopHeld(LoopError),
    /// It is undone, and what was written last is lost.
    #[error(transparent)]
    Unflushed(LoopError),
    /// The server is not reached.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A drive may not be wiped.
    #[error(transparent)]
    Wipe(#[from] WipeError),
    /// A file cannot be made.
    #[error("{}: {source}", path.display())]
    File {
        /// The file, or directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A process or thread is not to be had.
    #[error(transparent)]
    System(io::Error),
    /// A process that was started has ended, and said why.
    #[error("{0}")]
    Ended(ErrorDocument),
    /// A name cannot be an argument.
    #[error("{}: the name is not UTF-8: use a symbolic link", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// The method that is asked for is not there.
    #[error("{method} cannot be had here: {reason}")]
    NoMethod {
        /// Which.
        method: Method,
        /// Why not.
        reason: String,
    },
    /// No method is there.
    #[error("nothing on this machine makes a device of an array: {reasons}")]
    NoMethods {
        /// Each with its reason.
        reasons: String,
    },
    /// It is attached in another way.
    #[error("array {array} is attached {how}, at {}: detach it first", device.display())]
    Otherwise {
        /// The array's name.
        array: String,
        /// In which.
        how: String,
        /// As what.
        device: PathBuf,
    },
    /// It is mounted.
    #[error("array {array} is mounted on {}: unmount it first", place.display())]
    Mounted {
        /// The array's name.
        array: String,
        /// Where.
        place: PathBuf,
    },
    /// Nobody answers at its device.
    #[error(
        "array {array}: process {process_id}, which keeps {}, is stopped, and all that uses it waits: let it go on with \
         `kill -CONT {process_id}`",
        device.display()
    )]
    FrontStopped {
        /// The array's name.
        array: String,
        /// The device or file.
        device: PathBuf,
        /// Who keeps it.
        process_id: u32,
    },
    /// Its device is open.
    #[error(
        "array {array}: {} is still in use; process {process_id} ends when it is closed: close it, and detach again",
        device.display()
    )]
    StillOpen {
        /// The array's name.
        array: String,
        /// The device.
        device: PathBuf,
        /// Who keeps it.
        process_id: u32,
    },
    /// Another device is on top of it.
    #[error("{} is used by {holder}: detach that first", device.display())]
    Held {
        /// The device or file.
        device: PathBuf,
        /// What is on top.
        holder: String,
    },
    /// The system swaps to it.
    #[error("{0} is swapped to: `swapoff {0}` first", device.display())]
    Swapped {
        /// The device.
        device: PathBuf,
    },
    /// A program has it open.
    #[error("{} is open in process {process_id}: end that first", device.display())]
    Open {
        /// The device or file.
        device: PathBuf,
        /// The program's.
        process_id: u32,
    },
    /// Somebody has it who does not show.
    #[error(
        "{0} is claimed by somebody who cannot be seen from here: a mount in another namespace, perhaps \
         (`grep {0} /proc/*/mountinfo`): undo that first",
        device.display()
    )]
    Claimed {
        /// The device.
        device: PathBuf,
    },
    /// Too little of the array is there.
    #[error("array {array} has too few members to be used: name the others as well, or where they are with --scan DIR")]
    TooFew {
        /// The array's name.
        array: String,
    },
    /// Whoever answers for the array does not run it.
    #[error("the array does not say how it runs")]
    NotRunning,
    /// It runs, and no front can reach it.
    #[error("array {array} runs and {how}: stop it, or run it with `shoal serve`, and attach it then")]
    Unserved {
        /// The array's name.
        array: String,
        /// "is not served", or "is served at no socket of this machine".
        how: &'static str,
    },
    /// The process that runs it does not end.
    #[error("array {array} does not come to rest: it is run by process {process_id}")]
    Restless {
        /// The array's name.
        array: String,
        /// Who runs it.
        process_id: u32,
    },
    /// It would be overwritten under its users.
    #[error("array {array} is {what}, and would be overwritten under its users: {mend}")]
    Occupied {
        /// The array's name.
        array: String,
        /// How it is used.
        what: String,
        /// What ends that.
        mend: String,
    },
    /// A drive is a member of an array that is used.
    #[error("{} is a member of array {array}, which is {what}: take another drive, or {mend}", drive.display())]
    Member {
        /// The drive.
        drive: PathBuf,
        /// The array's name.
        array: String,
        /// How it is used.
        what: String,
        /// What ends that.
        mend: String,
    },
    /// It would be overwritten under clients.
    #[error(
        "array {array} is served to {clients} at {places}, and would be overwritten under them: disconnect them first"
    )]
    Served {
        /// The array's name.
        array: String,
        /// How many.
        clients: String,
        /// Where.
        places: String,
    },
    /// There is nobody to be followed.
    #[error("no process has this number")]
    NoProcess,
}

impl From<ReachError> for AttachError {
    fn from(error: ReachError) -> Self {
        Self::Reach(Box::new(error))
    }
}

impl HasFault for AttachError {
    fn fault(&self) -> Fault {
        match self {
            Self::Place(error) => error.fault(),
            Self::Reach(error) => error.fault(),
            Self::Execute(error) => error.fault(),
            Self::Wipe(error) => error.fault(),
            Self::Ended(error) => error.fault(),
            Self::NotText { .. } | Self::NoMethod { .. } | Self::NoMethods { .. } | Self::NoProcess => Fault::Usage,
            Self::LoopHeld(_)
            | Self::Otherwise { .. }
            | Self::Mounted { .. }
            | Self::FrontStopped { .. }
            | Self::StillOpen { .. }
            | Self::Held { .. }
            | Self::Swapped { .. }
            | Self::Open { .. }
            | Self::Claimed { .. }
            | Self::TooFew { .. }
            | Self::Unserved { .. }
            | Self::Occupied { .. }
            | Self::Member { .. }
            | Self::Served { .. } => Fault::Refused,
            Self::Record(_)
            | Self::Fuse(_)
            | Self::Nbd(_)
            | Self::Ublk(_)
            | Self::Loop(_)
            | Self::Unflushed(_)
            | Self::Client(_)
            | Self::File { .. }
            | Self::System(_)
            | Self::NotRunning
            | Self::Restless { .. } => Fault::Failed,
        }
    }
}
