//! What can be had from nobody: listed by position, and never taken for data later.

use core::ops::Range;

use super::{Kind, Op, Site};
use crate::array::{Array, Event, member::Members, slab::Key};
use crate::{MemberState, Role};

/// Content that is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lost {
    role: Role,
    member_range: Range<u64>,
    /// First array byte.
    offset: u64,
}

impl Op {
    /// The columns at work on a member, as bytes of its data area.
    pub(super) fn member_range(&self, role: Role) -> Range<u64> {
        let start = self.member_offset(role);
        start + u64::from(self.turn.cols.start)..start + u64::from(self.turn.cols.end)
    }

    /// Adds what is lost to what was lost before in these columns' neighbours.
    fn lose(&mut self, role: Role, offset: u64) {
        let member_range = self.member_range(role);
        let goes_on = |lost: &&mut Lost| {
            let length = lost.member_range.end - lost.member_range.start;
            lost.role == role && lost.member_range.end == member_range.start && lost.offset + length == offset
        };
        match self.lost.iter_mut().find(goes_on) {
            Some(lost) => lost.member_range.end = member_range.end,
            None => self.lost.push(Lost { role, member_range, offset }),
        }
    }

    /// The rebuild gets no further than this.
    fn stop_at(&mut self, offset: u64) {
        self.stopped_at = Some(self.stopped_at.map_or(offset, |first| first.min(offset)));
        self.todo.clear();
    }

    /// Notes the content of the columns at work that no member has. Of mirrors `role` stands for
    /// all.
    fn lose_columns(&mut self, members: &Members, role: Role, chunk_bytes: u32) {
        let within = u64::from(self.turn.cols.start);
        let (data, offset) = match &self.site {
            Site::Mirror { offset, .. } => return self.lose(role, offset + within),
            Site::Stripe { stripe, .. } => (stripe.data.clone(), stripe.offset),
        };
        let starts = (offset..).step_by(chunk_bytes as usize);
        for (role, start) in data.into_iter().zip(starts) {
            if self.bad.contains(&role) || !members.holds(role, self.member_range(role)) {
                self.lose(role, start + within);
            }
        }
    }
}

impl Array {
    /// What belongs on the member that is being filled cannot be had. If it is a block that
    /// somebody could not read, it becomes a bad block there; see [`crate::array::bad_blocks`].
    pub(super) fn rebuild_falls_short(&mut self, key: Key<Op>, role: Role) {
        let op = &mut self.ops[key];
        let range = op.member_range(role);
        let is_unreadable = !op.bad.is_empty() && !op.is_gone;
        if is_unreadable && self.members.state(role) == MemberState::InSync {
            // It is renewed: what nobody can read cannot be written to it again.
            return;
        }
        if is_unreadable && self.bad_blocks[role.index()].insert(range.clone()).is_ok() {
            op.has_bad_blocks = true;
            op.lose_columns(&self.members, role, self.profile.chunk_bytes);
            return;
        }
        op.stop_at(range.start);
    }

    /// A member that stays has not taken what was written to it. It is not renewed by that.
    pub(super) fn renewal_falls_short(&mut self, key: Key<Op>, role: Role) {
        let op = &mut self.ops[key];
        if matches!(op.kind, Kind::Rebuild(of) if of == role) {
            op.stop_at(op.member_range(role).start);
        }
    }

    /// There is nothing to compare with: too few members, or blocks that nobody could read.
    pub(super) fn scrub_falls_short(&mut self, key: Key<Op>) {
        let op = &mut self.ops[key];
        match op.bad.first() {
            None => op.is_moot = true,
            Some(&role) => op.lose_columns(&self.members, role, self.profile.chunk_bytes),
        }
    }

    /// Tells what an operation found to be lost.
    pub(super) fn tell_losses(&mut self, key: Key<Op>) {
        for Lost { role, member_range, offset } in self.ops[key].lost.drain(..) {
            self.events.push_back(Event::Lost { role, member_range, offset });
        }
    }
}
