//! The pace of background work.
//!
//! Each step of a job has to be paid for with time: its bytes at the present rate. That is the
//! greatest rate while no request was about in the last tenth of a second, and the least otherwise.
//! A step starts when the one before it is paid for; so there is always progress, however busy the
//! array is.

use super::Background;
use crate::Instant;

/// For so long after a request the array counts as busy.
const BUSY_NS: u64 = 100_000_000;
/// A job that got no chance to run may catch up on so much.
const CREDIT_NS: u64 = 10_000_000;

/// When background work may go on.
#[derive(Debug)]
pub(super) struct Pace {
    background: Background,
    /// Everything before the last step is paid for at this moment.
    paid_from: Instant,
    /// The last step's bytes.
    bytes: u64,
    busy_until: Option<Instant>,
}

impl Pace {
    pub(super) fn new(background: Background) -> Self {
        Self { background, paid_from: Instant::default(), bytes: 0, busy_until: None }
    }

    pub(super) fn set(&mut self, background: Background) {
        self.background = background;
    }

    pub(super) fn depth(&self) -> usize {
        self.background.depth as usize
    }

    /// A request came or was answered.
    pub(super) fn foreground(&mut self, now: Instant) {
        self.busy_until = Some(now.after_ns(BUSY_NS));
    }

    fn is_busy(&self, now: Instant) -> bool {
        self.busy_until.is_some_and(|until| now < until)
    }

    fn paid_at(&self, rate_bytes_per_s: u64) -> Instant {
        let ns = u128::from(self.bytes) * 1_000_000_000 / u128::from(rate_bytes_per_s.max(1));
        self.paid_from.after_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// When the next step may start, if nothing happens before; `requests` says whether any are
    /// unanswered.
    pub(super) fn due(&self, now: Instant, requests: bool) -> Instant {
        let at_least = self.background.rate_min_bytes_per_s.min(self.background.rate_max_bytes_per_s);
        let idle = self.paid_at(self.background.rate_max_bytes_per_s);
        let busy = self.paid_at(at_least);
        match self.busy_until {
            _ if requests => busy,
            Some(until) if self.is_busy(now) => busy.min(idle.max(until)),
            _ => idle,
        }
    }

    /// A step of so many bytes starts.
    pub(super) fn step(&mut self, now: Instant, requests: bool, bytes: u64) {
        let earliest = Instant { ns: now.ns.saturating_sub(CREDIT_NS) };
        self.paid_from = self.due(now, requests).max(earliest).min(now);
        self.bytes = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ns: u64) -> Instant {
        Instant { ns }
    }

    #[test]
    fn the_least_rate_while_busy_and_the_greatest_afterwards() {
        let background = Background { rate_min_bytes_per_s: 1_000, rate_max_bytes_per_s: 1_000_000, depth: 1 };
        let mut pace = Pace::new(background);
        let start = at(1_000 * MS);
        assert_eq!(pace.due(start, false), at(0));
        pace.step(start, false, 1_000);
        assert_eq!(pace.due(start, false), at(1_000 * MS - CREDIT_NS + MS));
        assert_eq!(pace.due(start, true), at(2_000 * MS - CREDIT_NS));
        pace.foreground(start);
        assert_eq!(pace.due(start, false), start.after_ns(BUSY_NS));
        assert!(pace.due(start.after_ns(BUSY_NS), false) < start.after_ns(BUSY_NS));
    }
}
