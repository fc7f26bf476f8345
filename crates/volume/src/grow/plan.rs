//! Whether an array may grow as asked, and what its superblocks then say. Nothing is written here.

use shoal_array::{Geometry, Level, Shape};
use shoal_drive::DriveId;
use shoal_md::{
    DiskLevel, Features, MemberUse, Membership, MetadataVersion, NewMember, ReadOnlyReason, RefusalReason,
    ReshapeTarget, SECTOR_BYTES, Superblock, Uuid,
};

use super::drives::Drives;
use super::error::{GrowError, GrowRefusal};
use super::options::{Absent, GrowOptions};
use super::roll::{Roll, Step};
use crate::limits::CHUNK_BYTES_MAX;
use crate::world::World;

/// What the start of the data is moved by a multiple of, where there is room for it.
const ALIGNMENT_BYTES: u64 = 1 << 20;

/// What the array is to say from its first update on.
pub(super) fn plan<W: World>(
    drives: &mut Drives<W>,
    roll: &Roll,
    added: &[DriveId],
    options: &GrowOptions,
) -> Result<Step, GrowError> {
    check_state(roll).and_then(|()| check_bitmap(roll)).map_err(|why| roll.refused(why))?;
    let has = roll.superblock().raid_devices as usize;
    let wanted = options.raid_devices.unwrap_or(has);
    let more = wanted.checked_sub(has).ok_or_else(|| roll.refused(GrowRefusal::FewerMembers { has }))?;
    let target = target(roll, options).map_err(|why| roll.refused(why))?;
    let is_new = target.is_some_and(|(level, chunk_bytes)| {
        (level, u64::from(chunk_bytes)) != (roll.assembly.level, roll.superblock().chunk_bytes())
    });
    if more == 0 && !is_new {
        return Err(roll.refused(GrowRefusal::NothingToDo));
    }
    let mut membership = roll.membership.clone();
    let mut numbers = spares(&membership);
    let spares = numbers.len();
    if more < added.len() || more > added.len() + spares {
        return Err(roll.refused(GrowRefusal::Newcomers { wanted: more, spares, added: added.len() }));
    }
    numbers.truncate(more - added.len());
    let newcomers = number_newcomers(drives, added, &mut membership)?;
    numbers.extend(newcomers.iter().map(|(_, dev_number)| dev_number));
    let widened = match target {
        None => membership.widen(&numbers),
        Some((level, chunk_bytes)) => {
            let geometry = new_shape(roll, level, chunk_bytes, wanted);
            geometry.map_err(|cause| GrowError::Geometry { name: roll.name(), cause })?;
            let shift_bytes = shift_bytes(&membership, chunk_bytes).map_err(|why| roll.refused(why))?;
            membership.start_reshape(ReshapeTarget { level, chunk_bytes, shift_bytes }, &numbers)
        }
    };
    widened.expect("these members are in the set");
    Ok(Step { membership, newcomers })
}

/// Gives drives that were added a number each.
fn number_newcomers<W: World>(
    drives: &mut Drives<W>,
    added: &[DriveId],
    membership: &mut Membership,
) -> Result<Vec<(DriveId, u32)>, GrowError> {
    let mut newcomers = Vec::new();
    for &drive in added {
        let uuid = Uuid(drives.world().random_bytes());
        let member = NewMember { drive: drives.name(drive), size_bytes: drives.size_bytes(drive), uuid };
        newcomers.push((drive, membership.add_newcomer(&member)?));
    }
    Ok(newcomers)
}

/// Numbers of the members that wait.
fn spares(membership: &Membership) -> Vec<u32> {
    let spares = membership.superblocks().iter().filter(|superblock| superblock.own_use() == MemberUse::Spare);
    spares.map(|superblock| superblock.dev_number).collect()
}

fn new_shape(roll: &Roll, level: Level, chunk_bytes: u32, count: usize) -> Result<Geometry, shoal_array::ShapeError> {
    Geometry::new(Shape { level, chunk_bytes, member_bytes: vec![roll.superblock().used_bytes(); count] })
}

/// A bitmap would have to be kept in two shapes.
fn check_bitmap(roll: &Roll) -> Result<(), GrowRefusal> {
    if roll.superblock().features.any_of(Features::BITMAP) { Err(GrowRefusal::Bitmap) } else { Ok(()) }
}

/// What must be so before an array is changed.
pub(super) fn check_state(roll: &Roll) -> Result<(), GrowRefusal> {
    if roll.is_reshaping() {
        return Err(GrowRefusal::UnderWay);
    }
    check_features(roll)?;
    if !roll.is_complete() {
        return Err(GrowRefusal::Degraded);
    }
    if !roll.superblock().is_clean() && !matches!(roll.assembly.level, Level::Linear | Level::Raid0(_)) {
        return Err(GrowRefusal::Dirty);
    }
    Ok(())
}

/// What neither the start of a reshape nor its going on can do with.
fn check_features(roll: &Roll) -> Result<(), GrowRefusal> {
    if let Some(&reason) = roll.assembly.refused.iter().find(|reason| **reason != RefusalReason::Reshape) {
        return Err(GrowRefusal::NotUsable(reason));
    }
    let superblock = roll.superblock();
    if superblock.version() == MetadataVersion::Legacy {
        return Err(GrowRefusal::Legacy);
    }
    if superblock.features.any_of(Features::PPL | Features::MULTIPLE_PPLS) {
        return Err(GrowRefusal::PartialParityLog);
    }
    let blocks = roll.assembly.read_only.iter().any(|reason| *reason != ReadOnlyReason::Legacy);
    let has_bad_blocks = roll.membership.superblocks().iter().any(|own| own.features.any_of(Features::BAD_BLOCKS));
    if blocks || has_bad_blocks { Err(GrowRefusal::Member) } else { Ok(()) }
}

/// Level with layout, and chunk, that a reshape is to lead to; none if the array grows without one.
fn target(roll: &Roll, options: &GrowOptions) -> Result<Option<(Level, u32)>, GrowRefusal> {
    let level = match (roll.assembly.level, options.layout) {
        (Level::Linear | Level::Raid1, None) if options.chunk_bytes.is_none() => return Ok(None),
        (Level::Linear | Level::Raid1, _) => return Err(GrowRefusal::NoChunk),
        (Level::Raid0(_) | Level::Raid10(_), _) => return Err(GrowRefusal::Level),
        (Level::Raid4, Some(_)) => return Err(GrowRefusal::Layout),
        (Level::Raid5(_), Some(layout)) => Level::Raid5(layout),
        (Level::Raid6(_), Some(layout)) => Level::Raid6(layout),
        (same, None) => same,
    };
    if DiskLevel::new(level).level() != Ok(level) {
        return Err(GrowRefusal::Layout);
    }
    let old_bytes = u32::try_from(roll.superblock().chunk_bytes()).map_err(|_| GrowRefusal::ChunkTooLarge)?;
    let chunk_bytes = options.chunk_bytes.unwrap_or(old_bytes);
    let member_bytes = roll.superblock().used_bytes();
    if chunk_bytes.max(old_bytes) > CHUNK_BYTES_MAX {
        return Err(GrowRefusal::ChunkTooLarge);
    }
    let fits = |chunk_bytes: u32| chunk_bytes != 0 && member_bytes.is_multiple_of(u64::from(chunk_bytes));
    if !fits(chunk_bytes) || !fits(old_bytes) {
        return Err(GrowRefusal::MemberBytes { member_bytes });
    }
    Ok(Some((level, chunk_bytes)))
}

/// By how much the data move: half of the room there is, as mdadm takes, so that there is some left
/// for the next time; all of it if half does not hold the larger chunk.
fn shift_bytes(membership: &Membership, chunk_bytes: u32) -> Result<u32, GrowRefusal> {
    let old_chunk_bytes = membership.superblocks().iter().map(Superblock::chunk_bytes).max().unwrap_or(0);
    let needed_bytes = old_chunk_bytes.max(u64::from(chunk_bytes));
    let free = membership.superblocks().iter().map(Superblock::free_sectors_before_data).min();
    let free_bytes = free.unwrap_or(0) * SECTOR_BYTES;
    let rounded = |bytes: u64, to: u64| bytes - bytes % to;
    let choices = [
        rounded(free_bytes / 2, needed_bytes.max(ALIGNMENT_BYTES)),
        rounded(free_bytes / 2, needed_bytes),
        rounded(free_bytes, needed_bytes),
    ];
    let shift_bytes = choices.into_iter().find(|shift| *shift > 0);
    let shift_bytes = shift_bytes.ok_or(GrowRefusal::NoRoom { free_bytes, needed_bytes })?;
    Ok(u32::try_from(shift_bytes).unwrap_or(1 << 30))
}

/// Whether a reshape that is under way is one that can be gone on with here.
pub(super) fn check_continuable(roll: &Roll, absent: Absent) -> Result<(), GrowError> {
    let superblock = roll.superblock();
    let reshape = superblock.reshape;
    let new = DiskLevel { level: reshape.new_level, layout: reshape.new_layout };
    check_features(roll).and_then(|()| check_bitmap(roll)).map_err(|why| roll.refused(why))?;
    match (roll.missing(), absent) {
        (Some(0), _) => {}
        (Some(missing), Absent::Refused) => {
            return Err(roll.refused(GrowRefusal::Absent { missing, stale: roll.stale() }));
        }
        (Some(missing), Absent::LeftBehind) if missing <= roll.redundancy() => {}
        _ => return Err(roll.refused(GrowRefusal::TooFewMembers)),
    }
    let chunks = [superblock.chunk_sectors, reshape.new_chunk_sectors].map(|sectors| u64::from(sectors) * SECTOR_BYTES);
    let count = superblock.raid_devices as usize;
    let delta = usize::try_from(reshape.delta_devices).ok().filter(|delta| *delta < count);
    let is_backwards = superblock.features.any_of(Features::RESHAPE_BACKWARDS);
    let fits = |chunk_bytes: &u64| {
        (1..=u64::from(CHUNK_BYTES_MAX)).contains(chunk_bytes) && superblock.used_bytes().is_multiple_of(*chunk_bytes)
    };
    let is_ours = !is_backwards
        && delta.is_some()
        && new.level().is_ok()
        && matches!(roll.assembly.level, Level::Raid4 | Level::Raid5(_) | Level::Raid6(_))
        && reshape.new_level == superblock.level_number
        && chunks.iter().all(fits)
        && roll.membership.superblocks().iter().all(moves_within_its_room);
    if !is_ours {
        return Err(roll.refused(GrowRefusal::Foreign));
    }
    let [old, new] = roll.shapes().map(Geometry::new);
    let damaged = |cause| GrowError::Geometry { name: roll.name(), cause };
    let (_, new) = (old.map_err(damaged)?, new.map_err(damaged)?);
    let unit_bytes = chunks[0].max(chunks[1]) * new.data_count() as u64;
    let position_bytes = roll.position_bytes();
    if position_bytes > new.capacity_bytes() || !position_bytes.is_multiple_of(unit_bytes) {
        return Err(roll.refused(GrowRefusal::Foreign));
    }
    Ok(())
}

/// The data move down, if at all, and over nothing.
fn moves_within_its_room(superblock: &Superblock) -> bool {
    let moved = i64::from(superblock.reshape.new_offset_sectors);
    moved <= 0 && moved.unsigned_abs() <= superblock.free_sectors_before_data()
}
