//! Time is an integer count of nanoseconds. What does not come out even is rounded to the nearest,
//! once.

/// A second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// How long so many bytes take at a rate.
pub(crate) fn transfer_ns(bytes: u64, bytes_per_s: u64) -> u64 {
    // Nearly always it fits; the wide division is several times as slow.
    match bytes.checked_mul(SECOND_NS).and_then(|product| product.checked_add(bytes_per_s / 2)) {
        Some(product) => product / bytes_per_s,
        None => {
            let product = u128::from(bytes) * u128::from(SECOND_NS) + u128::from(bytes_per_s / 2);
            u64::try_from(product / u128::from(bytes_per_s)).unwrap_or(u64::MAX)
        }
    }
}

/// How many bytes go through in so long, rounded down.
pub(crate) fn transferred_bytes(duration_ns: u64, bytes_per_s: u64) -> u64 {
    let product = u128::from(duration_ns) * u128::from(bytes_per_s) / u128::from(SECOND_NS);
    u64::try_from(product).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_are_rounded_to_the_nearest_nanosecond() {
        assert_eq!(transfer_ns(4096, 1_000_000_000), 4096);
        assert_eq!(transfer_ns(1, 3), 333_333_333);
        assert_eq!(transfer_ns(2, 3), 666_666_667);
        assert_eq!(transfer_ns(1 << 62, 1 << 30), (1 << 32) * SECOND_NS);
        assert_eq!(transfer_ns(u64::MAX, 1), u64::MAX);
        assert_eq!(transferred_bytes(1_500_000_000, 10), 15);
    }
}
