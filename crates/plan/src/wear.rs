//! How long flash lasts under a load.
//!
//! A block of flash takes a number of program-erase cycles; so a drive takes its size times that
//! number, of bytes that its controller programs. Between what a person writes to the array and
//! what is programmed stand two factors:
//! * **the level's**: mirrors write everything several times, parity is written beside the data; a
//!   small write to a parity array writes its data and all parity of its stripe, whatever else the
//!   stripe holds;
//! * **the drive's**: cheap controllers keep track of data in large allocation units, of which a
//!   few can be open. A small write to another one closes a unit, whose remainder is copied: the
//!   whole unit is programmed for a few kilobytes. That is the worst case, and for sticks the
//!   common one. (How units are found: flashbench's README, LWN 428584.)

use shoal_array::Level;
use shoal_sim::{Flash, Medium};
use shoal_volume::ArrayLevel;

use crate::arrays::Arrangement;
use crate::drives::Inventory;
use crate::units::YEAR_DAYS;

/// A small write.
const SMALL_WRITE_BYTES: u64 = 4 << 10;

/// Years until the first member is worn out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wear {
    /// If everything is written one after the other.
    pub sequential_years: f64,
    /// If everything is written in blocks of 4 KiB anywhere.
    pub small_writes_years: f64,
    /// Bytes written to members for each byte written to the array, one after the other.
    pub level_factor: f64,
    /// The same for small writes.
    pub small_level_factor: f64,
}

/// Bytes written to members, all together, for each byte that is written to the array:
/// sequentially, and small.
pub fn level_factors(level: ArrayLevel, members: usize) -> (f64, f64) {
    match level {
        ArrayLevel::Plain(level) => plain_factors(level, members),
        ArrayLevel::Nested { outer, inner, groups } => {
            let (over, small_over) = plain_factors(outer, groups);
            let (under, small_under) = plain_factors(inner, members / groups.max(1));
            (over * under, small_over * small_under)
        }
    }
}

fn plain_factors(level: Level, members: usize) -> (f64, f64) {
    let n = members as f64;
    let parity = |count: f64| (n / (n - count).max(1.0), (1.0 + count).min(n));
    match level {
        Level::Linear | Level::Raid0(_) => (1.0, 1.0),
        Level::Raid1 => (n, n),
        Level::Raid4 | Level::Raid5(_) => parity(1.0),
        Level::Raid6(_) => parity(2.0),
        Level::Raid10(layout) => (layout.copies() as f64, layout.copies() as f64),
    }
}

/// Bytes that a drive programs for each byte of a small write.
pub fn small_write_factor(flash: &Flash) -> f64 {
    match &flash.allocation {
        Some(units) if units.unit_bytes > SMALL_WRITE_BYTES => units.unit_bytes as f64 / SMALL_WRITE_BYTES as f64,
        _ => 1.0,
    }
}

/// When the first member wears out if so much is written to the array each day. None if no member
/// is flash, or nobody says how often its blocks can be written.
pub fn wear(inventory: &Inventory, array: &Arrangement, used_bytes: &[u64], daily_bytes: u64) -> Option<Wear> {
    let (level_factor, small_level_factor) = level_factors(array.level, array.members.len());
    let all_used: u64 = used_bytes.iter().sum();
    let mut wear: Option<Wear> = None;
    for (&(drive, _), &used) in array.members.iter().zip(used_bytes) {
        let model = &inventory.drives[drive].model;
        let Medium::Flash(flash) = &model.medium else { continue };
        let Some(cycles) = flash.program_erase_cycles else { continue };
        // What is written is spread over the members as what they hold is.
        let share = used as f64 / all_used.max(1) as f64;
        let endurance_bytes = model.size_bytes as f64 * f64::from(cycles);
        let years = |factor: f64| endurance_bytes / (daily_bytes as f64 * factor * share).max(1e-9) / YEAR_DAYS;
        let mine = Wear {
            sequential_years: years(level_factor),
            small_writes_years: years(small_level_factor * small_write_factor(flash)),
            level_factor,
            small_level_factor,
        };
        if wear.is_none_or(|other| mine.sequential_years < other.sequential_years) {
            wear = Some(mine);
        }
    }
    wear
}

#[cfg(test)]
mod tests {
    use shoal_sim::AllocationUnits;

    use super::*;

    fn level(name: &str, groups: usize) -> ArrayLevel {
        ArrayLevel::parse(name, None, groups).unwrap()
    }

    #[test]
    fn parity_and_mirrors_write_more_than_they_are_given() {
        let near = |found: (f64, f64), expected: (f64, f64)| {
            assert!((found.0 - expected.0).abs() < 1e-9 && (found.1 - expected.1).abs() < 1e-9, "{found:?}");
        };
        near(level_factors(level("0", 1), 6), (1.0, 1.0));
        near(level_factors(level("1", 1), 3), (3.0, 3.0));
        near(level_factors(level("10", 1), 6), (2.0, 2.0));
        near(level_factors(level("5", 1), 6), (1.2, 2.0));
        near(level_factors(level("6", 1), 6), (1.5, 3.0));
        near(level_factors(level("50", 2), 6), (1.5, 2.0));
    }

    #[test]
    fn a_small_write_costs_the_unit_that_it_closes() {
        let units = AllocationUnits { unit_bytes: 4 << 20, open_units: 2, copy_bytes_per_s: 1 };
        assert!((small_write_factor(&Flash { allocation: Some(units), ..Flash::default() }) - 1024.0).abs() < 1e-9);
        assert!((small_write_factor(&Flash::default()) - 1.0).abs() < 1e-9);
    }
}
