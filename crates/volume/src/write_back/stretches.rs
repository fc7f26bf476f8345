//! Stretches: where many small writes lie close together, all of what is around them is written
//! anew.
//!
//! Flash minds neither how much it reads nor, much, how much it writes, but how often it is written
//! anywhere but where it was left. A stick keeps two units of 4 MiB open. A write of 4 KiB into a
//! third closes one, which costs the copy of what is left of it, and opens one in its middle, which
//! costs the copy of what lies before: 4 MiB at 16 MB/s are 262 ms, for each block and again for
//! its parity. Counted on six such sticks (RAID5, 4 KiB at random within 1 GiB, a window of 32
//! MiB): 1.74 reads and as many writes of members for each block, every one of these writes out of
//! sequence, and 11 blocks a second. The reads were a hundredth of the time. So neither a better
//! order nor fewer reads help: sorted as they are, two dirty blocks of one unit have a gap between
//! them, and the gap is what costs. What helps is to close the gaps.
//!
//! **A stretch** is whole rows without a gap: a *group*, which is one erase unit of each member, or
//! as much of it as the destage buffers hold, and then the next part. It is read, what the window
//! holds is put over that, and it is written: full rows, so that parity needs no reads, each unit
//! from its start to its end, so that its drive copies nothing. All reads come before all writes.
//! What a drive would have copied by itself passes through here instead, once for all blocks of a
//! unit instead of once for each.
//!
//! **When.** Be `r` the dirty runs of a group, each of which is written in `w` places (itself, P,
//! Q) of `n` members. Left to the drives that is `r * w / n` copies of a unit, one after the other;
//! a stretch reads and writes one unit of each, and both take about as long, as a drive reads and
//! programs what it copies, too. So a stretch pays from `r = n / w` runs on, and half the time is
//! saved from twice as many on: six for RAID5 of six. That is the first guess, for drives that are
//! as sticks are. Others are not, so the guess is tried, and then measured: what a run took, and
//! what a byte of a stretch took (`prices.rs`). Less than half is asked for, as more is written,
//! and by somebody who does not know how the drive does it.
//!
//! **What that comes to.** At random over a range of `R`, a group of `G` bytes has gathered up to
//! `2 * W * G / (R * 4096)` blocks when it goes, twice the mean of a window of `W`, and all of them
//! cost one turn of a unit: on those sticks within 1 GiB 1200 blocks a second. There is a range
//! beyond which nothing is gained: where a group has fewer than `n / w` blocks each costs `w` units
//! to be copied, whatever is done, and the array makes `n / (w * 262 ms)` of them a second: 11 of
//! RAID5, 8 of RAID6. Only a larger window moves that range.
//!
//! **What a crash can leave behind** is what it could before: of each block that a client wrote the
//! old or the new. All others are written with what they hold, and so is parity that depends on
//! them alone. A row in which parity and data do not agree after a crash loses what a *missing*
//! member had in it. So an array that is not whole writes no stretches, nor does one with a partial
//! parity log, which promises that only what was being written to a lost member is lost. Of any
//! other that loses a member together with its power, and is forced, more rows lie in the write
//! hole.
//!
//! **What may come between reading and writing.** No other load begins, and none is under way. What
//! is staged meanwhile is in the window, and goes with the stretch or after it. What *passes* the
//! window, or is discarded, goes to the engine behind the reads and before the writes, and would be
//! overwritten by what was read before it: then the stretch is *dropped*, and its rows go as they
//! would without. So they do if any of it cannot be read.

use std::ops::Range;

use shoal_array::{Command, Span};

use super::loads::{Kind, Load};
use super::prices::{RUNS_MIN, Way};
use super::rows::Layout;
use super::stretch::{Decision, Next, Stretch};
use super::{Content, Purpose, Step, WriteBack};
use crate::buffers::Stretches;

impl Layout {
    fn range_of_group(&self, group: u64) -> Range<u64> {
        let bytes = self.group_rows * self.row_bytes;
        let cap = |byte: u64| byte.min(self.capacity_bytes);
        cap(group.saturating_mul(bytes))..cap((group + 1).saturating_mul(bytes))
    }
}

/// Puts bytes over what was read of a stretch.
fn put(stretch: &Stretch, at: u64, bytes: &[u8], content: &impl Content) {
    let (mut at, mut rest) = (at, bytes);
    while !rest.is_empty() {
        let index = stretch.parts.partition_point(|(start, _)| *start <= at) - 1;
        let (start, span) = stretch.parts[index];
        let skipped = (at - start) as u32;
        let (here, later) = rest.split_at(rest.len().min((span.length - skipped) as usize));
        content.write(span.part(skipped, here.len() as u32), here);
        (rest, at) = (later, at + here.len() as u64);
    }
}

impl WriteBack {
    /// What is to be done about the row that is to go next.
    pub(super) fn next_load(&mut self, row: u64) -> Next {
        let layout = *self.rows.layout();
        let room_rows = self.loads.room_bytes(&layout) / layout.row_bytes;
        let may_be = self.is_whole && self.refused.is_none() && room_rows > 0;
        let Some(guess) = layout.stretch_runs.filter(|_| may_be) else {
            return Next::Row;
        };
        let (way, next_row) = self.way_of(row, guess);
        match way {
            Way::ByRows => Next::Row,
            Way::Trial if self.loads.runs_under_way() < RUNS_MIN => Next::Row,
            Way::ByStretches if self.loads.is_empty() => {
                // Clean rows before it are written as well, so that their unit is written from its
                // start; but no stretch of nothing else.
                let first_row = if row - next_row < room_rows { next_row } else { row };
                let start = layout.range_of(first_row).start;
                let group_end = layout.range_of_group(row / layout.group_rows).end;
                Next::Stretch(start..(start + room_rows * layout.row_bytes).min(group_end))
            }
            Way::Trial | Way::ByStretches => Next::Later,
        }
    }

    /// How what is left of a row's group goes, and which is the first row of that.
    fn way_of(&mut self, row: u64, guess: u64) -> (Way, u64) {
        let layout = *self.rows.layout();
        let group = row / layout.group_rows;
        let is_decided = |it: &Decision| it.group == group && it.next_row <= row && it.way != Way::Trial;
        let decision = self.decision.take().filter(is_decided).unwrap_or_else(|| {
            let range = layout.range_of_group(group);
            let runs = self.runs_due(&range);
            let way = match layout.stretches {
                Stretches::Measured => self.prices.way(self.now, (runs, guess), range.end - range.start),
                Stretches::Always => Way::ByStretches,
            };
            Decision { group, next_row: layout.row_of(range.start), way }
        });
        let Decision { next_row, way, .. } = *self.decision.insert(decision);
        (way, next_row)
    }

    /// Has a stretch read.
    pub(super) fn begin_stretch(&mut self, range: Range<u64>) {
        let layout = *self.rows.layout();
        let parts = self.loads.take_buffers(&layout, range.clone());
        let read = |&(offset, span): &(u64, Span)| Step::Submit(Purpose::Stretch, Command::Read { offset, span });
        self.steps.extend(parts.iter().map(read));
        let outstanding = parts.len();
        self.stretch = Some(Stretch { range, parts, outstanding, is_dropped: false, begun: self.now });
    }

    /// The rows of its group up to this one have gone.
    pub(super) fn row_goes(&mut self, row: u64) {
        let group = row / self.rows.layout().group_rows;
        if let Some(decision) = self.decision.as_mut().filter(|decision| decision.group == group) {
            decision.next_row = row + 1;
        }
    }

    /// Runs of dirty content in those rows of a range that are to go: rows that follow each other
    /// without a gap are one.
    fn runs_due(&self, range: &Range<u64>) -> u64 {
        let layout = self.rows.layout();
        let (mut runs, mut end) = (0, None);
        for row in self.rows.due_in(layout.row_of(range.start)..layout.row_of(range.end - 1) + 1) {
            for (first_byte, bytes) in self.pages.dirty(&layout.range_of(row)) {
                runs += u64::from(end != Some(first_byte));
                end = Some(first_byte + u64::from(bytes));
            }
        }
        runs
    }

    /// Something goes to the members past the window.
    pub(super) fn cross(&mut self, range: &Range<u64>) {
        if let Some(stretch) = &mut self.stretch
            && stretch.range.start < range.end
            && range.start < stretch.range.end
        {
            stretch.is_dropped = true;
        }
    }

    /// A part has been read, or cannot be.
    pub(super) fn stretch_read(&mut self, is_read: bool, content: &impl Content) {
        let stretch = self.stretch.as_mut().expect("somebody reads it");
        stretch.outstanding -= 1;
        stretch.is_dropped |= !is_read;
        if stretch.outstanding > 0 {
            return;
        }
        let stretch = self.stretch.take().expect("it was there just now");
        if stretch.is_dropped {
            self.loads.give_back(stretch.parts.iter().map(|(_, span)| *span));
            if let Some(decision) = &mut self.decision {
                decision.way = Way::ByRows;
            }
            return;
        }
        self.write_stretch(&stretch, content);
    }

    /// All of it is read: it is written, with what the window holds of it.
    fn write_stretch(&mut self, stretch: &Stretch, content: &impl Content) {
        let layout = *self.rows.layout();
        let range = stretch.range.clone();
        let buffers = self.loads.whole_buffers(stretch.parts.iter().map(|(_, span)| *span));
        let mut load = Load::of_stretch(Kind::Stretch(range.end - range.start, stretch.begun), buffers);
        for row in layout.row_of(range.start)..=layout.row_of(range.end - 1) {
            let dirty = self.pages.dirty(&layout.range_of(row));
            if dirty.is_empty() {
                continue;
            }
            for &(first_byte, _) in &dirty {
                for run in self.pages.leave(first_byte) {
                    self.pages.read(&run, |at, bytes| put(stretch, run.start + at, bytes, content));
                }
            }
            let epoch = self.rows.leave(row, dirty.iter().map(|&(_, bytes)| u64::from(bytes)).sum());
            load.rows.push((row, epoch));
            load.pages.extend(dirty.iter().map(|&(first_byte, _)| first_byte));
        }
        self.row_goes(layout.row_of(range.end - 1));
        self.begin_load(load, stretch.parts.clone());
    }
}
