//! An array as the commands see it: at hand, or run by another process. One way to do a thing,
//! whoever runs the array.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use shoal_documents::protocol::Command;
use shoal_documents::{ErrorDocument, Fault, HasFault, StateDocument};
use shoal_inventory::{ActiveMember, WipeError};
use shoal_volume::{CommandError, ManageError, Volume};

use crate::engine::EngineError;
use crate::silence::Silence;

/// An array that commands act on, whether this process runs it or another one.
pub trait Handle {
    /// Does something to the array, and says how it is afterwards.
    fn execute(&mut self, command: Command) -> Result<StateDocument, ExecuteError>;
    /// Lets background work go on for so long, or to its end, and says how the array is then.
    fn wait(&mut self, patience: Duration) -> Result<StateDocument, ExecuteError>;
    /// The content. Nothing is in flight in it.
    fn content(&mut self) -> &mut dyn Volume;
    /// Leaves the array in order, and says how it is then. Nothing more is done to it.
    fn finish(&mut self) -> Result<StateDocument, ExecuteError>;
    /// Whether background work goes on when this handle is gone.
    fn goes_on_by_itself(&self) -> bool;
}

/// Why a command is not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// The array does not do it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A drive may not be wiped, or does not open.
    #[error(transparent)]
    Drive(#[from] WipeError),
    /// The array counts on what a drive holds.
    #[error(transparent)]
    Active(#[from] ActiveMember),
    /// The drive was a member, and need not be copied whole.
    #[error(
        "{drive} was a member of array {array}: `shoal re-add` takes it back, and copies only what it missed; to make it a new one, use \
         --force"
    )]
    Former {
        /// The drive.
        drive: String,
        /// The array's name.
        array: String,
    },
    /// The drive belongs to an array that is away, and is a member of the array.
    #[error(
        "{drive} is a member of array {inside}, which is inside {array} and can come back whole: start {array} with all drives of {inside}, \
         too, and `shoal re-add` any of them; to give that up, `shoal wipe` the drive first"
    )]
    Inside {
        /// The drive.
        drive: String,
        /// The name of its array.
        inside: String,
        /// The name of the array around that.
        array: String,
    },
    /// The drive is a spare already.
    #[error("{} is a spare of array {array} already", drive.display())]
    Spare {
        /// The drive.
        drive: PathBuf,
        /// The array's name.
        array: String,
    },
    /// Background work cannot keep to such rates.
    #[error(transparent)]
    Speed(#[from] SpeedError),
    /// A drive's name makes no sense here.
    #[error("{0}")]
    Directory(io::Error),
    /// A drive's name cannot be sent.
    #[error("{}: a running array takes names in UTF-8 only: use a symbolic link", drive.display())]
    NotText {
        /// The drive.
        drive: PathBuf,
    },
    /// A client names a drive by a path that means something else here.
    #[error("`{}` is no absolute path: name the drive by one", drive.display())]
    Relative {
        /// The drive.
        drive: PathBuf,
    },
    /// The process that runs the array says why.
    #[error("{0}")]
    Remote(ErrorDocument),
    /// The process that runs the array does not answer, or makes no sense.
    #[error("{}: the running array does not answer: {why}", socket.display())]
    Gone {
        /// Where it was reached.
        socket: PathBuf,
        /// What happened instead.
        why: String,
    },
    /// The process that runs the array says nothing.
    #[error("{}: the process that runs the array {how}", socket.display())]
    Silent {
        /// Where it was reached.
        socket: PathBuf,
        /// What is known of it.
        how: Silence,
    },
    /// The array is about to end.
    #[error("the array is being stopped")]
    Ending,
    /// The array has ended, and not in order.
    #[error("{0}")]
    NotAtRest(String),
}

impl ExecuteError {
    /// Whether nothing is in the way but that the array is open for reading only: that is found out
    /// last.
    pub fn is_read_only(&self) -> bool {
        matches!(self, Self::Engine(EngineError::Manage(ManageError::Refused { why: CommandError::ReadOnly, .. })))
    }
}

impl HasFault for ExecuteError {
    fn fault(&self) -> Fault {
        match self {
            Self::Engine(error) => error.fault(),
            Self::Drive(error) => error.fault(),
            Self::Active(error) => error.fault(),
            Self::Speed(error) => error.fault(),
            Self::Remote(error) => error.fault(),
            Self::Former { .. } | Self::Inside { .. } => Fault::Refused,
            Self::Silent { .. } => Fault::Busy,
            Self::Spare { .. } | Self::NotText { .. } | Self::Relative { .. } => Fault::Usage,
            Self::Directory(_) | Self::Gone { .. } | Self::Ending | Self::NotAtRest(_) => Fault::Failed,
        }
    }
}

/// Rates that background work cannot keep to.
#[derive(Debug, thiserror::Error)]
pub enum SpeedError {
    /// It would never end.
    #[error("a speed of at most 0 would never end: choose a larger one")]
    Never,
    /// The least is above the greatest.
    #[error("the least speed, {min_bytes_per_s} bytes/s, is above the greatest, {max_bytes_per_s} bytes/s")]
    Crossed {
        /// The least.
        min_bytes_per_s: u64,
        /// The greatest.
        max_bytes_per_s: u64,
    },
}

impl HasFault for SpeedError {
    fn fault(&self) -> Fault {
        Fault::Usage
    }
}
