//! Why what is attached cannot be told, or is not what is written down.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a record cannot be used. Each is one line that names the thing.
#[derive(Debug, Error)]
pub enum RecordError {
    /// A record, or the device that it names.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A file that should hold a record and does not.
    #[error("{}: {error}: remove it", path.display())]
    NotARecord {
        /// Which.
        path: PathBuf,
        /// Where it goes wrong.
        error: serde_json::Error,
    },
    /// A device that was the array's.
    #[error("array {name} is not {} any more: attach it again", device.display())]
    NotTheArray {
        /// The array's name.
        name: String,
        /// What it was.
        device: PathBuf,
    },
    /// A process that was just started.
    #[error("process {process_id} is gone")]
    ProcessGone {
        /// Its number.
        process_id: u32,
    },
    /// The system does not tell.
    #[error(transparent)]
    System(#[from] io::Error),
}
