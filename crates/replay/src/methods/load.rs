//! Methods that keep a number of requests in flight without a cache between: workloads of
//! [`shoal_bench`].

use std::sync::atomic::AtomicBool;

use shoal_bench::{
    Bench, Conditions, Direction, Limit, Measurement, Pattern, TargetDescription, TargetKind, Watch, Workload,
};

use super::megabytes_per_s;
use crate::ReplayError;
use crate::host::{PAGE_BYTES, Requests};
use crate::rig::Timed;

/// What a workload came to.
pub(crate) struct Loaded {
    measurement: Measurement,
}

impl Loaded {
    pub(crate) fn megabytes_per_s(&self) -> f64 {
        megabytes_per_s(self.measurement.bytes, self.measurement.elapsed_ns)
    }

    /// Requests a second, cut off as seeker does.
    pub(crate) fn seeks_per_s(&self) -> f64 {
        self.measurement.iops as f64
    }

    /// Nanoseconds a request: one is in flight at a time.
    pub(crate) fn access_ms(&self) -> f64 {
        self.measurement.elapsed_ns as f64 / self.measurement.ios as f64 / 1e6
    }

    /// The 99.99th percentile.
    pub(crate) fn tail_ms(&self) -> Result<f64, ReplayError> {
        let percentile = self.measurement.latency_ns.percentiles.get("99.99");
        percentile.map(|&latency_ns| latency_ns as f64 / 1e6).ok_or(ReplayError::TooFewSamples)
    }
}

/// `fio --direct=1 --iodepth=1 --bs=4k`, in order over `bytes` from the start.
pub(crate) fn fio<V: Timed>(volume: &mut V, direction: Direction, bytes: u64) -> Result<Loaded, ReplayError> {
    let workload = Workload { range_bytes: bytes, limit: Limit::Bytes(bytes), ..sequential(direction, PAGE_BYTES, 1) };
    run(volume, workload)
}

/// ATTO with overlapped I/O: four requests in flight, in order over a file.
pub(crate) fn overlapped<V: Timed>(
    volume: &mut V,
    direction: Direction,
    block_size_bytes: u32,
    bytes: u64,
) -> Result<Loaded, ReplayError> {
    let workload =
        Workload { range_bytes: bytes, limit: Limit::Bytes(bytes), ..sequential(direction, block_size_bytes, 4) };
    run(volume, workload)
}

/// `seeker`: for thirty seconds, one sector somewhere on the device, of which the page cache makes
/// a page.
pub(crate) fn seeker<V: Timed>(volume: &mut V) -> Result<Loaded, ReplayError> {
    let workload = Workload {
        pattern: Pattern::Random,
        limit: Limit::DurationNs(30_000_000_000),
        ..sequential(Direction::Read, PAGE_BYTES, 1)
    };
    run(volume, workload)
}

/// HD Tune's reads: one request of 64 KiB at a time, and the program's own work after each. In
/// MB/s.
pub(crate) fn hd_tune<V: Timed>(volume: V, bytes: u64, gap_ns: u64) -> Result<f64, ReplayError> {
    const BLOCK_BYTES: u64 = 64 << 10;
    let mut requests = Requests::new(volume);
    let begun_ns = requests.now_ns();
    for block in 0..bytes / BLOCK_BYTES {
        requests.submit(Direction::Read, block * BLOCK_BYTES, BLOCK_BYTES)?;
        requests.wait_for_all()?;
        requests.pass(gap_ns);
    }
    Ok(megabytes_per_s(bytes, requests.now_ns() - begun_ns))
}

fn sequential(direction: Direction, block_size_bytes: u32, depth: u32) -> Workload {
    Workload {
        pattern: Pattern::Sequential,
        read_percent: if direction == Direction::Read { 100 } else { 0 },
        block_size_bytes,
        depth,
        limit: Limit::Bytes(0),
        warm_up_ns: 0,
        range_offset: 0,
        range_bytes: 0,
        visit_once: false,
        seed: 1,
    }
}

fn run<V: Timed>(volume: &mut V, workload: Workload) -> Result<Loaded, ReplayError> {
    let target = TargetDescription {
        name: "replay".to_owned(),
        kind: TargetKind::Device,
        size_bytes: volume.size_bytes(),
        logical_block_bytes: volume.logical_block_bytes(),
        level: None,
        layout: None,
        chunk_bytes: None,
        member_count: None,
        simulated: Some("a published study".to_owned()),
        engine: None,
    };
    let bench = Bench { target, workload, repeats: 1, conditions: Conditions::default() };
    let mut watch = Watch { interrupt: &AtomicBool::new(false), progress: &mut |_| {}, observer: &mut () };
    let measurement = bench.run(volume, &mut watch)?.pop().expect("one repetition was asked for");
    Ok(Loaded { measurement })
}
