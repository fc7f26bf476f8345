//! Rebuilds, one after the other.
//!
//! A rebuild goes through its member from the start in steps of one slice, or one mirrored piece,
//! several in flight. The member's position is the end of the steps that are done without a gap;
//! below it the member is as good as any. A step that is done keeps its slice until the position
//! has passed it: nobody may write there and treat the member as lost after it was filled.
//!
//! *The end.* All that was written to the member is flushed before it is one in sync, by a flush
//! that is begun after the last step. Until then the others are needed: whoever has the last good
//! copy is not let go for one that may lose with its power, or with the flush that it refuses, what
//! had been flushed on that other. If the member does not take the flush it fails, as it can be
//! spared. A rebuild that is found at its end when the array starts does the same.
//!
//! *What nobody has.* A block that can be had from no other member becomes a bad block of the one
//! that is being filled, and is told as [`Event::Lost`]; the rebuild goes on. See
//! [`crate::array::bad_blocks`] for the order in which that becomes durable. If the member's log
//! has no room for it, or there are too few members, the rebuild stops: it waits for its steps and
//! tells so. The member keeps its state, and the rebuild can be asked for again.
//!
//! *Renewal.* A last copy that refused a flush stays a member in sync. What it had taken since its
//! last good flush may go with its power, whatever later flushes say; so that is written to it
//! again ([`crate::array::unflushed`]), by steps of the same kind, which read from itself if there
//! is nobody else. Each has its range for itself, so no write is undone. A block that nobody can
//! read is left as it is. It counts as renewed when it has been gone through; the flush after that
//! is worth what it says. If it does not take a write the renewal stops, and begins anew when it
//! has taken a flush.
//!
//! Flushes wait for a renewal, so it goes before every other job and at full speed. The exception
//! is what a member took before it had flushed anything, of which nothing is known: all of the
//! member is renewed, which takes hours, in its turn and at the pace of a rebuild, and no flush
//! waits for that. What it takes later is known, and renewed before that if it has to be.

use core::ops::Range;

use crate::array::{
    Array, CommandError, Event, JobProgress, Regions,
    effects::Purpose,
    guide::Ahead,
    member::{Change, Protection},
    op::{Ended, Kind, Op},
    record::Renewed,
    slab::Key,
};
use crate::{Home, MemberIo, MemberState, Outcome, Role};

use super::steps::{Step, StepProgress, Steps};

/// What a rebuild makes of its member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aim {
    /// A member: it is none yet, or not beyond the position.
    Fill,
    /// The member that it is: what it may lose is written to it again, from the best copy. Flushes
    /// wait for that.
    Renew,
    /// The same with all of it, as nobody knows what it may lose.
    RenewAll,
}

#[derive(Debug)]
pub(super) struct Rebuild {
    role: Role,
    aim: Aim,
    total: u64,
    pub(super) steps: Steps,
    stopped_at: Option<u64>,
    flush: FinalFlush,
}

/// The flush of all that a rebuild has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FinalFlush {
    NotBegun,
    UnderWay,
    Done,
}

impl Rebuild {
    fn is_over(&self) -> bool {
        let is_complete = self.is_gone_through() && (self.aim != Aim::Fill || self.flush == FinalFlush::Done);
        is_complete || self.steps.in_flight() == 0 && self.stopped_at.is_some()
    }

    fn is_gone_through(&self) -> bool {
        self.steps.in_flight() == 0 && self.stopped_at.is_none() && self.steps.cursor >= self.total
    }

    fn wants_flush(&self) -> bool {
        self.aim == Aim::Fill && self.flush == FinalFlush::NotBegun && self.is_gone_through()
    }

    pub(super) fn wants_step(&self, depth: usize) -> bool {
        self.stopped_at.is_none() && self.steps.cursor < self.total && self.steps.in_flight() < depth
    }

    pub(super) fn progress(&self) -> JobProgress {
        JobProgress { done_bytes: self.steps.position, total_bytes: self.total }
    }

    fn stop_at(&mut self, offset: u64) {
        self.stopped_at = Some(self.stopped_at.map_or(offset, |first| first.min(offset)));
    }
}

impl Array {
    pub(in crate::array) fn start_rebuild(
        &mut self,
        role: Role,
        position: u64,
        only: Option<Regions>,
    ) -> Result<(), CommandError> {
        self.can_rebuild_member(role)?;
        let (position, guide) = self.guide(role, position, only);
        self.list_rebuild(role, position);
        self.members.set_guide(role, guide);
        Ok(())
    }

    /// Whether a rebuild of this member could be started now.
    pub fn can_rebuild_member(&self, role: Role) -> Result<(), CommandError> {
        if role.index() >= self.members.states().len() {
            return Err(CommandError::NoSuchRole);
        }
        if !self.profile.is_writable {
            return Err(CommandError::ReadOnly);
        }
        if self.members.state(role) == MemberState::InSync {
            return Err(CommandError::State(MemberState::InSync));
        }
        let is_listed = self.jobs.rebuilds.iter().any(|rebuild| rebuild.role == role);
        if self.jobs.scrub.is_some() || is_listed || self.members.io_in_flight(role) > 0 {
            return Err(CommandError::Busy);
        }
        if !self.members.can_rebuild(role) {
            return Err(CommandError::NoRedundancy);
        }
        Ok(())
    }

    /// Puts a rebuild behind those that wait.
    pub(super) fn list_rebuild(&mut self, role: Role, position: u64) {
        let total = self.geometry.used_bytes(role);
        let position = self.step_start(position.min(total));
        self.members.change(role, Change::Rebuild { position });
        self.list(role, Aim::Fill, position..total);
    }

    fn list(&mut self, role: Role, aim: Aim, range: Range<u64>) {
        let (position, total) = (range.start, range.end);
        let (steps, flush) = (Steps::from(position), FinalFlush::NotBegun);
        let rebuild = Rebuild { role, aim, total, steps, stopped_at: None, flush };
        if aim == Aim::Renew {
            self.jobs.rebuilds.push_front(rebuild);
        } else {
            self.jobs.rebuilds.push_back(rebuild);
        }
    }

    /// Whether a renewal is under way for which flushes wait, and all other jobs.
    pub(in crate::array) fn is_renewing(&self) -> bool {
        self.jobs.rebuilds.front().is_some_and(|rebuild| rebuild.aim == Aim::Renew)
    }

    /// Has written to a last copy again what it may lose, as it refused a flush. One that is under
    /// way begins anew. A member of a level that has no copies is renewed by the driver, before the
    /// array is used.
    pub(in crate::array) fn list_renewal(&mut self, role: Role) {
        if !self.profile.is_writable || self.members.protection() != Protection::Mirrors {
            return;
        }
        self.rebuild_lost_member(role);
        self.end_scrub_early();
        let (range, is_whole) = (0..self.geometry.used_bytes(role), self.unflushed.is_whole(role));
        if self.unflushed.has_to_renew(role) || !is_whole {
            self.list(role, Aim::Renew, range.clone());
        }
        if is_whole {
            self.list(role, Aim::RenewAll, range);
        }
    }

    fn is_listed(&self, role: Role, aim: Aim) -> bool {
        let is_it = |rebuild: &Rebuild| (rebuild.role, rebuild.aim, rebuild.stopped_at) == (role, aim, None);
        self.jobs.rebuilds.iter().any(is_it)
    }

    /// A renewal ended before it had gone through. If the member refused a write, flushes that wait
    /// for it fail. If it failed, or its renewal begins anew, they are given out when nothing is
    /// renewed any more.
    fn renewal_stopped(&mut self, role: Role) {
        if self.members.perishable().contains(&role) && !self.is_listed(role, Aim::Renew) {
            self.fail_held_flushes();
        }
    }

    /// The member takes flushes: one that did not take what was to renew it may do so now.
    pub(in crate::array) fn resume_renewal(&mut self, role: Role) {
        let is_waited_for = self.unflushed.has_to_renew(role) || !self.unflushed.is_whole(role);
        let aim = if is_waited_for { Aim::Renew } else { Aim::RenewAll };
        if self.members.perishable().contains(&role) && !self.is_listed(role, aim) {
            self.list_renewal(role);
        }
    }

    /// Starts a step of the first rebuild; returns its bytes.
    pub(super) fn rebuild_step(&mut self) -> u64 {
        let rebuild = &self.jobs.rebuilds[0];
        let (role, cursor, total) = (rebuild.role, rebuild.steps.cursor, rebuild.total);
        let ahead = match rebuild.aim {
            Aim::Fill => self.look_ahead(role, cursor, total),
            Aim::Renew => Ahead::of(self.unflushed.next_to_renew(role, cursor..total), cursor..total),
            Aim::RenewAll => Ahead::Stale(total - cursor),
        };
        let stale = match ahead {
            Ahead::Stale(length) => length,
            Ahead::Held(length) => {
                self.jobs.rebuilds[0].steps.begin(length, None);
                self.advance_rebuild();
                return 0;
            }
        };
        let kind = Kind::Rebuild(role);
        let (op, bytes) = if self.members.protection() == Protection::Parity {
            let (op, cols) = self.start_slice_step(kind, cursor);
            (Some(op), u64::from(cols.length()))
        } else {
            let length = stale.min(u64::from(self.profile.step_bytes));
            match self.geometry.homes(role, cursor, length) {
                (Home::Data { offset, .. }, length) => (Some(self.start_mirror_step(kind, offset, length)), length),
                (_, length) => (None, length),
            }
        };
        self.jobs.rebuilds[0].steps.begin(bytes, op);
        self.advance_rebuild();
        bytes
    }

    pub(in crate::array) fn rebuild_step_ended(&mut self, op: Key<Op>, ended: Ended) {
        let epoch = ended.has_bad_blocks.then(|| self.records.next_epoch());
        // Not always the first: a renewal goes before a rebuild that has steps under way.
        let of_op = |rebuild: &&mut Rebuild| rebuild.steps.has(op);
        let rebuild = self.jobs.rebuilds.iter_mut().find(of_op).expect("a rebuild outlives its steps");
        let role = rebuild.role;
        if let Some(offset) = ended.stopped_at {
            rebuild.stop_at(offset);
        }
        rebuild.steps.of(op).progress = epoch.map_or(StepProgress::Done, StepProgress::Unrecorded);
        if epoch.is_some() {
            self.events.push_back(Event::BadBlocksChanged(role));
            self.start_record();
        }
        self.advance_rebuild();
    }

    /// What was to be recorded up to this epoch is, or could not be.
    pub(in crate::array) fn rebuild_recorded(&mut self, epoch: u64, is_recorded: bool) {
        for rebuild in &mut self.jobs.rebuilds {
            let mut start = rebuild.steps.position;
            let mut stopped_at = None;
            for step in rebuild.steps.iter_mut() {
                // Whoever waits for a later epoch waits in vain if this one could not be recorded.
                if matches!(step.progress, StepProgress::Unrecorded(waits_for) if waits_for <= epoch || !is_recorded) {
                    step.progress = StepProgress::Done;
                    stopped_at = stopped_at.or((!is_recorded).then_some(start));
                }
                start = step.end;
            }
            if let Some(offset) = stopped_at {
                rebuild.stop_at(offset);
            }
        }
        self.advance_rebuild();
    }

    /// Moves each position past the steps that are done, and gives up what these held.
    fn advance_rebuild(&mut self) {
        for index in 0..self.jobs.rebuilds.len() {
            while let Some(step) = self.jobs.rebuilds[index].steps.pass() {
                self.pass_step(index, step);
            }
        }
    }

    fn pass_step(&mut self, index: usize, step: Step) {
        let rebuild = &mut self.jobs.rebuilds[index];
        let (role, aim) = (rebuild.role, rebuild.aim);
        let is_filled = rebuild.stopped_at.is_none_or(|stopped_at| step.end <= stopped_at);
        if is_filled && self.members.is_working(role) {
            rebuild.steps.position = step.end;
            if aim == Aim::Fill {
                self.members.change(role, Change::Advance { position: step.end });
            }
        }
        if let Some(op) = step.op {
            self.let_go(op);
        }
    }

    /// A member failed: if it was being rebuilt, that is over.
    pub(in crate::array) fn rebuild_lost_member(&mut self, role: Role) {
        for rebuild in self.jobs.rebuilds.iter_mut().filter(|rebuild| rebuild.role == role) {
            rebuild.stopped_at = Some(rebuild.steps.position);
        }
    }

    /// The flush at the end of a member's rebuild has ended.
    pub(in crate::array) fn rebuild_flushed(&mut self, role: Role, outcome: &Outcome) {
        if *outcome != Outcome::Done {
            self.member_gave_up(role);
        }
        let flushed = |rebuild: &&mut Rebuild| rebuild.role == role && rebuild.flush == FinalFlush::UnderWay;
        if let Some(rebuild) = self.jobs.rebuilds.iter_mut().find(flushed) {
            rebuild.flush = FinalFlush::Done;
        }
    }

    /// Flushes what is filled, and ends rebuilds that have nothing left to do.
    pub(super) fn end_rebuild(&mut self) {
        while let Some(index) = self.jobs.rebuilds.iter().position(Rebuild::wants_flush) {
            let rebuild = &mut self.jobs.rebuilds[index];
            rebuild.flush = FinalFlush::UnderWay;
            let role = rebuild.role;
            self.issue_io(role, MemberIo::Flush, Purpose::Rebuilt);
        }
        while let Some(index) = self.jobs.rebuilds.iter().position(Rebuild::is_over) {
            let Some(rebuild) = self.jobs.rebuilds.remove(index) else { return };
            let Rebuild { role, aim, stopped_at, .. } = rebuild;
            match (aim, stopped_at) {
                (Aim::Fill, Some(member_offset)) => {
                    self.events.push_back(Event::RebuildStopped { role, member_offset });
                }
                (Aim::Fill, None) => {
                    self.members.change(role, Change::Finish);
                    self.events.push_back(Event::RebuildFinished(role));
                }
                (Aim::Renew, Some(_)) => self.renewal_stopped(role),
                (Aim::RenewAll, Some(_)) => {}
                (Aim::Renew, None) => {
                    let had_to = self.unflushed.has_to_renew(role);
                    self.unflushed.renewed(role);
                    self.end_renewal(role, if had_to { Renewed::Something } else { Renewed::Nothing });
                }
                (Aim::RenewAll, None) => {
                    self.unflushed.whole_is_renewed(role);
                    self.end_renewal(role, Renewed::Something);
                }
            }
        }
    }
}
