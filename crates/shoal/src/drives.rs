//! Opens drives for the commands: finds a drive given twice, and says who is at fault if one does not open.

use std::path::{Path, PathBuf};

use shoal_drive::{Access, Drive, DriveKey, IoEngine, IoLoop, OpenError, survey_content};
use shoal_md::ShapeUnknown;
use shoal_volume::{
    BufferPlan, DriveId, OpenOptions, Parity, ProbeError, RealWorld, Superblock, SuperblockError, Volume,
    read_superblock,
};

use shoal_volume::transfer::read_to;

use crate::args::{Cli, IoEngineChoice};
use crate::exit::Failure;
pub(crate) use crate::scan::member_paths;
use crate::size::format_size;

/// Drives in one world, ready to become a volume.
pub(crate) struct Opened {
    /// The drives, their memory, the clock.
    pub(crate) world: RealWorld,
    /// How the memory is cut.
    pub(crate) plan: BufferPlan,
    /// In the order given.
    pub(crate) drives: Vec<DriveId>,
}

/// Opens drives, each of which may be given once.
pub(crate) fn open_drives(paths: &[PathBuf], access: Access) -> Result<Vec<Drive>, Failure> {
    crate::simulated::refuse(paths)?;
    let mut drives: Vec<Drive> = Vec::new();
    for path in paths {
        // Asked before it is opened: for writing it could not be opened twice.
        let key = DriveKey::of_path(path).ok();
        if let Some(same) = drives.iter().find(|other| Some(other.key()) == key) {
            return Err(given_twice(same.path(), path));
        }
        drives.push(Drive::open(path, access).map_err(open_failure)?);
    }
    Ok(drives)
}

/// Two names of one drive.
pub(crate) fn given_twice(first: &Path, second: &Path) -> Failure {
    let [first, second] = [first.display(), second.display()];
    Failure::Usage(format!("{first} and {second} are the same drive: give it once"))
}

/// What a drive is told that holds too little; sizes that look alike differ by what is added.
pub(crate) fn too_small(drive: &str, size_bytes: u64, needed_bytes: u64) -> String {
    let [size, needed, more] = [size_bytes, needed_bytes, needed_bytes.saturating_sub(size_bytes)].map(format_size);
    format!("{drive} is too small: it has {size}, and {needed} are needed, {more} more: give a larger drive")
}

/// Who is at fault when a drive does not open.
pub(crate) fn open_failure(error: OpenError) -> Failure {
    match error {
        OpenError::Busy { .. } => Failure::Busy(error.to_string()),
        OpenError::NotFound { .. } | OpenError::NotADrive { .. } | OpenError::Empty { .. } => Failure::usage(error),
        _ => Failure::failed(error),
    }
}

/// Whether two paths lead to one drive.
pub(crate) fn same_file(left: &Path, right: &Path) -> bool {
    match (DriveKey::of_path(left), DriveKey::of_path(right)) {
        (Ok(left), Ok(right)) => left == right,
        _ => left == right,
    }
}

/// Refuses an array whose content holds something.
pub(crate) fn check_content(content: &mut dyn Volume, name: &str) -> Result<(), Failure> {
    let found = survey_content(content.size_bytes(), |offset, bytes| {
        let mut sink: &mut [u8] = bytes;
        let length = sink.len() as u64;
        read_to(content, offset, length, &mut sink).map_err(std::io::Error::other)
    });
    match found.map_err(Failure::failed)?.first() {
        None => Ok(()),
        Some(finding) => Err(Failure::Refused(format!(
            "array {name} {finding}, which would be lost: take another one, or use --force"
        ))),
    }
}

/// Puts drives into a world with room for `request_count` requests of up to `request_bytes`.
pub(crate) fn join(cli: &Cli, drives: Vec<Drive>, request_count: u32, request_bytes: u32) -> Result<Opened, Failure> {
    join_with(cli.io_engine, drives, request_count, request_bytes)
}

/// [`join`], with room for drives that come later.
pub(crate) fn join_with_room(
    cli: &Cli,
    drives: Vec<Drive>,
    (request_count, request_bytes): (u32, u32),
    more_drives: u32,
) -> Result<Opened, Failure> {
    let plan = BufferPlan::for_drives(drives.len(), request_count, request_bytes).with_room_for(more_drives);
    join_as_planned(cli.io_engine, drives, plan)
}

/// [`join`], for those who have no command line at hand.
pub(crate) fn join_with(
    choice: IoEngineChoice,
    drives: Vec<Drive>,
    request_count: u32,
    request_bytes: u32,
) -> Result<Opened, Failure> {
    let plan = BufferPlan::for_drives(drives.len(), request_count, request_bytes);
    join_as_planned(choice, drives, plan)
}

fn join_as_planned(choice: IoEngineChoice, drives: Vec<Drive>, plan: BufferPlan) -> Result<Opened, Failure> {
    let arena = plan.arena().map_err(|error| Failure::Failed(format!("memory for buffers: {error}")))?;
    let io_loop = IoLoop::new(io_engine(choice), arena.clone(), 1024).map_err(Failure::failed)?;
    let mut world = RealWorld::new(io_loop, arena);
    let mut ids = Vec::new();
    for drive in drives {
        ids.push(world.add_drive(drive).map_err(Failure::failed)?);
    }
    Ok(Opened { world, plan, drives: ids })
}

/// The engine that is asked for; none if it is to be found out.
pub(crate) fn io_engine(choice: IoEngineChoice) -> Option<IoEngine> {
    match choice {
        IoEngineChoice::Auto => None,
        IoEngineChoice::Uring => Some(IoEngine::Uring),
        IoEngineChoice::Threads => Some(IoEngine::Threads),
    }
}

/// The kernel that is asked for.
pub(crate) fn parity(cli: &Cli) -> Result<Parity, Failure> {
    if cli.parity_kernel == "auto" {
        return Ok(Parity::best());
    }
    let kernel = cli.parity_kernel.parse().map_err(Failure::usage)?;
    Parity::with_kernel(kernel).map_err(Failure::usage)
}

/// Options for running an array, with the kernel that is asked for.
pub(crate) fn open_options(cli: &Cli, writable: bool, force: bool) -> Result<OpenOptions, Failure> {
    let options = if writable { OpenOptions::writable() } else { OpenOptions::read_only() };
    Ok(OpenOptions { force, parity: parity(cli)?, ..options })
}

/// Who is at fault when an array does not open.
pub(crate) fn array_failure(error: shoal_volume::OpenError) -> Failure {
    use shoal_volume::OpenError as Error;
    match error {
        Error::DirtyDegraded { .. }
        | Error::Incomplete { .. }
        | Error::ReadOnly { .. }
        | Error::Doubt { .. }
        | Error::NotRemembered { .. }
        | Error::Shape(ShapeUnknown::Refused { .. }) => Failure::Refused(error.to_string()),
        Error::NoMember { .. } | Error::Assemble(_) | Error::Stranger { .. } | Error::Shape(_) => Failure::usage(error),
        _ => Failure::failed(error),
    }
}

/// The superblock on an open drive.
pub(crate) fn probe(drive: &Drive) -> Result<Superblock, ProbeError<std::io::Error>> {
    read_superblock(drive.size_bytes(), |offset, bytes| drive.read_at(offset, bytes))
}

/// Whether a drive is a member of an array, as far as it says.
pub(crate) fn is_member(drive: &Drive) -> bool {
    !matches!(probe(drive), Err(ProbeError::Superblock(SuperblockError::NoMagic)))
}
