//! The resync's steps. What it is about: [`crate::array::resync`].

use crate::array::{
    Array, CommandError, Event, Resync,
    op::{Ended, Kind, Op},
    slab::Key,
};

use super::steps::{StepProgress, Steps};

/// A resync that runs or waits for redundancy.
#[derive(Debug)]
pub(super) struct ResyncJob {
    total: u64,
    pub(super) steps: Steps,
    /// Once the steps in flight have ended it starts again from its position.
    goes_back: bool,
    /// It was told that it cannot go on.
    is_told: bool,
}

impl ResyncJob {
    pub(super) fn wants_step(&self, depth: usize) -> bool {
        !self.goes_back && self.steps.cursor < self.total && self.steps.in_flight() < depth
    }
}

impl Array {
    pub(in crate::array) fn start_resync(&mut self, resync: Resync) -> Result<(), CommandError> {
        if !self.profile.is_writable {
            return Err(CommandError::ReadOnly);
        }
        if self.jobs.scrub.is_some() {
            return Err(CommandError::Busy);
        }
        if self.geometry.redundancy() == 0 {
            return Err(CommandError::NoRedundancy);
        }
        self.list_resync(resync);
        Ok(())
    }

    /// Notes what is not in sync; it is to be made so, as soon as that can be.
    pub(super) fn list_resync(&mut self, resync: Resync) {
        let total = self.geometry.sync_bytes();
        let is_ours = resync.only.as_ref().is_none_or(|only| only.total_bytes() == total);
        assert!(is_ours, "the regions are those of another array");
        let resync = Resync { position: self.step_start(resync.position.min(total)), ..resync };
        let position = self.members.doubt(resync);
        match &mut self.jobs.resync {
            Some(job) => job.goes_back = true,
            None if self.profile.is_writable => {
                let steps = Steps::from(position);
                self.jobs.resync = Some(ResyncJob { total, steps, goes_back: false, is_told: false });
            }
            None => {}
        }
    }

    /// Whether the resync can do something.
    pub(super) fn can_resync(&self) -> bool {
        self.jobs.resync.is_some() && self.members.can_scrub()
    }

    /// Starts a step of the resync; returns its bytes.
    pub(super) fn resync_step(&mut self) -> u64 {
        let (Some(job), Some(resync)) = (&self.jobs.resync, self.members.resync()) else { return 0 };
        let (cursor, total) = (job.steps.cursor, job.total);
        let next = resync.next(cursor, total).unwrap_or(total..total);
        let start = if next.is_empty() { total } else { self.step_start(next.start).max(cursor) };
        let (op, bytes, paid) = if start > cursor {
            (None, start - cursor, 0)
        } else {
            let (op, bytes) = self.start_sync_step(Kind::Resync, cursor..next.end);
            (Some(op), bytes, bytes)
        };
        if let Some(job) = &mut self.jobs.resync {
            job.steps.begin(bytes, op);
        }
        self.advance_resync();
        paid
    }

    pub(in crate::array) fn resync_step_ended(&mut self, op: Key<Op>, ended: Ended) {
        let can_sync = self.members.can_scrub() && !ended.is_moot;
        let job = self.jobs.resync.as_mut().expect("a resync outlives its steps");
        job.steps.of(op).progress = StepProgress::Done;
        job.goes_back |= !can_sync;
        self.advance_resync();
    }

    /// Moves the position past the steps that are done.
    fn advance_resync(&mut self) {
        let Some(job) = &mut self.jobs.resync else { return };
        while let Some(step) = job.steps.pass() {
            if !job.goes_back {
                job.steps.position = step.end;
                self.members.settle_up_to(step.end);
            }
        }
    }

    /// Ends the resync if nothing is left to do, and lets it wait if it cannot go on.
    pub(super) fn end_resync(&mut self) {
        let can_sync = self.members.can_scrub();
        let (Some(job), Some(resync)) = (&mut self.jobs.resync, self.members.resync()) else { return };
        job.goes_back |= !can_sync;
        if job.steps.in_flight() > 0 {
            return;
        }
        let is_done = !job.goes_back && job.steps.cursor >= job.total;
        if is_done || (!can_sync && self.members.are_single_copies()) {
            self.jobs.resync = None;
            self.members.settle();
            return self.events.push_back(Event::ResyncFinished);
        }
        let position = resync.position;
        if job.goes_back {
            (job.steps, job.goes_back) = (Steps::from(position), false);
        }
        if !can_sync && !job.is_told {
            self.events.push_back(Event::ResyncStopped { position });
        }
        job.is_told = !can_sync;
    }
}
