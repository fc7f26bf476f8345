//! Repetitions put together. The middle and the extremes, never a mean: with a handful of
//! repetitions, one stall would make a mean say nothing, and an interval computed from three
//! numbers would promise more than they hold.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Measurement, Verdict};

/// Where repeated numbers lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The middle one; of an even number, the mean of the middle two, rounded down.
    pub median: u64,
    /// The smallest.
    pub min: u64,
    /// The largest.
    pub max: u64,
}

impl Spread {
    /// The spread of some numbers; `None` of none.
    pub fn of(values: impl IntoIterator<Item = u64>) -> Option<Self> {
        let mut values: Vec<u64> = values.into_iter().collect();
        values.sort_unstable();
        let (&min, &max) = (values.first()?, values.last()?);
        let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Some(Self { median: low.midpoint(high), min, max })
    }

    /// The distance between the extremes, in thousandths of the median.
    pub fn width_per_mille(&self) -> u64 {
        let width = u128::from(self.max - self.min) * 1000;
        u64::try_from(width.checked_div(u128::from(self.median)).unwrap_or(0)).unwrap_or(u64::MAX)
    }
}

/// The repetitions of one workload on one target, in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// How many there were.
    pub repeats: u32,
    /// Of their rates.
    pub bytes_per_s: Spread,
    /// Of their request rates.
    pub iops: Spread,
    /// Of their mean latencies.
    pub latency_mean_ns: Spread,
    /// Of their latencies, by percentile; only percentiles that all repetitions carry.
    pub latency_ns: BTreeMap<String, Spread>,
    /// Of their CPU times per request; left out for simulated drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns_per_io: Option<Spread>,
    /// The worst verdict among them.
    pub verdict: Verdict,
}

impl Summary {
    /// Puts repetitions together; `None` if there are none.
    pub fn of(repeats: &[Measurement]) -> Option<Self> {
        let spread = |value: fn(&Measurement) -> u64| Spread::of(repeats.iter().map(value));
        let names = repeats.first()?.latency_ns.percentiles.keys();
        let percentile = |name: &String| {
            let values: Option<Vec<u64>> =
                repeats.iter().map(|repeat| repeat.latency_ns.percentiles.get(name).copied()).collect();
            Some((name.clone(), Spread::of(values?)?))
        };
        Some(Self {
            repeats: u32::try_from(repeats.len()).unwrap_or(u32::MAX),
            bytes_per_s: spread(|repeat| repeat.bytes_per_s)?,
            iops: spread(|repeat| repeat.iops)?,
            latency_mean_ns: spread(|repeat| repeat.latency_ns.mean)?,
            latency_ns: names.filter_map(percentile).collect(),
            cpu_ns_per_io: Spread::of(repeats.iter().filter_map(|repeat| repeat.cpu_ns_per_io)),
            verdict: repeats.iter().map(|repeat| repeat.validity.verdict).max()?,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::Spread;

    #[test]
    fn the_middle_of_few() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([5]), Some(Spread { median: 5, min: 5, max: 5 }));
        assert_eq!(Spread::of([9, 1]), Some(Spread { median: 5, min: 1, max: 9 }));
        assert_eq!(Spread::of([1, 100, 3]), Some(Spread { median: 3, min: 1, max: 100 }));
        assert_eq!(Spread::of([u64::MAX, u64::MAX]).unwrap().median, u64::MAX);
        assert_eq!(Spread::of([90, 100, 110]).unwrap().width_per_mille(), 200);
        assert_eq!(Spread::of([0, 0]).unwrap().width_per_mille(), 0);
    }

    proptest! {
        #[test]
        fn half_lie_on_each_side(values in prop::collection::vec(any::<u64>(), 1..50)) {
            let spread = Spread::of(values.iter().copied()).unwrap();
            let half = values.len().div_ceil(2);
            prop_assert!(values.iter().filter(|value| **value <= spread.median).count() >= values.len() / 2);
            prop_assert!(values.iter().filter(|value| **value >= spread.median).count() >= half);
            prop_assert!(values.contains(&spread.min) && values.contains(&spread.max));
        }
    }
}
