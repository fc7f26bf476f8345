//! What an array is wanted for, and by what measure arrays are put in order for it.
//!
//! | goal | measure |
//! | --- | --- |
//! | capacity | usable bytes |
//! | throughput | geometric mean of sequential reads and writes |
//! | small-writes | random writes of 4 KiB a second |
//! | all-round | geometric mean of usable bytes, throughput and random writes, times `(1 - chance of loss in a year)^10`: one per cent of loss weighs as much as ten per cent of the rest |
//!
//! Arrays that survive as many lost drives as were asked for come first, whatever the measure says.
//! What differs by less than two per cent is taken as equal; then the one that survives more comes
//! first, then the larger one, then the one that takes fewer drives.

use std::str::FromStr;

use crate::speed::Speeds;

/// What counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Room.
    Capacity,
    /// Large files, one after the other.
    Throughput,
    /// Databases, many small files.
    SmallWrites,
    /// Some of everything, and not losing it.
    AllRound,
}

impl Goal {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Capacity => "capacity",
            Self::Throughput => "throughput",
            Self::SmallWrites => "small-writes",
            Self::AllRound => "all-round",
        }
    }
}

/// A goal, and how many lost drives an array must survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purpose {
    /// What counts.
    pub goal: Goal,
    /// How many drives may be lost, in any combination.
    pub survive: usize,
}

impl Default for Purpose {
    fn default() -> Self {
        Self { goal: Goal::AllRound, survive: 1 }
    }
}

/// Why a text is no purpose.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no purpose: give capacity, throughput, small-writes or all-round, and survive=K beside or alone, as in throughput,survive=1"
)]
pub struct PurposeError {
    text: String,
}

impl FromStr for Purpose {
    type Err = PurposeError;

    /// `throughput`, `survive=2`, `capacity,survive=1`. A goal alone asks for no survival, except
    /// `all-round`.
    fn from_str(text: &str) -> Result<Self, PurposeError> {
        let error = || PurposeError { text: text.to_owned() };
        let (mut goal, mut survive) = (None, None);
        for word in text.split(',') {
            if let Some(count) = word.strip_prefix("survive=") {
                let count = count.parse().ok().filter(|count| *count <= crate::arrays::DRIVES_MAX).ok_or_else(error)?;
                if survive.replace(count).is_some() {
                    return Err(error());
                }
                continue;
            }
            let goals = [Goal::Capacity, Goal::Throughput, Goal::SmallWrites, Goal::AllRound];
            let named = goals.into_iter().find(|goal| goal.name() == word).ok_or_else(error)?;
            if goal.replace(named).is_some() {
                return Err(error());
            }
        }
        let goal = goal.unwrap_or(Goal::AllRound);
        let unsaid = usize::from(goal == Goal::AllRound);
        Ok(Self { goal, survive: survive.unwrap_or(unsaid) })
    }
}

impl std::fmt::Display for Purpose {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{},survive={}", self.goal.name(), self.survive)
    }
}

/// What an array is measured by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Merits {
    /// What it holds.
    pub usable_bytes: u64,
    /// How fast it is.
    pub speeds: Speeds,
    /// Chance of losing anything in a year.
    pub loss: f64,
    /// How many drives it survives.
    pub redundancy: usize,
    /// How many drives it takes.
    pub drives: usize,
}

/// Geometric mean of sequential reads and writes.
pub(crate) fn throughput(speeds: &Speeds) -> f64 {
    (speeds.sequential_read_bytes_per_s as f64 * speeds.sequential_write_bytes_per_s as f64).sqrt()
}

/// What speeds alone say, to choose a chunk.
pub(crate) fn speed_score(goal: Goal, speeds: &Speeds) -> f64 {
    match goal {
        Goal::Capacity | Goal::Throughput => throughput(speeds),
        Goal::SmallWrites => speeds.random_write_iops as f64,
        Goal::AllRound => (throughput(speeds) * speeds.random_write_iops.max(1) as f64).sqrt(),
    }
}

impl Purpose {
    /// How good an array is for the goal; larger is better.
    pub fn score(&self, merits: &Merits) -> f64 {
        let usable = merits.usable_bytes as f64;
        match self.goal {
            Goal::Capacity => usable,
            Goal::Throughput | Goal::SmallWrites => speed_score(self.goal, &merits.speeds),
            Goal::AllRound => {
                let writes = merits.speeds.random_write_iops.max(1) as f64;
                (usable * throughput(&merits.speeds) * writes).cbrt() * (1.0 - merits.loss).max(0.0).powi(10)
            }
        }
    }

    /// What arrays are sorted by, the best first; equal for those that are as good as each other.
    pub fn order(&self, merits: &Merits) -> impl Ord + use<> {
        use std::cmp::Reverse;
        const STEP: f64 = 0.02;
        let steps = (self.score(merits).max(1.0).ln() / STEP).round() as i64;
        let room = (merits.usable_bytes.max(1) as f64).ln() / STEP;
        let speed = (throughput(&merits.speeds).max(1.0).ln() / STEP).round() as i64;
        (
            merits.redundancy < self.survive,
            Reverse(steps),
            Reverse(merits.redundancy),
            Reverse(room.round() as i64),
            Reverse(speed),
            merits.drives,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_read_back() {
        for (text, goal, survive) in [
            ("capacity", Goal::Capacity, 0),
            ("throughput,survive=1", Goal::Throughput, 1),
            ("survive=2", Goal::AllRound, 2),
            ("survive=1,small-writes", Goal::SmallWrites, 1),
            ("all-round", Goal::AllRound, 1),
        ] {
            let purpose: Purpose = text.parse().unwrap();
            assert_eq!(purpose, Purpose { goal, survive }, "{text}");
            assert_eq!(purpose.to_string().parse(), Ok(purpose));
        }
    }

    #[test]
    fn nonsense_is_named() {
        for text in ["", "speed", "survive=", "survive=x", "survive=999", "capacity,throughput", "survive=1,survive=2"]
        {
            let error = text.parse::<Purpose>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")) && error.contains("survive=K"), "{error}");
        }
    }
}
