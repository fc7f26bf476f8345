//! Why there is no such world, and what its faults look like from above.

use std::io;

use rustix::io::Errno;
use shoal_sim::{Fault, TopologyError};

/// Why a simulated world cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SimulatedWorldError {
    /// The drives and buses do not make sense.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// No memory for I/O.
    #[error("memory for I/O of a simulated world: {0}: use fewer or smaller requests")]
    Memory(io::Error),
    /// Not one content for each drive.
    #[error("{contents} contents for {drives} drives: give one for each")]
    ContentCount {
        /// Contents.
        contents: usize,
        /// Drives.
        drives: usize,
    },
    /// A content is of another size than its drive.
    #[error("drive {drive} has {drive_bytes} bytes, and content of {content_bytes}: give it content of its size")]
    ContentSize {
        /// The drive.
        drive: usize,
        /// What the content has.
        content_bytes: u64,
        /// What the drive has.
        drive_bytes: u64,
    },
}

/// What the system would answer.
pub(super) fn system_error(fault: Fault) -> io::Error {
    let errno = match fault {
        Fault::Io => Errno::IO,
        Fault::Gone => Errno::NODEV,
        Fault::TimedOut => Errno::TIMEDOUT,
        Fault::NoSpace => Errno::NOSPC,
    };
    errno.into()
}
