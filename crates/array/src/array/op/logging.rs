//! The partial parity log, from the operation's side.
//!
//! What is logged is decided by the plan; here is when, and how much at a time. One entry describes
//! consecutive chunks ([`crate::PartialParity`]), two entries must not describe the same columns,
//! and an entry cannot be replayed if one of its chunks is on a member that is missing then. So a
//! turn takes only as many parts as make such entries, and the others get turns of their own: a
//! logged write to chunks 0 and 2 of a stripe is two writes. On a degraded stripe the missing
//! member's chunk goes alone; all that changes is parity, block by block, and needs no replay.
//!
//! Nothing is logged if parity is not written: no parity, no hole. That holds once the failure is
//! recorded. Until then a crash brings the member back as one in sync, with parity or data that
//! does not fit what was written without it, and with no entry to tell. So while there is something
//! to be recorded, no write of a stripe begins: it gives up its buffers and its entries, waits for
//! the record, and is planned anew. If the record fails, the write fails with nothing written.

use super::{Kind, Op, Phase, Site, Turn};
use crate::Outcome;
use crate::array::{
    Array, Event, LogRoom,
    member::Members,
    plan::{Rectangle, rectangles},
    slab::Key,
};

impl Op {
    /// Shortens the turn at work to what one call of the log can take; what is left gets turns of
    /// its own.
    pub(super) fn fit_log(&mut self, members: &Members, room: LogRoom, block_bytes: u32) {
        let (Kind::Write(_), Site::Stripe { stripe, .. }) = (&self.kind, &self.site) else { return };
        let range = self.member_range(stripe.p);
        if !members.holds(stripe.p, range.clone()) {
            return;
        }
        let missing = stripe.data.iter().position(|role| !members.holds(*role, range.clone()));
        loop {
            let parts = self.parts();
            match rectangles(&parts, missing) {
                Err(index) => self.leave_blocks(index),
                Ok(rectangles) if fits(&rectangles, room) => return,
                Ok(_) if !self.halve(block_bytes) => return,
                Ok(_) => {}
            }
        }
    }

    /// Leaves the parts of the blocks from this one on for later.
    fn leave_blocks(&mut self, index: usize) {
        let Turn { cols, parts } = self.turn.clone();
        let first = parts.start + self.kind.parts()[parts.clone()].partition_point(|part| part.index < index);
        self.todo.push(Turn { cols, parts: first..parts.end });
        self.turn.parts.end = first;
    }
}

fn fits(rectangles: &[Rectangle], room: LogRoom) -> bool {
    let bytes: u32 = rectangles.iter().map(|rectangle| rectangle.cols.length()).sum();
    bytes <= room.bytes && rectangles.len() <= room.entries as usize
}

impl Array {
    /// Hands the plan's entries to the log, or goes on to writing if there are none.
    pub(super) fn start_log(&mut self, key: Key<Op>) {
        if self.put_off(key) {
            return;
        }
        let op = &mut self.ops[key];
        let entries = core::mem::take(&mut op.plan.log);
        let Site::Stripe { stripe, .. } = &op.site else { return self.write_in_turn(key) };
        let role = stripe.p;
        if entries.is_empty() || !self.members.holds(role, op.member_range(role)) {
            return self.write_in_turn(key);
        }
        op.phase = Phase::Logging;
        op.outstanding = 1;
        op.log = Some(self.effects.log(key, role, entries));
    }

    /// The entries are durable; or they are not, and then their member is out, and once that is
    /// recorded its parity is not written.
    pub(in crate::array) fn log_ended(&mut self, key: Key<Op>, outcome: &Outcome) {
        let op = &mut self.ops[key];
        op.outstanding = 0;
        if let (true, Site::Stripe { stripe, .. }) = (*outcome != Outcome::Done, &op.site) {
            let role = stripe.p;
            self.member_gave_up(role);
        }
        if !self.put_off(key) {
            self.start_writes(key);
        }
    }

    /// Whether a write has to wait for the record of what has failed; it goes on with
    /// [`Self::go_on_recorded`] then.
    fn put_off(&mut self, key: Key<Op>) -> bool {
        let op = &mut self.ops[key];
        let waits = self.profile.log_room.is_some() && matches!(op.kind, Kind::Write(_)) && self.records.is_due();
        if waits {
            op.phase = Phase::Recording;
            self.pool.give_back(&mut op.scratch);
            self.release_log(key);
            self.put_off_until_recorded(key);
        }
        waits
    }

    /// The record that a write waited for has ended.
    pub(in crate::array) fn go_on_recorded(&mut self, key: Key<Op>, is_recorded: bool) {
        if is_recorded {
            return self.begin(key);
        }
        self.fail_parts(key, false);
        self.columns_done(key);
    }

    /// The log's entries of the columns at work are not needed any more, if there are any.
    pub(super) fn release_log(&mut self, key: Key<Op>) {
        if let Some(log) = self.ops[key].log.take() {
            self.events.push_back(Event::LogReleased(log));
        }
    }
}
