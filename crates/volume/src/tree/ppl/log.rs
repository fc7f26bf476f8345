//! One member's log: what waits for it, and where its next unit goes.

use std::collections::VecDeque;

use shoal_array::{EffectId, PartialParity, Role};
use shoal_md::{PPL_ENTRIES_MAX, PPL_HEADER_BYTES, PPL_WRITE_BYTES_MAX};

use super::Unit;
use crate::ppl::LogPlace;

/// One member's log.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) place: LogPlace,
    /// Where the next unit goes, in bytes from the start of the area.
    pub(super) next_bytes: u64,
    pub(super) generation: u64,
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) unit: Option<Unit>,
}

/// Entries that the engine wants.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) id: EffectId,
    pub(super) role: Role,
    pub(super) entries: Vec<PartialParity>,
}

impl LogPlace {
    /// Partial parity that one unit has room for. Linux counts in whole 4 KiB.
    pub(super) fn unit_bytes_max(&self) -> u32 {
        let page = PPL_HEADER_BYTES as u64;
        let room = (self.area.size_bytes - page) / page * page;
        u32::try_from(room).unwrap_or(u32::MAX).min(PPL_WRITE_BYTES_MAX)
    }
}

impl Log {
    /// Takes those that wait into one unit, as far as it has room; the header, and each entry's
    /// partial parity.
    pub(super) fn take_unit(&mut self) -> (Vec<EffectId>, Vec<(PartialParity, Role)>) {
        let (mut ids, mut entries) = (Vec::new(), Vec::new());
        let mut bytes = 0;
        while let Some(first) = self.waiting.front() {
            let more: u32 = first.entries.iter().filter_map(|entry| entry.parity).map(|span| span.length).sum();
            let is_full =
                bytes + more > self.place.unit_bytes_max() || entries.len() + first.entries.len() > PPL_ENTRIES_MAX;
            if is_full && !ids.is_empty() {
                break;
            }
            bytes += more;
            ids.push(first.id);
            entries.extend(first.entries.iter().map(|entry| (*entry, first.role)));
            self.waiting.pop_front();
        }
        (ids, entries)
    }

    /// Where a unit of so many bytes goes. Linux looks for no header in the last 4 KiB.
    pub(super) fn place_unit(&mut self, bytes: u64) -> u64 {
        let size = self.place.area.size_bytes;
        let fits = self.next_bytes + bytes <= size && self.next_bytes + (PPL_HEADER_BYTES as u64) < size;
        let start = if fits && self.place.is_chain { self.next_bytes } else { 0 };
        self.next_bytes = start + bytes;
        self.place.area.offset_bytes + start
    }
}
