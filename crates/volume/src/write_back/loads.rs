//! Loads: what goes from the window to the members in one go, and the buffers that it goes from.

use std::ops::Range;

use shoal_array::{Instant, Span};

use super::Content;
use super::pages::Pages;
use super::rows::{Epoch, Layout};
use crate::slab::Slab;

/// What is on its way of one row, or of a stretch.
#[derive(Debug)]
pub(super) struct Load {
    /// The rows of which something dirty is in it.
    pub(super) rows: Vec<(u64, Epoch)>,
    /// The first byte of each page of which a copy was taken.
    pub(super) pages: Vec<u64>,
    pub(super) kind: Kind,
    /// No member that matters has refused any of it so far.
    pub(super) is_taken: bool,
    buffers: Vec<Span>,
    outstanding: usize,
}

/// What a load is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A row that was whole.
    Row,
    /// So many runs of one row.
    Runs(u64),
    /// A [stretch](super::stretches) of so many bytes, and since when it has been read.
    Stretch(u64, Instant),
}

/// Copies of dirty pages, to be written.
#[derive(Debug, Default)]
pub(super) struct Filled {
    buffers: Vec<Span>,
    pages: Vec<u64>,
    /// Bytes of content in it.
    pub(super) bytes: u64,
    /// Where each part of it goes.
    pub(super) writes: Vec<(u64, Span)>,
}

/// All loads under way, and the free buffers.
#[derive(Debug)]
pub(super) struct Loads {
    loads: Slab<Load>,
    free: Vec<Span>,
    buffer_count: usize,
    buffer_bytes: u32,
    page_count: usize,
}

/// Bytes of a buffer that whole chunks fill, or all of it if none fits in.
fn whole_chunks(layout: &Layout, buffer: Span) -> u64 {
    let bytes = u64::from(buffer.length);
    if layout.chunk_bytes <= bytes { bytes - bytes % layout.chunk_bytes } else { bytes }
}

impl Loads {
    /// Loads go from these buffers.
    pub(super) fn new(buffers: &[Span]) -> Self {
        let buffer_bytes = buffers.first().map_or(0, |buffer| buffer.length);
        Self { loads: Slab::new(), free: buffers.to_vec(), buffer_count: buffers.len(), buffer_bytes, page_count: 0 }
    }

    /// Nothing is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.buffer_count
    }

    /// Runs of incomplete rows that are under way.
    pub(super) fn runs_under_way(&self) -> u64 {
        let runs = |load: &Load| if let Kind::Runs(runs) = load.kind { runs } else { 0 };
        self.loads.values().map(runs).sum()
    }

    /// Bytes of content that all buffers hold, none of them a part of a chunk where a chunk fits
    /// in.
    pub(super) fn room_bytes(&self, layout: &Layout) -> u64 {
        self.free.first().map_or(0, |buffer| whole_chunks(layout, *buffer)) * self.buffer_count as u64
    }

    /// Takes buffers for all of a range; there are enough.
    pub(super) fn take_buffers(&mut self, layout: &Layout, range: Range<u64>) -> Vec<(u64, Span)> {
        let mut parts = Vec::new();
        let mut start = range.start;
        while start < range.end {
            let buffer = self.free.pop().expect("a range is no longer than what the buffers hold");
            let length = whole_chunks(layout, buffer).min(range.end - start);
            parts.push((start, buffer.part(0, length as u32)));
            start += length;
        }
        parts
    }

    /// The buffers of which these are the first parts.
    pub(super) fn whole_buffers(&self, parts: impl Iterator<Item = Span>) -> Vec<Span> {
        parts.map(|part| Span { length: self.buffer_bytes, ..part }).collect()
    }

    /// Gives back buffers that were [taken](Self::take_buffers).
    pub(super) fn give_back(&mut self, parts: impl Iterator<Item = Span>) {
        let mut buffers = self.whole_buffers(parts);
        self.free.append(&mut buffers);
    }

    /// Pages of which a copy is on its way.
    pub(super) fn page_count(&self) -> usize {
        self.page_count
    }

    /// Takes copies of a row's dirty pages: of all of them, or, where they are more than all
    /// buffers hold, of as many as these hold. `None` if that has to wait for buffers.
    pub(super) fn fill(
        &mut self,
        layout: &Layout,
        row: u64,
        pages: &mut Pages,
        content: &impl Content,
    ) -> Option<Filled> {
        let dirty = pages.dirty(&layout.range_of(row));
        let deal = self.deal(layout, row, &dirty);
        if deal.len() < dirty.len() && self.free.len() < self.buffer_count {
            return None;
        }
        let mut filled = Filled::default();
        let mut rest = Span { length: 0, ..*self.free.last()? };
        for (&(first_byte, bytes), &opens) in dirty.iter().zip(&deal) {
            if opens {
                rest = self.free.pop().expect("no more were dealt than are free");
                filled.buffers.push(rest);
            }
            let mut joins = !opens;
            for run in pages.leave(first_byte) {
                let length = (run.end - run.start) as u32;
                let span = rest.part(0, length);
                rest = rest.part(length, rest.length - length);
                pages.read(&run, |at, bytes| content.write(span.part(at as u32, bytes.len() as u32), bytes));
                filled.put(run.start, span, joins);
                joins = true;
            }
            filled.pages.push(first_byte);
            filled.bytes += u64::from(bytes);
        }
        Some(filled)
    }

    /// For each dirty page, as far as the free buffers go, whether it is the first in a buffer. A
    /// chunk that fits in one is not divided between two: it would have to be put together for the
    /// parity.
    fn deal(&self, layout: &Layout, row: u64, dirty: &[(u64, u32)]) -> Vec<bool> {
        let row_start = layout.range_of(row).start;
        let mut free = self.free.iter().rev();
        let (mut left, mut buffer_bytes) = (0, 0);
        let mut deal = Vec::with_capacity(dirty.len());
        for &(first_byte, bytes) in dirty {
            let begins_chunk = (first_byte - row_start).is_multiple_of(layout.chunk_bytes);
            let keeps_together = begins_chunk && layout.chunk_bytes <= buffer_bytes;
            let wanted = if keeps_together { layout.chunk_bytes } else { u64::from(bytes) };
            let opens = u64::from(left) < wanted;
            if opens {
                let Some(buffer) = free.next() else { break };
                (left, buffer_bytes) = (buffer.length, u64::from(buffer.length));
            }
            left -= bytes;
            deal.push(opens);
        }
        deal
    }

    /// It is on its way, by so many writes. Returns its number.
    pub(super) fn begin(&mut self, load: Load, writes: usize) -> u64 {
        self.page_count += load.pages.len();
        self.loads.insert(Load { outstanding: writes, ..load })
    }

    /// One of its writes has ended. Returns the load if it was the last.
    pub(super) fn ended(&mut self, number: u64, is_taken: bool) -> Option<Load> {
        let load = self.loads.entry_mut(number).expect("it is under way");
        load.is_taken &= is_taken;
        load.outstanding -= 1;
        if load.outstanding > 0 {
            return None;
        }
        let mut load = self.loads.take(number);
        self.free.append(&mut load.buffers);
        self.page_count -= load.pages.len();
        Some(load)
    }
}

impl Load {
    /// What was filled of a row.
    pub(super) fn of_row(layout: &Layout, row: u64, epoch: Epoch, filled: Filled) -> (Self, Vec<(u64, Span)>) {
        let Filled { buffers, pages, bytes, writes } = filled;
        let range = layout.range_of(row);
        let is_whole = bytes == range.end - range.start;
        let kind = if is_whole { Kind::Row } else { Kind::Runs(writes.len() as u64) };
        (Self { rows: vec![(row, epoch)], pages, kind, is_taken: true, buffers, outstanding: 0 }, writes)
    }

    /// A stretch of which nothing dirty is known yet, in these buffers.
    pub(super) fn of_stretch(kind: Kind, buffers: Vec<Span>) -> Self {
        Self { rows: Vec::new(), pages: Vec::new(), kind, is_taken: true, buffers, outstanding: 0 }
    }
}

impl Filled {
    /// Adds a run: to the last part, if it lies behind that on both sides, or as a part of its own.
    fn put(&mut self, offset: u64, span: Span, joins: bool) {
        match self.writes.last_mut() {
            Some((start, last)) if joins && *start + u64::from(last.length) == offset => last.length += span.length,
            _ => self.writes.push((offset, span)),
        }
    }
}
