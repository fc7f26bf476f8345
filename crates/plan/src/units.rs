//! Units, in the integers that everything is kept in.

/// 10^9 bytes.
pub const GB: u64 = 1_000_000_000;
/// 10^12 bytes.
pub const TB: u64 = 1_000 * GB;
/// Cents of a dollar.
pub const CENTS_PER_USD: u64 = 100;
/// Seconds of a day.
pub const DAY_S: f64 = 86_400.0;
/// Days of a year.
pub const YEAR_DAYS: f64 = 365.25;
