//! Writes go to each member in ascending order where there is a choice: an operation that is ready
//! to write lets the one on the slice before its own go first.
//!
//! Flash hates a step back: what is written behind its successor costs a copy of what lies between.
//! Operations on neighbouring slices begin in the order of their slices, as a writer submits them,
//! but not all are ready to write equally soon: a row that is whole needs nothing, one that two
//! requests fill is put together first, the incomplete one at the start has to read. So who is
//! ready while the slice before its own is still being read or computed stands *in line*, with the
//! buffers that it has. Its row loses little by that, as they belong to one writer, whose request
//! is not answered before both are written.
//!
//! *Nobody waits for ever.* Whoever stands in line waits for an operation on a lower slice that has
//! all its buffers, and reads or computes, or stands in line itself; the lowest of them does not.
//! It is not waited for if it waits for anything else: for buffers, before it began or because a
//! read failed. With a partial parity log, which may be full until others have written, nobody
//! stands in line.

use super::{Kind, Op, Phase, Site};
use crate::array::{Array, slab::Key};

impl Array {
    /// The plan is ready to be written: it is, now or after the write on the slice before.
    pub(super) fn write_in_turn(&mut self, key: Key<Op>) {
        let Some(slice) = self.place_in_line(key) else { return self.start_writes(key) };
        let before = slice.checked_sub(1).and_then(|before| self.slices.writer(before));
        if before.is_some_and(|before| self.ops[before].will_write_soon()) {
            self.ops[key].phase = Phase::InLine;
            return;
        }
        self.start_writes(key);
        self.let_followers_write(slice);
    }

    /// The slice of a write that takes its turn.
    pub(super) fn place_in_line(&self, key: Key<Op>) -> Option<u64> {
        match &self.ops[key] {
            Op { kind: Kind::Write(_), site: Site::Stripe { slice, .. }, .. } if self.profile.log_room.is_none() => {
                Some(*slice)
            }
            _ => None,
        }
    }

    /// Nobody has to stand in line for the operation on this slice any more.
    pub(super) fn let_followers_write(&mut self, slice: u64) {
        let mut next = slice + 1;
        while let Some(follower) = self.slices.writer(next)
            && self.ops[follower].phase == Phase::InLine
        {
            self.start_writes(follower);
            next += 1;
        }
    }
}

impl Op {
    fn will_write_soon(&self) -> bool {
        matches!(self.phase, Phase::Reading | Phase::Computing | Phase::InLine)
    }
}
