//! Background jobs: rebuilds, one after the other, and the scrub.
//!
//! A job goes through the members from the start in steps of one slice, or one mirrored piece, several in flight. Each
//! step is an [operation](super::op) and waits for its slice or range like any other.
//!
//! *Rebuild.* The member's position is the end of the steps that are done without a gap; below it the member is as good
//! as any. A step that is done keeps its slice until the position has passed it: nobody may write there and treat the member
//! as lost after it was filled. A rebuild stops when its member fails, or at a block that can be had from no member; it
//! then waits for its steps and tells so. The member keeps its state, and the rebuild can be asked for again.
//!
//! *Scrub.* Steps need no order among themselves. What is unreadable is healed as in any read. The scrub ends early if
//! it is told to, or if members fail until there is nothing to compare with.

use alloc::collections::VecDeque;

use super::{
    Array, CommandError, Event, Mismatch, Owner, Progress, Regions, Resync, ScrubMode,
    member::{Change, Protection},
    op::{Ended, Kind, Op, Site},
    order::Claim,
    plan::Cols,
    slab::Key,
    slices::Waiter,
};
use crate::{Copies, Home, Instant, MemberState, Role};

/// The jobs that run or wait.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    /// The first runs.
    rebuilds: VecDeque<Rebuild>,
    scrub: Option<Scrub>,
}

#[derive(Debug)]
struct Rebuild {
    role: Role,
    total: u64,
    /// Everything below is rebuilt.
    position: u64,
    /// Where the next step starts.
    cursor: u64,
    /// Steps whose end the position has not passed, in order.
    steps: VecDeque<RebuildStep>,
    stopped_at: Option<u64>,
}

#[derive(Debug)]
struct RebuildStep {
    end: u64,
    /// None where the member holds nothing.
    op: Option<Key<Op>>,
    is_done: bool,
}

#[derive(Debug)]
struct Scrub {
    repair: bool,
    /// Parity levels: member bytes; mirrors: array bytes.
    cursor: u64,
    total: u64,
    in_flight: usize,
    mismatched_bytes: u64,
    is_stopped: bool,
}

impl Jobs {
    pub(super) fn count_mismatch(&mut self, mismatch: &Mismatch) {
        if let Some(scrub) = &mut self.scrub {
            scrub.mismatched_bytes += mismatch.member_range.end - mismatch.member_range.start;
        }
    }

    pub(super) fn are_idle(&self) -> bool {
        self.rebuilds.is_empty() && self.scrub.is_none()
    }

    /// Whether another step may start, as far as the job goes.
    fn wants_step(&self, depth: usize) -> bool {
        match (self.rebuilds.front(), &self.scrub) {
            (Some(rebuild), _) => {
                rebuild.stopped_at.is_none() && rebuild.cursor < rebuild.total && rebuild.steps.len() < depth
            }
            (None, Some(scrub)) => !scrub.is_stopped && scrub.cursor < scrub.total && scrub.in_flight < depth,
            (None, None) => false,
        }
    }
}

impl Array {
    /// For now all of the member is filled, whatever it holds already.
    pub(super) fn start_rebuild(
        &mut self,
        role: Role,
        position: u64,
        _only: Option<Regions>,
    ) -> Result<(), CommandError> {
        if role.index() >= self.members.states().len() {
            return Err(CommandError::NoSuchRole);
        }
        if !self.profile.is_writable {
            return Err(CommandError::ReadOnly);
        }
        let held = match self.members.state(role) {
            MemberState::InSync => return Err(CommandError::State(MemberState::InSync)),
            MemberState::Rebuilding { position } => position,
            MemberState::Missing => u64::MAX,
        };
        let is_listed = self.jobs.rebuilds.iter().any(|rebuild| rebuild.role == role);
        if self.jobs.scrub.is_some() || is_listed || self.members.io_in_flight(role) > 0 {
            return Err(CommandError::Busy);
        }
        if !self.members.can_rebuild(role) {
            return Err(CommandError::NoRedundancy);
        }
        self.list_rebuild(role, position.min(held));
        Ok(())
    }

    /// Puts a rebuild behind those that wait.
    pub(super) fn list_rebuild(&mut self, role: Role, position: u64) {
        let total = self.geometry.used_bytes(role);
        let position = self.step_start(position.min(total));
        self.members.change(role, Change::Rebuild { position });
        let (cursor, steps, stopped_at) = (position, VecDeque::new(), None);
        self.jobs.rebuilds.push_back(Rebuild { role, total, position, cursor, steps, stopped_at });
    }

    /// The start of the step that a member's byte lies in.
    fn step_start(&self, position: u64) -> u64 {
        match self.members.protection() {
            Protection::Parity => {
                let (_, cols) = self.profile.slice_at(position);
                position - position % u64::from(self.profile.chunk_bytes) + u64::from(cols.start)
            }
            _ => position - position % u64::from(self.profile.block_bytes),
        }
    }

    pub(super) fn start_resync(&mut self, resync: Resync) -> Result<(), CommandError> {
        if !self.profile.is_writable {
            return Err(CommandError::ReadOnly);
        }
        self.resync = Some(resync);
        Ok(())
    }

    pub(super) fn start_scrub(&mut self, mode: ScrubMode) -> Result<(), CommandError> {
        if mode == ScrubMode::Repair && !self.profile.is_writable {
            return Err(CommandError::ReadOnly);
        }
        if !self.jobs.are_idle() {
            return Err(CommandError::Busy);
        }
        if !self.members.can_scrub() {
            return Err(CommandError::NoRedundancy);
        }
        let total = match self.members.protection() {
            Protection::Parity => self.geometry.rows() * u64::from(self.profile.chunk_bytes),
            _ => self.profile.capacity_bytes,
        };
        let repair = mode == ScrubMode::Repair;
        let scrub = Scrub { repair, cursor: 0, total, in_flight: 0, mismatched_bytes: 0, is_stopped: false };
        self.jobs.scrub = Some(scrub);
        Ok(())
    }

    pub(super) fn end_scrub_early(&mut self) {
        if let Some(scrub) = &mut self.jobs.scrub {
            scrub.is_stopped = true;
        }
    }

    pub(super) fn job_progress(&self) -> Option<Progress> {
        if let Some(rebuild) = self.jobs.rebuilds.front() {
            return Some(Progress { done_bytes: rebuild.position, total_bytes: rebuild.total });
        }
        let scrub = self.jobs.scrub.as_ref()?;
        let member_bytes = self.geometry.used_bytes(Role(0));
        let done = u128::from(scrub.cursor) * u128::from(member_bytes) / u128::from(scrub.total.max(1));
        Some(Progress { done_bytes: u64::try_from(done).unwrap_or(member_bytes), total_bytes: member_bytes })
    }

    /// When the job's next step may start; `None` if it waits for something else, or there is none.
    pub(super) fn next_step_due(&self) -> Option<Instant> {
        let wants = self.jobs.wants_step(self.pace.depth());
        wants.then(|| self.pace.due(self.now, self.requests.len() > 0))
    }

    /// Starts the steps that are due, and ends jobs that have none left.
    pub(super) fn run_jobs(&mut self) {
        self.end_rebuild();
        self.end_scrub();
        while self.next_step_due().is_some_and(|due| due <= self.now) {
            let has_requests = self.requests.len() > 0;
            let bytes = if self.jobs.rebuilds.is_empty() { self.scrub_step() } else { self.rebuild_step() };
            self.pace.step(self.now, has_requests, bytes);
            self.end_rebuild();
            self.end_scrub();
        }
    }

    /// Starts a step of the first rebuild; returns its bytes.
    fn rebuild_step(&mut self) -> u64 {
        let rebuild = &self.jobs.rebuilds[0];
        let (role, cursor, total) = (rebuild.role, rebuild.cursor, rebuild.total);
        let kind = Kind::Rebuild(role);
        let (op, bytes) = if self.members.protection() == Protection::Parity {
            let (op, cols) = self.start_slice_step(kind, cursor);
            (Some(op), u64::from(cols.length()))
        } else {
            let length = (total - cursor).min(u64::from(self.profile.step_bytes));
            match self.geometry.homes(role, cursor, length) {
                (Home::Data { offset, .. }, length) => {
                    let piece = self.geometry.piece(offset, length);
                    (Some(self.start_mirror_step(kind, offset, piece.length, piece.copies)), piece.length)
                }
                (_, length) => (None, length),
            }
        };
        let rebuild = &mut self.jobs.rebuilds[0];
        rebuild.cursor += bytes;
        rebuild.steps.push_back(RebuildStep { end: rebuild.cursor, op, is_done: op.is_none() });
        self.advance_rebuild();
        bytes
    }

    fn scrub_step(&mut self) -> u64 {
        let Some(scrub) = &mut self.jobs.scrub else { return 0 };
        scrub.in_flight += 1;
        let kind = Kind::Scrub { repair: scrub.repair };
        let (cursor, left) = (scrub.cursor, scrub.total - scrub.cursor);
        let bytes = if self.members.protection() == Protection::Parity {
            u64::from(self.start_slice_step(kind, cursor).1.length())
        } else {
            let piece = self.geometry.piece(cursor, left.min(u64::from(self.profile.step_bytes)));
            self.start_mirror_step(kind, cursor, piece.length, piece.copies);
            piece.length
        };
        if let Some(scrub) = &mut self.jobs.scrub {
            scrub.cursor += bytes;
        }
        bytes
    }

    fn start_slice_step(&mut self, kind: Kind, member_offset: u64) -> (Key<Op>, Cols) {
        let (slice, cols) = self.profile.slice_at(member_offset);
        let op = Op::new(kind, self.stripe_site(slice), cols);
        let op = self.ops.insert(op);
        self.slices.queue(slice, Waiter::Step(op));
        (op, cols)
    }

    fn start_mirror_step(&mut self, kind: Kind, offset: u64, length: u64, copies: Copies) -> Key<Op> {
        let cols = Cols { start: 0, end: u32::try_from(length).expect("a step is no longer than a buffer") };
        let op = self.ops.insert(Op::new(kind, Site::Mirror { copies, ticket: None }, cols));
        let (ticket, is_ready) = self.order.enter(offset..offset + length, Claim::Alone, Owner::Step(op));
        self.ops[op].set_ticket(ticket);
        if is_ready {
            self.runnable.push_back(Owner::Step(op));
        }
        op
    }

    /// Where in the array a member's byte of a mirror lies.
    pub(super) fn array_offset(&self, role: Role, member_offset: u64) -> u64 {
        match self.geometry.home(role, member_offset) {
            Home::Data { offset, .. } => offset,
            Home::P { .. } | Home::Q { .. } | Home::Unused => 0,
        }
    }

    pub(super) fn rebuild_step_ended(&mut self, op: Key<Op>, ended: Ended) {
        let rebuild = self.jobs.rebuilds.front_mut().expect("a rebuild outlives its steps");
        if let Some(offset) = ended.stopped_at {
            rebuild.stopped_at = Some(rebuild.stopped_at.map_or(offset, |first| first.min(offset)));
        }
        let step = rebuild.steps.iter_mut().find(|step| step.op == Some(op));
        step.expect("a rebuild knows its steps").is_done = true;
        self.advance_rebuild();
    }

    /// Moves the position past the steps that are done, and gives up what these held.
    fn advance_rebuild(&mut self) {
        while let Some(rebuild) = self.jobs.rebuilds.front_mut() {
            if rebuild.steps.front().is_none_or(|step| !step.is_done) {
                return;
            }
            let Some(step) = rebuild.steps.pop_front() else { return };
            let role = rebuild.role;
            let is_filled = rebuild.stopped_at.is_none_or(|stopped_at| step.end <= stopped_at);
            if is_filled && self.members.is_working(role) {
                rebuild.position = step.end;
                self.members.change(role, Change::Advance { position: step.end });
            }
            if let Some(op) = step.op {
                self.let_go(op);
            }
        }
    }

    /// A member failed: if it was being rebuilt, that is over.
    pub(super) fn rebuild_lost_member(&mut self, role: Role) {
        if let Some(rebuild) = self.jobs.rebuilds.iter_mut().find(|rebuild| rebuild.role == role) {
            rebuild.stopped_at = Some(rebuild.position);
        }
    }

    /// Ends rebuilds that have nothing left to do.
    fn end_rebuild(&mut self) {
        while let Some(index) = self.jobs.rebuilds.iter().position(Rebuild::is_over) {
            let Some(rebuild) = self.jobs.rebuilds.remove(index) else { return };
            match rebuild.stopped_at {
                Some(member_offset) => {
                    self.events.push_back(Event::RebuildStopped { role: rebuild.role, member_offset });
                }
                None => {
                    self.members.change(rebuild.role, Change::Finish);
                    self.events.push_back(Event::RebuildFinished(rebuild.role));
                }
            }
        }
    }

    pub(super) fn scrub_step_ended(&mut self, ended: Ended) {
        let scrub = self.jobs.scrub.as_mut().expect("a scrub outlives its steps");
        scrub.in_flight -= 1;
        scrub.is_stopped |= ended.is_moot;
    }

    fn end_scrub(&mut self) {
        let can_scrub = self.members.can_scrub();
        let over = self.jobs.scrub.take_if(|scrub| {
            scrub.is_stopped |= !can_scrub && scrub.cursor < scrub.total;
            scrub.in_flight == 0 && (scrub.is_stopped || scrub.cursor >= scrub.total)
        });
        if let Some(scrub) = over {
            let completed = scrub.cursor >= scrub.total && !scrub.is_stopped;
            self.events.push_back(Event::ScrubFinished { mismatched_bytes: scrub.mismatched_bytes, completed });
        }
    }
}

impl Rebuild {
    fn is_over(&self) -> bool {
        self.steps.is_empty() && (self.stopped_at.is_some() || self.cursor >= self.total)
    }
}
