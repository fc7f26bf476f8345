//! Sockets of processes that were killed: whoever starts an array removes those of others.
//!
//! Nothing is removed that could be somebody's. A socket is left behind if nobody listens there,
//! not a moment later either (one that has just been made is not listened at yet), and nobody has
//! the lock of its array, which whoever runs it takes before it makes the socket. The lock is held
//! meanwhile, so nobody starts the array under the hands of who removes.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use shoal_inventory::Environment;
use shoal_md::Uuid;
use shoal_memory::Hold;

use crate::place;

/// Whoever has made a socket listens there long before that.
const SETTLED: Duration = Duration::from_secs(1);

/// Something in the directory of sockets that leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Leftover {
    path: PathBuf,
    /// Whose it was.
    array: Uuid,
    /// By which it is known again.
    inode: (u64, u64),
}

/// Removes what is left of others. It takes its time.
pub(crate) fn sweep(environment: &Environment) {
    // Where arrays have no locks, nothing is certain.
    let Some(store) = environment.store() else { return };
    let found = leftovers(environment);
    if found.is_empty() {
        return;
    }
    std::thread::sleep(SETTLED);
    for leftover in found {
        let Ok(_lock) = store.lock(leftover.array, Hold::Alone) else { continue };
        if Leftover::at(leftover.path.clone()).as_ref() == Some(&leftover) {
            // One that stays behind leads to nobody, which clients understand.
            let _ = std::fs::remove_file(&leftover.path);
        }
    }
}

/// The sockets that nobody listens at, and the links to them, links last: they lead nowhere too.
fn leftovers(environment: &Environment) -> Vec<Leftover> {
    let entries = place::own_directory(environment).and_then(|directory| std::fs::read_dir(directory).ok());
    let paths = entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter_map(Leftover::at).collect()
}

impl Leftover {
    /// What is there, if it is one.
    fn at(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let array = name.strip_suffix(".sock").or_else(|| name.strip_suffix(".nbd"))?.parse().ok()?;
        let there = path.symlink_metadata().ok()?;
        let leads_nowhere = (there.file_type().is_socket() || there.is_symlink()) && is_dead(&path);
        let inode = (there.dev(), there.ino());
        leads_nowhere.then_some(Self { path, array, inode })
    }
}

/// Whether nobody listens there. Somebody who stands still, with a queue that is full, does.
fn is_dead(path: &Path) -> bool {
    let connected = SocketAddrUnix::new(path).and_then(|address| {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        connect(&socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?, &address)
    });
    matches!(connected, Err(Errno::CONNREFUSED | Errno::NOENT))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use shoal_inventory::{RUNTIME_VARIABLE, STATE_VARIABLE};

    use super::*;

    #[test]
    fn what_is_certainly_left_behind_is_removed_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| {
            let of_test = [STATE_VARIABLE, RUNTIME_VARIABLE].contains(&name);
            of_test.then(|| directory.path().join(name).into_os_string())
        };
        let environment = Environment::from_variables(place, |_| ());
        let runtime = place::make_directory(&environment).unwrap();
        let path = |number: u8, suffix: &str| runtime.join(format!("{}.{suffix}", Uuid([number; 16])));
        let dead = [path(1, "sock"), path(1, "nbd"), path(2, "sock")];
        dead.iter().for_each(|path| drop(UnixListener::bind(path).unwrap()));
        let link = path(3, "sock");
        std::os::unix::fs::symlink(&dead[0], &link).unwrap();
        let (alive, held, other) = (path(4, "sock"), path(5, "sock"), runtime.join("own.sock"));
        let _listener = UnixListener::bind(&alive).unwrap();
        // Its process has not come to listening yet; or it is no socket of an array.
        [&held, &other].iter().for_each(|path| drop(UnixListener::bind(path).unwrap()));
        let file = path(6, "sock");
        std::fs::write(&file, "").unwrap();
        let _lock = environment.store().unwrap().lock(Uuid([5; 16]), Hold::Alone).unwrap();
        sweep(&environment);
        let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
        assert!(!dead.iter().chain([&link]).any(is_there), "{:?}", std::fs::read_dir(&runtime).unwrap());
        assert!([&alive, &held, &other, &file].into_iter().all(is_there));
    }
}
