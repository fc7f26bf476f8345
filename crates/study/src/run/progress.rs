//! How far a study is, and how long it still takes.

use std::cell::Cell;

use crate::plan::{Cost, Step, StudyPlan};

/// The parts of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Each drive alone.
    Alone,
    /// All drives at once.
    Together,
    /// The arrays.
    Arrays,
}

/// How far a study is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyProgress {
    /// In which part.
    pub phase: Phase,
    /// What is being measured.
    pub what: String,
    /// Steps done.
    pub done_steps: u32,
    /// Steps in all.
    pub total_steps: u32,
    /// What has been done of everything, in thousandths of the time it takes.
    pub done_per_mille: u16,
    /// An estimate, from the time the steps so far took.
    pub left_ns: u64,
}

/// Progress within a step is told at most this often, by the time of whoever watches.
const OFTEN_NS: u64 = 50_000_000;

/// Turns steps into progress. Steps are weighed by what they were estimated to take; what they took
/// in truth corrects the estimate of what is left.
pub(super) struct Tracker<'a> {
    step_ns: Vec<u64>,
    total_ns: u64,
    /// The time of whoever watches.
    now_ns: &'a dyn Fn() -> u64,
    start_ns: u64,
    told_ns: Cell<u64>,
    /// How long the drives were at work, by their own time.
    worked_ns: Cell<u64>,
    done_steps: usize,
    /// Estimated time of the steps done.
    done_ns: u64,
    phase: Phase,
    what: String,
}

impl<'a> Tracker<'a> {
    pub(super) fn new(plan: &StudyPlan, drive_count: usize, bytes_per_s: u64, now_ns: &'a dyn Fn() -> u64) -> Self {
        let cost = Cost::estimate(plan, drive_count, bytes_per_s);
        Self {
            step_ns: cost.step_ns,
            total_ns: cost.duration_ns,
            now_ns,
            start_ns: now_ns(),
            told_ns: Cell::new(0),
            worked_ns: Cell::new(0),
            done_steps: 0,
            done_ns: 0,
            phase: Phase::Alone,
            what: String::new(),
        }
    }

    /// Drives were at work for so long, by their own time.
    pub(super) fn worked(&self, ns: u64) {
        self.worked_ns.set(self.worked_ns.get().saturating_add(ns));
    }

    /// How long drives were at work so far.
    pub(super) fn worked_ns(&self) -> u64 {
        self.worked_ns.get()
    }

    /// What the present step was estimated to take.
    pub(super) fn estimate_ns(&self) -> u64 {
        self.step_ns.get(self.done_steps).copied().unwrap_or(0)
    }

    pub(super) fn begin(&mut self, what: String, step: Step, tell: &mut dyn FnMut(&StudyProgress)) {
        self.what = what;
        self.phase = match step {
            Step::Alone { .. } => Phase::Alone,
            Step::Together { .. } => Phase::Together,
            Step::Array { .. } => Phase::Arrays,
        };
        self.tell_now(0, tell);
    }

    /// So many thousandths of the present step are done.
    pub(super) fn tell(&self, step_per_mille: u64, tell: &mut dyn FnMut(&StudyProgress)) {
        if self.elapsed_ns().saturating_sub(self.told_ns.get()) >= OFTEN_NS {
            self.tell_now(step_per_mille, tell);
        }
    }

    fn tell_now(&self, step_per_mille: u64, tell: &mut dyn FnMut(&StudyProgress)) {
        let elapsed_ns = self.elapsed_ns();
        self.told_ns.set(elapsed_ns);
        tell(&self.progress(step_per_mille, elapsed_ns));
    }

    fn elapsed_ns(&self) -> u64 {
        (self.now_ns)().saturating_sub(self.start_ns)
    }

    pub(super) fn end(&mut self, tell: &mut dyn FnMut(&StudyProgress)) {
        self.done_ns += self.estimate_ns();
        self.done_steps += 1;
        self.tell_now(0, tell);
    }

    fn progress(&self, step_per_mille: u64, elapsed_ns: u64) -> StudyProgress {
        let done_ns = self.done_ns + self.estimate_ns() / 1000 * step_per_mille.min(1000);
        let left_ns = self.total_ns.saturating_sub(done_ns);
        // As slow as so far; at the very start, as estimated.
        let (slowness, of) = if done_ns > self.total_ns / 50 { (elapsed_ns, done_ns.max(1)) } else { (1, 1) };
        let left_ns = u128::from(left_ns) * u128::from(slowness) / u128::from(of);
        let per_mille = u128::from(done_ns.min(self.total_ns)) * 1000 / u128::from(self.total_ns.max(1));
        StudyProgress {
            phase: self.phase,
            what: self.what.clone(),
            done_steps: u32::try_from(self.done_steps).unwrap_or(u32::MAX),
            total_steps: u32::try_from(self.step_ns.len()).unwrap_or(u32::MAX),
            done_per_mille: u16::try_from(per_mille).expect("it is at most 1000"),
            left_ns: u64::try_from(left_ns).unwrap_or(u64::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, Phase, Tracker};

    fn tracker() -> Tracker<'static> {
        Tracker {
            step_ns: vec![10_000, 30_000, 60_000],
            total_ns: 100_000,
            now_ns: &|| 0,
            start_ns: 0,
            told_ns: Cell::new(0),
            worked_ns: Cell::new(0),
            done_steps: 0,
            done_ns: 0,
            phase: Phase::Alone,
            what: "a drive".to_owned(),
        }
    }

    #[test]
    fn what_is_left_follows_from_what_was() {
        let mut tracker = tracker();
        let start = tracker.progress(0, 500);
        assert_eq!((start.done_per_mille, start.left_ns), (0, 100_000));
        tracker.end(&mut |_| {});
        // A tenth is done, and took twice as long as estimated.
        let progress = tracker.progress(0, 20_000);
        assert_eq!((progress.done_steps, progress.done_per_mille, progress.left_ns), (1, 100, 180_000));
        let progress = tracker.progress(500, 25_000);
        assert_eq!((progress.done_per_mille, progress.left_ns), (250, 75_000));
        tracker.end(&mut |_| {});
        tracker.end(&mut |_| {});
        let progress = tracker.progress(1000, 100_000);
        assert_eq!((progress.done_steps, progress.total_steps), (3, 3));
        assert_eq!((progress.done_per_mille, progress.left_ns), (1000, 0));
    }
}
