//! The chance of losing data in a year.
//!
//! # What is counted
//! Two kinds of loss, which are told apart because they differ in what is left afterwards:
//! * **the array**: more drives have failed than the level survives, and nothing can be had any
//!   more;
//! * **some blocks**: a rebuild, with no redundancy left beside what it reads, meets a sector that
//!   cannot be read. The rest is there. (A rebuild here goes on past such a block and lists it.)
//!
//! # The model
//! Drives fail independently, each at a constant rate; a failed one is replaced by a spare at once,
//! or by a person after a while, and is then rebuilt in a fixed time. A *shared cause* strikes all
//! drives on one bus at the same moment: the hub, the supply, a spill. Its rate is a fraction of
//! one drive's own failure rate (the beta-factor model of IEC 61508-6, annex D, where the fraction
//! is 1 to 10 %). Every bit that is read has a small chance to be unreadable.
//!
//! Sources: redundancy against mean times to failure and repair, Patterson, Gibson and Katz, "A
//! case for redundant arrays of inexpensive disks", SIGMOD 1988; unreadable sectors during
//! rebuilds, Chen et al., "RAID: high-performance, reliable secondary storage", ACM Computing
//! Surveys 1994; that rates change with age, that repairs take a least time, and that defects lie
//! latent until a scrub, Elerath and Pecht, "Enhanced reliability modeling of RAID storage
//! systems", DSN 2007; why a probability over a stated time is told here and no mean time to data
//! loss, Greenan, Plank and Wylie, "Mean time to meaningless", HotStorage 2010. Not in the model:
//! rates that change with age (a batch of equal age), the errors that people make, firmware that
//! fails everywhere at once. So a result below about one in a million says that the drives are not
//! what loses the data then.
//!
//! # The method
//! Where nothing can be survived the answer is a closed form: `1 - exp(-sum of rates)`. Elsewhere
//! trials are drawn, as repairs of fixed length, spares and shared causes have no closed form.
//! Losses are rare, so each trial is drawn with failures made likely, and weighed by how much more
//! likely they were made (importance sampling by failure biasing; Goyal et al., "A unified
//! framework for simulating Markovian models of highly dependable systems", IEEE Transactions on
//! Computers 41(1), 1992; Shahabuddin, "Importance sampling for the simulation of highly reliable
//! Markovian systems", Management Science 40(3), 1994). Between two events all failure rates are
//! multiplied by one factor `b`; a failure after a time `t` at a total rate `R` then weighs
//! `exp(R (b - 1) t) / b`, and a time `t` without one `exp(R (b - 1) t)`. `b` is chosen so that a
//! failure is about as likely as not before the next repair ends, or before the year does if
//! nothing is broken. Which drive it is keeps its true chances. The mean of weights is unbiased,
//! and comes with its 95 % interval. A trial's chance of meeting an unreadable sector is not drawn
//! but taken as the number it is.
//!
//! All trials follow from a seed. [`markov`] has the chain that the trials are held against in
//! tests, with repair times drawn as the chain wants them.

pub mod markov;
mod monte_carlo;
mod rates;
mod redundancy;
#[cfg(test)]
mod tests;

pub use monte_carlo::estimate;
pub use rates::{FailureRate, PRESETS, find_rate, shared_cause, yearly_probability, yearly_rate};
pub use redundancy::{RedundancySet, redundancy_sets};

/// A drive that can fail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Component {
    /// Failures a year, of a drive that works.
    pub failures_per_year: f64,
    /// The bus that it hangs on, by number.
    pub bus: usize,
    /// Chance that one bit which is read cannot be.
    pub unreadable_per_bit: f64,
}

/// How long a repair takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepairTimes {
    /// Always the same.
    Fixed,
    /// Exponential with that mean: what a Markov chain assumes. For checks.
    Exponential,
}

/// An array as far as its survival goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Survival {
    /// The members.
    pub members: Vec<Component>,
    /// Groups of members, each of which survives the loss of some.
    pub sets: Vec<RedundancySet>,
    /// Drives that stand by.
    pub spares: usize,
    /// From a failure without a spare to a new drive in its place.
    pub replace_years: f64,
    /// From a new drive in its place to the end of the rebuild.
    pub rebuild_years: f64,
    /// How repair times are spread.
    pub repair_times: RepairTimes,
    /// Which fraction of a drive's failure rate strikes all drives of its bus.
    pub shared_cause: f64,
}

/// A chance, and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probability {
    /// The best guess.
    pub estimate: f64,
    /// Half of the 95 % interval; 0 for a closed form.
    pub plus_minus: f64,
}

impl Probability {
    /// One that is known exactly.
    pub fn exact(estimate: f64) -> Self {
        Self { estimate, plus_minus: 0.0 }
    }
}

/// The chances of loss within a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Of everything.
    pub array: Probability,
    /// Of some blocks, with the rest there.
    pub blocks: Probability,
    /// Of anything.
    pub anything: Probability,
}
