//! Finds an array's other members among the files and devices of a directory.
//!
//! Members of one array share a UUID. Members of arrays in an array do not: which array of arrays
//! they belong to is written in the content of theirs, so each array that is found is read for
//! that.

use std::io;
use std::path::{Path, PathBuf};

use shoal_documents::{Fault, HasFault};
use shoal_drive::{Access, Drive, DriveKey, IoEngine, IoLoop};
use shoal_md::{Candidate, Uuid};
use shoal_volume::{BufferPlan, Health, OpenOptions, RealWorld, Superblock, superblock_in_content};

use crate::asked::{Silence, asked};
use crate::drives::DrivesError;
use crate::environment::Environment;
use crate::look::{Look, NoMember, Seen, look, members};
use crate::places::usual_places;
use crate::simulated::{self, NotReal};

/// Which array, as people say it: by its members, by one of them and where to look for the rest, or
/// by its UUID.
#[derive(Clone, Debug, Default)]
pub struct Named {
    /// Members, in any order.
    pub drives: Vec<PathBuf>,
    /// A directory in which the other members are.
    pub scan: Option<PathBuf>,
    /// The array's UUID: its members are looked for in that directory, or among the machine's
    /// drives and then among the files in which this host has seen members.
    pub uuid: Option<Uuid>,
}

/// Why the members of an array that is named are not found.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// A drive that was given is no member.
    #[error(transparent)]
    NoMember(#[from] NoMember),
    /// A drive that was given is simulated.
    #[error(transparent)]
    NotReal(#[from] NotReal),
    /// A drive was given twice.
    #[error(transparent)]
    Drives(#[from] DrivesError),
    /// The directory cannot be read.
    #[error("{}: {source}", directory.display())]
    Directory {
        /// Where it was looked.
        directory: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The directory's file system does not answer.
    #[error(transparent)]
    Silent(#[from] Silence),
    /// No member lies there.
    #[error("{} holds no member of an array: say with --scan where they are", directory.display())]
    NoneInDirectory {
        /// Where it was looked.
        directory: PathBuf,
    },
    /// Members of several arrays lie there, and nobody says which is meant.
    #[error(
        "{} holds members of several arrays: name a member of one, or say which with --uuid: {}",
        directory.display(),
        list(arrays)
    )]
    SeveralInDirectory {
        /// Where it was looked.
        directory: PathBuf,
        /// What lies there.
        arrays: Vec<Uuid>,
    },
    /// A drive that was given belongs to another array than was named.
    #[error("{} is no member of array {array}: give its members alone, or the array that the drive belongs to", drive.display())]
    OfAnother {
        /// The drive.
        drive: PathBuf,
        /// The array that was named.
        array: Uuid,
    },
    /// Several arrays have the name.
    #[error("several arrays are called {name}: say which with --uuid: {}", list(arrays))]
    SeveralNamed {
        /// What was asked for.
        name: String,
        /// Those that have it.
        arrays: Vec<Uuid>,
    },
    /// No drive of this machine carries the array.
    #[error("no drive carries a member of array {array}: plug one in, or say with --scan where they are")]
    Nowhere {
        /// The array.
        array: Uuid,
    },
}

impl HasFault for SearchError {
    fn fault(&self) -> Fault {
        match self {
            Self::NoMember(error) => error.fault(),
            Self::Drives(error) => error.fault(),
            Self::Silent(error) => error.fault(),
            Self::NotReal(_)
            | Self::Directory { .. }
            | Self::NoneInDirectory { .. }
            | Self::SeveralInDirectory { .. }
            | Self::SeveralNamed { .. }
            | Self::OfAnother { .. }
            | Self::Nowhere { .. } => Fault::Usage,
        }
    }
}

fn list(arrays: &[Uuid]) -> String {
    arrays.iter().map(Uuid::to_string).collect::<Vec<_>>().join(", ")
}

/// Paths that carry superblocks of one array.
pub(crate) struct Group {
    pub(crate) array: Uuid,
    pub(crate) paths: Vec<PathBuf>,
    members: Vec<Candidate>,
}

impl Group {
    /// What the freshest of them says: who was away when the array was renamed has its old name.
    pub(crate) fn name(&self) -> String {
        let freshest = self.members.iter().map(|member| &member.superblock).max_by_key(|it| it.events);
        freshest.map(Superblock::name).unwrap_or_default()
    }

    /// Whether its content can be had.
    fn is_enough(&self) -> bool {
        shoal_md::assemble(&self.members).is_ok_and(|assembly| assembly.health() != Health::Failed)
    }

    /// Whether it is known that an array is neither this one nor around it.
    fn is_another_than(&self, array: Uuid) -> bool {
        self.array != array && self.is_enough() && outer_array(self) != Some(array)
    }
}

/// The drives that name an array: those given, or, where none is, those that are found.
pub fn named_drives(environment: &Environment, named: &Named) -> Result<Vec<PathBuf>, SearchError> {
    if named.drives.is_empty() { member_paths(environment, named) } else { Ok(named.drives.clone()) }
}

/// The members given, and with `--scan` or `--uuid` those that are found.
pub fn member_paths(environment: &Environment, named: &Named) -> Result<Vec<PathBuf>, SearchError> {
    match (&named.scan, &named.uuid) {
        (Some(directory), _) => paths_among(environment, named, &files_in(directory)?),
        (None, Some(_)) => paths_among(environment, named, &usual_places(environment)),
        (None, None) => Ok(named.drives.clone()),
    }
}

/// The members given, and those that are found at these places.
fn paths_among(environment: &Environment, named: &Named, places: &[PathBuf]) -> Result<Vec<PathBuf>, SearchError> {
    let (mut known, mut groups, mut arrays) = (Vec::<(DriveKey, PathBuf)>::new(), Vec::new(), Vec::new());
    let mut unread = Vec::new();
    simulated::refuse(&named.drives)?;
    for (looked, path) in look(environment, &named.drives).into_iter().zip(&named.drives) {
        match looked {
            Look::Member(seen) => {
                refuse_twice(&known, &seen)?;
                arrays.push(seen.superblock.array_uuid);
                known.push((seen.key, seen.path.clone()));
                put(&mut groups, *seen);
            }
            // Which array is meant is known without it: what it is worth is told where it is used.
            Look::No(_) if named.uuid.is_some() => unread.push(path.clone()),
            Look::No(why) => return Err(why.into()),
            Look::Silent => {}
        }
    }
    // What cannot be opened or read is no member that could be used.
    for seen in members(environment, places) {
        if known.iter().all(|(key, _)| *key != seen.key) {
            known.push((seen.key, seen.path.clone()));
            put(&mut groups, seen);
        }
    }
    if let Some(array) = named.uuid {
        let is_given = |path: &&PathBuf| named.drives.contains(path);
        let others = groups.iter().filter(|group| arrays.contains(&group.array) && group.is_another_than(array));
        if let Some(drive) = others.flat_map(|group| &group.paths).find(is_given) {
            return Err(SearchError::OfAnother { drive: drive.clone(), array });
        }
        arrays.push(array);
        let paths = paths_of(groups, &arrays);
        return if paths.is_empty() { Err(SearchError::Nowhere { array }) } else { Ok([paths, unread].concat()) };
    }
    if let (Some(directory), true) = (&named.scan, arrays.is_empty()) {
        arrays.push(only_array(directory, &groups)?);
    }
    Ok(paths_of(groups, &arrays))
}

/// The one array, or array of arrays, whose members lie in a directory.
fn only_array(directory: &Path, groups: &[Group]) -> Result<Uuid, SearchError> {
    let mut arrays: Vec<_> = groups.iter().map(|group| outer_array(group).unwrap_or(group.array)).collect();
    arrays.sort();
    arrays.dedup();
    let directory = directory.to_owned();
    match &arrays[..] {
        [array] => Ok(*array),
        [] => Err(SearchError::NoneInDirectory { directory }),
        _ => Err(SearchError::SeveralInDirectory { directory, arrays }),
    }
}

/// The members of the arrays that are named, of those that these are members of, and of all that
/// are made of those.
fn paths_of(groups: Vec<Group>, named: &[Uuid]) -> Vec<PathBuf> {
    let is_named = |group: &&Group| named.contains(&group.array);
    let mut wanted: Vec<_> = groups.iter().filter(is_named).filter_map(outer_array).collect();
    // An array that no drive names may be made of arrays.
    wanted.extend(named.iter().filter(|&uuid| groups.iter().all(|group| group.array != *uuid)).copied());
    let belongs = |group: &Group| {
        named.contains(&group.array)
            || !wanted.is_empty() && outer_array(group).is_some_and(|outer| wanted.contains(&outer))
    };
    groups.into_iter().filter(belongs).flat_map(|group| group.paths).collect()
}

fn refuse_twice(known: &[(DriveKey, PathBuf)], seen: &Seen) -> Result<(), DrivesError> {
    match known.iter().find(|(key, _)| *key == seen.key) {
        Some((_, same)) => Err(DrivesError::GivenTwice { first: same.clone(), second: seen.path.clone() }),
        None => Ok(()),
    }
}

pub(crate) fn put(groups: &mut Vec<Group>, seen: Seen) {
    let array = seen.superblock.array_uuid;
    match groups.iter_mut().find(|group| group.array == array) {
        Some(group) => {
            group.members.push(seen.candidate());
            group.paths.push(seen.path);
        }
        None => groups.push(Group { array, members: vec![seen.candidate()], paths: vec![seen.path] }),
    }
}

/// The array that a group's array is a member of, if it is one and enough of it is there to read
/// that.
pub(crate) fn outer_array(group: &Group) -> Option<Uuid> {
    Some(outer_superblock(&group.paths)?.array_uuid)
}

/// The arrays that drives belong to, and the array that these are members of: all that one process
/// at a time may change.
pub fn arrays(environment: &Environment, paths: &[PathBuf]) -> Vec<Uuid> {
    let mut groups = Vec::new();
    members(environment, paths).into_iter().for_each(|seen| put(&mut groups, seen));
    let around = groups.iter().filter_map(outer_array);
    let mut arrays: Vec<_> = around.chain(groups.iter().map(|group| group.array)).collect();
    arrays.sort();
    arrays.dedup();
    arrays
}

/// The superblock that the content of the array of these drives carries; none if it is no member of
/// an array, or too little of it is there.
pub fn outer_superblock(paths: &[PathBuf]) -> Option<Superblock> {
    let plan = BufferPlan::for_drives(paths.len(), 1, 4096);
    let arena = plan.arena().ok()?;
    // A few blocks are read: threads do, and ask nothing of the kernel.
    let io_loop = IoLoop::new(Some(IoEngine::Threads), arena.clone(), 64).ok()?;
    let mut world = RealWorld::new(io_loop, arena);
    let mut drives = Vec::new();
    for path in paths {
        drives.push(world.add_drive(Drive::open(path, Access::Read).ok()?).ok()?);
    }
    superblock_in_content(world, plan, &drives, &OpenOptions::read_only())
}

/// All that lies in a directory and is none. A directory that does not answer is not waited for.
pub fn files_in(directory: &Path) -> Result<Vec<PathBuf>, SearchError> {
    let listed = asked(directory, list_of)?;
    listed.map_err(|source| SearchError::Directory { directory: directory.to_owned(), source })
}

fn list_of(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        // A link leads to another file system, which may hang: whoever looks at it sees what it is.
        if !entry.file_type()?.is_dir() {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}
