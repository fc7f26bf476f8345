#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use shoal_volume::RequestError;

use super::{Latencies, Projections, per_second};
use crate::{Bucket, Direction, Event, Latency, Observer};

fn latencies(values: impl IntoIterator<Item = u64>) -> Latencies {
    let mut latencies = Latencies::new();
    values.into_iter().for_each(|value| latencies.record(value));
    latencies
}

fn event(submitted_ns: u64, completed_ns: u64, direction: Direction) -> Event {
    Event { intended_ns: submitted_ns, submitted_ns, completed_ns, offset: 0, length: 4096, direction, result: Ok(()) }
}

#[test]
fn of_no_requests_nothing_is_said() {
    assert_eq!(Latencies::new().latency(), Latency::default());
    assert_eq!(Latencies::new().buckets(), []);
    assert!(Projections::new(1).read.result(1).is_none());
}

#[test]
fn extremes_and_mean_are_exact_however_far_apart() {
    let summary = latencies((0..1000).map(|_| 50_000).chain([30_000_000_000])).latency();
    assert_eq!((summary.min, summary.max), (50_000, 30_000_000_000));
    assert_eq!(summary.mean, (1000 * 50_000 + 30_000_000_000) / 1001);
    // Longer than the histogram goes.
    let summary = latencies([1, 5_000_000_000_000]).latency();
    assert_eq!((summary.min, summary.max), (1, 5_000_000_000_000));
}

#[test]
fn percentiles_that_the_samples_do_not_carry_are_left_out() {
    let names = |count: u64| latencies(1..=count).latency().percentiles.into_keys().collect::<Vec<_>>();
    assert_eq!(names(19), [""; 0]);
    assert_eq!(names(20), ["50"]);
    assert_eq!(names(100), ["50", "90"]);
    assert_eq!(names(999), ["50", "90", "95"]);
    assert_eq!(names(1000), ["50", "90", "95", "99"]);
    assert_eq!(names(100_000), ["50", "90", "95", "99", "99.9", "99.99"]);
}

#[test]
fn failed_requests_count_as_errors_only() {
    let mut projections = Projections::new(100);
    projections.record(&event(0, 10, Direction::Read));
    projections.record(&Event { result: Err(RequestError::Failed), ..event(0, 1_000_000, Direction::Read) });
    let read = projections.read.result(1_000_000_000).unwrap();
    assert_eq!((read.ios, read.errors, read.bytes, read.latency_ns.max), (1, 1, 4096, 10));
}

#[test]
fn the_series_has_no_gaps_and_loses_nothing() {
    let mut projections = Projections::new(100);
    for (submitted, completed, direction) in
        [(1000, 1010, Direction::Read), (1000, 1099, Direction::Write), (1010, 1350, Direction::Read)]
    {
        projections.record(&event(submitted, completed, direction));
    }
    let series = projections.series.into_intervals();
    assert_eq!(series.iter().map(|interval| interval.start_ns).collect::<Vec<_>>(), [0, 100, 200, 300]);
    assert_eq!(
        (series[0].read_bytes, series[0].write_bytes, series[0].ios, series[0].latency_max_ns),
        (4096, 4096, 2, 99)
    );
    assert_eq!((series[1].ios, series[2].ios), (0, 0));
    assert_eq!((series[3].read_bytes, series[3].latency_max_ns), (4096, 340));
}

#[test]
fn rates_neither_overflow_nor_divide_by_nothing() {
    assert_eq!(per_second(5, 0), 0);
    assert_eq!(per_second(1 << 40, 1_000_000_000), 1 << 40);
    assert_eq!(per_second(u64::MAX, 1), u64::MAX);
}

proptest! {
    #[test]
    fn percentiles_are_within_a_thousandth(mut values in prop::collection::vec(1_u64..10_000_000_000, 1000..2000)) {
        let summary = latencies(values.iter().copied()).latency();
        values.sort_unstable();
        for (name, percent) in [("50", 50), ("90", 90), ("99", 99)] {
            let exact = values[(values.len() * percent).div_ceil(100) - 1];
            let told = summary.percentiles[name];
            prop_assert!(told >= exact && told - exact <= exact / 1000 + 1, "{name}: {told} for {exact}");
        }
    }

    #[test]
    fn buckets_hold_everything_in_order(values in prop::collection::vec(1_u64..3_600_000_000_000, 1..500)) {
        let buckets = latencies(values.iter().copied()).buckets();
        prop_assert_eq!(buckets.iter().map(|bucket| bucket.count).sum::<u64>(), values.len() as u64);
        prop_assert!(buckets.windows(2).all(|pair| pair[0].up_to_ns < pair[1].up_to_ns));
        for value in values {
            let Bucket { up_to_ns, .. } = *buckets.iter().find(|bucket| bucket.up_to_ns >= value).unwrap();
            prop_assert!(up_to_ns - value <= value / 100 + 1, "{value} in the bucket up to {up_to_ns}");
        }
    }

    #[test]
    fn both_directions_together_are_the_sum(one in prop::collection::vec(1_u64..1_000_000, 0..50), other in prop::collection::vec(1_u64..1_000_000, 0..50)) {
        let mut sum = latencies(one.iter().copied());
        sum.add(&latencies(other.iter().copied()));
        prop_assert_eq!(sum.latency(), latencies(one.into_iter().chain(other)).latency());
    }
}
