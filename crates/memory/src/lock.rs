//! Who uses an array on this host: a lock beside its book, held for as long as it is used.
//!
//! A member's own lock, or the kernel's claim to a device, keeps others from that member. Two
//! processes that start different halves of a mirror, at the same moment, have no member in common:
//! each would take the other half for missing, and write. So whoever runs an array, or changes what
//! its members say, has its lock first; the lock is the array's, by its UUID.
//!
//! The lock is advisory (flock) and ends with the process, however that ends. Its file says which
//! process has it, and stays: it is nothing but a name. It also says when that process is about to
//! let go of it, once what it remembers is durable; who wants it next waits for that, as for a
//! process that the kernel is taking down, and is not refused for what ends by itself.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use shoal_md::Uuid;

use crate::limits::HOLDER_BYTES_MAX;
use crate::store::{Store, StoreError};

/// What a process had at its end is let go of a moment later than the process itself.
const TRIES: u32 = 25;
const STEP: Duration = Duration::from_millis(10);
/// Behind the number of a process: it is about to let go.
const LETS_GO: &str = "lets go";
/// So often a process is waited for that does, half a minute: what it remembers has less time to
/// become durable, and so have its drives to answer.
const LETTING_GO_ROUNDS: u32 = 120;
/// So often one is waited for that is not there any more, five seconds: a ring that it left open
/// ends after it. It may also be one of another PID namespace, which does not end.
const GONE_ROUNDS: u32 = 20;
/// By proc_pid_stat(5): where a process's flags are behind its name, and the one for its end.
const FLAGS_FIELD: usize = 6;
const FLAG_EXITING: u64 = 0x4;

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
pub struct Lock {
    file: File,
    hold: Hold,
}

impl Lock {
    /// Has whoever wants the array next wait for this process, which is about to let go of it.
    pub(crate) fn lets_go(&self) {
        if self.hold == Hold::Alone {
            say(&self.file, LETS_GO);
        }
    }
}

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
        let file = open(&path).map_err(|errno| system(errno.into()))?;
        let operation = match hold {
            Hold::Alone => FlockOperation::NonBlockingLockExclusive,
            Hold::Shared => FlockOperation::NonBlockingLockShared,
        };
        let mut locked = patiently(|| flock(&file, operation));
        for round in 0..LETTING_GO_ROUNDS {
            let is_waited_for = Holder::of(&file).is_some_and(|holder| holder.ends_within(round));
            if locked != Err(Errno::WOULDBLOCK) || !is_waited_for {
                break;
            }
            locked = patiently(|| flock(&file, operation));
        }
        match locked {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let holder = Holder::of(&file).filter(|holder| holder.stat.is_some());
                let process_id = holder.map(|holder| holder.process_id);
                return Err(LockError::Taken { process_id });
            }
            Err(errno) => return Err(system(errno.into()).into()),
        }
        // Who cannot be named is told of without a name.
        let _ = file.set_len(0);
        if hold == Hold::Alone {
            say(&file, "");
        }
        Ok(Lock { file, hold })
    }
}

/// Writes who has the file, and what is to be said of that.
fn say(file: &File, word: &str) {
    // Who cannot be named is told of without a name.
    let _ = file.write_all_at(format!("{} {word}\n", std::process::id()).as_bytes(), 0);
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

/// Who has a file, by what that says.
#[derive(Clone, Debug)]
struct Holder {
    process_id: u32,
    says_so: bool,
    /// What the kernel says of the process; `None` if there is none.
    stat: Option<String>,
}

impl Holder {
    fn of(file: &File) -> Option<Self> {
        let mut bytes = [0; HOLDER_BYTES_MAX];
        let length = file.read_at(&mut bytes, 0).ok()?;
        let text = std::str::from_utf8(&bytes[..length]).ok()?;
        let (number, word) = text.trim_end().split_once(' ').unwrap_or((text.trim_end(), ""));
        let process_id: u32 = number.parse().ok()?;
        let stat = std::fs::read_to_string(Path::new("/proc").join(number).join("stat")).ok();
        Some(Self { process_id, says_so: word == LETS_GO, stat })
    }

    /// Whether it may let go without anybody's doing, after so many rounds of waiting.
    fn ends_within(&self, rounds: u32) -> bool {
        match &self.stat {
            Some(stat) => self.says_so || is_exiting(stat),
            None => rounds < GONE_ROUNDS,
        }
    }
}

/// Whether a process is being taken down: the kernel lets go of what it had open last.
fn is_exiting(stat: &str) -> bool {
    // A name may hold whatever it likes, brackets included.
    let Some((_, fields)) = stat.rsplit_once(") ") else { return false };
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next();
    let flags = fields.nth(FLAGS_FIELD - 1).and_then(|flags| flags.parse::<u64>().ok());
    matches!(state, Some("Z" | "X")) || flags.is_some_and(|flags| flags & FLAG_EXITING != 0)
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
    fn who_is_about_to_let_go_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path().to_owned());
        let first = store.lock(ARRAY, Hold::Alone).unwrap();
        first.lets_go();
        let ending = std::thread::spawn(move || {
            std::thread::sleep(4 * TRIES * STEP);
            drop(first);
        });
        let second = store.lock(ARRAY, Hold::Alone).unwrap();
        ending.join().unwrap();
        assert!(matches!(store.lock(ARRAY, Hold::Alone), Err(LockError::Taken { .. })), "the next one has it again");
        drop(second);
    }

    /// What it had open ends a moment after it.
    #[test]
    fn what_a_process_that_is_gone_has_left_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path().to_owned());
        let first = store.lock(ARRAY, Hold::Alone).unwrap();
        let no_process = u32::MAX;
        first.file.write_all_at(format!("{no_process} \n").as_bytes(), 0).unwrap();
        let ending = std::thread::spawn(move || {
            std::thread::sleep(4 * TRIES * STEP);
            drop(first);
        });
        drop(store.lock(ARRAY, Hold::Alone).unwrap());
        ending.join().unwrap();
    }

    #[test]
    fn a_process_that_is_taken_down_is_known() {
        let stat = |state: &str, flags: u64| format!("7 (a) S 1 (b) {state} 1 7 7 0 -1 {flags} 0 0");
        assert!(!is_exiting(&stat("S", 0x0040_0100)));
        assert!(is_exiting(&stat("D", 0x0040_0104)) && is_exiting(&stat("Z", 0)));
        assert!(!is_exiting("") && !is_exiting(&std::fs::read_to_string("/proc/self/stat").unwrap()));
    }

    #[test]
    fn where_nothing_can_be_locked_that_is_told_from_what_is_taken() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("no directory");
        std::fs::write(&file, "").unwrap();
        assert!(matches!(Store::new(file).lock(ARRAY, Hold::Alone), Err(LockError::Store(_))));
    }
}
