//! The partial parity log, from the operation's side.
//!
//! What is logged is decided by the plan; here is when, and how much at a time. One entry describes consecutive chunks
//! ([`crate::PartialParity`]), two entries must not describe the same columns, and an entry cannot be replayed if one of
//! its chunks is on a member that is missing then. So a turn takes only as many parts as make such entries, and the
//! others get turns of their own: a logged write to chunks 0 and 2 of a stripe is two writes. On a degraded stripe
//! the missing member's chunk goes alone; all that changes is parity, block by block, and needs no replay.
//!
//! Nothing is logged if parity is not written: no parity, no hole.

use super::{Kind, Op, Phase, Site, Turn};
use crate::Outcome;
use crate::array::{
    Array, LogRoom,
    member::Members,
    plan::{Rectangle, rectangles},
    slab::Key,
};

impl Op {
    /// Shortens the turn at work to what one call of the log can take; what is left gets turns of its own.
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
        let op = &mut self.ops[key];
        let entries = core::mem::take(&mut op.plan.log);
        let Site::Stripe { stripe, .. } = &op.site else { return self.start_writes(key) };
        let role = stripe.p;
        if entries.is_empty() || !self.members.holds(role, op.member_range(role)) {
            return self.start_writes(key);
        }
        op.phase = Phase::Logging;
        op.outstanding = 1;
        op.log = Some(self.effects.log(key, role, entries));
    }

    /// The entries are durable; or they are not, and then their member is out, and its parity is not written.
    pub(in crate::array) fn log_ended(&mut self, key: Key<Op>, outcome: &Outcome) {
        let op = &mut self.ops[key];
        op.outstanding = 0;
        if let (true, Site::Stripe { stripe, .. }) = (*outcome != Outcome::Done, &op.site) {
            let role = stripe.p;
            self.member_gave_up(role);
        }
        self.start_writes(key);
    }
}
