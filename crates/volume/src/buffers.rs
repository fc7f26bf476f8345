//! Which buffer lies where in the arena.
//!
//! The arena holds, in this order: the request buffers; the scratch buffers of the engines; the
//! destage buffers of the write-back window; the notes: for every slot one buffer for each kind of
//! thing that is written beside the data; the logs: for every slot one for a write to its partial
//! parity log; and the spares, to which buffers [move](crate::homes) that a drive does not give
//! back.

use std::io;
use std::iter::repeat_n;

use shoal_array::{BufferId, Span};
use shoal_drive::{Arena, Memory};
use shoal_md::{PPL_HEADER_BYTES, PPL_WRITE_BYTES_MAX};

use crate::limits::GIVEN_UP_MAX;

/// Size of a note: no superblock of version 1 or bad-block log is longer, and a bitmap is written
/// in pages of so much.
pub(crate) const NOTE_BYTES: u32 = 4096;
/// Size of a log buffer: no write to a partial parity log is longer.
pub(crate) const LOG_BYTES: u32 = PPL_HEADER_BYTES as u32 + PPL_WRITE_BYTES_MAX;
/// Size of a destage buffer, where the window is large enough for some of them.
const DESTAGE_BYTES: u32 = 512 << 10;

/// What is written on a member beside the data. Each kind has a buffer of its own on every slot, so
/// that one can be on its way while another is prepared.
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

/// When small writes go from the write-back window to the members as whole erase units, with all
/// that lies between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stretches {
    /// Where that takes these drives less time, as far as it is known.
    Measured,
    /// Wherever it may be: for hunts on drives that gain nothing by it.
    Always,
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
    /// Slots that there may be, over all arrays; one more is for small reads and writes outside
    /// them.
    pub slot_count: u32,
    /// Bytes of the outermost array's write-back window, a multiple of 64 KiB; 0: there is none.
    pub write_back_bytes: u32,
    /// How that one is emptied.
    pub stretches: Stretches,
}

impl BufferPlan {
    /// Enough for `drive_count` drives in one array, or in arrays of arrays, and `request_count`
    /// requests of up to `request_bytes` in flight.
    ///
    /// Scratch: an engine works with about two buffers a member, twice of that keeps several
    /// stripes in flight. In the worst nesting (pairs over pairs ...) there are less than twice as
    /// many members as drives.
    pub fn for_drives(drive_count: usize, request_count: u32, request_bytes: u32) -> Self {
        let drives = u32::try_from(drive_count).expect("drives are counted in tens").max(2);
        Self {
            request_count,
            request_bytes: request_bytes.max(1).next_multiple_of(4096),
            scratch_count: 16 * drives + 16,
            scratch_bytes: 128 << 10,
            slot_count: 2 * drives + 1,
            write_back_bytes: 0,
            stretches: Stretches::Measured,
        }
    }

    /// The same, with a write-back window of so many bytes, rounded up to 64 KiB: the window's own
    /// memory, and destage buffers of half as much. Writes are answered from it; see
    /// [`ArrayVolume`](crate::ArrayVolume).
    #[must_use]
    pub fn with_write_back(self, bytes: u32) -> Self {
        Self { write_back_bytes: bytes.checked_next_multiple_of(64 << 10).unwrap_or(u32::MAX << 16), ..self }
    }

    /// The same, with a window that is emptied so.
    #[must_use]
    pub fn with_stretches(self, stretches: Stretches) -> Self {
        Self { stretches, ..self }
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

    /// How many drives may be given up, and keep the place of every buffer: all but one, as there
    /// are two slots for each. They take addresses, and no memory before a drive is given up.
    pub(crate) fn given_up_max(&self) -> usize {
        (self.slot_count as usize / 2).saturating_sub(1).min(GIVEN_UP_MAX)
    }

    /// The places of each buffer to move to: one for each of those drives, and one for reads that
    /// are begun elsewhere too.
    fn moves(&self) -> usize {
        self.given_up_max() + 1
    }

    /// The places to which buffers can move, each as long as a request or as a scratch buffer.
    pub(crate) fn spares(self) -> impl Iterator<Item = Memory> {
        let places = move |(count, bytes)| repeat_n(bytes, count as usize * self.moves());
        let lengths = self.moving().into_iter().flat_map(places);
        lengths.scan(self.spare_base(), |end, length| {
            let offset = *end;
            *end += length as usize;
            Some(Memory { offset, length })
        })
    }

    /// How many buffers move, by kind, and the size of each.
    pub(crate) fn moving(self) -> [(u32, u32); 3] {
        [
            (self.request_count, self.request_bytes),
            (self.scratch_count, self.scratch_bytes),
            (self.destage_count(), self.destage_bytes()),
        ]
    }

    /// Whether a buffer is one of those that move: a request's, scratch, or one to destage from.
    pub(crate) fn can_move(&self, buffer: BufferId) -> bool {
        buffer.0 < self.first_note()
    }

    /// Where all of a buffer lies that moves, before it does.
    pub(crate) fn whole(&self, buffer: BufferId) -> Memory {
        let length = match buffer.0 {
            id if id < self.request_count => self.request_bytes,
            id if id < self.first_destage() => self.scratch_bytes,
            _ => self.destage_bytes(),
        };
        self.memory(Span { buffer, offset: 0, length })
    }

    /// Size of a destage buffer: a quarter of the window at most, so that there are two of them.
    fn destage_bytes(&self) -> u32 {
        DESTAGE_BYTES.min(self.write_back_bytes / 4)
    }

    fn destage_count(&self) -> u32 {
        (self.write_back_bytes / 2).checked_div(self.destage_bytes()).unwrap_or(0)
    }

    /// The destage buffers, whole.
    pub(crate) fn destage_spans(self) -> impl Iterator<Item = Span> {
        let buffers = self.first_destage()..self.first_note();
        buffers.map(move |buffer| Span { buffer: BufferId(buffer), offset: 0, length: self.destage_bytes() })
    }

    fn first_destage(&self) -> u32 {
        self.request_count + self.scratch_count
    }

    fn first_note(&self) -> u32 {
        self.first_destage() + self.destage_count()
    }

    fn scratch_base(&self) -> usize {
        self.request_count as usize * self.request_bytes as usize
    }

    fn note_count(&self) -> u32 {
        self.slot_count * Note::KINDS
    }

    fn destage_base(&self) -> usize {
        self.scratch_base() + self.scratch_count as usize * self.scratch_bytes as usize
    }

    fn note_base(&self) -> usize {
        self.destage_base() + self.destage_count() as usize * self.destage_bytes() as usize
    }

    fn first_log(&self) -> u32 {
        self.first_note() + self.note_count()
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
        let buffer = BufferId(self.first_note() + slot * Note::KINDS + note as u32);
        Span { buffer, offset: 0, length: NOTE_BYTES }
    }

    /// The span of a slot's whole log buffer; `slot` as for [`Self::note_span`].
    pub(crate) fn log_span(&self, slot: u32) -> Span {
        assert!(slot < self.slot_count, "log of slot {slot} of {}", self.slot_count);
        let buffer = BufferId(self.first_log() + slot);
        Span { buffer, offset: 0, length: LOG_BYTES }
    }

    /// Where a span lies.
    pub(crate) fn memory(&self, span: Span) -> Memory {
        let id = span.buffer.0;
        let (base, first, bytes) = if id < self.request_count {
            (0, 0, self.request_bytes)
        } else if id < self.first_destage() {
            (self.scratch_base(), self.request_count, self.scratch_bytes)
        } else if id < self.first_note() {
            (self.destage_base(), self.first_destage(), self.destage_bytes())
        } else if id < self.first_log() {
            (self.note_base(), self.first_note(), NOTE_BYTES)
        } else {
            (self.log_base(), self.first_log(), LOG_BYTES)
        };
        assert!(
            u64::from(span.offset) + u64::from(span.length) <= u64::from(bytes),
            "span {span:?} outside its buffer"
        );
        Memory { offset: base + (id - first) as usize * bytes as usize + span.offset as usize, length: span.length }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_do_not_overlap() {
        let plan = BufferPlan::for_drives(3, 4, 5000).with_write_back(1 << 20);
        assert_eq!((plan.destage_count(), plan.destage_bytes()), (2, 256 << 10));
        let notes = plan.first_log();
        let count = notes + plan.slot_count;
        let mut end = 0;
        for id in 0..count {
            let length = if id < 4 {
                8192
            } else if id < 4 + plan.scratch_count {
                plan.scratch_bytes
            } else if id < plan.first_note() {
                plan.destage_bytes()
            } else if id < notes {
                NOTE_BYTES
            } else {
                LOG_BYTES
            };
            let memory = plan.memory(Span { buffer: BufferId(id), offset: 0, length });
            assert_eq!(memory.offset, end);
            end += length as usize;
        }
        assert_eq!(plan.spares().count(), plan.moves() * plan.first_note() as usize);
        for spare in plan.spares() {
            assert_eq!(spare.offset, end);
            end += spare.length as usize;
        }
        assert!(end <= plan.arena().unwrap().len_bytes());
    }
}
