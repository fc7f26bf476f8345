//! Looks at drives, and waits for none of them for ever.
//!
//! A drive that hangs answers neither to be opened nor to be read, and whoever waits for it hangs
//! with it. So each drive is opened and its superblock read in a thread of its own, and who is
//! silent (`asked.rs`) is told once.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use shoal_documents::{Fault, HasFault};
use shoal_drive::{Access, Drive, DriveKey, OpenError, disk_sequence};
use shoal_md::{Candidate, Features, Superblock};
use shoal_memory::Found;
use shoal_volume::ProbeError;

use crate::asked::{PATIENCE, Silence, is_silent, under_way};
use crate::drives::probe;
use crate::environment::Environment;

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

    /// Whether the array that it is a member of is being reshaped.
    pub fn is_reshaping(&self) -> bool {
        self.superblock.features.any_of(Features::RESHAPE_ACTIVE)
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

/// The members among them.
pub fn members(environment: &Environment, paths: &[PathBuf]) -> Vec<Seen> {
    look(environment, paths).into_iter().filter_map(Look::member).collect()
}

/// The member at a path, if there is one.
pub fn member(environment: &Environment, path: &Path) -> Option<Seen> {
    members(environment, &[path.to_owned()]).pop()
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
