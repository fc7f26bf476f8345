//! What a loop is asked for, and what it answers.

use std::io;
use std::path::PathBuf;

use crate::Memory;

/// A drive within one loop. Never used again for another drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DriveId(pub u32);

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoKind {
    /// Fill the memory from the drive.
    Read(Memory),
    /// Write the memory to the drive.
    Write(Memory),
    /// Make completed writes durable.
    Flush,
    /// Discard so many bytes.
    Discard(u64),
}

/// One I/O. The memory belongs to the loop until the I/O is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// Handed back when finished.
    pub token: u64,
    /// On which drive.
    pub drive: DriveId,
    /// What.
    pub kind: IoKind,
    /// First byte on the drive.
    pub offset: u64,
}

/// A finished I/O.
#[derive(Debug)]
pub struct Finished {
    /// The token given at submission.
    pub token: u64,
    /// Done in full (short transfers are continued or turned into errors by the loop), or the
    /// system's error.
    pub result: Result<(), io::Error>,
}

/// Why a loop cannot be made or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum LoopError {
    /// The kernel, a sandbox or a limit forbids io_uring.
    #[error(
        "io_uring is refused here ({source}); use the thread engine, or allow it (kernel.io_uring_disabled, seccomp)"
    )]
    UringRefused {
        /// The error as it came.
        source: io::Error,
    },
    /// A file's own file system takes no more. Nothing is wrong with the file, nor with what it is
    /// a member of: nothing more is written, and what was under way is as after a power cut.
    #[error(
        "the file system that holds {} is full: make room there and try again; no member has failed, and what was not \
         flushed may be missing, as after a power cut",
        file.display()
    )]
    Full {
        /// The file, or one beside it.
        file: PathBuf,
    },
    /// The system says no.
    #[error("I/O loop: {0}")]
    System(#[from] io::Error),
}
