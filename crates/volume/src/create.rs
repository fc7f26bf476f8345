//! Makes arrays: writes the superblocks that mdadm would write, and assembles what it wrote.
//!
//! Nothing is checked here about what the drives held before; whoever calls has asked.

use shoal_array::Level;
use shoal_md::{
    ConsistencyPolicy, CreateError as MdCreateError, CreateRequest, MinorVersion, NewMember, SECTOR_BYTES, Superblock,
    Timestamp, Uuid,
};

use crate::assemble::{OpenError, add_node, record_assembly};
use crate::bitmap::write_new_bitmap;
use crate::ppl::LogPlace;
use crate::superblocks::superblock_places;
use crate::tree::{NodeId, Target, Tree};
use crate::world::World;
use crate::{OpenOptions, VolumeError};

/// What a new array is to be.
#[derive(Clone, Debug)]
pub struct CreateOptions {
    /// Level and layout, or those of arrays in an array.
    pub level: ArrayLevel,
    /// The chunk, on all levels that have one.
    pub chunk_bytes: u32,
    /// How many of the drives, the last ones, are spares.
    pub spare_count: usize,
    /// The array's name.
    pub name: String,
    /// The host's name, put before the array's.
    pub homehost: Option<String>,
    /// Use no more of each drive.
    pub drive_bytes_limit: Option<u64>,
    /// Whether mirrors and parity agree already: the drives hold zeros, or all content will be
    /// written before it counts. If not, the array is resynced.
    pub assume_clean: bool,
    /// Where the superblocks are to lie.
    pub metadata: MinorVersion,
    /// What brings the array back in sync after a crash. In an array of arrays: each of them that
    /// can have it.
    pub consistency: ConsistencyPolicy,
}

/// One array, or an array of arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayLevel {
    /// An array of drives.
    Plain(Level),
    /// An array of `groups` arrays, which share the drives evenly.
    Nested {
        /// The array of arrays.
        outer: Level,
        /// The arrays of drives.
        inner: Level,
        /// How many of them.
        groups: usize,
    },
}

/// Why an array cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// Level, chunk, members, name, sizes.
    #[error(transparent)]
    Request(#[from] MdCreateError),
    /// An array of no arrays.
    #[error("an array of arrays has 2 groups or more: say how many")]
    NoGroups,
    /// The drives do not go into groups.
    #[error("{drives} drives do not make {groups} groups of one size: give a multiple of {groups}")]
    Groups {
        /// How many drives.
        drives: usize,
        /// How many groups.
        groups: usize,
    },
    /// Spares for arrays of arrays.
    #[error("arrays of arrays take no spares: leave them out, and add them to one of the inner arrays later")]
    NestedSpares,
    /// More spares than drives.
    #[error("{spares} of {drives} drives cannot be spares: members are needed too")]
    Spares {
        /// How many spares.
        spares: usize,
        /// How many drives.
        drives: usize,
    },
    /// A drive did not take its superblock.
    #[error("{drive}: the superblock could not be written: check the drive")]
    Write {
        /// The drive.
        drive: String,
    },
    /// What was written does not assemble.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The world broke.
    #[error(transparent)]
    Volume(#[from] VolumeError),
}

/// Writes superblocks to `targets` and makes nodes of the arrays. Nothing is written before the
/// whole request has been found right.
pub(crate) fn create_tree<W: World>(
    tree: &mut Tree<W>,
    targets: &[Target],
    options: &CreateOptions,
    open: &OpenOptions,
) -> Result<NodeId, CreateError> {
    let root = match options.level {
        ArrayLevel::Plain(level) => {
            create_node(tree, targets, level, options.spare_count, &options.name, options, open)?
        }
        ArrayLevel::Nested { outer, inner, groups } => {
            let drives: Vec<_> = targets.iter().map(|target| (tree.name(*target), tree.size_bytes(*target))).collect();
            check_creation(&drives, options)?;
            let size = targets.len() / groups;
            let mut nodes = Vec::new();
            for (number, group) in targets.chunks(size).enumerate() {
                let name = format!("{}-{number}", options.name);
                nodes.push(Target::Node(create_node(tree, group, inner, 0, &name, options, open)?));
            }
            create_node(tree, &nodes, outer, 0, &options.name, options, open)?
        }
    };
    clear_superblocks(tree, Target::Node(root))?;
    Ok(root)
}

/// Refuses what can never be made of drives of these names and sizes: too few of them, too small
/// ones, a level without such a chunk. Nothing is read or written.
pub fn check_creation(drives: &[(String, u64)], options: &CreateOptions) -> Result<(), CreateError> {
    match options.level {
        ArrayLevel::Plain(level) => plan_blank(drives, level, options.spare_count, options).map(drop),
        ArrayLevel::Nested { outer, inner, groups } => check_nested(drives, (outer, inner), groups, options),
    }
}

fn check_nested(
    drives: &[(String, u64)],
    (outer, inner): (Level, Level),
    groups: usize,
    options: &CreateOptions,
) -> Result<(), CreateError> {
    if options.spare_count > 0 {
        return Err(CreateError::NestedSpares);
    }
    if groups == 0 {
        return Err(CreateError::NoGroups);
    }
    if !drives.len().is_multiple_of(groups) || drives.is_empty() {
        return Err(CreateError::Groups { drives: drives.len(), groups });
    }
    let mut members = Vec::new();
    for (number, group) in drives.chunks(drives.len() / groups).enumerate() {
        let creation = plan_blank(group, inner, 0, options)?;
        let size_bytes = shoal_array::Geometry::new(creation.shape).map_or(0, |geometry| geometry.capacity_bytes());
        members.push((format!("inner array {}-{number}", options.name), size_bytes));
    }
    plan_blank(&members, outer, 0, &CreateOptions { drive_bytes_limit: None, ..options.clone() }).map(drop)
}

/// An array that is not going to be: its identities are zeros, its time is that of no clock.
fn plan_blank(
    drives: &[(String, u64)],
    level: Level,
    spare_count: usize,
    options: &CreateOptions,
) -> Result<shoal_md::Creation, CreateError> {
    let member = |(drive, size_bytes): &(String, u64)| NewMember {
        drive: drive.clone(),
        size_bytes: (*size_bytes).min(options.drive_bytes_limit.unwrap_or(u64::MAX)),
        uuid: Uuid([0; 16]),
    };
    let identity = Identity { array_uuid: Uuid([0; 16]), creation_time: Timestamp::from_seconds(0) };
    let request = request(drives.iter().map(member).collect(), level, spare_count, &options.name, identity, options)?;
    Ok(shoal_md::plan_creation(&request)?)
}

/// In an array of arrays the arrays that can have what was asked for have it; one array alone is
/// refused by md's rules.
fn consistency(level: Level, options: &CreateOptions) -> ConsistencyPolicy {
    let can_have = match options.consistency {
        ConsistencyPolicy::Resync => true,
        ConsistencyPolicy::Bitmap { .. } => !matches!(level, Level::Linear | Level::Raid0(_)),
        ConsistencyPolicy::Ppl => matches!(level, Level::Raid5(_)),
    };
    let is_alone = matches!(options.level, ArrayLevel::Plain(_));
    if can_have || is_alone { options.consistency } else { ConsistencyPolicy::Resync }
}

fn chunk(level: Level, options: &CreateOptions) -> Option<u32> {
    (!matches!(level, Level::Raid1 | Level::Linear)).then_some(options.chunk_bytes)
}

/// What tells one array from another.
struct Identity {
    array_uuid: Uuid,
    creation_time: Timestamp,
}

fn request(
    mut members: Vec<NewMember>,
    level: Level,
    spare_count: usize,
    name: &str,
    identity: Identity,
    options: &CreateOptions,
) -> Result<CreateRequest, CreateError> {
    if spare_count >= members.len() {
        return Err(CreateError::Spares { spares: spare_count, drives: members.len() });
    }
    let spares = members.split_off(members.len() - spare_count);
    Ok(CreateRequest {
        minor: options.metadata,
        level,
        chunk_bytes: chunk(level, options),
        members,
        spares,
        name: name.to_owned(),
        homehost: options.homehost.clone(),
        array_uuid: identity.array_uuid,
        creation_time: identity.creation_time,
        clean: options.assume_clean,
        consistency: consistency(level, options),
    })
}

/// One that no other array has.
fn new_identity<W: World>(tree: &mut Tree<W>) -> Identity {
    Identity {
        array_uuid: Uuid(tree.world.random_bytes()),
        creation_time: Timestamp::from_seconds(tree.world.unix_time_s()),
    }
}

/// The targets as members, each with an identity of its own.
fn new_members<W: World>(tree: &mut Tree<W>, targets: &[Target], options: &CreateOptions) -> Vec<NewMember> {
    let member = |&target| {
        let size_bytes = tree.size_bytes(target).min(options.drive_bytes_limit.unwrap_or(u64::MAX));
        NewMember { drive: tree.name(target), size_bytes, uuid: Uuid(tree.world.random_bytes()) }
    };
    targets.iter().map(member).collect()
}

fn create_node<W: World>(
    tree: &mut Tree<W>,
    targets: &[Target],
    level: Level,
    spare_count: usize,
    name: &str,
    options: &CreateOptions,
    open: &OpenOptions,
) -> Result<NodeId, CreateError> {
    let members = new_members(tree, targets, options);
    let identity = new_identity(tree);
    let creation = shoal_md::plan_creation(&request(members, level, spare_count, name, identity, options)?)?;
    let bitmap = creation.bitmap.as_ref();
    let mut members: Vec<(Target, Superblock)> = targets.iter().copied().zip(creation.superblocks).collect();
    if options.metadata == MinorVersion::End {
        for (target, superblock) in &mut members {
            // Wherever the data end: at the drive's end it is looked for.
            let place = options.metadata.superblock_sector(tree.size_bytes(*target) / SECTOR_BYTES);
            superblock.super_offset_sectors = place.unwrap_or(superblock.super_offset_sectors);
        }
    }
    for (target, superblock) in &members {
        clear_superblocks(tree, *target)?;
        if let Some(header) = bitmap {
            let written = write_new_bitmap(tree, *target, superblock, header)?;
            written.map_err(|_| CreateError::Write { drive: tree.name(*target) })?;
        }
        if let Some(log) = LogPlace::of(superblock) {
            let cleared = tree.clear_log(*target, log, None, superblock.array_uuid)?;
            cleared.map_err(|_| CreateError::Write { drive: tree.name(*target) })?;
        }
        let written = tree.write_small(*target, superblock.super_offset_bytes(), superblock.encode().as_slice())?;
        written.map_err(|_| CreateError::Write { drive: tree.name(*target) })?;
    }
    let node = add_node(tree, &members, open)?;
    record_assembly(tree)?;
    Ok(node)
}

/// Takes away superblocks of arrays that a target was a member of, so that nobody takes it for one.
/// What cannot be read there is written too: a drive with an unreadable sector takes it for good
/// again, and may hold a superblock in it.
pub(crate) fn clear_superblocks<W: World>(tree: &mut Tree<W>, target: Target) -> Result<(), CreateError> {
    let size_bytes = tree.size_bytes(target);
    for (_, offset) in superblock_places(size_bytes) {
        let mut bytes = [0; shoal_md::SUPERBLOCK_BYTES];
        let write_error = |tree: &Tree<W>| CreateError::Write { drive: tree.name(target) };
        let read = tree.read_small(target, offset, &mut bytes)?;
        if read.is_err() || shoal_md::Unverified::has_magic(&bytes) {
            bytes.fill(0);
            tree.write_small(target, offset, &bytes)?.map_err(|_| write_error(tree))?;
        }
    }
    Ok(())
}
