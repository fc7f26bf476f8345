//! New arrays: which superblocks mdadm would write for them.
//!
//! The bytes are mdadm's for the same metadata version and consistency policy with `--assume-clean`
//! (or, where the array is not in sync yet, what it writes for levels that it resyncs): members
//! have the roles `0..`, spares the numbers behind them. mdadm itself starts RAID4 and RAID5
//! without the last member and rebuilds onto it; that is a choice of how to initialise parity, not
//! of the format.
//!
//! Superblocks alone do not make an array: what a bitmap or a PPL is to hold at first has to be
//! written too, to each superblock's [`Superblock::bitmap_area`] or [`Superblock::ppl_area`].

mod places;

use shoal_array::{Geometry, Level, Role, Shape, ShapeError};
use shoal_text::format_size;

use crate::level::DiskLevel;
use crate::place::SECTOR_BYTES;
use crate::superblock::MemberUse;
use crate::{BitmapHeader, Features, MinorVersion, Superblock, Timestamp, Uuid};

use crate::limits::{MAX_DEV_LIMIT, NAME_BYTES_MAX, PPL_MEMBERS_MAX};
use places::{Beside, DataPlace};
pub(crate) use places::{bitmap_sectors, raid10_sync_sectors};

/// A drive that is to become a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMember {
    /// What people call the drive; for errors.
    pub drive: String,
    /// The drive's size.
    pub size_bytes: u64,
    /// The UUID it is to have as a member; random and different for each.
    pub uuid: Uuid,
}

impl NewMember {
    pub(crate) fn sectors(&self) -> u64 {
        self.size_bytes / SECTOR_BYTES
    }
}

/// How mirrors or parity are made to agree with the data again after a crash; mdadm's
/// `--consistency-policy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConsistencyPolicy {
    /// By a resync of everything; levels without redundancy need nothing else.
    #[default]
    Resync,
    /// By a resync of the chunks that a write-intent bitmap names.
    Bitmap {
        /// What one bit stands for, a power of two; mdadm's choice if not given.
        chunk_bytes: Option<u64>,
    },
    /// By a log of partial parity, for RAID5: it saves a degraded array, too.
    Ppl,
}

/// What a new array is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateRequest {
    /// Where the superblocks are to lie.
    pub minor: MinorVersion,
    /// Level and layout.
    pub level: Level,
    /// The chunk; md's default (512 KiB, none for RAID1 and linear) if not given.
    pub chunk_bytes: Option<u32>,
    /// The members in the order of their roles.
    pub members: Vec<NewMember>,
    /// Drives that wait for a member to fail.
    pub spares: Vec<NewMember>,
    /// The array's name.
    pub name: String,
    /// The host's name, to be put before the array's if both fit.
    pub homehost: Option<String>,
    /// The array's UUID; random.
    pub array_uuid: Uuid,
    /// The time.
    pub creation_time: Timestamp,
    /// Whether mirrors and parity agree already (or do not matter), so that no resync is needed.
    /// Linear and RAID0 are always clean.
    pub clean: bool,
    /// What brings it back in sync after a crash.
    pub consistency: ConsistencyPolicy,
}

/// A new array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Creation {
    /// What is to be written: the members' in the order of their roles, then the spares'.
    pub superblocks: Vec<Superblock>,
    /// The array's shape.
    pub shape: Shape,
    /// The header of the bitmap that is to be written to every superblock's
    /// [`Superblock::bitmap_area`], with all bits set, if there is one.
    pub bitmap: Option<BitmapHeader>,
}

/// Why no such array can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreateError {
    /// Level, layout, chunk, or number of members.
    #[error("no such {level} array: {cause}")]
    Shape {
        /// The level.
        level: Level,
        /// What is wrong with the rest.
        cause: ShapeError,
    },
    /// A level without chunks.
    #[error("{level} has no chunk: leave the chunk out")]
    ChunkGiven {
        /// The level.
        level: Level,
    },
    /// A chunk that is none.
    #[error("a chunk of {chunk_bytes} bytes does not work: give a power of two of 4 KiB or more")]
    Chunk {
        /// What was asked for.
        chunk_bytes: u32,
    },
    /// A level that cannot use a spare.
    #[error("{level} cannot use spares: leave them out, or make them members")]
    Spares {
        /// The level.
        level: Level,
    },
    /// More drives than a superblock names.
    #[error("{given} members and spares are too many: md names at most {MAX_DEV_LIMIT}")]
    TooManyDrives {
        /// Members and spares.
        given: usize,
    },
    /// A drive without room.
    #[error("{}", too_small(drive, *size_bytes, *needed_bytes))]
    DriveTooSmall {
        /// The drive.
        drive: String,
        /// Its size.
        size_bytes: u64,
        /// The least that would do.
        needed_bytes: u64,
    },
    /// A policy that does nothing for the level.
    #[error("{level} cannot have {what}: leave it out, or choose another level")]
    Consistency {
        /// The level.
        level: Level,
        /// What was asked for.
        what: &'static str,
    },
    /// PPL on more members than Linux takes.
    #[error("a PPL array of {members} members is too large: Linux takes at most {PPL_MEMBERS_MAX}")]
    PplMembers {
        /// What was asked for.
        members: usize,
    },
    /// A bitmap's chunk that does not work.
    #[error(
        "a bitmap chunk of {chunk_bytes} bytes does not work: give a power of two from {least_bytes} to 2147483648"
    )]
    BitmapChunk {
        /// What was asked for.
        chunk_bytes: u64,
        /// The least that would do.
        least_bytes: u32,
    },
    /// A bitmap on drives too small, or too large, for one.
    #[error("there is no room for a write-intent bitmap: {room_bytes} bytes are kept for it; leave it out")]
    BitmapRoom {
        /// What there is.
        room_bytes: u64,
    },
    /// The name does not fit, or not on one line.
    #[error(transparent)]
    Name(#[from] NameError),
}

/// A name that a superblock does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name {name:?} does not work: give at most {NAME_BYTES_MAX} bytes, none of them a control character")]
pub struct NameError {
    /// What was asked for.
    pub name: String,
}

/// What is said of a drive that holds too little; sizes that look alike differ by what is added.
pub(crate) fn too_small(drive: &str, size_bytes: u64, needed_bytes: u64) -> String {
    let [size, needed, more] = [size_bytes, needed_bytes, needed_bytes.saturating_sub(size_bytes)].map(format_size);
    format!("{drive} is too small: it has {size}, and {needed} are needed, {more} more: give a larger drive")
}

const DEFAULT_CHUNK_BYTES: u32 = 512 << 10;
/// The kernel takes no member with less room.
const LEAST_DATA_SECTORS: u64 = 10;
/// Superblocks are made to end on a sector; the table of roles takes what is left.
const ROLES_IN_FIRST_SECTOR: usize = 128;
const ROLES_PER_SECTOR: usize = 256;

/// The superblocks of a new array, and its shape.
pub fn plan_creation(request: &CreateRequest) -> Result<Creation, CreateError> {
    let level = request.level;
    check_consistency(request)?;
    let chunk_bytes = chunk_bytes(level, request.chunk_bytes)?;
    if !has_one_size(level) && !request.spares.is_empty() {
        return Err(CreateError::Spares { level });
    }
    let given = request.members.len() + request.spares.len();
    if given > MAX_DEV_LIMIT {
        return Err(CreateError::TooManyDrives { given });
    }
    let data = DataPlace::of(request, chunk_bytes)?;
    let size_sectors = data.size_sectors.unwrap_or(0);
    let beside = Beside::of(request, size_sectors)?;

    let mut common = common_superblock(request, chunk_bytes)?;
    common.size_sectors = size_sectors;
    common.data_offset_sectors = data.data_offset_sectors;
    beside.record(&mut common, request.consistency);
    let drives = (0..).zip(request.members.iter().chain(&request.spares));
    let superblocks: Vec<Superblock> = drives
        .map(|(dev_number, drive)| {
            let mut superblock = common.clone();
            superblock.dev_number = dev_number;
            superblock.device_uuid = drive.uuid;
            beside.place(&mut superblock, request.minor, drive.sectors());
            superblock
        })
        .collect();
    let member_bytes = superblocks[..request.members.len()].iter().map(Superblock::used_bytes).collect();
    let shape = Shape { level, chunk_bytes, member_bytes };
    Geometry::new(shape.clone()).map_err(|cause| CreateError::Shape { level, cause })?;
    let bitmap = beside.bitmap.map(|bitmap| bitmap.header(request.array_uuid));
    Ok(Creation { superblocks, shape, bitmap })
}

/// Whether the array uses the same of every member.
fn has_one_size(level: Level) -> bool {
    !matches!(level, Level::Linear | Level::Raid0(_))
}

fn check_consistency(request: &CreateRequest) -> Result<(), CreateError> {
    let level = request.level;
    match request.consistency {
        ConsistencyPolicy::Bitmap { .. } if !has_one_size(level) => {
            Err(CreateError::Consistency { level, what: "a write-intent bitmap" })
        }
        ConsistencyPolicy::Ppl if !matches!(level, Level::Raid5(_)) => {
            Err(CreateError::Consistency { level, what: "a partial-parity log (PPL)" })
        }
        ConsistencyPolicy::Ppl if request.members.len() > PPL_MEMBERS_MAX => {
            Err(CreateError::PplMembers { members: request.members.len() })
        }
        ConsistencyPolicy::Resync | ConsistencyPolicy::Bitmap { .. } | ConsistencyPolicy::Ppl => Ok(()),
    }
}

fn chunk_bytes(level: Level, wanted: Option<u32>) -> Result<u32, CreateError> {
    match (level, wanted) {
        (Level::Raid1, Some(_)) => Err(CreateError::ChunkGiven { level }),
        (Level::Raid1 | Level::Linear, None) => Ok(0),
        (_, None) => Ok(DEFAULT_CHUNK_BYTES),
        (_, Some(chunk_bytes)) if chunk_bytes.is_power_of_two() && chunk_bytes >= 4096 => Ok(chunk_bytes),
        (_, Some(chunk_bytes)) => Err(CreateError::Chunk { chunk_bytes }),
    }
}

/// What is the same on all members.
fn common_superblock(request: &CreateRequest, chunk_bytes: u32) -> Result<Superblock, CreateError> {
    let level = request.level;
    let disk_level = DiskLevel::new(level);
    let mut superblock = Superblock::blank(max_dev(request.members.len() + request.spares.len()));
    superblock.array_uuid = request.array_uuid;
    superblock.name_bytes = name_bytes(&request.name, request.homehost.as_deref())?;
    superblock.creation_time = request.creation_time;
    superblock.update_time = request.creation_time;
    superblock.level_number = disk_level.level;
    superblock.layout_number = disk_level.layout;
    superblock.chunk_sectors = chunk_bytes / SECTOR_BYTES as u32;
    superblock.raid_devices = u32::try_from(request.members.len()).expect("bounded before");
    let clean = request.clean || matches!(level, Level::Linear | Level::Raid0(_));
    superblock.resync_offset_sectors = if clean { Superblock::CLEAN } else { 0 };
    superblock.features = Features(0)
        .with(Features::RAID0_LAYOUT, records_raid0_layout(request, chunk_bytes))
        .with(Features::BITMAP, matches!(request.consistency, ConsistencyPolicy::Bitmap { .. }))
        .with(Features::PPL, request.consistency == ConsistencyPolicy::Ppl);
    for (dev_number, role) in (0..superblock.raid_devices).zip((0..).map(Role)) {
        let recorded = superblock.set_member_use(dev_number, MemberUse::Active(role));
        assert!(recorded, "the table has room for all members");
    }
    Ok(superblock)
}

/// mdadm makes the table of roles end with the superblock's last sector.
fn max_dev(drives: usize) -> usize {
    let further = drives.saturating_sub(ROLES_IN_FIRST_SECTOR).div_ceil(ROLES_PER_SECTOR);
    (ROLES_IN_FIRST_SECTOR + further * ROLES_PER_SECTOR).min(MAX_DEV_LIMIT)
}

/// mdadm says which RAID0 layout an array has if its drives differ in size, and it means: in bytes,
/// by as many as there are sectors in a chunk.
fn records_raid0_layout(request: &CreateRequest, chunk_bytes: u32) -> bool {
    let unit = chunk_bytes / SECTOR_BYTES as u32;
    let mut sizes = request.members.iter().map(|member| member.size_bytes / u64::from(unit.max(1)));
    let first = sizes.next();
    matches!(request.level, Level::Raid0(_)) && sizes.any(|size| Some(size) != first)
}

/// `homehost:name` if it fits and the name does not name a host already, else the name.
pub(crate) fn name_bytes(name: &str, homehost: Option<&str>) -> Result<[u8; 32], NameError> {
    if name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
        return Err(NameError { name: name.to_owned() });
    }
    let full = match homehost {
        Some(host) if !name.contains(':') && host.len() + 1 + name.len() <= NAME_BYTES_MAX => format!("{host}:{name}"),
        _ => name.to_owned(),
    };
    let mut bytes = [0; 32];
    bytes[..full.len()].copy_from_slice(full.as_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests;
