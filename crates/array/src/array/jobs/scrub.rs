//! The scrub: reads everything and compares.
//!
//! Its steps need no order among themselves. What is unreadable is healed once it is known whether
//! the others agree; what can be had from nobody is told as [`Event::Lost`]. The scrub ends early
//! if it is told to, or if members fail until there is nothing to compare with.

use crate::array::{Array, CommandError, Event, Mismatch, ScrubMode, op::Ended, op::Kind};

#[derive(Debug)]
pub(super) struct Scrub {
    mode: ScrubMode,
    /// In sync bytes, like the total.
    pub(super) cursor: u64,
    total: u64,
    in_flight: usize,
    mismatched_bytes: u64,
    is_stopped: bool,
}

impl Scrub {
    pub(super) fn wants_step(&self, depth: usize) -> bool {
        !self.is_stopped && self.cursor < self.total && self.in_flight < depth
    }
}

impl Array {
    /// What [`Array::scrub`] would be answered now.
    pub fn can_scrub(&self, mode: ScrubMode) -> Result<(), CommandError> {
        if mode != ScrubMode::Check && !self.profile.is_writable {
            return Err(CommandError::ReadOnly);
        }
        if !self.jobs_are_idle() {
            return Err(CommandError::Busy);
        }
        if !self.members.can_scrub() {
            return Err(CommandError::NoRedundancy);
        }
        Ok(())
    }

    pub(in crate::array) fn start_scrub(&mut self, mode: ScrubMode) -> Result<(), CommandError> {
        self.can_scrub(mode)?;
        let total = self.geometry.sync_bytes();
        let scrub = Scrub { mode, cursor: 0, total, in_flight: 0, mismatched_bytes: 0, is_stopped: false };
        self.jobs.scrub = Some(scrub);
        Ok(())
    }

    pub(in crate::array) fn end_scrub_early(&mut self) {
        if let Some(scrub) = &mut self.jobs.scrub {
            scrub.is_stopped = true;
        }
    }

    /// Starts a step of the scrub; returns its bytes.
    pub(super) fn scrub_step(&mut self) -> u64 {
        let Some(scrub) = &mut self.jobs.scrub else { return 0 };
        scrub.in_flight += 1;
        let kind = Kind::Scrub(scrub.mode);
        let (cursor, total) = (scrub.cursor, scrub.total);
        let (_, bytes) = self.start_sync_step(kind, cursor..total);
        if let Some(scrub) = &mut self.jobs.scrub {
            scrub.cursor += bytes;
        }
        bytes
    }

    pub(in crate::array) fn count_mismatch(&mut self, mismatch: &Mismatch) {
        if let Some(scrub) = &mut self.jobs.scrub {
            scrub.mismatched_bytes += mismatch.member_range.end - mismatch.member_range.start;
        }
    }

    pub(in crate::array) fn scrub_step_ended(&mut self, ended: Ended) {
        let scrub = self.jobs.scrub.as_mut().expect("a scrub outlives its steps");
        scrub.in_flight -= 1;
        scrub.is_stopped |= ended.is_moot;
    }

    pub(super) fn end_scrub(&mut self) {
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
