//! What an array is made from, and what its members and it can be.

use alloc::vec::Vec;

use super::{BadBlocks, Resync};
use crate::{BufferId, Role, Shape};

/// What an array is made from.
#[derive(Clone, Debug)]
pub struct Config {
    /// Level, layout, chunk, member sizes.
    pub shape: Shape,
    /// State of each member at the start, in role order. Rebuilds go on by themselves where they
    /// stood.
    pub members: Vec<MemberState>,
    /// Requests are multiples of this; at least every member's own logical block size.
    pub logical_block_bytes: u32,
    /// Buffers that the engine may use for its own reads, parity and copies.
    pub scratch: Scratch,
    /// How background work shares the members with requests.
    pub background: Background,
    /// False: the members are open for reading only. No effect writes to them then: what cannot be
    /// read is answered from redundancy but not written anew, nothing is recorded, and whatever
    /// would write is refused.
    pub writable: bool,
    /// What each member's bad-block log holds, in role order; empty: nobody has bad blocks, or a
    /// log.
    pub bad_blocks: Vec<BadBlocks>,
    /// What is not known to be in sync; `None`: everything is. An engine that may write starts to
    /// resync by itself, before rebuilds, as soon as there is the redundancy for it; one that may
    /// not only minds what cannot be trusted.
    pub resync: Option<Resync>,
    /// Members that refused a flush when they were the last copy of something, and have not been
    /// renewed since: what they answered before may go with their power. An engine that may write
    /// renews them.
    pub refused_flush: Vec<Role>,
    /// RAID5: before the parity and data of a stripe are written, [`crate::Effect::Log`] makes sure
    /// that parity can be put right after a crash. `None`: there is no partial parity log.
    pub partial_parity_log: Option<LogRoom>,
}

/// What one [`crate::Effect::Log`] may ask for at most. Writes that need more are done in several
/// turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRoom {
    /// Bytes of partial parity; at least one logical block.
    pub bytes: u32,
    /// Entries; at least one.
    pub entries: u32,
}

impl Config {
    /// An array in sync of members without bad blocks, to be written; blocks of 512 bytes, and
    /// background work at the pace of md's defaults.
    pub fn new(shape: Shape, members: Vec<MemberState>, scratch: Scratch) -> Self {
        let background = Background { rate_min_bytes_per_s: 1_024_000, rate_max_bytes_per_s: 204_800_000, depth: 4 };
        Self {
            shape,
            members,
            logical_block_bytes: 512,
            scratch,
            background,
            writable: true,
            bad_blocks: Vec::new(),
            refused_flush: Vec::new(),
            resync: None,
            partial_parity_log: None,
        }
    }
}

impl Config {
    /// # Panics
    /// If the driver made a mistake; see [`super::Array::new`].
    pub(super) fn assert_sound(&self, member_count: usize) {
        let Self { scratch, logical_block_bytes, bad_blocks, .. } = self;
        assert_eq!(self.members.len(), member_count, "one state for each member");
        assert!(scratch.count >= Scratch::least_count(member_count), "too few buffers: {scratch:?}");
        assert!(scratch.bytes_each.is_multiple_of(4096) && scratch.bytes_each > 0, "odd buffers");
        assert!(logical_block_bytes.is_power_of_two(), "odd block size {logical_block_bytes}");
        assert!(self.refused_flush.iter().all(|role| role.index() < member_count), "roles of another array");
        assert!(bad_blocks.is_empty() || bad_blocks.len() == member_count, "one set of bad blocks for each member");
    }
}

/// The engine's own buffers: `count` of them, with consecutive ids from `first`, `bytes_each` long
/// (a multiple of 4 KiB).
#[derive(Clone, Copy, Debug)]
pub struct Scratch {
    /// First buffer.
    pub first: BufferId,
    /// How many.
    pub count: u32,
    /// Size of each: also the widest piece of a chunk that is handled as one.
    pub bytes_each: u32,
}

impl Scratch {
    /// The fewest buffers an array of so many members can work with.
    ///
    /// The largest plan is a scrub of a RAID6 stripe: every block, and what P and Q should be. More
    /// buffers let more operations run at once.
    pub fn least_count(member_count: usize) -> u32 {
        u32::try_from(member_count).map_or(u32::MAX, |members| members.saturating_add(2))
    }
}

/// The rate of background work: as md's sync_speed_min and sync_speed_max, in bytes a second per
/// member.
#[derive(Clone, Copy, Debug)]
pub struct Background {
    /// Goes on at least this fast while requests are served.
    pub rate_min_bytes_per_s: u64,
    /// Never goes faster than this.
    pub rate_max_bytes_per_s: u64,
    /// Stripes of background work in flight at most; with 0 none is begun.
    pub depth: u32,
}

/// What a member can be. Changes only as `member.rs`'s table allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberState {
    /// Holds all its data.
    InSync,
    /// Present; holds its data below `position` (bytes of the data area), the rest is being
    /// rebuilt.
    Rebuilding {
        /// Everything below is in sync.
        position: u64,
    },
    /// Not there: never given, failed, or removed.
    Missing,
}

/// The array's health, derived from its members' states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// All members are in sync.
    Optimal,
    /// Members are missing or rebuilding; everything can still be had.
    Degraded,
    /// More members are missing than the level survives.
    Failed,
}
