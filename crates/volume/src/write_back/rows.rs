//! Which rows of the array have something in the window, and which of them go to the members next.
//!
//! | a row goes when | and then |
//! | --- | --- |
//! | all of it is in the window | nothing has to be read for its parity |
//! | somebody flushes, and it was dirty by then | the flush ends after it |
//! | nobody has written for a while, or it has been dirty for long | little is lost by a crash |
//! | there is little room, and its group is the fullest of those that have been dirty for longest | there is room |
//!
//! Rows that are to go leave in ascending order, from where the last one left and then from the
//! start again, as an elevator does. So each member is written in ascending order, parity included,
//! and a backlog of several streams leaves in long runs of each. A *group* is as many rows as lie
//! in one erase unit of each member: what a member has to copy when it is written out of order, it
//! copies once for all of a group.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::buffers::Stretches;

/// Of the groups that have been dirty for longest so many are looked at, and the fullest of them
/// goes.
const CANDIDATES: usize = 16;

/// What rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Content of one row: written as a whole, nothing has to be read.
    pub(crate) row_bytes: u64,
    /// Content is best cut at multiples of this: a chunk.
    pub(crate) chunk_bytes: u64,
    /// Rows that lie in one erase unit of each member.
    pub(crate) group_rows: u64,
    /// From so many runs of dirty content in a group on it is guessed to go better as a
    /// [stretch](super::stretches); none: there are no stretches.
    pub(crate) stretch_runs: Option<u64>,
    /// Whether it is asked what they cost.
    pub(crate) stretches: Stretches,
    /// Bytes of content.
    pub(crate) capacity_bytes: u64,
}

impl Layout {
    pub(super) fn row_of(&self, offset: u64) -> u64 {
        offset / self.row_bytes
    }

    pub(super) fn range_of(&self, row: u64) -> Range<u64> {
        row * self.row_bytes..((row + 1) * self.row_bytes).min(self.capacity_bytes)
    }
}

/// A row that has something in the window.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    dirty_bytes: u64,
    /// Dirty rows: the epoch in which it became so.
    epoch: u64,
    /// Dirty rows: its place in the order in which they became so.
    age: u64,
    /// Is to go.
    is_due: bool,
    /// Some of it is on its way to the members.
    is_leaving: bool,
}

/// Everything dirty up to a moment: what a flush waits for. A flush ends one epoch and begins the
/// next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Epoch(u64);

/// All rows that have something in the window.
#[derive(Debug)]
pub(super) struct Rows {
    layout: Layout,
    rows: BTreeMap<u64, Row>,
    /// Due, and not leaving.
    due: BTreeSet<u64>,
    /// Dirty rows by age.
    by_age: BTreeMap<u64, u64>,
    ages: u64,
    /// Where the elevator is.
    cursor: u64,
    epoch: u64,
    /// By epoch: dirty rows, and rows on their way, of that epoch.
    outstanding: BTreeMap<u64, usize>,
    dirty_bytes: u64,
    /// Dirty bytes of rows that are due.
    due_bytes: u64,
}

impl Rows {
    pub(super) fn new(layout: Layout) -> Self {
        let (rows, due, by_age, outstanding) = Default::default();
        let (ages, cursor, epoch, dirty_bytes, due_bytes) = Default::default();
        Self { layout, rows, due, by_age, ages, cursor, epoch, outstanding, dirty_bytes, due_bytes }
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn dirty_bytes(&self) -> u64 {
        self.dirty_bytes
    }

    /// Dirty bytes of rows that are to go.
    pub(super) fn due_bytes(&self) -> u64 {
        self.due_bytes
    }

    /// Something was written to a row, of which so many bytes were not dirty before.
    pub(super) fn wrote(&mut self, number: u64, newly_dirty: u64) {
        let range = self.layout.range_of(number);
        self.add_dirty(number, newly_dirty);
        let row = self.rows.get(&number).copied().unwrap_or_default();
        if !row.is_due && row.dirty_bytes == range.end - range.start {
            self.make_due(number);
        }
    }

    /// [`Self::wrote`], and the row does not go before the next [sweep](Self::sweep), even if all
    /// of it is there.
    pub(super) fn add_dirty(&mut self, number: u64, newly_dirty: u64) {
        if newly_dirty == 0 {
            return;
        }
        let row = self.rows.entry(number).or_default();
        if row.dirty_bytes == 0 {
            (row.epoch, row.age) = (self.epoch, self.ages);
            self.by_age.insert(self.ages, number);
            self.ages += 1;
            *self.outstanding.entry(self.epoch).or_default() += 1;
        }
        row.dirty_bytes += newly_dirty;
        self.dirty_bytes += newly_dirty;
        if row.is_due {
            self.due_bytes += newly_dirty;
        }
    }

    fn make_due(&mut self, number: u64) {
        let row = self.rows.get_mut(&number).expect("only rows with content are made due");
        if !std::mem::replace(&mut row.is_due, true) {
            self.due_bytes += row.dirty_bytes;
        }
        if !row.is_leaving {
            self.due.insert(number);
        }
    }

    /// Has everything go that is dirty. It has gone when [`Self::is_over`] says so of the epoch
    /// that is returned.
    pub(super) fn sweep(&mut self) -> Epoch {
        let dirty: Vec<u64> = self.by_age.values().copied().collect();
        dirty.into_iter().for_each(|number| self.make_due(number));
        self.epoch += 1;
        Epoch(self.epoch - 1)
    }

    /// Has a group go that makes room; `false` if all that is dirty is going already.
    pub(super) fn make_room(&mut self) -> bool {
        let group_rows = self.layout.group_rows;
        let mut candidates: Vec<u64> = Vec::new();
        for number in self.by_age.values().filter(|number| !self.rows[number].is_due) {
            let group = number / group_rows;
            if !candidates.contains(&group) {
                candidates.push(group);
            }
            if candidates.len() == CANDIDATES {
                break;
            }
        }
        let rows_of = |group: &u64| group * group_rows..(group + 1) * group_rows;
        let content = |group: &u64| self.rows.range(rows_of(group)).map(|(_, row)| row.dirty_bytes).sum::<u64>();
        // Of equals the oldest.
        let Some(group) = candidates.iter().rev().max_by_key(|group| content(group)) else { return false };
        let dirty = self.rows.range(rows_of(group)).filter(|(_, row)| row.dirty_bytes > 0);
        let dirty: Vec<u64> = dirty.map(|(&number, _)| number).collect();
        dirty.into_iter().for_each(|number| self.make_due(number));
        true
    }

    /// The row that is to go next.
    pub(super) fn next(&self) -> Option<u64> {
        self.due.range(self.cursor..).chain(&self.due).next().copied()
    }

    /// Those of these rows that are to go.
    pub(super) fn due_in(&self, rows: Range<u64>) -> impl Iterator<Item = u64> {
        self.due.range(rows).copied()
    }

    /// So many dirty bytes of a row are on their way to the members. [`Self::landed`] wants its
    /// epoch back.
    pub(super) fn leave(&mut self, number: u64, bytes: u64) -> Epoch {
        let row = self.rows.get_mut(&number).expect("only rows with content leave");
        row.dirty_bytes -= bytes;
        self.dirty_bytes -= bytes;
        if row.is_due {
            self.due_bytes -= bytes;
        }
        row.is_leaving = true;
        let epoch = row.epoch;
        *self.outstanding.entry(epoch).or_default() += 1;
        self.due.remove(&number);
        self.cursor = number;
        self.look_whether_clean(number);
        Epoch(epoch)
    }

    /// What was on its way has been refused, and so many bytes are dirty again: they go with the
    /// next [sweep](Self::sweep), which ends the epoch that is returned.
    pub(super) fn refused(&mut self, number: u64, epoch: Epoch, dirty_again: u64) -> Epoch {
        self.settle(epoch.0);
        let row = self.rows.get_mut(&number).expect("a row that leaves is known");
        row.is_leaving = false;
        if row.dirty_bytes > 0 {
            // Nobody who waits now waits for it any more.
            let before = std::mem::replace(&mut row.epoch, self.epoch);
            if std::mem::take(&mut row.is_due) {
                self.due_bytes -= row.dirty_bytes;
            }
            *self.outstanding.entry(self.epoch).or_default() += 1;
            self.settle(before);
        }
        self.add_dirty(number, dirty_again);
        if self.rows[&number].dirty_bytes == 0 {
            self.rows.remove(&number);
        }
        Epoch(self.epoch)
    }

    /// What was on its way is with the members.
    pub(super) fn landed(&mut self, number: u64, epoch: Epoch) {
        self.settle(epoch.0);
        let row = self.rows.get_mut(&number).expect("a row that leaves is known");
        row.is_leaving = false;
        let range = self.layout.range_of(number);
        if row.dirty_bytes == 0 {
            self.rows.remove(&number);
        } else if row.is_due || row.dirty_bytes == range.end - range.start {
            self.make_due(number);
        }
    }

    /// A row that was dirty may not be any more.
    fn look_whether_clean(&mut self, number: u64) {
        let row = self.rows.get_mut(&number).expect("it was dirty just now");
        if row.dirty_bytes == 0 {
            row.is_due = false;
            self.by_age.remove(&row.age);
            let epoch = row.epoch;
            self.settle(epoch);
        }
    }

    fn settle(&mut self, epoch: u64) {
        let count = self.outstanding.get_mut(&epoch).expect("what is settled was outstanding");
        *count -= 1;
        if *count == 0 {
            self.outstanding.remove(&epoch);
        }
    }

    /// Whether all that was dirty when the epoch ended is with the members, or lost.
    pub(super) fn is_over(&self, epoch: Epoch) -> bool {
        self.outstanding.first_key_value().is_none_or(|(&first, _)| first > epoch.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Rows {
        Rows::new(Layout {
            row_bytes: 8192,
            chunk_bytes: 4096,
            group_rows: 4,
            stretch_runs: None,
            stretches: Stretches::Measured,
            capacity_bytes: 1 << 20,
        })
    }

    #[test]
    fn full_rows_go_in_ascending_order_from_where_the_last_one_went() {
        let mut rows = rows();
        for number in [7, 2, 9] {
            rows.wrote(number, 4096);
        }
        assert_eq!(rows.next(), None, "none is full");
        for number in [7, 2, 9] {
            rows.wrote(number, 4096);
        }
        assert_eq!(rows.next(), Some(2));
        rows.leave(2, 8192);
        rows.leave(7, 8192);
        rows.wrote(3, 8192);
        assert_eq!(rows.next(), Some(9), "3 lies behind the elevator");
        rows.leave(9, 8192);
        assert_eq!(rows.next(), Some(3));
    }

    #[test]
    fn an_epoch_is_over_when_all_that_was_dirty_by_then_has_landed() {
        let mut rows = rows();
        rows.wrote(1, 4096);
        let first = rows.leave(1, 4096);
        rows.wrote(1, 512);
        let epoch = rows.sweep();
        rows.wrote(5, 4096);
        assert_eq!(rows.next(), None, "1 has not landed yet");
        rows.landed(1, first);
        assert_eq!(rows.next(), Some(1));
        assert!(!rows.is_over(epoch));
        let second = rows.leave(1, 512);
        assert!(!rows.is_over(epoch));
        rows.landed(1, second);
        assert!(rows.is_over(epoch), "5 was written later");
        assert_eq!((rows.next(), rows.dirty_bytes(), rows.due_bytes()), (None, 4096, 0));
    }

    #[test]
    fn room_is_made_by_the_fullest_of_the_oldest_groups() {
        let mut rows = rows();
        rows.wrote(0, 512);
        rows.wrote(4, 512);
        rows.wrote(6, 512);
        rows.wrote(9, 512);
        assert!(rows.make_room());
        assert_eq!((rows.next(), rows.due_bytes()), (Some(4), 1024));
        rows.leave(4, 512);
        assert_eq!(rows.next(), Some(6));
        assert!(rows.make_room());
        assert_eq!(rows.next(), Some(6));
        rows.leave(6, 512);
        assert_eq!(rows.next(), Some(0), "the older of the two that are left");
    }
}
