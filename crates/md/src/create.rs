//! New arrays: which superblocks mdadm would write for them.
//!
//! The bytes are mdadm's for `--metadata=1.2 --bitmap=none --assume-clean` (or, where the array is not in sync yet,
//! what it writes for levels that it resyncs): members have the roles `0..`, spares the numbers behind them. mdadm itself
//! starts RAID4 and RAID5 without the last member and rebuilds onto it; that is a choice of how to initialise parity, not
//! of the format.

use shoal_array::{Geometry, Level, Role, Shape, ShapeError};

use crate::level::DiskLevel;
use crate::place::{SECTOR_BYTES, creation_bad_block_log, creation_data_offset_sectors};
use crate::superblock::{MAX_DEV_LIMIT, MemberUse};
use crate::{Features, MinorVersion, Superblock, Timestamp, Uuid};

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

/// What a new array is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateRequest {
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
    /// Whether mirrors and parity agree already (or do not matter), so that no resync is needed. Linear and RAID0 are
    /// always clean.
    pub clean: bool,
}

/// A new array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Creation {
    /// What is to be written: the members' in the order of their roles, then the spares'.
    pub superblocks: Vec<Superblock>,
    /// The array's shape.
    pub shape: Shape,
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
    #[error("{drive} is too small: it has {size_bytes} bytes, {needed_bytes} are needed at least")]
    DriveTooSmall {
        /// The drive.
        drive: String,
        /// Its size.
        size_bytes: u64,
        /// The least that would do.
        needed_bytes: u64,
    },
    /// The name does not fit, or not on one line.
    #[error("the name {name:?} does not work: give at most {NAME_LIMIT} bytes, none of them a control character")]
    Name {
        /// What was asked for.
        name: String,
    },
}

const DEFAULT_CHUNK_BYTES: u32 = 512 << 10;
/// What RAID1 sizes are rounded down to, so that the array can be made a RAID5 later.
const RAID1_ROUNDING_SECTORS: u64 = (64 << 10) / SECTOR_BYTES;
/// mdadm counts sizes in KiB.
const KIB_SECTORS: u64 = 2;
/// The kernel takes no member with less room.
const LEAST_DATA_SECTORS: u64 = 10;
/// The last byte of the field stays 0.
const NAME_LIMIT: usize = 31;
/// Superblocks are made to end on a sector; the table of roles takes what is left.
const ROLES_IN_FIRST_SECTOR: usize = 128;
const ROLES_PER_SECTOR: usize = 256;

/// The superblocks of a new array, in version 1.2, and its shape.
pub fn plan_creation(request: &CreateRequest) -> Result<Creation, CreateError> {
    let level = request.level;
    let chunk_bytes = chunk_bytes(level, request.chunk_bytes)?;
    let one_size = !matches!(level, Level::Linear | Level::Raid0(_));
    if !one_size && !request.spares.is_empty() {
        return Err(CreateError::Spares { level });
    }
    let given = request.members.len() + request.spares.len();
    if given > MAX_DEV_LIMIT {
        return Err(CreateError::TooManyDrives { given });
    }
    let Places { data_offset_sectors, sizes } = places(request, chunk_bytes)?;
    let size_sectors = if one_size { sizes.iter().map(|size| size.used_sectors).min().unwrap_or(0) } else { 0 };
    let member_bytes = sizes[..request.members.len()]
        .iter()
        .map(|size| SECTOR_BYTES * if one_size { size_sectors } else { size.data_sectors })
        .collect();
    let shape = Shape { level, chunk_bytes, member_bytes };
    Geometry::new(shape.clone()).map_err(|cause| CreateError::Shape { level, cause })?;

    let mut common = common_superblock(request, chunk_bytes)?;
    common.size_sectors = size_sectors;
    common.data_offset_sectors = data_offset_sectors;
    common.bad_block_log = creation_bad_block_log(size_sectors);
    let superblocks = (0..)
        .zip(request.members.iter().chain(&request.spares))
        .zip(&sizes)
        .map(|((dev_number, drive), size)| {
            let mut superblock = common.clone();
            superblock.dev_number = dev_number;
            superblock.device_uuid = drive.uuid;
            superblock.data_size_sectors = size.data_sectors;
            superblock
        })
        .collect();
    Ok(Creation { superblocks, shape })
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

/// Where the data of all members start, and what each drive has room for: the members, then the spares.
struct Places {
    data_offset_sectors: u64,
    sizes: Vec<DataSizes>,
}

fn places(request: &CreateRequest, chunk_bytes: u32) -> Result<Places, CreateError> {
    let chunk_sectors = u64::from(chunk_bytes) / SECTOR_BYTES;
    let first_drive_sectors = request.members.first().map_or(0, |member| member.size_bytes / SECTOR_BYTES);
    let data_offset_sectors = creation_data_offset_sectors(first_drive_sectors, chunk_sectors);
    let drives = request.members.iter().chain(&request.spares);
    let sizes = drives
        .map(|drive| data_sizes(request.level, drive, data_offset_sectors, chunk_sectors))
        .collect::<Result<_, _>>()?;
    Ok(Places { data_offset_sectors, sizes })
}

/// Room for data on one drive.
struct DataSizes {
    /// All of it.
    data_sectors: u64,
    /// As mdadm rounds it for levels that use the same of each member.
    used_sectors: u64,
}

fn data_sizes(
    level: Level,
    drive: &NewMember,
    data_offset_sectors: u64,
    chunk_sectors: u64,
) -> Result<DataSizes, CreateError> {
    let rounding_sectors = match level {
        Level::Raid1 => RAID1_ROUNDING_SECTORS,
        _ => chunk_sectors.max(KIB_SECTORS),
    };
    let data_sectors = (drive.size_bytes / SECTOR_BYTES).saturating_sub(data_offset_sectors);
    let used_sectors = data_sectors - data_sectors % rounding_sectors;
    if used_sectors == 0 || data_sectors < LEAST_DATA_SECTORS {
        let needed_sectors = data_offset_sectors + rounding_sectors.max(LEAST_DATA_SECTORS);
        return Err(CreateError::DriveTooSmall {
            drive: drive.drive.clone(),
            size_bytes: drive.size_bytes,
            needed_bytes: needed_sectors * SECTOR_BYTES,
        });
    }
    Ok(DataSizes { data_sectors, used_sectors })
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
    superblock.super_offset_sectors =
        MinorVersion::Start4K.superblock_sector(u64::MAX).expect("the place does not depend on the size");
    let clean = request.clean || matches!(level, Level::Linear | Level::Raid0(_));
    superblock.resync_offset_sectors = if clean { Superblock::CLEAN } else { 0 };
    superblock.features = superblock.features.with(Features::RAID0_LAYOUT, records_raid0_layout(request, chunk_bytes));
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

/// mdadm says which RAID0 layout an array has if its drives differ in size, and it means: in bytes, by as many as there
/// are sectors in a chunk.
fn records_raid0_layout(request: &CreateRequest, chunk_bytes: u32) -> bool {
    let unit = chunk_bytes / SECTOR_BYTES as u32;
    let mut sizes = request.members.iter().map(|member| member.size_bytes / u64::from(unit.max(1)));
    let first = sizes.next();
    matches!(request.level, Level::Raid0(_)) && sizes.any(|size| Some(size) != first)
}

/// `homehost:name` if it fits and the name does not name a host already, else the name.
fn name_bytes(name: &str, homehost: Option<&str>) -> Result<[u8; 32], CreateError> {
    if name.len() > NAME_LIMIT || name.chars().any(char::is_control) {
        return Err(CreateError::Name { name: name.to_owned() });
    }
    let full = match homehost {
        Some(host) if !name.contains(':') && host.len() + 1 + name.len() <= NAME_LIMIT => format!("{host}:{name}"),
        _ => name.to_owned(),
    };
    let mut bytes = [0; 32];
    bytes[..full.len()].copy_from_slice(full.as_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests;
