use super::ranking::{Range, geometric_mean};
use super::summary::spread;
use super::wording::{binary_bytes, count, decimal_bytes};

#[test]
fn medians_of_even_and_odd_counts() {
    let of = |values: &[u64]| spread(values.iter().copied()).map(|spread| (spread.min, spread.median, spread.max));
    assert_eq!(of(&[]), None);
    assert_eq!(of(&[7]), Some((7, 7, 7)));
    assert_eq!(of(&[9, 1, 4]), Some((1, 4, 9)));
    assert_eq!(of(&[8, 2, 4, 100]), Some((2, 6, 100)));
    assert_eq!(of(&[u64::MAX, u64::MAX]), Some((u64::MAX, u64::MAX, u64::MAX)));
}

#[test]
fn geometric_means_are_exact_and_bounded() {
    assert_eq!(geometric_mean(&[]), 0);
    assert_eq!(geometric_mean(&[5]), 5);
    assert_eq!(geometric_mean(&[4, 9]), 6);
    assert_eq!(geometric_mean(&[0, 1000]), 0);
    assert_eq!(geometric_mean(&[1 << 40, 1 << 42]), 1 << 41);
    assert_eq!(geometric_mean(&[u64::MAX, u64::MAX]), u64::MAX);
}

#[test]
fn results_differ_only_beyond_spread_and_noise() {
    let range = |low, value, high| Range { low, value, high };
    assert!(range(110, 115, 120).differs_from(range(90, 100, 109)), "every run is better");
    assert!(range(90, 100, 109).differs_from(range(110, 115, 120)), "and so the other way round");
    assert!(!range(105, 115, 120).differs_from(range(90, 100, 109)), "the ranges overlap");
    assert!(!range(102, 102, 102).differs_from(range(100, 100, 100)), "2 % is noise");
    assert!(range(104, 104, 104).differs_from(range(100, 100, 100)), "4 % is none");
}

#[test]
fn numbers_in_words() {
    assert_eq!(decimal_bytes(182_490_000), "182 MB");
    assert_eq!(decimal_bytes(1_326_000_000), "1.33 GB");
    assert_eq!(decimal_bytes(9_996_000), "10.0 MB");
    assert_eq!(decimal_bytes(99_960_000), "100 MB");
    assert_eq!(decimal_bytes(999_600_000), "1.00 GB");
    assert_eq!(decimal_bytes(999_400_000), "999 MB");
    assert_eq!(decimal_bytes(64_100), "64.1 kB");
    assert_eq!(decimal_bytes(12), "12 B");
    assert_eq!(decimal_bytes(0), "0 B");
    assert_eq!(binary_bytes(65_536), "64 KiB");
    assert_eq!(binary_bytes(1 << 20), "1 MiB");
    assert_eq!(binary_bytes(1000), "1000 bytes");
    assert_eq!(count(1_234_567), "1,234,567");
    assert_eq!(count(999), "999");
}
