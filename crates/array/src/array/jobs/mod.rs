//! Background jobs: the [resync], [rebuilds](rebuild), one after the other, and the [scrub].
//!
//! A job goes over members or content from the start, in steps of one slice or one mirrored piece,
//! several in flight. Each step is an [operation](super::op) and waits for its slice or range like
//! any other.

mod rebuild;
mod resync;
mod scrub;
mod steps;

use alloc::collections::VecDeque;
use core::ops::Range;

use super::{
    Array, JobProgress, MemberState, Owner, Resync,
    member::Protection,
    op::{Kind, Op, Site},
    order::Claim,
    plan::Cols,
    slab::Key,
    slices::Waiter,
};
use crate::{Instant, Piece, Role};

use rebuild::Rebuild;
use resync::ResyncJob;
use scrub::Scrub;

/// Steps started in one go. Those in flight are fewer; but steps over what need not be done end at
/// once.
const STEPS_AT_ONCE: usize = 64;

/// The jobs that run or wait.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    /// What is not in sync is to be; if there is the redundancy for it, before all else.
    resync: Option<ResyncJob>,
    /// The first runs.
    rebuilds: VecDeque<Rebuild>,
    scrub: Option<Scrub>,
}

/// The job whose steps are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Resync,
    Rebuild,
    Scrub,
}

impl Array {
    /// Lists what an array has to do from its start on.
    pub(super) fn list_jobs(&mut self, resync: Option<Resync>) {
        if let Some(resync) = resync.filter(|_| self.geometry.redundancy() > 0) {
            self.list_resync(resync);
        }
        for role in self.members.roles() {
            if let (MemberState::Rebuilding { position }, true) = (self.members.state(role), self.profile.is_writable) {
                self.list_rebuild(role, position);
            }
        }
        for role in self.members.perishable().to_vec() {
            match self.members.state(role) {
                MemberState::InSync => self.list_renewal(role),
                MemberState::Rebuilding { .. } | MemberState::Missing => self.members.renewed(role),
            }
        }
        self.end_rebuild();
        self.end_resync();
    }

    /// Whose turn it is; none if nothing is to be done, or nothing can be.
    fn turn(&self) -> Option<Turn> {
        match &self.jobs {
            _ if self.is_renewing() => Some(Turn::Rebuild),
            _ if self.can_resync() => Some(Turn::Resync),
            Jobs { rebuilds, .. } if !rebuilds.is_empty() => Some(Turn::Rebuild),
            Jobs { scrub, .. } => scrub.is_some().then_some(Turn::Scrub),
        }
    }

    pub(super) fn jobs_are_idle(&self) -> bool {
        self.turn().is_none()
    }

    /// Whether another step may start, as far as the job goes.
    fn wants_step(&self) -> bool {
        // Flushes wait for a renewal, also where background work is not to run yet.
        let depth_min = usize::from(self.is_renewing());
        let (jobs, depth) = (&self.jobs, self.pace.depth().max(depth_min));
        match self.turn() {
            Some(Turn::Resync) => jobs.resync.as_ref().is_some_and(|resync| resync.wants_step(depth)),
            Some(Turn::Rebuild) => jobs.rebuilds.front().is_some_and(|rebuild| rebuild.wants_step(depth)),
            Some(Turn::Scrub) => jobs.scrub.as_ref().is_some_and(|scrub| scrub.wants_step(depth)),
            None => false,
        }
    }

    pub(super) fn job_progress(&self) -> Option<JobProgress> {
        let jobs = &self.jobs;
        match self.turn()? {
            Turn::Resync => jobs.resync.as_ref().map(|resync| self.sync_progress(resync.steps.position)),
            Turn::Rebuild => jobs.rebuilds.front().map(|rebuild| rebuild.progress()),
            Turn::Scrub => jobs.scrub.as_ref().map(|scrub| self.sync_progress(scrub.cursor)),
        }
    }

    /// So many sync bytes, as a part of each member.
    fn sync_progress(&self, done: u64) -> JobProgress {
        let total_bytes = self.geometry.used_bytes(Role(0));
        let done = u128::from(done) * u128::from(total_bytes) / u128::from(self.geometry.sync_bytes().max(1));
        JobProgress { done_bytes: u64::try_from(done).unwrap_or(total_bytes), total_bytes }
    }

    /// When the job's next step may start; `None` if it waits for something else, or there is none.
    pub(super) fn next_step_due(&self) -> Option<Instant> {
        let due = || match self.is_renewing() {
            true => self.now,
            false => self.pace.due(self.now, self.requests.len() > 0),
        };
        self.wants_step().then(due)
    }

    /// Starts the steps that are due, and ends jobs that have none left. Where much is left out,
    /// the rest comes with the next timeout, which is due at once.
    pub(super) fn run_jobs(&mut self) {
        self.end_jobs();
        for _ in 0..STEPS_AT_ONCE {
            if self.next_step_due().is_none_or(|due| due > self.now) {
                return;
            }
            let has_requests = self.requests.len() > 0;
            let bytes = match self.turn() {
                Some(Turn::Resync) => self.resync_step(),
                Some(Turn::Rebuild) => self.rebuild_step(),
                Some(Turn::Scrub) => self.scrub_step(),
                None => return,
            };
            self.pace.step(self.now, has_requests, bytes);
            self.end_jobs();
        }
    }

    fn end_jobs(&mut self) {
        self.end_rebuild();
        self.end_resync();
        self.end_scrub();
    }

    /// The start of the step that a member's byte, or a sync byte, lies in.
    fn step_start(&self, position: u64) -> u64 {
        match self.members.protection() {
            Protection::Parity => {
                let (_, cols) = self.profile.slice_at(position);
                position - position % u64::from(self.profile.chunk_bytes) + u64::from(cols.start)
            }
            _ => position - position % u64::from(self.profile.block_bytes),
        }
    }

    /// Starts a step that compares, at the start of a range of sync bytes; returns how many of them
    /// it is for.
    fn start_sync_step(&mut self, kind: Kind, range: Range<u64>) -> (Key<Op>, u64) {
        if self.members.protection() == Protection::Parity {
            let (op, cols) = self.start_slice_step(kind, range.start);
            return (op, u64::from(cols.length()));
        }
        let length = (range.end - range.start).min(u64::from(self.profile.step_bytes));
        let Piece { length, copies, .. } = self.geometry.piece(range.start, length);
        let length = self.members.evenly_held(&copies, length);
        (self.start_mirror_step(kind, range.start, length), length)
    }

    fn start_slice_step(&mut self, kind: Kind, member_offset: u64) -> (Key<Op>, Cols) {
        let (slice, cols) = self.profile.slice_at(member_offset);
        let op = Op::new(kind, self.stripe_site(slice), cols);
        let op = self.ops.insert(op);
        self.queue_at_slice(slice, Waiter::Step(op));
        (op, cols)
    }

    /// Starts a step on a range of content that lies in one piece.
    fn start_mirror_step(&mut self, kind: Kind, offset: u64, length: u64) -> Key<Op> {
        let copies = self.geometry.piece(offset, length).copies;
        let cols = Cols { start: 0, end: u32::try_from(length).expect("a step is no longer than a buffer") };
        let op = self.ops.insert(Op::new(kind, Site::Mirror { copies, offset, ticket: None }, cols));
        let (ticket, is_ready) = self.order.enter(offset..offset + length, Claim::Alone, Owner::Step(op));
        self.ops[op].set_ticket(ticket);
        if is_ready {
            self.runnable.push_back(Owner::Step(op));
        }
        op
    }
}
