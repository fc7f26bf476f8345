//! Which members may be lost together: every level as sets of members, each of which survives the
//! loss of some.

use shoal_array::Level;
use shoal_volume::ArrayLevel;

/// Members that stand in for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedundancySet {
    /// Members, by number.
    pub members: Vec<usize>,
    /// How many of them may be lost.
    pub tolerance: usize,
    /// What is read of each remaining member to rebuild one of the others.
    pub bytes_per_member: u64,
}

/// The sets of an array of `member_count` drives, of each of which `bytes_per_member` are in use.
/// The content is lost if any set loses more than it tolerates.
pub fn redundancy_sets(level: ArrayLevel, member_count: usize, bytes_per_member: u64) -> Vec<RedundancySet> {
    match level {
        ArrayLevel::Plain(level) => plain_sets(level, 0, member_count, bytes_per_member),
        ArrayLevel::Nested { inner, groups, .. } => {
            let size = member_count / groups.max(1);
            (0..groups).flat_map(|group| plain_sets(inner, group * size, size, bytes_per_member)).collect()
        }
    }
}

fn plain_sets(level: Level, first: usize, count: usize, bytes_per_member: u64) -> Vec<RedundancySet> {
    let all =
        |tolerance| vec![RedundancySet { members: (first..first + count).collect(), tolerance, bytes_per_member }];
    match level {
        Level::Linear | Level::Raid0(_) => all(0),
        Level::Raid1 => all(count.saturating_sub(1)),
        Level::Raid4 | Level::Raid5(_) => all(1),
        Level::Raid6(_) => all(2),
        Level::Raid10(layout) => {
            let copies = layout.copies().min(count);
            let is_in_groups = layout.far == 1 && count.is_multiple_of(copies);
            neighbours(first, count, copies, is_in_groups, bytes_per_member)
        }
    }
}

/// RAID10 keeps the copies of a chunk on members that follow each other: in layout "near" in groups
/// that share nothing if they come out even; else, and in layouts "far" and "offset", in every run
/// of as many as there are copies, around the circle (md(4)).
fn neighbours(
    first: usize,
    count: usize,
    copies: usize,
    is_in_groups: bool,
    bytes_per_member: u64,
) -> Vec<RedundancySet> {
    let (step, share) = if is_in_groups { (copies, 1) } else { (1, copies as u64) };
    let runs = (0..count).step_by(step).map(|start| RedundancySet {
        members: (start..start + copies).map(|member| first + member % count).collect(),
        tolerance: copies - 1,
        bytes_per_member: bytes_per_member / share,
    });
    runs.collect()
}
