//! Keeps programs that open files as drives out of each other's way, as O_EXCL does for block
//! devices.
//!
//! The lock is advisory (flock) and belongs to the open file. Invariant: whoever opens a file for
//! writing through this crate has it alone among writers, until the drive is dropped.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// A ring that a process left open at its end lets go of its files a moment later than the process
/// itself.
const PATIENCE_TRIES: u32 = 25;
const PATIENCE_STEP: Duration = Duration::from_millis(10);

/// With whom a file is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// With nobody who locks.
    Alone,
    /// With others that only read.
    Shared,
}

/// A locked file; dropping it unlocks at once, even if an I/O loop keeps the file open a little
/// longer.
#[derive(Debug)]
pub(super) struct FileLock(Arc<File>);

impl FileLock {
    /// Locks a file, or fails with `EBUSY`. None where the file system has no locks.
    pub(super) fn take(file: &Arc<File>, kind: Kind) -> Result<Option<Self>, Errno> {
        let operation = match kind {
            Kind::Alone => FlockOperation::NonBlockingLockExclusive,
            Kind::Shared => FlockOperation::NonBlockingLockShared,
        };
        match patiently(|| flock(file, operation)) {
            Ok(()) => Ok(Some(Self(Arc::clone(file)))),
            Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(None),
            Err(errno) => Err(errno),
        }
    }
}

/// Tries again for a moment while somebody else has what is claimed.
pub(crate) fn patiently<T>(mut claim: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    for _ in 0..PATIENCE_TRIES {
        match claim() {
            Err(Errno::BUSY | Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(PATIENCE_STEP),
            settled => return settled,
        }
    }
    Err(Errno::BUSY)
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // If this fails, the lock ends with the file.
        let _ = flock(&*self.0, FlockOperation::Unlock);
    }
}
