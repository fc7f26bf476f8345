//! Failed members are recorded on the others before any write that they missed is answered.
//!
//! Otherwise a crash right after the answer could leave a member that looks as fresh as the rest
//! and lacks the write. Every member that fails begins an *epoch*. A [`crate::Effect::Record`]
//! covers the epochs begun before it was given out, and one is in flight at a time. While the
//! newest epoch is not covered, the answers to writes, discards and flushes are held; if recording
//! fails they are answered with [`RequestError::Failed`].
//!
//! An array with a partial parity log also puts off the writes themselves, see [`super::op`]: it is
//! not resynced after a crash, and the entries of a log say nothing of what a member missed that
//! passes for one in sync. A write that is put off asks for a record if none is under way; if that
//! fails the write does.

use alloc::vec::Vec;

use super::{Array, BadBlocks, Event, member::Change, op::Op, requests::Active, slab::Key};
use crate::{Instant, Outcome, RequestError, Role};

/// What is recorded, and who waits for it.
#[derive(Debug, Default)]
pub(super) struct Records {
    epoch: u64,
    recorded: u64,
    in_flight: bool,
    held: Vec<Key<Active>>,
    /// Writes that have not begun to write.
    put_off: Vec<Key<Op>>,
    /// A flush failed for which nobody has been told yet.
    lost_flush: bool,
    /// Flushes that wait for a renewal.
    flushes: Vec<Key<Active>>,
}

impl Records {
    /// Something has changed that is to be recorded.
    pub(super) fn next_epoch(&mut self) -> u64 {
        self.epoch += 1;
        self.epoch
    }

    /// Something has changed that no record says yet.
    pub(super) fn is_due(&self) -> bool {
        self.recorded < self.epoch
    }

    /// What was answered may be lost, and whoever asks for a flush next is told.
    pub(super) fn note_lost_flush(&mut self) {
        self.lost_flush = true;
    }

    /// Whether a flush has to fail for one that failed before; once.
    pub(super) fn take_lost_flush(&mut self) -> bool {
        core::mem::take(&mut self.lost_flush)
    }
}

/// What was written to a member again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Renewed {
    Something,
    /// It had nothing to lose.
    Nothing,
}

impl Array {
    /// A member answered that it cannot go on. It is taken out, unless it is the last that has some
    /// mirrored data. Returns whether it is out.
    pub(super) fn member_gave_up(&mut self, role: Role) -> bool {
        if !self.members.is_working(role) {
            return true;
        }
        if self.members.is_last_copy(role) {
            return false;
        }
        self.take_out(role);
        true
    }

    /// The last copy of something has not taken a flush, and stays. Changes under way may be lost
    /// there, too: the flush that comes after their answers fails. All flushes that are under way
    /// fail.
    pub(super) fn last_copy_refused_flush(&mut self, role: Role) {
        self.members.refused_flush(role);
        self.unflushed.refused(role);
        self.requests.values_mut().for_each(Active::meet_refusal);
        self.events.push_back(Event::FlushFailed(role));
        self.list_renewal(role);
    }

    /// A flush failed that the driver made of a member beside those that it was asked for: what
    /// that member had answered may be lost. It fails; if it is the last that has some mirrored
    /// data it stays and is renewed, and the next flush of the array says what this one could not.
    pub fn flush_failed(&mut self, now: Instant, role: Role) {
        self.hear(now);
        if !self.member_gave_up(role) {
            self.last_copy_refused_flush(role);
            self.records.note_lost_flush();
        }
        self.settle();
    }

    /// The driver has rewritten and flushed all that a member holds; see [`Self::refused_flush`].
    pub fn member_renewed(&mut self, role: Role) {
        self.end_renewal(role, Renewed::Something);
        self.settle();
    }

    /// Working members that refused a flush and were not rewritten since: last copies in a mirror,
    /// and members with which the array was assembled again. What they had answered before the
    /// refusal may be lost with their power.
    pub fn refused_flush(&self) -> &[Role] {
        self.members.perishable()
    }

    /// Whether a member is to be renewed as a whole, as it refused a flush before it had flushed
    /// anything since the array was assembled: flushes do not wait for that, and are worth nothing
    /// for what it had answered before the refusal.
    pub fn renews_whole_members(&self) -> bool {
        self.members.perishable().iter().any(|role| self.unflushed.is_never_flushed(*role))
    }

    /// What a member may have lost when it refused a flush is there again, except for blocks that
    /// cannot be read; if no more of it is to be renewed.
    pub(super) fn end_renewal(&mut self, role: Role, extent: Renewed) {
        if self.unflushed.is_whole(role) || self.unflushed.has_to_renew(role) {
            return;
        }
        self.members.renewed(role);
        if extent == Renewed::Something {
            self.events.push_back(Event::Renewed(role));
        }
    }

    /// Whether a flush has to wait: it would cover what is being renewed at this moment.
    pub(super) fn hold_for_renewal(&mut self, flush: Key<Active>) -> bool {
        let hold = self.is_renewing();
        if hold {
            self.records.flushes.push(flush);
        }
        hold
    }

    /// Gives out the flushes that waited for a renewal, if it is over.
    pub(super) fn release_flushes(&mut self) {
        if !self.records.flushes.is_empty() && !self.is_renewing() {
            core::mem::take(&mut self.records.flushes).into_iter().for_each(|flush| self.start_flush(flush));
        }
    }

    /// A last copy does not take what was to renew it. Flushes that waited for that fail: another
    /// one would find it willing to flush, and have it renewed again, without end.
    pub(super) fn fail_held_flushes(&mut self) {
        for flush in core::mem::take(&mut self.records.flushes) {
            self.requests[flush].fail(0, RequestError::Failed);
            self.complete(flush);
        }
    }

    /// Takes a working member out.
    pub(super) fn take_out(&mut self, role: Role) {
        self.members.change(role, Change::Fail);
        self.events.push_back(Event::MemberFailed(role));
        if self.profile.is_writable {
            self.records.next_epoch();
            self.start_record();
        }
        self.bad_blocks[role.index()] = BadBlocks::default();
        self.unflushed.forget(role);
        self.rebuild_lost_member(role);
    }

    pub(super) fn start_record(&mut self) {
        let records = &mut self.records;
        if !records.in_flight && records.is_due() {
            records.in_flight = true;
            self.effects.record(records.epoch);
        }
    }

    /// Whether the answer has to wait; it is given later then.
    pub(super) fn hold_for_record(&mut self, request: Key<Active>) -> bool {
        let hold = self.records.is_due();
        if hold {
            self.records.held.push(request);
            self.start_record();
        }
        hold
    }

    /// The operation goes on when all that has failed is recorded, or cannot be.
    pub(super) fn put_off_until_recorded(&mut self, op: Key<Op>) {
        self.records.put_off.push(op);
        self.start_record();
    }

    pub(super) fn record_ended(&mut self, epoch: u64, outcome: &Outcome) {
        self.records.in_flight = false;
        let failed = *outcome != Outcome::Done;
        if !failed {
            self.records.recorded = epoch;
            self.start_record();
        }
        self.rebuild_recorded(epoch, !failed);
        if failed || !self.records.is_due() {
            for op in core::mem::take(&mut self.records.put_off) {
                self.go_on_recorded(op, !failed);
            }
            for request in core::mem::take(&mut self.records.held) {
                if failed {
                    let offset = self.requests[request].start();
                    self.requests[request].fail(offset, RequestError::Failed);
                }
                self.complete(request);
            }
        }
    }
}
