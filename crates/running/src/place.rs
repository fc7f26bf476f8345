//! Where running arrays are administered: a directory of sockets that belongs to one user alone.
//!
//! Who may administer an array is decided three times over: the directory lets nobody else in
//! (0700), nor does the socket (0600), and whoever connects is asked for by the kernel's own word
//! (SO_PEERCRED). A client asks the same of the server, as in `/tmp` anybody may have been there
//! first.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use shoal_documents::{Fault, HasFault};
use shoal_inventory::{Environment, Named, arrays as arrays_of, member_paths};
use shoal_md::Uuid;

/// Why there is no place for sockets.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// It cannot be made.
    #[error("{}: {source}; name another place with --socket", directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Somebody else could get at it.
    #[error("{} is no directory that belongs to you alone: make it yours with `chmod 700`, remove it, or name another place with --socket", directory.display())]
    NotOwn {
        /// The directory.
        directory: PathBuf,
    },
    /// Whoever asks for another array would come to this one.
    #[error(
        "{}: that is the place of array {array}, and this is another array: name another place with --socket or --nbd, or leave it out",
        socket.display()
    )]
    OfAnother {
        /// The place.
        socket: PathBuf,
        /// Whose it is.
        array: Uuid,
    },
}

impl HasFault for PlaceError {
    fn fault(&self) -> Fault {
        match self {
            Self::Directory { .. } => Fault::Failed,
            Self::NotOwn { .. } => Fault::Refused,
            Self::OfAnother { .. } => Fault::Usage,
        }
    }
}

/// The user who runs this program.
fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The socket of the array with this UUID.
pub(super) fn socket_of(environment: &Environment, array_uuid: &str) -> PathBuf {
    environment.runtime_directory().join(file_name(array_uuid))
}

/// What the socket of the array with this UUID is called.
pub(super) fn file_name(array_uuid: &str) -> String {
    format!("{array_uuid}.sock")
}

/// Refuses a socket for the array that is named at the usual place of another one.
pub fn check_named(environment: &Environment, socket: &Path, named: &Named) -> Result<(), PlaceError> {
    let Some(array) = array_at(environment, socket).filter(|array| named.uuid != Some(*array)) else { return Ok(()) };
    let drives = member_paths(environment, named).unwrap_or_else(|_| named.drives.clone());
    if arrays_of(environment, &drives).contains(&array) {
        return Ok(());
    }
    Err(PlaceError::OfAnother { socket: socket.to_owned(), array })
}

/// The array whose usual place for administrators or clients this is, if it is one.
fn array_at(environment: &Environment, socket: &Path) -> Option<Uuid> {
    let name = socket.file_name()?.to_str()?;
    let (array, kind) = name.rsplit_once('.').filter(|(_, kind)| matches!(*kind, "sock" | "nbd"))?;
    let array: Uuid = array.parse().ok()?;
    let directory = std::path::absolute(socket).ok()?.parent()?.canonicalize().ok()?;
    let is_usual = environment.runtime_directory().canonicalize().ok()? == directory;
    (is_usual && name == format!("{array}.{kind}")).then_some(array)
}

/// The arrays that have a socket, whether or not anybody listens there.
pub(super) fn arrays(environment: &Environment) -> Vec<Uuid> {
    let Some(entries) = own_directory(environment).and_then(|directory| std::fs::read_dir(directory).ok()) else {
        return Vec::new();
    };
    let array =
        |entry: io::Result<std::fs::DirEntry>| entry.ok()?.file_name().to_str()?.strip_suffix(".sock")?.parse().ok();
    entries.filter_map(array).collect()
}

/// The socket at which the array with this UUID is served, if no other place is named.
pub fn socket_for_clients(environment: &Environment, array_uuid: &str) -> Result<PathBuf, PlaceError> {
    Ok(make_directory(environment)?.join(format!("{array_uuid}.nbd")))
}

/// Makes the directory of the user's sockets if need be, and makes sure that it is the user's
/// alone.
pub fn make_directory(environment: &Environment) -> Result<PathBuf, PlaceError> {
    let directory = environment.runtime_directory();
    match std::fs::DirBuilder::new().mode(0o700).create(&directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(PlaceError::Directory { directory, source: error })
        }
        _ if is_own(&directory) => Ok(directory),
        _ => Err(PlaceError::NotOwn { directory }),
    }
}

/// The directory of the user's sockets, if it is there and the user's alone.
pub fn own_directory(environment: &Environment) -> Option<PathBuf> {
    Some(environment.runtime_directory()).filter(|directory| is_own(directory))
}

/// Whether a directory is there, and belongs to this user alone.
pub(super) fn is_own(directory: &Path) -> bool {
    directory.symlink_metadata().is_ok_and(|it| it.is_dir() && it.uid() == own_user() && it.mode() & 0o077 == 0)
}

/// Whether the client at the other end may administer what this user runs: the same user, or root.
pub(super) fn may_administer(stream: &UnixStream) -> bool {
    peer(stream).is_ok_and(|user| user == own_user() || user == 0)
}

/// Whether what the server at the other end says can be believed: it is the same user's or root's;
/// or this is root, and only that user can have put the socket there.
pub(super) fn may_be_believed(stream: &UnixStream, socket: &Path) -> bool {
    let is_at_home = |user: u32| {
        let is_of_user = |path: &Path| path.metadata().is_ok_and(|it| it.uid() == user);
        let directory = socket.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let is_closed = directory.metadata().is_ok_and(|it| it.mode() & 0o022 == 0);
        own_user() == 0 && is_closed && is_of_user(directory) && is_of_user(socket)
    };
    peer(stream).is_ok_and(|user| user == own_user() || user == 0 || is_at_home(user))
}

/// The user at the other end.
fn peer(stream: &UnixStream) -> io::Result<u32> {
    Ok(rustix::net::sockopt::socket_peercred(stream.as_fd())?.uid.as_raw())
}

/// The process that listens at the other end; `None` if it is one of another PID namespace, which
/// has no number here.
pub(super) fn process_at(stream: &UnixStream) -> Option<i32> {
    let pid = rustix::net::sockopt::socket_peercred(stream.as_fd()).ok()?.pid.as_raw_pid();
    (pid > 0).then_some(pid)
}
