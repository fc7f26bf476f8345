//! Finds an array's other members among the files and devices of a directory.
//!
//! Members of one array share a UUID. Members of arrays in an array do not: which array of arrays they belong to is
//! written in the content of theirs, so each array that is found is read for that.

use std::path::{Path, PathBuf};

use shoal_drive::{Access, Arena, Drive, DriveKey, IoEngine, IoLoop};
use shoal_volume::{BufferPlan, OpenOptions, RealWorld, superblock_in_content};

use crate::args::ArrayArgs;
use crate::drives::{open_drives, probe};
use crate::exit::Failure;

/// What arrays are told apart by.
type Uuid = String;

/// Paths that carry superblocks of one array.
struct Group {
    array: Uuid,
    paths: Vec<PathBuf>,
}

/// The members given, and with `--scan` those that are found beside them.
pub(crate) fn member_paths(args: &ArrayArgs) -> Result<Vec<PathBuf>, Failure> {
    let Some(directory) = &args.scan else { return Ok(args.drives.clone()) };
    let (mut known, mut groups, mut named) = (Vec::new(), Vec::new(), Vec::new());
    for drive in open_drives(&args.drives, Access::Read)? {
        let superblock =
            probe(&drive).map_err(|problem| Failure::Usage(format!("{}: {problem}", drive.path().display())))?;
        named.push(superblock.array_uuid.to_string());
        known.push(drive.key());
        put(&mut groups, superblock.array_uuid.to_string(), drive.path());
    }
    for path in files_in(directory)? {
        put_found(&mut groups, &mut known, &path);
    }
    let wanted: Vec<_> = groups.iter().filter(|group| named.contains(&group.array)).filter_map(outer_array).collect();
    let belongs = |group: &Group| {
        named.contains(&group.array)
            || !wanted.is_empty() && outer_array(group).is_some_and(|outer| wanted.contains(&outer))
    };
    Ok(groups.into_iter().filter(belongs).flat_map(|group| group.paths).collect())
}

/// Takes in a path that leads to a member that is not known yet. What cannot be opened or read is no member that could
/// be used.
fn put_found(groups: &mut Vec<Group>, known: &mut Vec<DriveKey>, path: &Path) {
    let Ok(drive) = Drive::open(path, Access::Read) else { return };
    let Ok(superblock) = probe(&drive) else { return };
    if !known.contains(&drive.key()) {
        known.push(drive.key());
        put(groups, superblock.array_uuid.to_string(), path);
    }
}

fn put(groups: &mut Vec<Group>, array: Uuid, path: &Path) {
    match groups.iter_mut().find(|group| group.array == array) {
        Some(group) => group.paths.push(path.to_owned()),
        None => groups.push(Group { array, paths: vec![path.to_owned()] }),
    }
}

/// The array that a group's array is a member of, if it is one and enough of it is there to read that.
fn outer_array(group: &Group) -> Option<Uuid> {
    let plan = BufferPlan::for_drives(group.paths.len(), 1, 4096);
    let arena = Arena::new(plan.arena_bytes()).ok()?;
    // A few blocks are read: threads do, and ask nothing of the kernel.
    let io_loop = IoLoop::new(Some(IoEngine::Threads), arena.clone(), 64).ok()?;
    let mut world = RealWorld::new(io_loop, arena);
    let mut drives = Vec::new();
    for path in &group.paths {
        drives.push(world.add_drive(Drive::open(path, Access::Read).ok()?).ok()?);
    }
    let superblock = superblock_in_content(world, plan, &drives, &OpenOptions::read_only())?;
    Some(superblock.array_uuid.to_string())
}

fn files_in(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failure = |error: std::io::Error| Failure::Usage(format!("{}: {error}", directory.display()));
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failure)? {
        let path = entry.map_err(failure)?.path();
        if !path.is_dir() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
