//! Medians and spreads.

/// The middle one; the lower one of two. 0 if there is none.
pub(super) fn median(values: &[u64]) -> u64 {
    quantile(values, 50)
}

/// The value below which so many of a hundred lie. 0 if there is none.
pub(super) fn quantile(values: &[u64], percent: usize) -> u64 {
    let mut values = values.to_vec();
    values.sort_unstable();
    let last = values.len().saturating_sub(1);
    values.get(last * percent / 100).copied().unwrap_or(0)
}

/// The mean. 0 if there is none.
pub(super) fn mean(values: &[u64]) -> u64 {
    let sum: u128 = values.iter().map(|&value| u128::from(value)).sum();
    u64::try_from(sum / values.len().max(1) as u128).unwrap_or(u64::MAX)
}

/// Half of what lies between the quartiles, in millionths of the median.
pub(super) fn spread_ppm(values: &[u64]) -> u32 {
    let half = (quantile(values, 75) - quantile(values, 25)) / 2;
    let ppm = u128::from(half) * 1_000_000 / u128::from(median(values).max(1));
    u32::try_from(ppm).unwrap_or(u32::MAX).min(100_000_000)
}

/// Bytes a second, as far as a description may say it.
pub(super) fn rate(bytes: u64, duration_ns: u64) -> u64 {
    let rate = u128::from(bytes) * 1_000_000_000 / u128::from(duration_ns.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX).clamp(1_000, 1_000_000_000_000)
}
