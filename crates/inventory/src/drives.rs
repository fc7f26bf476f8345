//! Drives that people name: opened, told apart, and joined into one world.

use std::io;
use std::path::{Path, PathBuf};

use shoal_documents::{Fault, HasFault};
use shoal_drive::{Access, Drive, DriveKey, IoEngine, IoLoop, LoopError, OpenError};
use shoal_volume::{BufferPlan, DriveId, ProbeError, RealWorld, Superblock, SuperblockError, read_superblock};

use crate::asked::{Silence, asked};
use crate::simulated::{self, NotReal};

/// I/Os that a loop has under way at most.
const IOS_MAX: u32 = 1024;

/// What is read of a drive as a sign of life.
const LIFE_BYTES: usize = 4096;

/// Why drives that were named are not opened.
#[derive(Debug, thiserror::Error)]
pub enum DrivesError {
    /// One of them does not open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Two names lead to one drive.
    #[error("{} and {} are the same drive: give it once", first.display(), second.display())]
    GivenTwice {
        /// A name.
        first: PathBuf,
        /// Another.
        second: PathBuf,
    },
    /// One does not answer.
    #[error(transparent)]
    Silent(#[from] Silence),
    /// One is simulated.
    #[error(transparent)]
    NotReal(#[from] NotReal),
}

impl HasFault for DrivesError {
    fn fault(&self) -> Fault {
        match self {
            Self::Open(error) => error.fault(),
            Self::GivenTwice { .. } => Fault::Usage,
            Self::Silent(error) => error.fault(),
            Self::NotReal(error) => error.fault(),
        }
    }
}

/// Why open drives make no world.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// There is no memory for their buffers.
    #[error("memory for buffers: {0}")]
    Memory(io::Error),
    /// I/O cannot be done.
    #[error(transparent)]
    Loop(#[from] LoopError),
}

impl HasFault for JoinError {
    fn fault(&self) -> Fault {
        Fault::Failed
    }
}

/// Drives in one world, ready to become a volume.
#[derive(Debug)]
pub struct Opened {
    /// The drives, their memory, the clock.
    pub world: RealWorld,
    /// How the memory is cut.
    pub plan: BufferPlan,
    /// In the order given.
    pub drives: Vec<DriveId>,
}

/// Opens drives, each of which may be given once. One that does not answer, neither to be opened
/// nor to be read, is not waited for.
pub fn open_drives(paths: &[PathBuf], access: Access) -> Result<Vec<Drive>, DrivesError> {
    simulated::refuse(paths)?;
    let mut drives: Vec<Drive> = Vec::new();
    for path in paths {
        // Asked before it is opened: for writing it could not be opened twice.
        let key = asked(path, |path| DriveKey::of_path(path).ok())?;
        if let Some(same) = drives.iter().find(|other| Some(other.key()) == key) {
            return Err(DrivesError::GivenTwice { first: same.path().to_owned(), second: path.clone() });
        }
        drives.push(asked(path, move |path| open_alive(path, access))??);
    }
    Ok(drives)
}

/// Opens a drive and reads its first block. Whether that can be read is seen by who needs it.
fn open_alive(path: &Path, access: Access) -> Result<Drive, OpenError> {
    let drive = Drive::open(path, access)?;
    let mut block = [0; LIFE_BYTES];
    let _ = drive.read_at(0, &mut block[..drive.size_bytes().min(LIFE_BYTES as u64) as usize]);
    Ok(drive)
}

/// Whether two paths lead to one drive.
pub fn same_file(left: &Path, right: &Path) -> bool {
    match (DriveKey::of_path(left), DriveKey::of_path(right)) {
        (Ok(left), Ok(right)) => left == right,
        _ => left == right,
    }
}

/// Puts drives into a world whose memory is cut by `plan`. `io_engine` carries the I/O; if none,
/// what the kernel permits.
pub fn join(io_engine: Option<IoEngine>, drives: Vec<Drive>, plan: BufferPlan) -> Result<Opened, JoinError> {
    let arena = plan.arena().map_err(JoinError::Memory)?;
    let io_loop = IoLoop::new(io_engine, arena.clone(), IOS_MAX)?;
    let mut world = RealWorld::new(io_loop, arena);
    let mut ids = Vec::new();
    for drive in drives {
        ids.push(world.add_drive(drive)?);
    }
    Ok(Opened { world, plan, drives: ids })
}

/// [`join`], with room for `request_count` requests of up to `request_bytes`.
pub fn join_for(
    io_engine: Option<IoEngine>,
    drives: Vec<Drive>,
    (request_count, request_bytes): (u32, u32),
) -> Result<Opened, JoinError> {
    let plan = BufferPlan::for_drives(drives.len(), request_count, request_bytes);
    join(io_engine, drives, plan)
}

/// The superblock on an open drive.
pub fn probe(drive: &Drive) -> Result<Superblock, ProbeError<io::Error>> {
    read_superblock(drive.size_bytes(), |offset, bytes| drive.read_at(offset, bytes))
}

/// Whether a drive is a member of an array, as far as it says.
pub fn is_member(drive: &Drive) -> bool {
    !matches!(probe(drive), Err(ProbeError::Superblock(SuperblockError::NoMagic)))
}
