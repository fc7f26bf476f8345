//! The liveness phase: faults stop, drives come back, and the array has to become well again.

use std::time::Duration;

use shoal_volume::{ArrayVolume, ConsistencyPolicy, Health, OpenOptions, ScrubMode, VolumeError};

use super::Player;
use super::boot::options;
use crate::checkers::{Failure, check_health, check_redundancy, check_scrub, scrub};
use crate::limits::ROUNDS_MAX;
use crate::sample::mirrors_parity;
use crate::watched::Watched;

/// Virtual time that any work of the array's own has to be done in.
const PATIENCE: Duration = Duration::from_secs(3600);

impl Player<'_> {
    /// Ends the faults, and holds the array against everything that it should be then.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        self.note(format_args!("the faults are over"));
        self.away.clear();
        let mut is_whole = false;
        while !is_whole {
            let done = self.mend();
            // Power cuts that are under way may still come.
            is_whole = !self.is_dark();
            self.outlive(done)?;
        }
        self.chronicle.borrow_mut().forget_cuts();
        if !self.stranded.drives.is_empty() {
            self.counts.stranded += 1;
            return self.read_all();
        }
        match self.scenario.is_vast() {
            true if !self.is_whole() => return self.read_all(),
            true => {}
            false => self.check_parity()?,
        }
        let needs_resync = self.array().needs_resync();
        check_health(&self.array().status(), needs_resync)?;
        self.read_all()?;
        self.array_mut().world_mut().placement.verdict()?;
        self.note(format_args!("closed in order"));
        self.check_reopened()
    }

    /// Whatever is wrong with drives is over.
    fn mend(&mut self) -> Result<(), Failure> {
        self.note_struck();
        // Power may still be cut: who was to hang at the next start would be away with nobody to
        // take it back.
        self.hangs.at_start.clear();
        for drive in 0..self.scenario.drives() {
            self.content(drive).disarm();
            if self.hangs.now.contains(&drive) {
                self.pull(drive);
            }
            if self.ids[drive].is_none() {
                self.strike(&shoal_sim::FaultKind::Return { drive })?;
            }
        }
        self.settle()?;
        self.revive_failed()?;
        self.answers.all_may_fail = false;
        self.recover()
    }

    /// Gives the array what it wants until it wants nothing any more.
    pub(super) fn recover(&mut self) -> Result<(), Failure> {
        for round in 0..ROUNDS_MAX {
            // A write meets every member; so the array hears of drives that are gone.
            self.request(crate::scenario::Step::Flush)?;
            self.settle()?;
            if self.scenario.is_vast() {
                self.ask_each_member()?;
            }
            // What a drive was asked before it was mended may have failed since.
            self.revive_failed()?;
            self.take_in_returned()?;
            self.work()?;
            if self.array().status().health == Health::Optimal && self.returned.is_empty() {
                return Ok(());
            }
            if self.scenario.is_vast() {
                continue; // it would be filled from one end to the other
            }
            let Some(drive) = self.free_drives().first().copied() else {
                if round == ROUNDS_MAX / 2 {
                    self.restart()?; // a rebuild that could not record what it left out goes on then
                }
                continue;
            };
            let id = self.ids[drive].expect("free drives are plugged in");
            self.array_mut().world_mut().placement.give(id);
            // Whatever it was before, it is new now.
            let _ = self.array_mut().remove_drive(id);
            let added = self.array_mut().add_drive(id);
            self.note(format_args!("drive {drive} is added: {added:?}"));
            if added.is_err() {
                // It may have been taken out while it stalled, and has to answer first.
                self.pass(1000)?;
            }
        }
        Ok(())
    }

    /// Has an array that nothing goes over from one end to the other hear of members that are gone:
    /// who begins to scrub asks all.
    fn ask_each_member(&mut self) -> Result<(), Failure> {
        if self.array_mut().scrub(ScrubMode::Check).is_err() {
            return Ok(()); // it is not whole, and knows that
        }
        let broken = |error: VolumeError| Failure::new("health", error.to_string());
        self.array_mut().run_background(Duration::from_millis(10)).map_err(broken)?;
        self.array_mut().stop_scrub();
        self.settle()
    }

    /// Lets resyncs, rebuilds and scrubs come to their end. A vast array with logs may have to be
    /// resynced whole after a crash, which takes days: that goes on for a while.
    fn work(&mut self) -> Result<(), Failure> {
        if self.scenario.is_vast() && self.scenario.consistency == ConsistencyPolicy::Ppl {
            let worked = self.array_mut().run_background(Duration::from_secs(100));
            return worked.map(drop).map_err(|error| Failure::new("health", error.to_string()));
        }
        finish_work(self.array_mut())
    }

    /// Whether all members are in sync, and nothing is left to do.
    pub(super) fn is_whole(&self) -> bool {
        let status = self.array().status();
        status.health == Health::Optimal && !status.needs_resync && status.progress.is_none()
    }

    /// What could not be read is written anew; then parity and copies agree.
    fn check_parity(&mut self) -> Result<(), Failure> {
        let has_redundancy = self.redundancy() > 0;
        let found = scrub(self.array_mut(), ScrubMode::Repair, has_redundancy, finish_work)?;
        if self.silent.is_any() && self.scenario.groups() > 1 {
            // The outer array may have read around a wrong block before the inner one took it for
            // right.
            let found = scrub(self.array_mut(), ScrubMode::Repair, has_redundancy, finish_work)?;
            self.counts.silent_found_bytes += found.unwrap_or(0);
        }
        // What an inner array lost in the write hole its mirror has otherwise.
        let lost_inside = self.has_lost_to_holes && mirrors_parity(self.scenario.level);
        if self.silent.is_any() {
            self.counts.silent_found_bytes += found.unwrap_or(0);
        } else if !lost_inside {
            check_scrub(found)?;
        }
        check_scrub(scrub(self.array_mut(), ScrubMode::Check, has_redundancy, finish_work)?)
    }

    /// Closed in order, with all drives, and without each single one. What was never written agreed
    /// with its parity or copies just now: without all but one of the drives, only what was is
    /// read.
    fn check_reopened(&mut self) -> Result<(), Failure> {
        let members = self.seats().into_iter().filter_map(|seat| seat.drive).collect::<Vec<_>>();
        let read_without = self.random.below(members.len().max(1) as u64) as usize;
        let read_without = members.get(read_without).copied();
        let contents = self.close()?;
        self.ids = Self::first_ids(&contents);
        let mut left_out = vec![None];
        let carriers = self.carriers(&contents);
        // One whose superblock cannot be read, and was not written since, is missing as it is.
        if self.redundancy() > 0 && members.iter().all(|member| carriers.contains(member)) {
            left_out.extend(members.into_iter().map(Some));
        }
        for left_out in left_out {
            self.boots += 1;
            let mut given = carriers.clone();
            given.retain(|drive| Some(*drive) != left_out);
            let only_reading = OpenOptions { writable: false, ..options(self.scenario) };
            let opened = self.open_believing(&contents, &given, &only_reading);
            self.array = Some(check_redundancy(left_out, opened)?);
            let is_read_whole = left_out.is_none() || left_out == read_without;
            let read = if is_read_whole { self.read_all() } else { self.read_touched() };
            let verdict = self.array_mut().world_mut().placement.verdict();
            self.array = None;
            let without =
                |failure: Failure| Failure { what: format!("without {left_out:?}: {}", failure.what), ..failure };
            read.and(verdict).map_err(without)?;
        }
        Ok(())
    }
}

/// Lets resyncs, rebuilds and scrubs come to their end.
fn finish_work(array: &mut ArrayVolume<Watched>) -> Result<(), Failure> {
    match array.run_background(PATIENCE) {
        Ok(false) => Ok(()),
        Ok(true) => Err(Failure::new("health", format!("after an hour it still works: {:?}", array.progress()))),
        Err(error) => Err(Failure::new("health", error.to_string())),
    }
}
