//! What is known to be missing on members, before anything of their data is read.

use std::ops::Range;

use shoal_drive::{Access, Drive, DriveId};
use shoal_md::{BadBlockList, Choice};
use shoal_volume::{ContentMap, Features, Verdict};

use crate::plan::{Group, RecoveryPlan};
use crate::reads::merged;
use crate::search::Found;

/// The members of a plan, as its overlay numbers them.
pub(crate) struct Damage {
    members: Vec<Member>,
}

struct Member {
    /// Where its data are, if it takes part.
    area: Range<u64>,
    /// What of its data area is known to be missing, in ascending order: cut off, not copied, bad.
    missing: Vec<Range<u64>>,
    /// Up to where it is filled, if it is not in sync.
    filled: Option<u64>,
}

impl Damage {
    /// Looks at the members that take part.
    pub(crate) fn of(plan: &RecoveryPlan, map: &ContentMap) -> Self {
        let with_verdict = |group| Group::used(group).into_iter().map(move |(member, _)| (group, member));
        let used = plan.groups.iter().flat_map(with_verdict);
        let member = |(drive, (group, member))| {
            let area = map.data_area(drive).unwrap_or(0..0);
            Member { missing: missing_of(member, &area), filled: filled_of(group, member, &area), area }
        };
        Self { members: (0..).map(DriveId).zip(used).map(member).collect() }
    }

    /// Whether nothing is missing on what is there.
    pub(crate) fn is_none(&self) -> bool {
        self.members.iter().all(|member| member.missing.is_empty())
    }

    /// Whether a member has a range, for all that is known.
    pub(crate) fn spares(&self, drive: DriveId, range: &Range<u64>) -> bool {
        let Member { missing, filled, .. } = &self.members[drive.0 as usize];
        let next = missing.partition_point(|missing| missing.end <= range.start);
        filled.is_none() && missing.get(next).is_none_or(|missing| missing.start >= range.end)
    }

    /// Parts of drives at whose ends something changes.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (DriveId, Range<u64>)> {
        (0..).map(DriveId).zip(&self.members).flat_map(|(drive, member)| {
            let filled = member.filled.map(|end| member.area.start..end);
            let parts = member.missing.iter().cloned().chain(filled).chain([member.area.clone()]);
            parts.filter(|part| !part.is_empty()).map(move |part| (drive, part))
        })
    }
}

/// What a member lacks within its data area.
fn missing_of(member: &Found, area: &Range<u64>) -> Vec<Range<u64>> {
    let cut_off = member.present_bytes..member.size_bytes;
    let all = member.holes.iter().cloned().chain([cut_off]).chain(bad_blocks_of(member));
    let within = all.map(|range| range.start.max(area.start)..range.end.min(area.end));
    merged(within.filter(|range| range.start < range.end).collect())
}

/// What its log of bad blocks lists. One that makes no sense has been refused before.
fn bad_blocks_of(member: &Found) -> Vec<Range<u64>> {
    let superblock = &member.superblock;
    if !superblock.features.any_of(Features::BAD_BLOCKS) {
        return Vec::new();
    }
    let Some((area, length)) = superblock.bad_block_log_area().zip(superblock.bad_block_log.bytes()) else {
        return Vec::new();
    };
    let mut bytes = vec![0; length];
    let drive = Drive::open(&member.path, Access::Read).ok();
    let read = drive.and_then(|drive| drive.read_at(member.offset + area.offset_bytes, &mut bytes).ok());
    let list = read.and_then(|()| BadBlockList::decode(superblock.bad_block_log, &bytes).ok());
    let start = superblock.data_offset_bytes();
    let within = list.map(|list| list.within_data(superblock)).unwrap_or_default();
    within.into_iter().map(|range| start + range.start..start + range.end).collect()
}

fn filled_of(group: &Group, member: &Found, area: &Range<u64>) -> Option<u64> {
    let index = group.members.iter().position(|other| std::ptr::eq(other, member))?;
    match group.choice(index) {
        Some(Choice::AsItSays(Verdict::Rebuilding { position_bytes, .. })) => {
            Some((area.start + position_bytes).min(area.end))
        }
        _ => None,
    }
}

/// From one multiple of this to the next content lies on the same members, and there in one piece,
/// unless the data area of one ends.
pub(crate) fn unit_bytes(plan: &RecoveryPlan) -> u64 {
    let of_group = |group: &Group| {
        let inner = group.used().into_iter().map(|(member, _)| member.superblock.chunk_bytes()).fold(0, common);
        let outer = group.outer.as_ref().map_or(0, |outer| common(outer.chunk_bytes(), outer.data_offset_bytes()));
        let by_bitmap = (0..group.members.len()).any(|index| {
            matches!(group.choice(index), Some(Choice::AsItSays(Verdict::Rebuilding { by_bitmap: true, .. })))
        });
        let filled = if by_bitmap { BITMAP_CHUNK_BYTES_MIN } else { 0 };
        common(common(inner, outer), filled)
    };
    match plan.groups.iter().map(of_group).fold(0, common) {
        0 => u64::MAX, // mirrors
        unit => unit,
    }
}

/// What one bit of a write-intent bitmap stands for is a multiple of this.
const BITMAP_CHUNK_BYTES_MIN: u64 = 4096;

/// The greatest common divisor.
fn common(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { common(other, one % other) }
}
