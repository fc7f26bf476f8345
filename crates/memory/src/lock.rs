//! Who uses an array on this host: a lock beside its book, held for as long as it is used.
//!
//! A member's own lock, or the kernel's claim to a device, keeps others from that member. Two
//! processes that start different halves of a mirror, at the same moment, have no member in common:
//! each would take the other half for missing, and write. So whoever runs an array, or changes what
//! its members say, has its lock first; the lock is the array's, by its UUID.
//!
//! The lock is advisory (flock) and ends with the process, however that ends. Its file says which
//! process has it, and stays: it is nothing but a name.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use shoal_md::Uuid;

use crate::store::{Store, StoreError};

/// What a process had at its end is let go of a moment later than the process itself.
const TRIES: u32 = 25;
const STEP: Duration = Duration::from_millis(10);
/// More than the digits of a process.
const PROCESS_BYTES_MAX: u64 = 32;

/// With whom an array is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// With nobody: it is written to.
    Alone,
    /// With others that only read.
    Shared,
}

/// An array that is held until this is dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "what is kept is kept locked")]
pub struct Lock(File);

/// Why an array is not held.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process of this host has it.
    #[error("another process of this host uses the array")]
    Taken {
        /// Which, if it says so: one that only reads does not.
        process_id: Option<u32>,
    },
    /// Nothing can be locked there.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// Holds an array, if nobody else does.
    pub fn lock(&self, array: Uuid, hold: Hold) -> Result<Lock, LockError> {
        self.make_directory()?;
        let path = self.path(array).with_extension("lock");
        let system = |error: io::Error| StoreError::System { path: path.clone(), error };
        let mut file = open(&path).map_err(|errno| system(errno.into()))?;
        let operation = match hold {
            Hold::Alone => FlockOperation::NonBlockingLockExclusive,
            Hold::Shared => FlockOperation::NonBlockingLockShared,
        };
        match patiently(|| flock(&file, operation)) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(LockError::Taken { process_id: process_in(&file) }),
            Err(errno) => return Err(system(errno.into()).into()),
        }
        // Who cannot be named is told of without a name.
        let _ = file.set_len(0);
        if hold == Hold::Alone {
            let _ = writeln!(file, "{}", std::process::id());
        }
        Ok(Lock(file))
    }
}

/// Never a link, which would lead elsewhere, nor a pipe, which would have its opener wait.
fn open(path: &PathBuf) -> Result<File, Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?))
}

fn patiently(mut lock: impl FnMut() -> Result<(), Errno>) -> Result<(), Errno> {
    for _ in 0..TRIES {
        match lock() {
            Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(STEP),
            settled => return settled,
        }
    }
    Err(Errno::WOULDBLOCK)
}

/// Who has the file, by what it says; a process that is there.
fn process_in(file: &File) -> Option<u32> {
    let mut text = String::new();
    file.take(PROCESS_BYTES_MAX).read_to_string(&mut text).ok()?;
    let process_id: u32 = text.trim_end().parse().ok()?;
    Path::new("/proc").join(process_id.to_string()).exists().then_some(process_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARRAY: Uuid = Uuid([9; 16]);

    #[test]
    fn an_array_is_held_by_one_process_that_says_who_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path().join("not/there/yet"));
        let lock = |hold| store.lock(ARRAY, hold);
        let is_taken = |hold, by: Option<u32>| match lock(hold) {
            Err(LockError::Taken { process_id }) => assert_eq!(process_id, by),
            other => panic!("{other:?}"),
        };
        let first = lock(Hold::Alone).unwrap();
        is_taken(Hold::Alone, Some(std::process::id()));
        is_taken(Hold::Shared, Some(std::process::id()));
        drop(store.lock(Uuid([8; 16]), Hold::Alone).unwrap());
        drop(first);
        let readers = [lock(Hold::Shared).unwrap(), lock(Hold::Shared).unwrap()];
        is_taken(Hold::Alone, None);
        drop(readers);
        drop(lock(Hold::Alone).unwrap());
    }

    #[test]
    fn where_nothing_can_be_locked_that_is_told_from_what_is_taken() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("no directory");
        std::fs::write(&file, "").unwrap();
        assert!(matches!(Store::new(file).lock(ARRAY, Hold::Alone), Err(LockError::Store(_))));
    }
}
