//! Drives that take and answer I/Os in any order, as real ones with a queue do.
//!
//! A simulated drive takes I/Os in the order in which they are given to it. A real one need not: of
//! what is under way at a time it carries out any first, and its answers come in any order. Only
//! two things hold. What is given to it after an answer comes after what was answered; and a flush
//! covers what was answered before it was given. So an I/O may be *held* before the drive gets it,
//! and an answer after the drive gave it, each for a time of its own:
//!
//! | may happen | may not happen |
//! | --- | --- |
//! | a later I/O overtakes a held one, a flush too: it covers what was answered before it | an I/O overtakes one whose answer its asker had when he gave it |
//! | of two writes to one place that are under way together either is what stays | |
//! | a power cut finds held I/Os not begun, and held answers carried out | an answer is lost, or comes twice |
//!
//! Held I/Os count as pending. A drive that hangs or is pulled meanwhile gets them all the same,
//! and does with them what it does with others.

use std::time::Duration;

use shoal_array::Instant;
use shoal_drive::{Finished, Io, LoopError};
use shoal_volume::{Arena, DriveFacts, DriveId, SimulatedWorld, World};

use crate::random::Random;
use crate::scenario::Reordering;

/// What is told apart in the chance that a world's seed gives.
const PURPOSE: u64 = 7;

/// A simulated world whose drives hold I/Os and answers.
pub(crate) struct OutOfOrder {
    world: SimulatedWorld,
    rule: Reordering,
    random: Random,
    held: Vec<Held<Io>>,
    unanswered: Vec<Held<Finished>>,
}

/// Something that is passed on at a time of its own.
struct Held<T> {
    due_ns: u64,
    what: T,
}

impl OutOfOrder {
    pub(crate) fn new(world: SimulatedWorld, rule: Reordering, seed: u64) -> Self {
        Self { world, rule, random: Random::new(seed, PURPOSE), held: Vec::new(), unanswered: Vec::new() }
    }

    pub(crate) fn inner(&self) -> &SimulatedWorld {
        &self.world
    }

    pub(crate) fn inner_mut(&mut self) -> &mut SimulatedWorld {
        &mut self.world
    }

    pub(crate) fn into_inner(self) -> SimulatedWorld {
        self.world
    }

    /// How long something is held; `None`: it is not.
    fn holding_ns(&mut self) -> Option<u64> {
        let Reordering { held_percent, held_ns_max } = self.rule;
        (held_percent > 0 && self.random.percent(held_percent)).then(|| self.random.within(1..=held_ns_max))
    }

    /// Gives drives what is due, and `finished` the answers that are.
    fn pass_on(&mut self, finished: &mut Vec<Finished>) {
        let now_ns = self.world.now().ns;
        for io in take_due(&mut self.held, now_ns) {
            self.world.submit(io);
        }
        finished.extend(take_due(&mut self.unanswered, now_ns));
    }

    /// Until the next of what is held is due.
    fn until_next(&self) -> Option<Duration> {
        let due = self.held.iter().map(|held| held.due_ns).chain(self.unanswered.iter().map(|held| held.due_ns));
        let now_ns = self.world.now().ns;
        due.min().map(|due_ns| Duration::from_nanos(due_ns.saturating_sub(now_ns)))
    }

    /// Waits for the drives once, not beyond what is held, and holds some of their answers.
    fn wait_once(
        &mut self,
        missing: usize,
        limit: Option<Duration>,
        finished: &mut Vec<Finished>,
    ) -> Result<(), LoopError> {
        let bound = [limit, self.until_next()].into_iter().flatten().min();
        let mut answers = Vec::new();
        match bound {
            Some(bound) if missing > 0 && self.world.pending() == 0 => self.world.sleep(bound),
            bound => self.world.wait(missing, bound, &mut answers)?,
        }
        for answer in answers {
            match self.holding_ns() {
                Some(ns) => self.unanswered.push(Held { due_ns: self.world.now().ns + ns, what: answer }),
                None => finished.push(answer),
            }
        }
        Ok(())
    }
}

fn duration_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// What is due by now, in the order in which it is.
fn take_due<T>(held: &mut Vec<Held<T>>, now_ns: u64) -> Vec<T> {
    let mut due: Vec<_> = held.extract_if(.., |held| held.due_ns <= now_ns).collect();
    due.sort_by_key(|held| held.due_ns);
    due.into_iter().map(|held| held.what).collect()
}

impl World for OutOfOrder {
    fn arena(&self) -> &Arena {
        self.world.arena()
    }

    fn drives(&self) -> Vec<DriveId> {
        self.world.drives()
    }

    fn facts(&self, drive: DriveId) -> DriveFacts {
        self.world.facts(drive)
    }

    fn submit(&mut self, io: Io) {
        match self.holding_ns() {
            Some(ns) => self.held.push(Held { due_ns: self.world.now().ns + ns, what: io }),
            None => self.world.submit(io),
        }
    }

    fn wait(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
    ) -> Result<(), LoopError> {
        if self.rule.held_percent == 0 {
            return self.world.wait(at_least, timeout, finished);
        }
        let already = finished.len();
        let end_ns = timeout.map(|timeout| self.world.now().after_ns(duration_ns(timeout)).ns);
        loop {
            self.pass_on(finished);
            let missing = at_least.saturating_sub(finished.len() - already);
            let limit = end_ns.map(|end_ns| Duration::from_nanos(end_ns.saturating_sub(self.world.now().ns)));
            self.wait_once(missing, limit, finished)?;
            self.pass_on(finished);
            let is_over = end_ns.is_some_and(|end_ns| self.world.now().ns >= end_ns);
            // Then the drives were waited for as long as any of them had something to do.
            let has_waited = end_ns.is_none() && self.until_next().is_none();
            if is_over || has_waited || finished.len() - already >= at_least {
                return Ok(());
            }
        }
    }

    fn pending(&self) -> usize {
        self.world.pending() + self.held.len() + self.unanswered.len()
    }

    fn now(&self) -> Instant {
        self.world.now()
    }

    fn unix_time_s(&self) -> u64 {
        self.world.unix_time_s()
    }

    fn sleep(&mut self, duration: Duration) {
        self.world.sleep(duration);
    }

    fn random_bytes(&mut self) -> [u8; 16] {
        self.world.random_bytes()
    }
}
