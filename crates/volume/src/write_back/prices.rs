//! What it has cost to have these drives take runs of dirty content one by one, and to have them
//! take stretches.
//!
//! | runs of the group | price of a run | price of a stretch | the group goes |
//! | --- | --- | --- | --- |
//! | any | known | known | by what is cheaper; the runs have to cost twice as much |
//! | fewer than the guess | any, not both | any, not both | by rows |
//! | as many | not known | any | by rows, until some runs have told: [`Way::Trial`] |
//! | as many | known | not known | by stretches |

use shoal_array::Instant;

/// A price is believed for so long: drives change with what they were made to do. A trial costs
/// some seconds at worst.
const BELIEVED_NS: u64 = 600_000_000_000;

/// So many runs tell what one costs, as they keep all members busy.
pub(super) const RUNS_MIN: u64 = 32;

/// What came before so many runs, or bytes, counts half.
const RUNS_MAX: u64 = 512;
const BYTES_MAX: u64 = 128 << 20;

/// Time for so many of something.
#[derive(Clone, Copy, Debug, Default)]
struct Price {
    took_ns: u64,
    count: u64,
    measured: Instant,
}

impl Price {
    fn add(&mut self, now: Instant, took_ns: u64, count: u64, most: u64) {
        if !self.is_known(now, 1) {
            *self = Self::default();
        }
        if self.count >= most {
            (self.took_ns, self.count) = (self.took_ns / 2, self.count / 2);
        }
        self.took_ns = self.took_ns.saturating_add(took_ns);
        self.count += count;
        self.measured = now;
    }

    fn is_known(&self, now: Instant, least: u64) -> bool {
        self.count >= least && now.ns.saturating_sub(self.measured.ns) < BELIEVED_NS
    }

    /// What so many of it cost; comparable if multiplied by the other's count.
    fn of(&self, count: u64) -> u128 {
        u128::from(self.took_ns) * u128::from(count)
    }
}

/// How a group goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Dirty blocks alone, row by row.
    ByRows,
    /// The same, until it is known what that costs.
    Trial,
    ByStretches,
}

/// The two prices.
#[derive(Debug, Default)]
pub(super) struct Prices {
    run: Price,
    stretch_byte: Price,
}

impl Prices {
    pub(super) fn runs_took(&mut self, now: Instant, took_ns: u64, runs: u64) {
        self.run.add(now, took_ns, runs, RUNS_MAX);
    }

    pub(super) fn stretch_took(&mut self, now: Instant, took_ns: u64, bytes: u64) {
        self.stretch_byte.add(now, took_ns, bytes, BYTES_MAX);
    }

    /// How a group of so many runs goes, or as a stretch of so many bytes.
    pub(super) fn way(&self, now: Instant, (runs, guess): (u64, u64), bytes: u64) -> Way {
        let is_run_known = self.run.is_known(now, RUNS_MIN);
        if is_run_known && self.stretch_byte.is_known(now, 1) {
            let by_runs = self.run.of(runs).saturating_mul(u128::from(self.stretch_byte.count));
            let by_stretch = self.stretch_byte.of(bytes).saturating_mul(u128::from(self.run.count));
            return if by_runs > by_stretch.saturating_mul(2) { Way::ByStretches } else { Way::ByRows };
        }
        match (runs >= guess, is_run_known) {
            (false, _) => Way::ByRows,
            (true, false) => Way::Trial,
            (true, true) => Way::ByStretches,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guess_decides_what_is_tried_and_then_what_it_took() {
        let mut prices = Prices::default();
        let at = |ns| Instant { ns };
        let ways = |prices: &Prices, ns, runs: [u64; 2]| runs.map(|runs| prices.way(at(ns), (runs, 11), 1000));
        assert_eq!(ways(&prices, 0, [10, 11]), [Way::ByRows, Way::Trial]);
        prices.runs_took(at(1), 32_000, 32);
        assert_eq!(ways(&prices, 1, [10, 11]), [Way::ByRows, Way::ByStretches]);
        prices.stretch_took(at(2), 40_000, 1000);
        assert_eq!(ways(&prices, 2, [80, 81]), [Way::ByRows, Way::ByStretches]);
        assert_eq!(ways(&prices, BELIEVED_NS + 1, [10, 11]), [Way::ByRows, Way::Trial], "that is long ago");
        prices.runs_took(at(BELIEVED_NS + 1), 1, 31);
        assert_eq!(ways(&prices, BELIEVED_NS + 1, [10, 11]), [Way::ByRows, Way::Trial], "and is forgotten");
    }

    #[test]
    fn what_was_long_ago_counts_less() {
        let mut price = Price::default();
        for _ in 0..4 {
            price.add(Instant::default(), 800, 8, 8);
        }
        for _ in 0..4 {
            price.add(Instant::default(), 0, 8, 8);
        }
        assert!(price.took_ns < price.count * 10, "it was 100 each, and is nothing now");
    }
}
