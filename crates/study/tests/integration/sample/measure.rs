//! One made-up measurement: its rates, latency distribution and series fit together.

use std::collections::BTreeMap;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use shoal_bench::{
    Bucket, Cpu, DirectionResult, Interval, Latency, Limit, Measurement, Pattern, Reason, ReasonCode,
    TargetDescription, Validity, Verdict, Workload,
};
use shoal_study::model::Metric;

const SECONDS: u64 = 10;
const SECOND_NS: u64 = 1_000_000_000;
const INTERVAL_NS: u64 = 500_000_000;

/// What the numbers should look like.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) metric: Metric,
    pub(crate) repeat: u32,
    pub(crate) bytes_per_s: f64,
    /// How far repeats may lie from it, as a share.
    pub(crate) spread: f64,
}

/// A number from -1 to 1.
fn jitter(random: &mut Xoshiro256PlusPlus) -> f64 {
    f64::from(random.next_u32()) / f64::from(u32::MAX) * 2.0 - 1.0
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "made-up numbers, far from the limits")]
fn rounded(value: f64) -> u64 {
    value.max(0.0) as u64
}

fn workload(metric: Metric) -> Workload {
    let (pattern, read_percent) = match metric {
        Metric::SequentialRead => (Pattern::Sequential, 100),
        Metric::SequentialWrite => (Pattern::Sequential, 0),
        Metric::RandomRead => (Pattern::Random, 100),
        Metric::RandomWrite => (Pattern::Random, 0),
        Metric::Mixed => (Pattern::Random, 70),
    };
    let sequential = pattern == Pattern::Sequential;
    Workload {
        pattern,
        read_percent,
        block_size_bytes: if sequential { 1 << 20 } else { 4096 },
        depth: if sequential { 8 } else { 32 },
        limit: Limit::DurationNs(SECONDS * SECOND_NS),
        warm_up_ns: SECOND_NS,
        range_offset: 0,
        range_bytes: 0,
        visit_once: false,
        seed: 1,
    }
}

/// A log-logistic distribution around `median_ns`, cut into buckets.
fn histogram(median_ns: f64, sigma: f64, ios: u64) -> Vec<Bucket> {
    let share_below = |step: i32| 1.0 / (1.0 + (-f64::from(step) / 4.0).exp());
    let mut buckets = Vec::new();
    let mut counted = 0;
    for step in -22..=44 {
        let below = rounded(share_below(step) * ios as f64);
        let count = below.saturating_sub(counted);
        if count > 0 {
            counted += count;
            buckets.push(Bucket { up_to_ns: rounded(median_ns * (sigma * f64::from(step) / 4.0).exp()), count });
        }
    }
    buckets
}

fn latency(histogram: &[Bucket]) -> Latency {
    let ios: u64 = histogram.iter().map(|bucket| bucket.count).sum();
    let mut percentiles = BTreeMap::new();
    for (name, per_10_000) in [("50", 5000), ("90", 9000), ("95", 9500), ("99", 9900), ("99.9", 9990), ("99.99", 9999)]
    {
        if ios * (10_000 - per_10_000) < 10 * 10_000 {
            continue;
        }
        let mut below = 0;
        let bucket = histogram.iter().find(|bucket| {
            below += bucket.count;
            below * 10_000 >= ios * per_10_000
        });
        percentiles.insert(name.to_owned(), bucket.map_or(0, |bucket| bucket.up_to_ns));
    }
    let total: u64 = histogram.iter().map(|bucket| bucket.up_to_ns * bucket.count).sum();
    Latency {
        min: histogram.first().map_or(0, |bucket| bucket.up_to_ns),
        mean: total / ios.max(1),
        max: histogram.last().map_or(0, |bucket| bucket.up_to_ns),
        percentiles,
    }
}

fn series(metric: Metric, bytes_per_s: f64, block: u64, random: &mut Xoshiro256PlusPlus) -> Vec<Interval> {
    let reads = matches!(metric, Metric::SequentialRead | Metric::RandomRead);
    (0..SECONDS * SECOND_NS / INTERVAL_NS)
        .map(|number| {
            let bytes = rounded(bytes_per_s * INTERVAL_NS as f64 / 1e9 * (1.0 + 0.08 * jitter(random)));
            Interval {
                start_ns: number * INTERVAL_NS,
                read_bytes: if reads { bytes } else { 0 },
                write_bytes: if reads { 0 } else { bytes },
                ios: bytes / block,
                latency_max_ns: rounded(40e6 * (1.2 + jitter(random))),
            }
        })
        .collect()
}

/// Random writes are few, so that one repeat of them is marked: readers must see what a mark looks
/// like.
fn validity(metric: Metric, repeat: u32, ios: u64) -> Validity {
    if metric == Metric::RandomWrite && repeat == 2 && ios < 600 {
        let text = format!("Only {ios} requests were answered; run longer for latencies that mean more.");
        let reason = Reason { code: ReasonCode::TooFewSamples, verdict: Verdict::Suspect, text };
        return Validity { verdict: Verdict::Suspect, reasons: vec![reason] };
    }
    Validity { verdict: Verdict::Valid, reasons: Vec::new() }
}

fn cpu(ios: u64, block: u64) -> Cpu {
    let cpu_ns_per_io = 6_000 + block / 64;
    Cpu {
        user_ns: ios * cpu_ns_per_io / 3,
        system_ns: ios * cpu_ns_per_io * 2 / 3,
        machine_busy_ns: Some(ios * cpu_ns_per_io * 3 / 2),
        cpu_ns_per_io,
        cpu_ns_per_mib: cpu_ns_per_io * (1 << 20) / block,
    }
}

/// A measurement of that shape.
pub(crate) fn measurement(target: TargetDescription, shape: Shape, random: &mut Xoshiro256PlusPlus) -> Measurement {
    let workload = workload(shape.metric);
    let block = u64::from(workload.block_size_bytes);
    let bytes_per_s = shape.bytes_per_s * (1.0 + shape.spread * jitter(random));
    let ios = rounded(bytes_per_s * SECONDS as f64) / block;
    let median_ns = 1e9 * f64::from(workload.depth) * block as f64 / bytes_per_s * 0.9;
    let histogram = histogram(median_ns, if block > 4096 { 0.16 } else { 0.34 }, ios);
    let latency_ns = latency(&histogram);
    let direction = DirectionResult {
        ios,
        bytes: ios * block,
        bytes_per_s: ios * block / SECONDS,
        iops: ios / SECONDS,
        errors: 0,
        latency_ns: latency_ns.clone(),
        histogram,
    };
    let cpu = cpu(ios, block);
    let reads = workload.read_percent == 100;
    Measurement {
        target,
        repeat: shape.repeat,
        bytes: direction.bytes,
        ios,
        elapsed_ns: SECONDS * SECOND_NS,
        bytes_per_s: direction.bytes_per_s,
        iops: direction.iops,
        latency_ns,
        cpu_ns_per_io: Some(cpu.cpu_ns_per_io),
        cpu: Some(cpu),
        flush_ns: (!reads).then_some(180_000_000),
        members: None,
        series: series(shape.metric, bytes_per_s, block, random),
        validity: validity(shape.metric, shape.repeat, ios),
        read: reads.then(|| direction.clone()),
        write: (!reads).then_some(direction),
        workload,
    }
}
