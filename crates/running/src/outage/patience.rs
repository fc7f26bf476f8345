//! How long an array waits for its drives, and what is done then: the table of the module above.

use std::path::PathBuf;
use std::time::Duration;

use shoal_volume::{Instant, OpenOptions};

/// On what terms an array is resumed.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// As it was opened.
    pub(crate) options: OpenOptions,
    /// How long a request waits.
    pub(crate) deadline: Duration,
    /// Where its drives may turn up, beside where they were.
    pub(crate) scan: Option<PathBuf>,
}

/// How long an array has waited for its drives, and until when it may.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outage {
    /// When the drives were missed.
    since: Instant,
    /// How long a request waits.
    deadline: Duration,
    /// When the first one began to.
    waits_since: Option<Instant>,
}

/// What is to be done about an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Wait,
    PutTogether,
    End,
}

/// What is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum There {
    /// All that are counted on.
    All,
    /// Not all of them.
    Some,
    /// None: of no drives nobody can say what array they would be.
    None,
}

impl There {
    /// So many are there, and so many are not.
    pub(super) fn of(present: usize, absent: usize) -> Self {
        match (present, absent) {
            (_, 0) => Self::All,
            (0, _) => Self::None,
            _ => Self::Some,
        }
    }
}

/// What became of the drives that are there when they were tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tried {
    /// These were not.
    No,
    /// They are no array that could be used.
    Refused,
}

impl Outage {
    /// Begins now.
    pub(super) fn new(since: Instant, deadline: Duration) -> Self {
        Self { since, deadline, waits_since: None }
    }

    /// A request waits from now on, if none did before.
    pub(super) fn keeps_waiting(&mut self, now: Instant) {
        self.waits_since.get_or_insert(now);
    }

    /// For how long it has lasted.
    pub(super) fn lasts(&self, now: Instant) -> Duration {
        Duration::from_nanos(now.since_ns(self.since))
    }

    /// How long who waits goes on to; none if nobody waits.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        let waited = Duration::from_nanos(now.since_ns(self.waits_since?));
        Some(self.deadline.saturating_sub(waited))
    }

    /// Whether the first request has waited for long enough.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.left(now).is_some_and(|left| left.is_zero())
    }

    /// See the table.
    pub(super) fn step(&self, now: Instant, there: There, tried: Tried) -> Step {
        let is_half_over = self.lasts(now) >= self.deadline / 2;
        match (there, tried) {
            _ if self.is_over(now) => Step::End,
            (There::All, Tried::No) => Step::PutTogether,
            (There::All, Tried::Refused) => Step::End,
            (There::Some, Tried::No) if is_half_over => Step::PutTogether,
            (There::Some | There::None, _) => Step::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant { ns: seconds * 1_000_000_000 }
    }

    #[test]
    fn every_row_of_the_table() {
        let mut outage = Outage::new(at(100), Duration::from_secs(60));
        outage.keeps_waiting(at(110));
        for (now, there, tried, step) in [
            (170, There::All, Tried::No, Step::End),
            (170, There::Some, Tried::No, Step::End),
            (169, There::None, Tried::No, Step::Wait),
            (170, There::None, Tried::No, Step::End),
            (101, There::All, Tried::No, Step::PutTogether),
            (169, There::All, Tried::No, Step::PutTogether),
            (101, There::All, Tried::Refused, Step::End),
            (129, There::Some, Tried::No, Step::Wait),
            (130, There::Some, Tried::No, Step::PutTogether),
            (130, There::Some, Tried::Refused, Step::Wait),
        ] {
            assert_eq!(outage.step(at(now), there, tried), step, "{now} s, {there:?}, {tried:?}");
        }
    }

    #[test]
    fn who_waits_first_decides_when_it_is_over_and_without_anybody_it_never_is() {
        let mut outage = Outage::new(at(100), Duration::from_secs(60));
        assert_eq!((outage.left(at(90_000)), outage.is_over(at(90_000))), (None, false));
        assert_eq!(outage.step(at(90_000), There::Some, Tried::Refused), Step::Wait);
        outage.keeps_waiting(at(90_000));
        outage.keeps_waiting(at(90_050));
        assert_eq!(outage.left(at(90_020)), Some(Duration::from_secs(40)));
        assert!(!outage.is_over(at(90_059)) && outage.is_over(at(90_060)));
        assert_eq!(outage.lasts(at(90_060)), Duration::from_secs(89_960));
    }
}
