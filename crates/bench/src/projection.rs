//! What is kept of the events: totals, latency histograms, throughput over time.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use crate::{Bucket, Direction, DirectionResult, Event, Interval, Latency, Observer};

/// Latencies beyond this are counted in the last bucket; the exact maximum is kept beside.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// Of the histogram's resolution: 0.1 %.
const SIGNIFICANT_DIGITS: u8 = 3;
/// The percentiles reported: name, and how many of 10000 requests lie beyond.
const PERCENTILES: [(&str, u64); 6] =
    [("50", 5000), ("90", 1000), ("95", 500), ("99", 100), ("99.9", 10), ("99.99", 1)];
/// A percentile that fewer requests lie beyond is chance.
const FEWEST_BEYOND: u64 = 10;
/// Buckets of the histogram that is reported, per doubling of the latency: each is at most 1 %
/// wide.
const BUCKETS_PER_OCTAVE_BITS: u32 = 7;

/// Latencies: a histogram, with what a histogram rounds kept exact beside it.
#[derive(Clone, Debug)]
pub struct Latencies {
    histogram: Histogram<u64>,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
}

impl Latencies {
    /// None yet.
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, SIGNIFICANT_DIGITS);
        Self {
            histogram: histogram.expect("the bounds are in order and the digits at most five"),
            min_ns: u64::MAX,
            max_ns: 0,
            sum_ns: 0,
        }
    }

    /// Adds one.
    pub fn record(&mut self, latency_ns: u64) {
        self.histogram.saturating_record(latency_ns);
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
        self.sum_ns += u128::from(latency_ns);
    }

    /// Adds all of another's.
    pub fn add(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).expect("all histograms have the same bounds");
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Their summary.
    pub fn latency(&self) -> Latency {
        let count = self.count();
        if count == 0 {
            return Latency::default();
        }
        let mean = u64::try_from(self.sum_ns / u128::from(count)).expect("a mean lies below the maximum");
        Latency { min: self.min_ns, mean, max: self.max_ns, percentiles: self.percentiles() }
    }

    fn percentiles(&self) -> BTreeMap<String, u64> {
        let count = u128::from(self.count());
        let carried =
            PERCENTILES.iter().filter(|(_, beyond)| count * u128::from(*beyond) >= 10_000 * u128::from(FEWEST_BEYOND));
        let value = |beyond: u64| {
            // The smallest latency that all but `beyond` of 10000 requests do not exceed.
            let rank = (count * u128::from(10_000 - beyond)).div_ceil(10_000);
            self.at_rank(u64::try_from(rank).expect("a rank is at most the count"))
        };
        carried.map(|&(name, beyond)| (name.to_owned(), value(beyond))).collect()
    }

    /// The latency with so many at or below it.
    fn at_rank(&self, rank: u64) -> u64 {
        let mut seen = 0;
        for step in self.histogram.iter_recorded() {
            seen += step.count_at_value();
            if seen >= rank {
                return step.value_iterated_to().clamp(self.min_ns, self.max_ns);
            }
        }
        self.max_ns
    }

    /// The distribution in buckets that are at most 1 % wide.
    pub fn buckets(&self) -> Vec<Bucket> {
        let mut buckets: Vec<Bucket> = Vec::new();
        for step in self.histogram.iter_recorded() {
            let up_to_ns = bucket_end(step.value_iterated_to());
            match buckets.last_mut() {
                Some(last) if last.up_to_ns == up_to_ns => last.count += step.count_at_value(),
                _ => buckets.push(Bucket { up_to_ns, count: step.count_at_value() }),
            }
        }
        buckets
    }
}

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

/// The last value of the reported bucket that a latency belongs to.
fn bucket_end(latency_ns: u64) -> u64 {
    let octave = latency_ns.max(1).ilog2();
    let width_bits = octave.saturating_sub(BUCKETS_PER_OCTAVE_BITS);
    latency_ns | ((1 << width_bits) - 1)
}

/// One direction's totals.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) ios: u64,
    pub(crate) bytes: u64,
    pub(crate) errors: u64,
    pub(crate) latencies: Latencies,
}

impl Totals {
    pub(crate) fn result(&self, elapsed_ns: u64) -> Option<DirectionResult> {
        (self.ios + self.errors > 0).then(|| DirectionResult {
            ios: self.ios,
            bytes: self.bytes,
            bytes_per_s: per_second(self.bytes, elapsed_ns),
            iops: per_second(self.ios, elapsed_ns),
            errors: self.errors,
            latency_ns: self.latencies.latency(),
            histogram: self.latencies.buckets(),
        })
    }
}

/// `count` per second, rounded down; 0 if the time is 0.
pub(crate) fn per_second(count: u64, elapsed_ns: u64) -> u64 {
    let per_second = (u128::from(count) * 1_000_000_000).checked_div(u128::from(elapsed_ns)).unwrap_or(0);
    u64::try_from(per_second).unwrap_or(u64::MAX)
}

/// Everything a measurement is made of.
#[derive(Debug)]
pub(crate) struct Projections {
    pub(crate) read: Totals,
    pub(crate) write: Totals,
    pub(crate) series: Series,
}

impl Projections {
    pub(crate) fn new(interval_ns: u64) -> Self {
        Self { read: Totals::default(), write: Totals::default(), series: Series::new(interval_ns) }
    }
}

impl Observer for Projections {
    fn record(&mut self, event: &Event) {
        let totals = match event.direction {
            Direction::Read => &mut self.read,
            Direction::Write => &mut self.write,
        };
        if event.result.is_err() {
            totals.errors += 1;
            return;
        }
        totals.ios += 1;
        totals.bytes += u64::from(event.length);
        totals.latencies.record(event.latency_ns());
        self.series.record(event);
    }
}

/// Throughput over time, by when requests completed.
#[derive(Debug)]
pub(crate) struct Series {
    interval_ns: u64,
    /// Start of the measured time; the first submission's.
    origin_ns: Option<u64>,
    intervals: Vec<Interval>,
}

/// Room for intervals made ahead, so that the loop need not allocate: a minute at ten a second.
const INTERVALS_AHEAD: usize = 600;

impl Series {
    fn new(interval_ns: u64) -> Self {
        Self { interval_ns, origin_ns: None, intervals: Vec::with_capacity(INTERVALS_AHEAD) }
    }

    fn record(&mut self, event: &Event) {
        let origin_ns = *self.origin_ns.get_or_insert(event.submitted_ns);
        let index = event.completed_ns.saturating_sub(origin_ns) / self.interval_ns;
        while self.intervals.len() as u64 <= index {
            let start_ns = self.intervals.len() as u64 * self.interval_ns;
            self.intervals.push(Interval { start_ns, ..Interval::default() });
        }
        let index = usize::try_from(index).expect("it is below the length of a Vec");
        let interval = &mut self.intervals[index];
        match event.direction {
            Direction::Read => interval.read_bytes += u64::from(event.length),
            Direction::Write => interval.write_bytes += u64::from(event.length),
        }
        interval.ios += 1;
        interval.latency_max_ns = interval.latency_max_ns.max(event.latency_ns());
    }

    pub(crate) fn into_intervals(self) -> Vec<Interval> {
        self.intervals
    }
}

#[cfg(test)]
mod tests;
