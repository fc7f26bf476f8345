//! Which buffer lies where in the arena.
//!
//! The arena holds, in this order: the request buffers, the scratch buffers of the engines, the superblock buffers.

use shoal_array::{BufferId, Span};
use shoal_drive::Memory;

/// Size of a superblock buffer: no superblock of version 1 is longer.
pub(crate) const SUPERBLOCK_BYTES: u32 = 4096;

/// How many buffers of which sizes a volume has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferPlan {
    /// Buffers for requests.
    pub request_count: u32,
    /// Size of each; a multiple of 4 KiB.
    pub request_bytes: u32,
    /// Buffers for the engines' own use, over all engines.
    pub scratch_count: u32,
    /// Size of each; a multiple of 4 KiB.
    pub scratch_bytes: u32,
    /// Buffers for superblocks.
    pub superblock_count: u32,
}

impl BufferPlan {
    /// Enough for `drive_count` drives in one array, or in arrays of arrays, and `request_count` requests of up to
    /// `request_bytes` in flight.
    ///
    /// Scratch: an engine works with about two buffers a member, twice of that keeps several stripes in flight. In the
    /// worst nesting (pairs over pairs ...) there are less than twice as many members as drives.
    pub fn for_drives(drive_count: usize, request_count: u32, request_bytes: u32) -> Self {
        let drives = u32::try_from(drive_count).expect("drives are counted in tens").max(2);
        Self {
            request_count,
            request_bytes: request_bytes.max(1).next_multiple_of(4096),
            scratch_count: 16 * drives + 16,
            scratch_bytes: 128 << 10,
            superblock_count: 2 * drives + 1,
        }
    }

    /// Size of the arena that holds them all.
    pub fn arena_bytes(&self) -> usize {
        self.superblock_base() + self.superblock_count as usize * SUPERBLOCK_BYTES as usize
    }

    fn scratch_base(&self) -> usize {
        self.request_count as usize * self.request_bytes as usize
    }

    fn superblock_base(&self) -> usize {
        self.scratch_base() + self.scratch_count as usize * self.scratch_bytes as usize
    }

    /// The id of the first scratch buffer.
    pub(crate) fn first_scratch(&self) -> u32 {
        self.request_count
    }

    /// The span of a whole superblock buffer.
    pub(crate) fn superblock_span(&self, number: u32) -> Span {
        assert!(number < self.superblock_count, "superblock buffer {number} of {}", self.superblock_count);
        let buffer = BufferId(self.request_count + self.scratch_count + number);
        Span { buffer, offset: 0, length: SUPERBLOCK_BYTES }
    }

    /// Where a span lies.
    pub(crate) fn memory(&self, span: Span) -> Memory {
        let id = span.buffer.0;
        let (base, number, bytes) = if id < self.request_count {
            (0, id, self.request_bytes)
        } else if id < self.request_count + self.scratch_count {
            (self.scratch_base(), id - self.request_count, self.scratch_bytes)
        } else {
            (self.superblock_base(), id - self.request_count - self.scratch_count, SUPERBLOCK_BYTES)
        };
        assert!(
            u64::from(span.offset) + u64::from(span.length) <= u64::from(bytes),
            "span {span:?} outside its buffer"
        );
        Memory { offset: base + number as usize * bytes as usize + span.offset as usize, length: span.length }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_do_not_overlap() {
        let plan = BufferPlan::for_drives(3, 4, 5000);
        let count = plan.request_count + plan.scratch_count + plan.superblock_count;
        let mut end = 0;
        for id in 0..count {
            let length = if id < 4 {
                8192
            } else if id < 4 + plan.scratch_count {
                plan.scratch_bytes
            } else {
                SUPERBLOCK_BYTES
            };
            let memory = plan.memory(Span { buffer: BufferId(id), offset: 0, length });
            assert_eq!(memory.offset, end);
            end += length as usize;
        }
        assert_eq!(end, plan.arena_bytes());
    }
}
