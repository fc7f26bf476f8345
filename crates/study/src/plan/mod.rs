//! What a study does, in which order: a function of its factors, its drives and its seed.
//!
//! First each drive alone, then all at once, then the arrays. Arrays are measured in rounds: each
//! round has every array once, in an order of its own, so that what drifts (temperature, wear, a
//! busy machine) falls on all of them alike, and a study that is stopped early has measured all
//! arrays about equally often.

mod cost;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use shoal_bench::{Limit, Pattern, Workload};
use shoal_volume::{ArrayLevel, Level};

use crate::model::{DriveDescription, SEED_LIMIT};

pub use cost::Cost;

/// What a study varies, and how thoroughly it measures.
#[derive(Clone, Debug)]
pub struct Factors {
    /// The arrays' levels.
    pub levels: Vec<ArrayLevel>,
    /// Their chunk sizes, for levels that have one.
    pub chunk_bytes: Vec<u32>,
    /// Their numbers of members: the first so many drives.
    pub member_counts: Vec<u32>,
    /// Run on every target, in this order. Ranges and seeds are set by the plan.
    pub workloads: Vec<Workload>,
    /// How often each is measured on each target.
    pub repeats: u32,
    /// So much of each drive is used, from its start.
    pub drive_bytes_limit: u64,
    /// So much of each array is written and compared byte by byte, each time it is built.
    pub verify_bytes: u64,
    /// Decides the order of everything and all random choices; below [`SEED_LIMIT`].
    pub seed: u64,
}

impl Factors {
    /// The four workloads that tell most: sequential and random, writes and reads. Writes come
    /// first, so that there is something to read.
    pub fn standard_workloads(duration_ns: u64, warm_up_ns: u64) -> Vec<Workload> {
        let workload = |pattern, read_percent| {
            let (block_size_bytes, depth) = match pattern {
                Pattern::Sequential => (1 << 20, 8),
                Pattern::Random => (4096, 32),
            };
            Workload {
                pattern,
                read_percent,
                block_size_bytes,
                depth,
                limit: Limit::DurationNs(duration_ns),
                warm_up_ns,
                range_offset: 0,
                range_bytes: 0,
                visit_once: false,
                seed: 0,
            }
        };
        vec![
            workload(Pattern::Sequential, 0),
            workload(Pattern::Sequential, 100),
            workload(Pattern::Random, 100),
            workload(Pattern::Random, 0),
        ]
    }
}

/// Why there is nothing to be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// No drives, workloads or repeats.
    #[error("a study needs at least one {what}: give one")]
    Nothing {
        /// What is missing.
        what: &'static str,
    },
    /// More members than drives.
    #[error("arrays of {count} members: there are only {drives} drives; give fewer members or more drives")]
    TooManyMembers {
        /// As asked.
        count: u32,
        /// As given.
        drives: usize,
    },
    /// No combination of level, chunk and number of members makes an array.
    #[error("no array can be built: {reason}")]
    NoArray {
        /// Why the first combination cannot.
        reason: String,
    },
    /// Readers of JSON would not hold it exactly.
    #[error("seed {0} is too large: give one below 2^53")]
    Seed(u64),
}

/// An array to be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedArray {
    /// Level and layout.
    pub level: ArrayLevel,
    /// The chunk size, for levels that have one.
    pub chunk_bytes: Option<u32>,
    /// The drives, in the order of their roles.
    pub members: Vec<u32>,
}

/// One step of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// All repeats of all workloads on one drive.
    Alone {
        /// Which.
        drive: u32,
    },
    /// All workloads on all drives at the same time, once.
    Together {
        /// Which repeat, from 1.
        repeat: u32,
    },
    /// One array built, all workloads on it, once, and its content verified.
    Array {
        /// Which of [`StudyPlan::arrays`].
        array: u32,
        /// Which repeat, from 1.
        repeat: u32,
    },
}

/// A step and the seed of everything random in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeededStep {
    /// What to do.
    pub step: Step,
    /// Below [`SEED_LIMIT`].
    pub seed: u64,
}

/// A study, ready to be carried out.
#[derive(Clone, Debug)]
pub struct StudyPlan {
    /// What it was made from.
    pub factors: Factors,
    /// The arrays, in the order of the factors.
    pub arrays: Vec<PlannedArray>,
    /// The steps, in the order of time.
    pub steps: Vec<SeededStep>,
    /// Combinations that make no array, a sentence each.
    pub left_out: Vec<String>,
}

impl StudyPlan {
    /// Plans a study of the drives.
    pub fn new(factors: Factors, drives: &[DriveDescription]) -> Result<Self, PlanError> {
        check(&factors, drives)?;
        let mut left_out = Vec::new();
        let arrays = arrays(&factors, &mut left_out);
        if arrays.is_empty() && !factors.levels.is_empty() {
            return Err(PlanError::NoArray { reason: left_out.swap_remove(0) });
        }
        let mut random = Xoshiro256PlusPlus::seed_from_u64(factors.seed);
        let mut order: Vec<Step> = (0..drive_count(drives)).map(|drive| Step::Alone { drive }).collect();
        if drives.len() > 1 {
            order.extend((1..=factors.repeats).map(|repeat| Step::Together { repeat }));
        }
        for repeat in 1..=factors.repeats {
            let mut round: Vec<Step> = (0..).zip(&arrays).map(|(array, _)| Step::Array { array, repeat }).collect();
            shuffle(&mut round, &mut random);
            order.extend(round);
        }
        let steps = order.into_iter().map(|step| SeededStep { step, seed: random.next_u64() % SEED_LIMIT }).collect();
        Ok(Self { factors, arrays, steps, left_out })
    }
}

fn drive_count(drives: &[DriveDescription]) -> u32 {
    u32::try_from(drives.len()).expect("drives are counted in tens")
}

fn check(factors: &Factors, drives: &[DriveDescription]) -> Result<(), PlanError> {
    let needed =
        [(drives.is_empty(), "drive"), (factors.workloads.is_empty(), "workload"), (factors.repeats == 0, "repeat")];
    if let Some((_, what)) = needed.into_iter().find(|(missing, _)| *missing) {
        return Err(PlanError::Nothing { what });
    }
    if let Some(&count) = factors.member_counts.iter().find(|count| **count > drive_count(drives)) {
        return Err(PlanError::TooManyMembers { count, drives: drives.len() });
    }
    if factors.seed >= SEED_LIMIT {
        return Err(PlanError::Seed(factors.seed));
    }
    Ok(())
}

/// All combinations that make an array, each once; the others' reasons go to `left_out`.
fn arrays(factors: &Factors, left_out: &mut Vec<String>) -> Vec<PlannedArray> {
    let mut arrays: Vec<PlannedArray> = Vec::new();
    for &level in &factors.levels {
        for &count in &factors.member_counts {
            if let Some(reason) = reason_against(level, count) {
                left_out.push(reason);
                continue;
            }
            let chunks: Vec<Option<u32>> =
                if has_chunk(level) { factors.chunk_bytes.iter().copied().map(Some).collect() } else { vec![None] };
            for chunk_bytes in chunks {
                let array = PlannedArray { level, chunk_bytes, members: (0..count).collect() };
                if !arrays.contains(&array) {
                    arrays.push(array);
                }
            }
        }
    }
    arrays
}

/// Why so many drives do not make an array of a level.
fn reason_against(level: ArrayLevel, count: u32) -> Option<String> {
    let (groups, inner) = match level {
        ArrayLevel::Plain(inner) => (1, inner),
        ArrayLevel::Nested { inner, groups, .. } => (u32::try_from(groups).unwrap_or(u32::MAX), inner),
    };
    let least = least_members(inner).saturating_mul(groups);
    let name = level.name();
    if count < least {
        return Some(format!("level {name} takes at least {least} members, not {count}"));
    }
    (!count.is_multiple_of(groups)).then(|| format!("level {name} takes a multiple of {groups} members, not {count}"))
}

/// The fewest members that are worth an array.
fn least_members(level: Level) -> u32 {
    match level {
        Level::Linear | Level::Raid0(_) | Level::Raid1 => 2,
        Level::Raid4 | Level::Raid5(_) => 3,
        Level::Raid6(_) => 4,
        Level::Raid10(layout) => u32::from(layout.near) * u32::from(layout.far),
    }
}

fn has_chunk(level: ArrayLevel) -> bool {
    !matches!(level, ArrayLevel::Plain(Level::Linear | Level::Raid1))
}

/// Fisher and Yates's shuffle: every order is equally likely.
fn shuffle<T>(items: &mut [T], random: &mut Xoshiro256PlusPlus) {
    for last in (1..items.len()).rev() {
        let product = u128::from(random.next_u64()) * (last as u128 + 1);
        items.swap(last, usize::try_from(product >> 64).expect("it is at most `last`"));
    }
}

#[cfg(test)]
mod tests;
