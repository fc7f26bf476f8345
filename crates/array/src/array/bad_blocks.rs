//! Bad blocks: ranges of a member that hold no data, though the member works.
//!
//! md keeps them in a log beside the superblock, and so does whoever drives the engine. A log has
//! room for so many entries, of 512 sectors at most.
//!
//! *Reading.* A read that touches a bad block is answered within the engine as unreadable, and no
//! I/O is done. What follows is what follows on any sector that cannot be read: the range is halved
//! down to blocks, each is taken from redundancy, and written anew where it was bad.
//!
//! *A write that succeeds over a bad block* makes it good. The engine takes it out at once, tells
//! so, and asks for a record. The answers to writes and flushes wait for that: if power were cut
//! after the answer with the block still in the log, the data just written would not be believed,
//! and on a degraded array it would be lost. The record must not be ahead of the data either, so
//! the driver flushes the members before it writes their logs: a block leaves the log after its
//! data is there.
//!
//! *A rebuild that meets a block which nobody has* leaves it out and makes it a bad block of the
//! member that is filled. Order: the block is put among the bad ones here; then a record is asked
//! for; only when that is done does the rebuild's position pass the block. Until then it lies
//! beyond the position, where nobody reads, and its slice or range is held, so nobody writes there
//! either. A crash before the record leaves a position below the block, which is met again; a crash
//! after it leaves the block in the log. There is no moment in which the member counts as filled
//! there and the log does not know better.
//!
//! *A drive without a log, or with a full one*, cannot be told apart from a good one there: the
//! rebuild stops at that block, as it would without all this.

use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use super::{Array, Event};
use crate::{CommandError, MemberIo, MemberState, Role};

/// What one entry of a log covers at most: 512 sectors.
const ENTRY_BYTES: u64 = 512 * 512;

/// The ranges of one member's data area that hold no data: ascending, apart, not empty; in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadBlocks {
    ranges: Vec<Range<u64>>,
    limit: usize,
}

/// A log has no room for another bad block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadBlocksFull;

impl fmt::Display for BadBlocksFull {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the member's bad-block log has no room for another entry: replace the member")
    }
}

impl core::error::Error for BadBlocksFull {}

impl BadBlocks {
    /// None yet, in a log that can take `limit` entries; 0: the member has no log.
    pub fn new(limit: usize) -> Self {
        Self { ranges: Vec::new(), limit }
    }

    /// What a log held, in any order, split or overlapping. It was in the log, so it has its room.
    pub fn from_ranges(limit: usize, ranges: impl IntoIterator<Item = Range<u64>>) -> Self {
        let mut bad_blocks = Self::new(limit);
        ranges.into_iter().filter(|range| range.start < range.end).for_each(|range| bad_blocks.join(range));
        bad_blocks
    }

    /// The ranges, ascending and apart, in bytes of the data area.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// How many entries the log can take.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether any byte of the range is bad.
    pub fn touches(&self, range: &Range<u64>) -> bool {
        let first = self.ranges.partition_point(|bad| bad.end <= range.start);
        self.ranges.get(first).is_some_and(|bad| bad.start < range.end)
    }

    /// Adds a range; nothing, if the log would have no room for all there is then.
    pub fn insert(&mut self, range: Range<u64>) -> Result<(), BadBlocksFull> {
        let mut joined = self.clone();
        joined.join(range);
        if entries(&joined.ranges) > self.limit {
            return Err(BadBlocksFull);
        }
        *self = joined;
        Ok(())
    }

    /// Takes a range out: it holds data again. Says whether anything of it was bad.
    pub fn remove(&mut self, range: &Range<u64>) -> bool {
        let first = self.ranges.partition_point(|bad| bad.end <= range.start);
        let end = self.ranges.partition_point(|bad| bad.start < range.end);
        if first >= end {
            return false;
        }
        let (head, tail) = (self.ranges[first].start..range.start, range.end..self.ranges[end - 1].end);
        let rest = [head, tail].into_iter().filter(|rest| rest.start < rest.end);
        self.ranges.splice(first..end, rest);
        true
    }

    /// What the log is to hold: all bad ranges, cut into entries. Where a write into the middle of
    /// a bad range has made more entries than fit, the nearest neighbours are joined over the good
    /// bytes between them: what a log names too much is only solved for or fetched from a copy
    /// without need, what it leaves out would be taken for data.
    pub fn log_entries(&self) -> Vec<Range<u64>> {
        let mut ranges = self.ranges.clone();
        while entries(&ranges) > self.limit && ranges.len() > 1 {
            let gap = |index: &usize| ranges[index + 1].start - ranges[*index].end;
            let nearest = (0..ranges.len() - 1).min_by_key(gap).unwrap_or(0);
            ranges[nearest].end = ranges[nearest + 1].end;
            ranges.remove(nearest + 1);
        }
        ranges.into_iter().flat_map(cut).collect()
    }

    fn join(&mut self, range: Range<u64>) {
        let first = self.ranges.partition_point(|bad| bad.end < range.start);
        let end = self.ranges.partition_point(|bad| bad.start <= range.end);
        let touching = &self.ranges[first..end.max(first)];
        let start = touching.first().map_or(range.start, |bad| bad.start.min(range.start));
        let last = touching.last().map_or(range.end, |bad| bad.end.max(range.end));
        self.ranges.splice(first..end.max(first), core::iter::once(start..last));
    }
}

impl Array {
    /// What the bad-block log holds of the drive that is about to take a missing member's place; or
    /// what it is to be taken to hold of a member in sync, if others mind that of its drives.
    pub fn set_bad_blocks(&mut self, role: Role, bad_blocks: BadBlocks) -> Result<(), CommandError> {
        match self.members.states().get(role.index()) {
            None => Err(CommandError::NoSuchRole),
            // An answer that is still under way would be taken for one of the new drive.
            Some(MemberState::Missing) if self.members.io_in_flight(role) > 0 => Err(CommandError::Busy),
            Some(MemberState::Missing) => {
                self.bad_blocks[role.index()] = bad_blocks;
                self.unflushed.forget(role);
                Ok(())
            }
            Some(MemberState::InSync) => {
                self.bad_blocks[role.index()] = bad_blocks;
                Ok(())
            }
            Some(state @ MemberState::Rebuilding { .. }) => Err(CommandError::State(*state)),
        }
    }

    /// A member has moved to another drive, with all that it had flushed. `bad_blocks` is what that
    /// drive's log holds. See [`Self::set_bad_blocks`].
    pub fn move_member(&mut self, role: Role, bad_blocks: BadBlocks) -> Result<(), CommandError> {
        self.set_bad_blocks(role, bad_blocks)?;
        self.unflushed.forget(role);
        Ok(())
    }

    /// Whether this is a read of a block that is known to be bad.
    pub(super) fn is_known_bad(&self, role: Role, io: MemberIo) -> bool {
        let MemberIo::Read { offset, span } = io else { return false };
        let bad_blocks = &self.bad_blocks[role.index()];
        !bad_blocks.is_empty() && bad_blocks.touches(&(offset..offset + u64::from(span.length)))
    }

    /// A member has done this: bad blocks that were written over hold data again.
    pub(super) fn made_good(&mut self, role: Role, io: MemberIo) {
        let MemberIo::Write { offset, span } = io else { return };
        if self.bad_blocks[role.index()].remove(&(offset..offset + u64::from(span.length))) {
            self.events.push_back(Event::BadBlocksChanged(role));
            self.records.next_epoch();
            self.start_record();
        }
    }
}

/// The entries that a range takes in a log.
fn cut(range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let starts = (range.start..range.end).step_by(ENTRY_BYTES as usize);
    starts.map(move |start| start..range.end.min(start + ENTRY_BYTES))
}

fn entries(ranges: &[Range<u64>]) -> usize {
    let entries: u64 = ranges.iter().map(|range| (range.end - range.start).div_ceil(ENTRY_BYTES)).sum();
    usize::try_from(entries).unwrap_or(usize::MAX)
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, clippy::unwrap_used)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn ranges_are_joined_and_cut() {
        let mut bad = BadBlocks::from_ranges(4, [512..1024, 4096..8192, 1024..1536, 0..0]);
        assert_eq!(bad.ranges(), [512..1536, 4096..8192]);
        assert!(bad.touches(&(0..513)) && bad.touches(&(1535..4096)) && !bad.touches(&(1536..4096)));
        assert!(bad.remove(&(5000..6000)) && !bad.remove(&(5000..6000)) && !bad.remove(&(0..512)));
        assert_eq!(bad.ranges(), [512..1536, 4096..5000, 6000..8192]);
        assert!(bad.remove(&(1000..7000)));
        assert_eq!(bad.ranges(), [512..1000, 7000..8192]);
        bad.insert(900..7100).unwrap();
        assert_eq!(bad.ranges(), [512..8192]);
        assert!(bad.remove(&(0..u64::MAX)) && bad.is_empty());
    }

    #[test]
    fn a_log_that_is_full_takes_no_more_and_forgets_nothing() {
        assert_eq!(BadBlocks::default().insert(0..512), Err(BadBlocksFull));
        let mut bad = BadBlocks::new(2);
        bad.insert(0..ENTRY_BYTES + 512).unwrap();
        assert_eq!(bad.insert(1 << 20..(1 << 20) + 512), Err(BadBlocksFull));
        assert_eq!(bad.log_entries(), [0..ENTRY_BYTES, ENTRY_BYTES..ENTRY_BYTES + 512]);
        let mut bad = BadBlocks::new(2);
        bad.insert(0..5120).unwrap();
        bad.remove(&(512..1024));
        bad.remove(&(2048..4096));
        assert_eq!(bad.ranges(), [0..512, 1024..2048, 4096..5120]);
        assert_eq!(bad.log_entries(), vec![0..2048, 4096..5120]);
    }
}
