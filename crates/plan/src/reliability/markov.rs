//! The closed forms: a Markov chain over the number of failed drives, and the mean time to data
//! loss.
//!
//! The chain is that of Patterson, Gibson and Katz (SIGMOD 1988) without their simplifications:
//! state `k` is `k` failed drives of `n`; failures lead from `k` to `k + 1` at `(n - k)` times the
//! rate of one, repairs back at `k` times theirs, and the state beyond the tolerance is never left.
//! Its probability at a time is found by uniformisation (Jensen 1953): the chain is looked at as a
//! walk with steps at random times, so that everything is a sum of positive numbers, and chances
//! far below the rounding error of 1 come out right.

/// `n` equal drives, of which `tolerance` may be lost, each repaired by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chain {
    /// How many drives.
    pub drives: usize,
    /// How many may be lost.
    pub tolerance: usize,
    /// Failures of one drive, a year.
    pub failures_per_year: f64,
    /// Repairs of one drive, a year; 0 for none.
    pub repairs_per_year: f64,
}

/// Steps expected between two looks at the walk: few enough for `exp` of it to be exact, and the
/// rest after [`MOST_STEPS`] to be nothing.
const EXPECTED_STEPS: f64 = 8.0;
/// The Poisson distribution of mean 8 has less than 1e-17 beyond.
const MOST_STEPS: u32 = 48;

impl Chain {
    /// Chance that more than the tolerance are lost at one moment within `years`.
    pub fn loss_probability(&self, years: f64) -> f64 {
        let fastest = self.drives as f64 * self.failures_per_year + self.tolerance as f64 * self.repairs_per_year;
        let looks = (fastest * years / EXPECTED_STEPS).ceil().max(1.0);
        let mean_steps = fastest * years / looks;
        let mut state = vec![0.0; self.tolerance + 2];
        state[0] = 1.0;
        for _ in 0..looks as u64 {
            state = self.after_random_steps(&state, mean_steps, fastest);
        }
        state[self.tolerance + 1]
    }

    /// After a number of steps that is Poisson distributed.
    fn after_random_steps(&self, state: &[f64], mean_steps: f64, fastest: f64) -> Vec<f64> {
        let mut after: Vec<f64> = state.iter().map(|chance| chance * (-mean_steps).exp()).collect();
        let mut walked = state.to_vec();
        let mut weight = (-mean_steps).exp();
        for steps in 1..=MOST_STEPS {
            walked = self.step(&walked, fastest);
            weight *= mean_steps / f64::from(steps);
            for (sum, chance) in after.iter_mut().zip(&walked) {
                *sum += weight * chance;
            }
        }
        after
    }

    fn step(&self, state: &[f64], fastest: f64) -> Vec<f64> {
        let lost = self.tolerance + 1;
        let mut next = state.to_vec();
        for (failed, chance) in state.iter().enumerate().take(lost) {
            let fails = (self.drives - failed) as f64 * self.failures_per_year / fastest * chance;
            let repaired = failed as f64 * self.repairs_per_year / fastest * chance;
            next[failed] -= fails + repaired;
            next[failed + 1] += fails;
            if failed > 0 {
                next[failed - 1] += repaired;
            }
        }
        next
    }
}

/// Mean time to data loss of RAID5 by Patterson, Gibson and Katz: `MTTF^2 / (n (n - 1) MTTR)`. Told
/// for comparison with other tools only: no array is meant to run that long.
pub fn mean_years_to_loss_raid5(drives: usize, failures_per_year: f64, repair_years: f64) -> f64 {
    let n = drives as f64;
    1.0 / (failures_per_year * failures_per_year * n * (n - 1.0) * repair_years)
}
