//! Which places are written, and what that costs.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::limits::{RANDOM_MAX, SIZE_MAX, SIZE_MIN, STEP_BYTES_MAX};

/// Places of a round between the last that held and the first that was lost.
pub(crate) const STEPS: u64 = 32;
/// Pairs of places, as far apart as addresses repeat.
pub(crate) const PAIRS: u64 = 4;
/// Most places of a round: those, both of each pair, the last before the end, and the first that
/// was lost, again.
const ROUND_PLACES: u64 = STEPS + 2 * PAIRS + 2;
/// Rounds after the first. Each divides what is not known by 32, and the first knows it to a
/// stride, of which few have a million blocks.
pub(crate) const ROUNDS: u64 = 4;
/// The number of the probe's first pass; a full check's own comes before.
pub(crate) const FIRST_PASS: u64 = 2;
/// A block is at least so large: less than what flash programs at a time tells nothing more.
const BLOCK_BYTES: u32 = 4096;
/// Parts of a budget, or of a drive, of which the dense area is one.
const PARTS: u64 = 8;

/// What is written to a drive to see whether it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WritePlan {
    /// What the drive claims, in whole blocks.
    pub(crate) size_bytes: u64,
    /// The unit of all that is written and compared.
    pub(crate) block_bytes: u32,
    /// The dense area, from the start on; and the stride.
    pub(crate) dense_bytes: u64,
    /// Blocks beyond the dense area, descending.
    pub(crate) places: Vec<u64>,
    /// How many of them were chosen at random.
    pub(crate) random_places: u32,
    /// Names the run.
    pub(crate) seed: u64,
}

/// What a check costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Bytes that are written.
    pub written_bytes: u64,
    /// Bytes that are written if something is found, to find out what it is.
    pub written_bytes_max: u64,
    /// Bytes that are read.
    pub read_bytes: u64,
    /// Single blocks among them that are written or read far from the one before.
    pub jumps: u64,
}

/// Why a drive cannot be checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// There is nothing to check.
    #[error("it has {size_bytes} bytes, and a check needs at least {SIZE_MIN}: what is smaller is no drive")]
    TooSmall {
        /// What it has.
        size_bytes: u64,
    },
    /// No drive is so large.
    #[error("it claims {size_bytes} bytes, which no drive has: whoever made it up is to be asked")]
    TooLarge {
        /// What it claims.
        size_bytes: u64,
    },
    /// Its blocks are of no size that I/O could have.
    #[error("its blocks have {block_bytes} bytes: a check needs a power of two of up to 1 MiB")]
    Block {
        /// What they have.
        block_bytes: u32,
    },
    /// There is more to write.
    #[error("a check of {size_bytes} bytes has to write up to {needed_bytes}: raise the budget to that with --budget")]
    Budget {
        /// What it has.
        size_bytes: u64,
        /// What would do.
        needed_bytes: u64,
    },
}

/// Plans the check of a drive. The probe writes at most `budget_bytes`, whatever it finds.
pub fn plan(size_bytes: u64, logical_block_bytes: u32, budget_bytes: u64, seed: u64) -> Result<WritePlan, PlanError> {
    let block_bytes = logical_block_bytes.max(BLOCK_BYTES);
    if !block_bytes.is_power_of_two() || block_bytes > STEP_BYTES_MAX / 16 {
        return Err(PlanError::Block { block_bytes: logical_block_bytes });
    }
    let whole_bytes = size_bytes / u64::from(block_bytes) * u64::from(block_bytes);
    if whole_bytes < SIZE_MIN.max(u64::from(block_bytes) * 64) {
        return Err(PlanError::TooSmall { size_bytes });
    }
    if whole_bytes > SIZE_MAX {
        return Err(PlanError::TooLarge { size_bytes });
    }
    let fits = |budget_bytes: u64| written_bytes_max(whole_bytes, block_bytes, budget_bytes) <= budget_bytes;
    if !fits(budget_bytes) {
        let doubled = std::iter::successors(Some(1_u64 << 20), |bytes| bytes.checked_mul(2));
        let needed_bytes = doubled.into_iter().find(|&bytes| fits(bytes)).unwrap_or(u64::MAX);
        return Err(PlanError::Budget { size_bytes, needed_bytes });
    }
    Ok(planned(whole_bytes, block_bytes, budget_bytes, seed))
}

impl WritePlan {
    /// What it costs: the probe alone, or after all of the drive was written and read.
    #[must_use]
    pub fn cost(&self, is_full: bool) -> Cost {
        let blocks = self.places.len() as u64;
        let places_bytes = blocks * u64::from(self.block_bytes);
        let written_bytes = places_bytes + self.dense_bytes;
        let more_bytes = ROUNDS * (ROUND_PLACES * u64::from(self.block_bytes) + self.dense_bytes);
        let written_bytes_max = written_bytes + more_bytes;
        if is_full {
            let size_bytes = self.size_bytes;
            let written_bytes_max = size_bytes.saturating_add(written_bytes_max);
            return Cost { written_bytes: size_bytes, written_bytes_max, read_bytes: size_bytes, jumps: 0 };
        }
        let read_bytes = places_bytes + self.checked_bytes();
        Cost { written_bytes, written_bytes_max, read_bytes, jumps: 2 * blocks }
    }

    /// What is read without writing anything.
    #[must_use]
    pub fn look_cost(&self) -> Cost {
        let places_bytes = self.places.len() as u64 * u64::from(self.block_bytes);
        let read_bytes = places_bytes + self.checked_bytes();
        Cost { written_bytes: 0, written_bytes_max: 0, read_bytes, jumps: self.places.len() as u64 }
    }

    /// The part of the dense area that is read back, and the largest cache that can hide nothing of
    /// it.
    pub(crate) fn checked_bytes(&self) -> u64 {
        let block_bytes = u64::from(self.block_bytes);
        self.dense_bytes / 2 / block_bytes * block_bytes
    }
}

fn dense_bytes(size_bytes: u64, block_bytes: u32, budget_bytes: u64) -> u64 {
    let block_bytes = u64::from(block_bytes);
    (size_bytes / PARTS).min(budget_bytes / PARTS).max(8 * block_bytes) / block_bytes * block_bytes
}

fn random_count(block_bytes: u32, budget_bytes: u64) -> u64 {
    (budget_bytes / PARTS / 2 / u64::from(block_bytes)).clamp(16, RANDOM_MAX)
}

/// What the probe of a drive writes at most: powers of two from both ends are fewer than 128.
fn written_bytes_max(size_bytes: u64, block_bytes: u32, budget_bytes: u64) -> u64 {
    let dense_bytes = dense_bytes(size_bytes, block_bytes, budget_bytes);
    let places = size_bytes / dense_bytes + random_count(block_bytes, budget_bytes) + 128 + ROUNDS * ROUND_PLACES;
    (places * u64::from(block_bytes)).saturating_add((ROUNDS + 1) * dense_bytes)
}

fn planned(size_bytes: u64, block_bytes: u32, budget_bytes: u64, seed: u64) -> WritePlan {
    let dense_bytes = dense_bytes(size_bytes, block_bytes, budget_bytes);
    let block = u64::from(block_bytes);
    let (first, blocks) = (dense_bytes / block, size_bytes / block);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let random_count = random_count(block_bytes, budget_bytes).min(blocks - first);
    let mut places: Vec<u64> = (0..random_count).map(|_| first + random.next_u64() % (blocks - first)).collect();
    places.extend((first..blocks).step_by(usize::try_from(first).unwrap_or(usize::MAX)));
    let powers = (0..60).map(|power| 1_u64 << power).take_while(|&power| power <= blocks - first);
    places.extend(powers.clone().map(|power| blocks - power));
    places.extend(powers.map(|power| first + power - 1));
    places.iter_mut().for_each(|place| *place *= block);
    places.sort_unstable_by(|left, right| right.cmp(left));
    places.dedup();
    let random_places = u32::try_from(random_count).unwrap_or(u32::MAX);
    WritePlan { size_bytes, block_bytes, dense_bytes, places, random_places, seed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_keeps_to_its_budget_at_any_size() {
        for power in 20..=50 {
            for size_bytes in [1_u64 << power, (1 << power) + 511, (1 << power) * 3 / 2 + 1] {
                let budget_bytes = match plan(size_bytes, 512, 16 << 20, 1) {
                    Ok(_) => 16 << 20,
                    Err(PlanError::Budget { needed_bytes, .. }) => needed_bytes,
                    Err(error) => panic!("{size_bytes}: {error}"),
                };
                if budget_bytes > 1 << 32 {
                    continue;
                }
                let plan = plan(size_bytes, 512, budget_bytes, 1).expect("so it was told");
                assert!(plan.cost(false).written_bytes_max <= budget_bytes, "{size_bytes}");
                assert!(plan.places.iter().all(|place| place + 4096 <= size_bytes && *place >= plan.dense_bytes));
            }
        }
    }

    #[test]
    fn what_is_no_drive_is_refused() {
        assert!(matches!(plan(0, 512, 1 << 30, 1), Err(PlanError::TooSmall { .. })));
        assert!(matches!(plan((1 << 20) - 1, 512, 1 << 30, 1), Err(PlanError::TooSmall { .. })));
        assert!(matches!(plan(u64::MAX, 512, 1 << 30, 1), Err(PlanError::TooLarge { .. })));
        assert!(matches!(plan(1 << 40, 0x8000_0000, 1 << 30, 1), Err(PlanError::Block { .. })));
        assert!(matches!(plan(1 << 40, 520 * 9, 1 << 30, 1), Err(PlanError::Block { .. })));
        assert!(matches!(plan(1 << 40, 512, 0, 1), Err(PlanError::Budget { .. })));
    }
}
