//! An array as one file in a directory, through FUSE: for kernels that have neither ublk nor nbd,
//! and for users who are not root.
//!
//! ```text
//!  program ─► VFS ─► /dev/fuse ─► threads of the session ─► Client ─► server
//!     ▲                  ▲                                    │
//!     └── answer ────────┴──── the client's thread ◄──────────┘
//! ```
//!
//! A request occupies a session's thread only until the client has taken it, so as many are under
//! way as the kernel asks for; the client's thread answers. As every operation of the client is
//! answered within its deadline, so is every request here, with an errno if need be, and nobody
//! hangs for longer.
//!
//! # What the kernel may keep
//!
//! Nothing. The file is opened for direct I/O whatever the program asks for: every read comes from
//! the array, and a write that has returned is the array's. A page cache on this file would be a
//! second one below that of a file system on a loop device, and would hold content back that nobody
//! has flushed. Mapping the file shared is refused by the kernel for the same reason.
//!
//! # What is durable when
//!
//! As on a disk: what was written before an `fsync` that succeeded, and each write through a
//! descriptor with `O_DSYNC` or `O_SYNC` (the kernel leaves those to us: the flags come with the
//! write). A loop device turns flushes into `fsync`.
//!
//! # Holes
//!
//! Whoever punches a hole (`FALLOC_FL_PUNCH_HOLE`) reads zeros there afterwards, and a loop device
//! relies on it, as it turns both "write zeros" and "discard" into the same call. NBD's trim
//! promises no zeros. So a hole is asked for as zeros that are *fast*: an array without parity
//! whose members can discard gives up the room. Where the array cannot, as with parity, it is
//! refused, and who wants zeros writes them, as the kernel does by itself. So a file system that
//! trims its free space never has all of it written. `FALLOC_FL_ZERO_RANGE` writes zeros, however
//! many. Both go in parts, and the deadline is that of each part.
//!
//! # Interrupts
//!
//! A request that has reached the array cannot be taken back, as with any disk: a killed program
//! goes when its requests are answered, which the deadline bounds.
//!
//! # The end
//!
//! Told to stop, the file is taken out of the tree at once, and whoever has it open is served until
//! it is closed; told again, the session ends where it stands, and they get `ENOTCONN`. A mount
//! whose process was killed answers `ENOTCONN` for ever: [`undo_stale`] knows it and takes it away,
//! and [`run`] does so by itself.

mod file;
mod mount_point;
mod openers;
mod requests;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

use fuser::{Config, MountOption, Session, SessionACL};
use thiserror::Error;

use crate::Client;
use file::ArrayFile;
use requests::Requests;

pub use mount_point::undo_stale;

/// Threads that take requests from the kernel. One is enough for small requests; the second copies
/// a long write while the first takes the next.
const THREADS: usize = 2;

/// How the file looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileOptions {
    /// Its name in the directory.
    pub name: String,
    /// Who may use it.
    pub access: Access,
}

/// Who may use the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// The user who mounts it, and nobody else, not even root.
    #[default]
    Owner,
    /// That user and root, who may want a loop device on it. Unless root mounts it,
    /// `user_allow_other` has to be set in `/etc/fuse.conf`.
    OwnerAndRoot,
    /// Everybody on this machine, with the same condition.
    Everybody,
}

/// Why there is no file, or no longer.
#[derive(Debug, Error)]
pub enum FuseError {
    /// The kernel has no FUSE, or not for us.
    #[error("/dev/fuse: {0}: load the kernel's module (modprobe fuse), or ask for another method")]
    Missing(io::Error),
    /// The name is none.
    #[error("\"{0}\" is no name of a file")]
    Name(String),
    /// Something else is mounted there.
    #[error("{directory}: {what} is mounted there already: name another directory, or unmount it")]
    Occupied {
        /// Where.
        directory: PathBuf,
        /// What.
        what: String,
    },
    /// The kernel or fusermount3 refused.
    #[error(
        "{directory}: mounting fails: {source}: is fusermount3 (package fuse3) installed, and is the directory yours?"
    )]
    Mount {
        /// Where.
        directory: PathBuf,
        /// What was said.
        source: io::Error,
    },
    /// It cannot be taken away.
    #[error("{directory}: unmounting fails: {source}")]
    Unmount {
        /// Where.
        directory: PathBuf,
        /// What was said.
        source: io::Error,
    },
    /// The session ended by itself.
    #[error("the connection with the kernel's FUSE ended: {0}")]
    Session(io::Error),
}

/// Whether the kernel has FUSE, and we may use it; an error that says why not.
pub fn probe() -> Result<(), FuseError> {
    std::fs::File::options().read(true).write(true).open("/dev/fuse").map(drop).map_err(FuseError::Missing)
}

/// Shows the array as a file in `directory`, tells `ready` its path, and serves it until a message
/// comes over `stop` (or nobody is left who could send one), or somebody unmounts it. The module's
/// documentation says what happens to those who have it open then.
pub fn run(
    client: &Client,
    directory: &Path,
    options: &FileOptions,
    ready: impl FnOnce(&Path),
    stop: Receiver<()>,
) -> Result<(), FuseError> {
    if options.name.is_empty() || options.name.contains(['/', '\0']) || [".", ".."].contains(&options.name.as_str()) {
        return Err(FuseError::Name(options.name.clone()));
    }
    crate::stay_out_of_reclaim();
    probe()?;
    undo_stale(directory)?;
    mount_point::refuse_occupied(directory)?;
    let mount = |source| FuseError::Mount { directory: directory.to_owned(), source };
    let directory = &directory.canonicalize().map_err(mount)?;
    let requests = Requests::new(client.clone()).map_err(FuseError::Session)?;
    let file = ArrayFile::new(requests, options);
    let session = Session::new(file, directory, &configuration(client, options)).map_err(mount)?;
    ready(&directory.join(&options.name));
    serve(session, directory, stop)
}

fn configuration(client: &Client, options: &FileOptions) -> Config {
    let mut configuration = Config::default();
    configuration.mount_options = vec![
        MountOption::FSName(format!("{}{}", mount_point::SOURCE_PREFIX, options.name)),
        MountOption::DefaultPermissions,
        MountOption::NoExec,
        if client.is_read_only() { MountOption::RO } else { MountOption::RW },
    ];
    configuration.acl = match options.access {
        Access::Owner => SessionACL::Owner,
        Access::OwnerAndRoot => SessionACL::RootAndOwner,
        Access::Everybody => SessionACL::All,
    };
    configuration.n_threads = Some(THREADS);
    configuration.clone_fd = true;
    configuration
}

/// Runs the session beside the wait for its end.
fn serve(session: Session<ArrayFile>, directory: &Path, stop: Receiver<()>) -> Result<(), FuseError> {
    let (tell, told) = std::sync::mpsc::channel();
    let ended = tell.clone();
    std::thread::spawn(move || {
        // Whoever can no longer say it is gone, and the session should be, too.
        let _ = stop.recv();
        let _ = tell.send(Told::Stop);
        if stop.recv().is_ok() {
            let _ = tell.send(Told::Stop);
        }
    });
    std::thread::spawn(move || {
        let _ = ended.send(Told::Ended(session.run()));
    });
    let mut is_mounted = true;
    loop {
        match told.recv() {
            Ok(Told::Stop) if is_mounted => mount_point::detach(directory)?,
            Ok(Told::Ended(result)) => return result.map_err(FuseError::Session),
            Ok(Told::Stop) | Err(_) => return Ok(()),
        }
        is_mounted = false;
    }
}

/// What ends a session.
enum Told {
    /// Somebody wants it to.
    Stop,
    /// It has.
    Ended(io::Result<()>),
}
