//! Keeps programs that open files as drives out of each other's way, as O_EXCL does for block
//! devices.
//!
//! The lock is advisory (flock) and belongs to the open file. Invariant: whoever opens a file for
//! writing through this crate has it alone among writers, until the drive is dropped.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{FlockOperation, Stat, flock};
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

/// The process that has the file of this state alone, by the kernel's table of locks. None if
/// nobody has; nor where the table has it under another device than the file says, as with btrfs,
/// nor for processes of another container. Nothing is locked to find out.
pub(crate) fn holder_of(stat: &Stat) -> Option<u32> {
    let table = std::fs::read_to_string("/proc/locks").ok()?;
    let (major, minor) = (rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev));
    holder_in(&table, &format!("{major:02x}:{minor:02x}:{}", stat.st_ino)).filter(|&process| lives(process))
}

/// Whether a process has not ended: the locks of one that has go a moment later.
fn lives(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    // The name, which may be anything, stands in brackets before the state.
    stat.is_ok_and(|stat| stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z')))
}

/// Lines as `3: FLOCK  ADVISORY  WRITE 4711 fd:00:1234 0 EOF`: proc_locks(5).
fn holder_in(table: &str, file: &str) -> Option<u32> {
    table.lines().find_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
        [_, "FLOCK", _, "WRITE", process, place, ..] if place == file => process.parse().ok(),
        _ => None,
    })
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests {
    use super::*;

    #[test]
    fn who_has_a_file_is_found_in_the_table() {
        let memory = rustix::fs::memfd_create("lock", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let file = Arc::new(File::from(memory));
        let holder = || holder_of(&rustix::fs::fstat(&file).unwrap());
        assert_eq!(holder(), None);
        let shared = FileLock::take(&file, Kind::Shared).unwrap();
        assert_eq!(holder(), None, "readers are in nobody's way");
        drop(shared);
        let _locked = FileLock::take(&file, Kind::Alone).unwrap().expect("memory has locks");
        assert_eq!(holder(), Some(std::process::id()));
        let table = "1: FLOCK  ADVISORY  WRITE 7 fd:00:12 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 9 fd:00:12 0 EOF\n";
        assert_eq!((holder_in(table, "fd:00:12"), holder_in(table, "fd:00:1")), (Some(7), None));
        assert_eq!(holder_in("POSIX\n2: FLOCK", "fd:00:12"), None);
    }
}
