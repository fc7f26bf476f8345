//! Why this machine's shares cannot be kept, told of, or let go of.

use std::io;
use std::path::{Path, PathBuf};

use rustix::process::Pid;
use thiserror::Error;

use crate::{NameError, NetworkError};

/// Why something of this machine's shares failed. Each is one line that names the thing.
#[derive(Debug, Error)]
pub enum MachineError {
    /// A file or directory of ours.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A file that should hold a record and does not.
    #[error("{}: {error}", path.display())]
    NotARecord {
        /// Which.
        path: PathBuf,
        /// Where it goes wrong.
        error: serde_json::Error,
    },
    /// A record that means nothing: somebody else wrote it.
    #[error("share {name}: {fault}")]
    Record {
        /// The share's name.
        name: String,
        /// What is wrong with it.
        fault: RecordFault,
    },
    /// A path that cannot stand in the servers' configuration.
    #[error(transparent)]
    Path(#[from] NameError),
    /// The system refuses a process or a signal.
    #[error(transparent)]
    System(#[from] io::Error),
    /// `ip` does not tell this machine's addresses.
    #[error("ip: {0}")]
    Addresses(String),
    /// There is a keeper.
    #[error("the servers of this machine's shares are kept by another process already")]
    Kept,
    /// Somebody else unmounts.
    #[error("another process unmounts something that is shared: try again when it is done")]
    Unmounting,
    /// Servers that do not let go.
    #[error("the servers of shares do not let go of it within {seconds} s")]
    Held {
        /// How long they were waited for.
        seconds: u64,
    },
    /// A keeper that does not end.
    #[error("the process {} that keeps the servers does not end", .0.as_raw_nonzero())]
    KeeperStays(Pid),
    /// A keeper that does not do what the records say.
    #[error("the process that keeps the servers does not answer")]
    KeeperSilent,
}

/// What is wrong with a record.
#[derive(Debug, Error)]
pub enum RecordFault {
    /// A name or a path.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A network.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The id in file handles.
    #[error("its id is no UUID")]
    Id,
}

/// Names the file in what the system says of it.
pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> MachineError {
    let path = path.to_owned();
    move |error| MachineError::File { path: path.clone(), error }
}
