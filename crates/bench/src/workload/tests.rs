#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::permutation::Permutation;
use super::{Blocks, Operations, WorkloadError};
use crate::{Direction, Limit, Pattern, Workload};

fn workload(pattern: Pattern, read_percent: u8, visit_once: bool) -> Workload {
    Workload {
        pattern,
        read_percent,
        block_size_bytes: 4096,
        depth: 4,
        limit: Limit::Bytes(1 << 20),
        warm_up_ns: 0,
        range_offset: 0,
        range_bytes: 0,
        visit_once,
        seed: 7,
    }
}

#[test]
fn sequential_wraps_within_its_range() {
    let blocks = Blocks::of_range(8192, 3 * 4096 + 512, 4096, 1 << 20, 512).unwrap();
    assert_eq!(blocks.count, 3, "the last part holds no whole block");
    let mut operations = Operations::new(&workload(Pattern::Sequential, 100, false), blocks).unwrap();
    let offsets: Vec<u64> = (0..7).map(|_| operations.next_operation().offset).collect();
    assert_eq!(offsets, [8192, 12288, 16384, 8192, 12288, 16384, 8192]);
}

#[test]
fn random_is_uniform_and_aligned() {
    let blocks = Blocks::of_range(4096, 0, 4096, 4096 * 17, 512).unwrap();
    let mut operations = Operations::new(&workload(Pattern::Random, 100, false), blocks).unwrap();
    let mut counts = [0_u32; 16];
    for _ in 0..16_000 {
        let operation = operations.next_operation();
        assert_eq!(operation.offset % 4096, 0);
        counts[usize::try_from(operation.offset / 4096 - 1).unwrap()] += 1;
    }
    assert!(counts.iter().all(|count| (800..1200).contains(count)), "{counts:?}");
}

#[test]
fn a_mix_is_kept_to() {
    let blocks = Blocks::of_range(0, 0, 4096, 1 << 20, 512).unwrap();
    for percent in [0, 1, 30, 70, 100] {
        let mut operations = Operations::new(&workload(Pattern::Random, percent, false), blocks).unwrap();
        let reads = (0..10_000).filter(|_| operations.next_operation().direction == Direction::Read).count();
        let asked = usize::from(percent) * 100;
        assert!(reads.abs_diff(asked) < 200, "{reads} reads of 10000 at {percent} %");
        if percent % 100 == 0 {
            assert_eq!(reads, asked);
        }
    }
}

#[test]
fn one_seed_is_one_sequence() {
    let blocks = Blocks::of_range(0, 0, 4096, 1 << 30, 512).unwrap();
    let sequence = |seed| {
        let mut operations =
            Operations::new(&Workload { seed, ..workload(Pattern::Random, 50, false) }, blocks).unwrap();
        (0..100).map(|_| operations.next_operation()).collect::<Vec<_>>()
    };
    assert_eq!(sequence(1), sequence(1));
    assert_ne!(sequence(1), sequence(2));
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |offset, length, block| Blocks::of_range(offset, length, block, 1 << 20, 4096).unwrap_err();
    assert!(matches!(refused(0, 0, 512), WorkloadError::BlockSize { .. }));
    assert!(matches!(refused(0, 0, 0), WorkloadError::BlockSize { .. }));
    assert!(matches!(refused(0, 1 << 21, 4096), WorkloadError::Length { .. }));
    assert!(matches!(refused(1 << 21, 0, 4096), WorkloadError::Start { .. }));
    assert!(matches!(refused(0, 4096, 8192), WorkloadError::Short { .. }));
    assert!(matches!(refused((1 << 20) - 4096, 8192, 4096), WorkloadError::Length { .. }));
    assert!(matches!(refused(512, 8192, 4096), WorkloadError::Unaligned { .. }));
    assert!(matches!(refused(u64::MAX - 4095, 8192, 4096), WorkloadError::Start { .. }));
    let blocks = Blocks::of_range(0, 0, 4096, 1 << 20, 4096).unwrap();
    assert_eq!(Operations::new(&workload(Pattern::Random, 101, false), blocks).unwrap_err(), WorkloadError::Mix(101));
}

proptest! {
    #[test]
    fn a_permutation_visits_every_block_once(count in 1_u64..5000, key in any::<u64>()) {
        let permutation = Permutation::new(count, key);
        let mut visited: Vec<u64> = (0..count).map(|index| permutation.at(index)).collect();
        visited.sort_unstable();
        prop_assert!(visited.iter().copied().eq(0..count));
    }

    #[test]
    fn each_pass_visits_every_block_once(count in 1_u64..300, seed in any::<u64>()) {
        let blocks = Blocks::of_range(0, 0, 4096, count * 4096, 4096).unwrap();
        let mut operations =
            Operations::new(&Workload { seed, ..workload(Pattern::Random, 100, true) }, blocks).unwrap();
        for _pass in 0..3 {
            let mut visited: Vec<u64> = (0..count).map(|_| operations.next_operation().offset / 4096).collect();
            visited.sort_unstable();
            prop_assert!(visited.iter().copied().eq(0..count));
        }
    }
}
