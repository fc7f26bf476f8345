//! Money: what usable and raw bytes cost, and the cost figures that the published studies print,
//! from their inputs.
//!
//! Prices are whole US cents. A price per capacity is kept in cents a terabyte (10^12 bytes): it
//! carries both the dollars a gigabyte of a stick and the cents a gigabyte of a disk without a
//! fraction.
//!
//! Two things the `eide` study does not say, found by dividing:
//! * its 1850 USD a TB of eight disks is per *raw* terabyte (3700 USD over 8 x 250 GB); per usable
//!   one it is 2114;
//! * its 1890 USD a TB of twelve disks is per *usable* terabyte of RAID5 (5200 USD over 11 x 250
//!   GB).

mod published;

pub use published::{CostFigure, CostKind, Tolerance, published_cost_figures};
pub(crate) use published::{EIDE_HARDWARE, EIDE_SOFTWARE};

use crate::units::{CENTS_PER_USD, GB, TB};

/// Cents for each 10^12 bytes, rounded to the nearest cent; none for no bytes.
pub fn cents_per_tb(price_cents: u64, size_bytes: u64) -> Option<u64> {
    let (price, size) = (u128::from(price_cents), u128::from(size_bytes));
    (size > 0).then(|| u64::try_from((price * u128::from(TB) + size / 2) / size).unwrap_or(u64::MAX))
}

/// Dollars a gigabyte, of cents a terabyte.
pub fn usd_per_gb(cents_per_tb: u64) -> f64 {
    cents_per_tb as f64 / CENTS_PER_USD as f64 / (TB / GB) as f64
}

/// Dollars a terabyte, of cents a terabyte.
pub fn usd_per_tb(cents_per_tb: u64) -> f64 {
    cents_per_tb as f64 / CENTS_PER_USD as f64
}

/// How many times as expensive per capacity the first is as the second; none if the second is free.
pub fn price_ratio(cents_per_tb: u64, than_cents_per_tb: u64) -> Option<f64> {
    (than_cents_per_tb > 0).then(|| cents_per_tb as f64 / than_cents_per_tb as f64)
}

/// A whole array with what it hangs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purchase {
    /// The computer, case and supply, without drives and their controllers.
    pub base_cents: u64,
    /// Drives and controllers.
    pub drives_cents: u64,
}

impl Purchase {
    /// All of it.
    pub fn total_cents(&self) -> u64 {
        self.base_cents.saturating_add(self.drives_cents)
    }

    /// All of it, for each terabyte of `size_bytes`.
    pub fn cents_per_tb(&self, size_bytes: u64) -> Option<u64> {
        cents_per_tb(self.total_cents(), size_bytes)
    }
}

/// Something that was for sale, at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// What it was.
    pub name: &'static str,
    /// Its capacity.
    pub size_bytes: u64,
    /// Its price per capacity.
    pub cents_per_tb: u64,
    /// Where the price is from, with the year.
    pub source: &'static str,
}

/// Tables 1 of the `eide` study: large disks for sale.
const EIDE_TABLE_1: &str = "`eide` study, table 1 (2004)";
/// Table 2 of the `eide` study: arrays for sale.
const EIDE_TABLE_2: &str = "`eide` study, table 2 (2004)";

const fn offer(name: &'static str, size_gb: u64, cents_per_gb: u64, source: &'static str) -> Offer {
    Offer { name, size_bytes: size_gb * GB, cents_per_tb: cents_per_gb * (TB / GB), source }
}

/// Disks of 2004.
pub const DISKS_2004: [Offer; 6] = [
    offer("Maxtor Maxline II", 300, 75, EIDE_TABLE_1),
    offer("Western Digital WD2500JB", 250, 61, EIDE_TABLE_1),
    offer("Maxtor MaXLine Plus II", 250, 69, EIDE_TABLE_1),
    offer("Maxtor MaXLine Plus III SATA", 300, 77, EIDE_TABLE_1),
    offer("Seagate Barracuda SATA", 200, 63, EIDE_TABLE_1),
    offer("Hitachi DeskStar 7K400", 400, 110, EIDE_TABLE_1),
];

/// Commercial arrays of 2004.
pub const ARRAYS_2004: [Offer; 5] = [
    offer("Apple Xserve RAID", 3_500, 314, EIDE_TABLE_2),
    offer("Dell EMC CX200", 2_100, 905, EIDE_TABLE_2),
    offer("HP StorageWorks 1000", 2_100, 1_139, EIDE_TABLE_2),
    offer("IBM FASt200 3542-1R", 2_100, 2_471, EIDE_TABLE_2),
    offer("Sun StorEdge 6120", 2_040, 3_657, EIDE_TABLE_2),
];

/// SSDs of 2008, the dearest and the cheapest per capacity that one report of the time names.
pub const SSDS_2008: [Offer; 2] = [
    offer("SSD of 128 GB", 128, 2_300, "techspot.com/news/30651 (2008): 128 GB units at up to 23 USD/GB"),
    offer("SSD of 32 GB", 32, 1_000, "techspot.com/news/30651 (2008): 32 GB units, older and slower, from 10 USD/GB"),
];

#[cfg(test)]
mod tests;
