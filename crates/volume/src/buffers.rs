//! Which buffer lies where in the arena.
//!
//! The arena holds, in this order: the request buffers; the scratch buffers of the engines; the notes: for every slot one
//! buffer for each kind of thing that is written beside the data; the logs: for every slot one for a write to
//! its partial parity log; and the spares, to which buffers [move](crate::homes) that a drive does not give back.

use std::io;
use std::iter::repeat_n;

use shoal_array::{BufferId, Span};
use shoal_drive::{Arena, Memory};
use shoal_md::{PPL_HEADER_BYTES, PPL_WRITE_BYTES_MAX};

/// Size of a note: no superblock of version 1 or bad-block log is longer, and a bitmap is written in pages of so much.
pub(crate) const NOTE_BYTES: u32 = 4096;
/// Size of a log buffer: no write to a partial parity log is longer.
pub(crate) const LOG_BYTES: u32 = PPL_HEADER_BYTES as u32 + PPL_WRITE_BYTES_MAX;
/// Places for each buffer to move to: while a drive does not answer it may keep every buffer's place, and so may the next one.
/// More drives than that are survived by no level with parity.
const MOVES: usize = 2;

/// What is written on a member beside the data. Each kind has a buffer of its own on every slot, so that one can be on
/// its way while another is prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// The superblock.
    Superblock,
    /// The bad-block log.
    BadBlocks,
    /// A page of the write-intent bitmap.
    Bitmap,
}

impl Note {
    const KINDS: u32 = 3;
}

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
    /// Slots that there may be, over all arrays; one more is for small reads and writes outside them.
    pub slot_count: u32,
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
            slot_count: 2 * drives + 1,
        }
    }

    /// The same, with room for so many drives that come later.
    #[must_use]
    pub fn with_room_for(self, more_drives: u32) -> Self {
        Self { slot_count: self.slot_count + more_drives, ..self }
    }

    /// Maps the memory that holds them all.
    pub fn arena(&self) -> io::Result<Arena> {
        let reserve_bytes = self.spares().map(|place| place.length as usize).sum();
        Arena::with_reserve(self.spare_base(), reserve_bytes)
    }

    fn spare_base(&self) -> usize {
        self.log_base() + self.slot_count as usize * LOG_BYTES as usize
    }

    /// The places to which buffers can move, each as long as a request or as a scratch buffer.
    pub(crate) fn spares(self) -> impl Iterator<Item = Memory> {
        let [requests, scratch] = [self.request_count, self.scratch_count].map(|count| count as usize * MOVES);
        let lengths = repeat_n(self.request_bytes, requests).chain(repeat_n(self.scratch_bytes, scratch));
        lengths.scan(self.spare_base(), |end, length| {
            let offset = *end;
            *end += length as usize;
            Some(Memory { offset, length })
        })
    }

    /// Whether a buffer is one of those that move: a request's, or scratch.
    pub(crate) fn moves(&self, buffer: BufferId) -> bool {
        buffer.0 < self.request_count + self.scratch_count
    }

    /// Where all of a buffer lies that moves, before it does.
    pub(crate) fn whole(&self, buffer: BufferId) -> Memory {
        let length = if buffer.0 < self.request_count { self.request_bytes } else { self.scratch_bytes };
        self.memory(Span { buffer, offset: 0, length })
    }

    fn scratch_base(&self) -> usize {
        self.request_count as usize * self.request_bytes as usize
    }

    fn note_count(&self) -> u32 {
        self.slot_count * Note::KINDS
    }

    fn note_base(&self) -> usize {
        self.scratch_base() + self.scratch_count as usize * self.scratch_bytes as usize
    }

    fn log_base(&self) -> usize {
        self.note_base() + self.note_count() as usize * NOTE_BYTES as usize
    }

    /// The id of the first scratch buffer.
    pub(crate) fn first_scratch(&self) -> u32 {
        self.request_count
    }

    /// The span of a whole note of a slot's buffers; `slot` is [`crate::tree::Slot::buffer`].
    pub(crate) fn note_span(&self, slot: u32, note: Note) -> Span {
        assert!(slot < self.slot_count, "notes of slot {slot} of {}", self.slot_count);
        let buffer = BufferId(self.request_count + self.scratch_count + slot * Note::KINDS + note as u32);
        Span { buffer, offset: 0, length: NOTE_BYTES }
    }

    /// The span of a slot's whole log buffer; `slot` as for [`Self::note_span`].
    pub(crate) fn log_span(&self, slot: u32) -> Span {
        assert!(slot < self.slot_count, "log of slot {slot} of {}", self.slot_count);
        let buffer = BufferId(self.request_count + self.scratch_count + self.note_count() + slot);
        Span { buffer, offset: 0, length: LOG_BYTES }
    }

    /// Where a span lies.
    pub(crate) fn memory(&self, span: Span) -> Memory {
        let id = span.buffer.0;
        let (base, number, bytes) = if id < self.request_count {
            (0, id, self.request_bytes)
        } else if id < self.request_count + self.scratch_count {
            (self.scratch_base(), id - self.request_count, self.scratch_bytes)
        } else if id < self.request_count + self.scratch_count + self.note_count() {
            (self.note_base(), id - self.request_count - self.scratch_count, NOTE_BYTES)
        } else {
            (self.log_base(), id - self.request_count - self.scratch_count - self.note_count(), LOG_BYTES)
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
        let notes = plan.request_count + plan.scratch_count + plan.note_count();
        let count = notes + plan.slot_count;
        let mut end = 0;
        for id in 0..count {
            let length = if id < 4 {
                8192
            } else if id < 4 + plan.scratch_count {
                plan.scratch_bytes
            } else if id < notes {
                NOTE_BYTES
            } else {
                LOG_BYTES
            };
            let memory = plan.memory(Span { buffer: BufferId(id), offset: 0, length });
            assert_eq!(memory.offset, end);
            end += length as usize;
        }
        assert_eq!(plan.spares().count() as u32, 2 * (plan.request_count + plan.scratch_count));
        for spare in plan.spares() {
            assert_eq!(spare.offset, end);
            end += spare.length as usize;
        }
        assert!(end <= plan.arena().unwrap().len_bytes());
    }
}
