//! Requests meet the window: what of a write is staged and what passes, what of a read is in
//! memory.

use std::ops::Range;

use shoal_array::{Command, Completion, Instant, Request, Span};

use super::pages::PAGE_BYTES;
use super::{Content, Held, Open, Step, WriteBack, part};

/// A write is taken in by parts of at most this, and of half a window, so that one that is larger
/// gets through it.
const STAGE_BYTES: u64 = 128 << 10;

/// A writer of so many whole rows waits for the members no longer than one of fewer, who would be
/// answered from memory.
const PASSING_ROWS: u64 = 8;

impl WriteBack {
    /// Stages a write, or sends it on; `false` if there is no room for the next part of it.
    pub(super) fn stage(
        &mut self,
        now: Instant,
        held: &mut Held,
        (range, span): (&Range<u64>, Span),
        content: &impl Content,
    ) -> bool {
        while held.cursor < range.end {
            let rest = held.cursor..range.end;
            let span = part(span, rest.start - range.start, rest.end - rest.start);
            let source = |at: u64, bytes: &mut [u8]| content.read(part(span, at, bytes.len() as u64), bytes);
            let passing = match self.refused {
                Some(_) => Some(rest.clone()),
                None => self.passing_rows(range, &rest),
            };
            if let Some(passing) = passing {
                self.write_held(passing.clone(), source);
                self.cross(&passing);
                held.cursor = passing.end;
                let open = *held.open.get_or_insert_with(|| self.open.insert(Open::of(held.request.id)));
                let span = part(span, 0, passing.end - passing.start);
                self.ask(open, Command::Write { offset: passing.start, span });
                continue;
            }
            let Some(end) = self.stage_piece(now, &rest, source) else { return false };
            held.cursor = end;
            // A row that is whole by now goes before those behind it that pass.
            self.load(content);
        }
        match held.open {
            Some(open) => self.looked_at(open),
            None => self.steps.push_back(Step::Answer(Completion { id: held.request.id, result: Ok(()) })),
        }
        true
    }

    /// Takes the next part of a write in; returns its end, or `None` if there is no room for it.
    fn stage_piece(&mut self, now: Instant, rest: &Range<u64>, source: impl FnMut(u64, &mut [u8])) -> Option<u64> {
        let row = self.rows.layout().row_of(rest.start);
        let half_pages = (self.pages.total_count() as u64 / 2).max(1);
        let page_end = (rest.start / PAGE_BYTES + half_pages.min(STAGE_BYTES / PAGE_BYTES)) * PAGE_BYTES;
        let end = self.rows.layout().range_of(row).end.min(rest.end).min(page_end);
        let piece = rest.start..end;
        if self.pages.missing(&piece) > self.pages.free_count() {
            return None;
        }
        let newly_dirty = self.pages.write(&piece, source);
        self.rows.wrote(row, newly_dirty);
        self.dirty_since = Some((self.dirty_since.map_or(now, |(first, _)| first), now));
        Some(end)
    }

    /// The rows at the start of the rest of a request that go past the window: whole ones, of which
    /// it holds nothing, of a request that has no others, or many.
    fn passing_rows(&self, request: &Range<u64>, rest: &Range<u64>) -> Option<Range<u64>> {
        let layout = self.rows.layout();
        let is_start = rest.start == layout.range_of(layout.row_of(rest.start)).start;
        let last = layout.range_of(layout.row_of(rest.end));
        let end = if rest.end == layout.capacity_bytes { rest.end } else { last.start };
        let whole = rest.start..end;
        let is_all = whole == *request;
        let is_much = whole.end.saturating_sub(whole.start) >= PASSING_ROWS * layout.row_bytes;
        if !is_start || whole.is_empty() || !(is_all || is_much) {
            return None;
        }
        let end = self.pages.first_held(&whole).map_or(whole.end, |byte| layout.range_of(layout.row_of(byte)).start);
        (end > rest.start).then_some(rest.start..end)
    }

    /// Answers a read from memory, and what is not there from the engine.
    pub(super) fn read(&mut self, request: Request, range: Range<u64>, content: &impl Content) {
        let Command::Read { span, .. } = request.command else { return };
        if self.pages.first_held(&range).is_none() {
            return self.steps.push_back(Step::Pass(request));
        }
        let open = self.open.insert(Open::of(request.id));
        for run in self.pages.runs(&range) {
            let skipped = run.range.start - range.start;
            let span = part(span, skipped, run.range.end - run.range.start);
            if run.is_held {
                let sink = |at: u64, bytes: &[u8]| content.write(part(span, at, bytes.len() as u64), bytes);
                self.pages.read(&run.range, sink);
            } else {
                self.ask(open, Command::Read { offset: run.range.start, span });
            }
        }
        self.looked_at(open);
    }

    /// What the window holds of a range that is discarded becomes zeros; the members do the rest.
    pub(super) fn discard(&mut self, request: Request, range: Range<u64>) {
        self.cross(&range);
        self.write_held(range, |_, bytes| bytes.fill(0));
        self.steps.push_back(Step::Pass(request));
    }

    /// Writes anew what is held of a range.
    fn write_held(&mut self, range: Range<u64>, mut source: impl FnMut(u64, &mut [u8])) {
        let layout = *self.rows.layout();
        let mut rest = range.clone();
        while let Some(byte) = self.pages.first_held(&rest) {
            let row = layout.row_of(byte);
            let here = byte..layout.range_of(row).end.min(rest.end);
            rest.start = here.end;
            let skipped = here.start - range.start;
            let newly_dirty = self.pages.write_held(&here, |at, bytes| source(skipped + at, bytes));
            match self.refused {
                None => self.rows.wrote(row, newly_dirty),
                Some(_) => self.rows.add_dirty(row, newly_dirty),
            }
        }
    }
}
