//! Looks at drives, and waits for none of them for ever.
//!
//! A drive that hangs answers neither to be opened nor to be read, and whoever waits for it hangs
//! with it. So each drive is opened and its superblock read in a thread of its own. Who has not
//! answered within [`PATIENCE`] is *silent*: that is told once, its thread is left behind, and it
//! is not asked again before it has answered. What the kernel has begun nobody can end: a process
//! with a thread left behind does its work, and is gone when the drive has answered, or is.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use shoal_documents::{Fault, HasFault};
use shoal_drive::{Access, Drive, DriveKey, OpenError, disk_sequence};
use shoal_md::{Candidate, Superblock};
use shoal_memory::Found;
use shoal_volume::ProbeError;

use crate::drives::probe;
use crate::environment::Environment;

/// How long a drive may take. Disks that sleep take ten seconds to spin up, and a busy machine some
/// more.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Drives that are looked at together: a directory may be full of files.
const AT_ONCE: usize = 64;

/// Why a drive is no member of an array.
#[derive(Debug, thiserror::Error)]
pub enum NoMember {
    /// It does not open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It carries no superblock that can be read.
    #[error("{}: {problem}", path.display())]
    Superblock {
        /// The drive.
        path: PathBuf,
        /// What is wrong with it.
        problem: ProbeError<io::Error>,
    },
}

impl HasFault for NoMember {
    fn fault(&self) -> Fault {
        match self {
            Self::Open(error) => error.fault(),
            Self::Superblock { .. } => Fault::Usage,
        }
    }
}

/// A drive that does not answer, for whoever needs it.
#[derive(Debug, thiserror::Error)]
#[error("{} has not answered for {} s: look at the drive, or plug it in anew", path.display(), PATIENCE.as_secs())]
pub struct Silence {
    /// The drive.
    pub path: PathBuf,
}

impl HasFault for Silence {
    fn fault(&self) -> Fault {
        Fault::Failed
    }
}

/// What came of a look at a drive.
#[derive(Debug)]
pub enum Look {
    /// It is a member of an array.
    Member(Box<Seen>),
    /// It is none, or cannot be read, and why.
    No(NoMember),
    /// It does not answer.
    Silent,
}

/// A drive that is a member of an array.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Where it was found.
    pub path: PathBuf,
    /// By what it is told from others while it is plugged in.
    pub key: DriveKey,
    /// What it says of itself.
    pub superblock: Superblock,
    /// By what it is known again.
    pub hardware: Option<String>,
    /// The number of the disk that it is, or lies on; see [`disk_sequence`].
    pub disk_sequence: Option<u64>,
}

impl Seen {
    /// What it says of itself, with the name by which it was found.
    pub fn candidate(&self) -> Candidate {
        Candidate { drive: self.path.display().to_string(), superblock: self.superblock.clone() }
    }

    /// The same with its hardware.
    pub fn found(&self) -> Found {
        Found { candidate: self.candidate(), hardware: self.hardware.clone() }
    }
}

impl Look {
    /// The member, if it is one.
    pub fn member(self) -> Option<Seen> {
        match self {
            Self::Member(seen) => Some(*seen),
            Self::No(_) | Self::Silent => None,
        }
    }
}

/// Looks that are under way, since when.
static UNDER_WAY: Mutex<BTreeMap<PathBuf, Instant>> = Mutex::new(BTreeMap::new());

fn under_way() -> MutexGuard<'static, BTreeMap<PathBuf, Instant>> {
    // Nothing is left half done in there.
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks at drives, many at once; what came of it, in their order. Who is silent is told.
pub fn look(environment: &Environment, paths: &[PathBuf]) -> Vec<Look> {
    let tell = |path: &Path| environment.tell(&Silence { path: path.to_owned() }.to_string());
    paths.chunks(AT_ONCE).flat_map(|paths| look_at_once(paths, PATIENCE, &tell)).collect()
}

/// The same with another patience; nobody is told who is silent.
pub fn look_within(paths: &[PathBuf], patience: Duration) -> Vec<Look> {
    paths.chunks(AT_ONCE).flat_map(|paths| look_at_once(paths, patience, &|_| ())).collect()
}

fn look_at_once(paths: &[PathBuf], patience: Duration, tell_silent: &dyn Fn(&Path)) -> Vec<Look> {
    let mut looks: Vec<Look> = paths.iter().map(|_| Look::Silent).collect();
    let (sender, receiver) = channel();
    let mut asked = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        if is_silent(path, patience) {
            continue;
        }
        under_way().entry(path.clone()).or_insert_with(Instant::now);
        asked.push(index);
        let (own, answer) = (path.clone(), sender.clone());
        let work = move || {
            let looked = look_at(&own);
            under_way().remove(&own);
            // Whoever asked may not wait any more.
            let _ = answer.send((index, looked));
        };
        if std::thread::Builder::new().name("shoal-look".to_owned()).spawn(work).is_err() {
            // No thread is to be had: it is waited for, as it always was.
            looks[index] = look_at(path);
            under_way().remove(path);
            asked.pop();
        }
    }
    drop(sender);
    let deadline = Instant::now() + patience;
    while !asked.is_empty() {
        match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok((index, looked)) => {
                looks[index] = looked;
                asked.retain(|&other| other != index);
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    asked.into_iter().for_each(|index| tell_silent(&paths[index]));
    looks
}

/// What `ask` learns of a place, whose file system may hang as a drive does: asked in a thread of its own, which is left behind
/// if there is no answer within [`PATIENCE`]. A place that is silent already is not asked.
///
/// # Errors
/// It does not answer, or no thread is to be had to ask it.
pub fn asked<T: Send + 'static>(place: &Path, ask: impl FnOnce(&Path) -> T + Send + 'static) -> Result<T, Silence> {
    asked_within(place, PATIENCE, ask)
}

fn asked_within<T: Send + 'static>(
    place: &Path,
    patience: Duration,
    ask: impl FnOnce(&Path) -> T + Send + 'static,
) -> Result<T, Silence> {
    let silence = || Silence { path: place.to_owned() };
    if is_silent(place, patience) {
        return Err(silence());
    }
    under_way().entry(place.to_owned()).or_insert_with(Instant::now);
    let (sender, receiver) = sync_channel(1);
    let own = place.to_owned();
    let work = move || {
        let answer = ask(&own);
        under_way().remove(&own);
        // Whoever asked may not wait any more.
        let _ = sender.send(answer);
    };
    if std::thread::Builder::new().name("shoal-ask".to_owned()).spawn(work).is_err() {
        under_way().remove(place);
        return Err(silence());
    }
    receiver.recv_timeout(patience).map_err(|_| silence())
}

/// Whether something is at a path, as far as that can be said: what does not answer is.
pub fn is_there(path: &Path) -> bool {
    asked(path, |path| path.symlink_metadata().is_ok()).unwrap_or(true)
}

/// The members among them.
pub fn members(environment: &Environment, paths: &[PathBuf]) -> Vec<Seen> {
    look(environment, paths).into_iter().filter_map(Look::member).collect()
}

/// The member at a path, if there is one.
pub fn member(environment: &Environment, path: &Path) -> Option<Seen> {
    members(environment, &[path.to_owned()]).pop()
}

/// Whether it was asked before and has not answered yet.
fn is_silent(path: &Path, patience: Duration) -> bool {
    under_way().get(path).is_some_and(|since| since.elapsed() >= patience)
}

fn look_at(path: &Path) -> Look {
    let drive = match Drive::open(path, Access::Read) {
        Ok(drive) => drive,
        Err(error) => return Look::No(error.into()),
    };
    match probe(&drive) {
        Ok(superblock) => Look::Member(Box::new(Seen {
            path: path.to_owned(),
            key: drive.key(),
            superblock,
            hardware: drive.hardware(),
            disk_sequence: disk_sequence(path),
        })),
        Err(problem) => Look::No(NoMember::Superblock { path: path.to_owned(), problem }),
    }
}
