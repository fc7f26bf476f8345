//! Repeats to medians: per drive, all drives at once, per array.

use shoal_bench::{Measurement, Verdict, Workload};

use super::{BUS_LIMIT_PERCENT, STRAGGLER_PERCENT};
use crate::model::{
    DriveMeasurements, DriveShare, DriveSummary, Metric, Spread, Straggler, TogetherRun, TogetherSummary,
    WorkloadSummary,
};

/// What makes two runs repeats of each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct WorkloadKey {
    pub(super) metric: Metric,
    read_percent: u8,
    block_size_bytes: u32,
    depth: u32,
}

impl WorkloadKey {
    fn of(workload: &Workload) -> Self {
        Self {
            metric: Metric::of(workload),
            read_percent: workload.read_percent,
            block_size_bytes: workload.block_size_bytes,
            depth: workload.depth,
        }
    }
}

/// Groups by key, keeping the order in which keys first appear.
fn grouped<T>(items: impl IntoIterator<Item = (WorkloadKey, T)>) -> Vec<(WorkloadKey, Vec<T>)> {
    let mut groups: Vec<(WorkloadKey, Vec<T>)> = Vec::new();
    for (key, item) in items {
        match groups.iter_mut().find(|(present, _)| *present == key) {
            Some((_, members)) => members.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}

/// The median, smallest and largest of some values. `None` of none.
pub(super) fn spread(values: impl IntoIterator<Item = u64>) -> Option<Spread> {
    let mut values: Vec<u64> = values.into_iter().collect();
    values.sort_unstable();
    let (&min, &max) = (values.first()?, values.last()?);
    let upper = values[values.len() / 2];
    let lower = values[(values.len() - 1) / 2];
    let runs = u32::try_from(values.len()).unwrap_or(u32::MAX);
    Some(Spread { median: lower.midpoint(upper), min, max, runs })
}

/// One summary per workload. Invalid repeats do not count unless there is nothing else.
pub(super) fn workloads(measurements: &[Measurement]) -> Vec<WorkloadSummary> {
    grouped(measurements.iter().map(|measurement| (WorkloadKey::of(&measurement.workload), measurement)))
        .into_iter()
        .filter_map(|(key, repeats)| workload(key, &usable(repeats, |measurement| measurement.validity.verdict)))
        .collect()
}

/// Leaves invalid items out, unless that leaves nothing.
fn usable<T>(items: Vec<T>, verdict: impl Fn(&T) -> Verdict) -> Vec<T> {
    let (usable, invalid): (Vec<T>, Vec<T>) = items.into_iter().partition(|item| verdict(item) != Verdict::Invalid);
    if usable.is_empty() { invalid } else { usable }
}

fn workload(key: WorkloadKey, repeats: &[&Measurement]) -> Option<WorkloadSummary> {
    let of = |value: fn(&Measurement) -> u64| spread(repeats.iter().map(|repeat| value(repeat)));
    let percentile = |name: &str| {
        let values: Option<Vec<u64>> =
            repeats.iter().map(|repeat| repeat.latency_ns.percentiles.get(name).copied()).collect();
        values.and_then(spread)
    };
    Some(WorkloadSummary {
        metric: key.metric,
        block_size_bytes: key.block_size_bytes,
        depth: key.depth,
        verdict: repeats.iter().map(|repeat| repeat.validity.verdict).max()?,
        bytes_per_s: of(|measurement| measurement.bytes_per_s)?,
        iops: of(|measurement| measurement.iops)?,
        latency_50_ns: percentile("50"),
        latency_99_ns: percentile("99"),
        cpu_ns_per_io: spread(repeats.iter().filter_map(|repeat| repeat.cpu_ns_per_io)),
        expected: None,
    })
}

/// Each drive alone.
pub(super) fn drives(alone: &[DriveMeasurements]) -> Vec<DriveSummary> {
    alone.iter().map(|drive| DriveSummary { drive: drive.drive, workloads: workloads(&drive.measurements) }).collect()
}

/// The worst verdict of a run's drives.
fn run_verdict(run: &TogetherRun) -> Verdict {
    run.drives.iter().map(|drive| drive.measurement.validity.verdict).max().unwrap_or(Verdict::Invalid)
}

/// All drives at once, one summary per workload.
pub(super) fn together(runs: &[TogetherRun], alone: &[DriveSummary]) -> Vec<TogetherSummary> {
    let keyed = runs.iter().filter_map(|run| {
        let first = run.drives.first()?;
        Some((WorkloadKey::of(&first.measurement.workload), run))
    });
    grouped(keyed)
        .into_iter()
        .filter_map(|(key, repeats)| together_workload(key, &usable(repeats, |run| run_verdict(run)), alone))
        .collect()
}

fn together_workload(key: WorkloadKey, runs: &[&TogetherRun], alone: &[DriveSummary]) -> Option<TogetherSummary> {
    let total_bytes_per_s = spread(runs.iter().map(|run| run.total_bytes_per_s))?;
    let drives: Vec<DriveShare> = runs
        .first()?
        .drives
        .iter()
        .filter_map(|part| {
            let shares = runs.iter().flat_map(|run| &run.drives).filter(|other| other.drive == part.drive);
            let bytes_per_s = spread(shares.map(|share| share.measurement.bytes_per_s))?;
            Some(DriveShare { drive: part.drive, bytes_per_s })
        })
        .collect();
    let alone_bytes_per_s: Option<u64> = drives
        .iter()
        .try_fold(0, |sum: u64, share| Some(sum.saturating_add(drive_bytes_per_s(alone, share.drive, key.metric)?)));
    let bus_limited =
        alone_bytes_per_s.is_some_and(|sum| percent_less(total_bytes_per_s.median, sum, BUS_LIMIT_PERCENT));
    Some(TogetherSummary {
        metric: key.metric,
        block_size_bytes: key.block_size_bytes,
        depth: key.depth,
        verdict: runs.iter().map(|run| run_verdict(run)).max()?,
        total_bytes_per_s,
        total_iops: spread(runs.iter().map(|run| run.total_iops))?,
        drives,
        alone_bytes_per_s,
        bus_limited,
    })
}

/// Whether `value` is less than `percent` of `whole`.
fn percent_less(value: u64, whole: u64, percent: u64) -> bool {
    u128::from(value) * 100 < u128::from(whole) * u128::from(percent)
}

/// What a drive does alone.
pub(super) fn drive_bytes_per_s(alone: &[DriveSummary], drive: u32, metric: Metric) -> Option<u64> {
    let summary = alone.iter().find(|summary| summary.drive == drive)?;
    first(&summary.workloads, metric).map(|workload| workload.bytes_per_s.median)
}

/// The summary that stands for a metric: the first in the plan's order, unless it is invalid.
pub(super) fn first(workloads: &[WorkloadSummary], metric: Metric) -> Option<&WorkloadSummary> {
    workloads.iter().find(|workload| workload.metric == metric && workload.verdict != Verdict::Invalid)
}

/// Drives that are much slower alone than the drive in the middle, by metric. With fewer than three
/// drives there is no middle.
pub(super) fn stragglers(drives: &[DriveSummary]) -> Vec<Straggler> {
    let metrics = [Metric::SequentialRead, Metric::SequentialWrite, Metric::RandomRead, Metric::RandomWrite];
    let mut stragglers = Vec::new();
    for metric in metrics {
        let speeds: Vec<(u32, u64)> = drives
            .iter()
            .filter_map(|summary| Some((summary.drive, drive_bytes_per_s(drives, summary.drive, metric)?)))
            .collect();
        let Some(typical) = spread(speeds.iter().map(|(_, speed)| *speed)) else { continue };
        if speeds.len() < 3 {
            continue;
        }
        for (drive, bytes_per_s) in speeds {
            if percent_less(bytes_per_s, typical.median, STRAGGLER_PERCENT) {
                stragglers.push(Straggler { drive, metric, bytes_per_s, typical_bytes_per_s: typical.median });
            }
        }
    }
    stragglers
}
