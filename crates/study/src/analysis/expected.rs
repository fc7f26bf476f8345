//! What one would expect of an array, from its members.
//!
//! The slowest member sets the pace of every level that stripes, because requests are spread evenly
//! and a fixed number is in flight: `n` members do `n` times the slowest. From there, per request
//! of the array:
//!
//! | level | sequential read | sequential write | random read | random write |
//! | --- | --- | --- | --- | --- |
//! | linear | 1 | 1 | n | n |
//! | 0 | n | n | n | n |
//! | 1 | 1 | 1 | n | 1 |
//! | 4, 5, 6 (k parities) | n - k | n - k | n (4: n - 1) | n / (reads + writes), see [`small_parity_write`] |
//! | 10 (c copies) | n / c (far: n) | n / c | n | n / c |
//!
//! Linear arrays are read and written one member at a time, so their members' slowest stands for
//! the worst stretch. Whatever reaches the members in all cannot exceed what all drives do at once,
//! which is where a shared bus shows.

use shoal_bench::Verdict;
use shoal_volume::ArrayLevel;

use super::summary::drive_bytes_per_s;
use crate::model::{Configuration, DriveSummary, Expected, ExpectedLimit, Metric, TogetherSummary, WorkloadSummary};

/// Adds expectations to an array's summaries, where the members' own measurements allow one.
pub(super) fn with_expectations(
    mut workloads: Vec<WorkloadSummary>,
    configuration: &Configuration,
    drives: &[DriveSummary],
    together: &[TogetherSummary],
) -> Vec<WorkloadSummary> {
    for workload in &mut workloads {
        workload.expected = expected(workload, configuration, drives, together);
    }
    workloads
}

fn expected(
    workload: &WorkloadSummary,
    configuration: &Configuration,
    drives: &[DriveSummary],
    together: &[TogetherSummary],
) -> Option<Expected> {
    let members = Members::of(configuration, drives, workload)?;
    let from_members = members.bytes_per_s(workload.metric)?;
    let ceiling = together
        .iter()
        .find(|summary| summary.metric == workload.metric && summary.verdict != Verdict::Invalid)
        .filter(|summary| summary.bus_limited)
        .map(|summary| scaled(summary.total_bytes_per_s.median, 1, members.transferred(workload.metric)));
    let (bytes_per_s, limit) = match ceiling {
        Some(ceiling) if ceiling < from_members => (ceiling, ExpectedLimit::Bus),
        _ => (from_members, ExpectedLimit::SlowestMember),
    };
    let measured = u128::from(workload.bytes_per_s.median);
    let permille = (measured * 1000).checked_div(u128::from(bytes_per_s))?;
    Some(Expected { bytes_per_s, limit, efficiency_permille: u32::try_from(permille).unwrap_or(u32::MAX) })
}

/// `value * numerator / share`, where `share` is a fraction.
fn scaled(value: u64, numerator: u64, share: Fraction) -> u64 {
    let product = u128::from(value) * u128::from(numerator) * u128::from(share.denominator);
    u64::try_from(product / u128::from(share.numerator.max(1))).unwrap_or(u64::MAX)
}

/// An exact fraction, because results must not depend on a machine's floating point.
#[derive(Clone, Copy)]
struct Fraction {
    numerator: u64,
    denominator: u64,
}

/// A level's members, seen from one workload.
struct Members {
    level: Level,
    count: u64,
    /// Bytes per second of the slowest at the workload's own metric.
    slowest: u64,
    /// Of the slowest reader and the slowest writer at small random requests; needed where parity
    /// is updated.
    random_read: Option<u64>,
    random_write: Option<u64>,
}

/// What matters of a level here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Linear,
    Striped,
    Mirrored,
    /// RAID4 keeps its parity in one place, RAID5 and RAID6 spread it.
    Parity {
        parities: u64,
        rotates: bool,
    },
    StripedMirrors {
        copies: u64,
        far: bool,
    },
}

impl Level {
    fn of(configuration: &Configuration) -> Option<Self> {
        let ArrayLevel::Plain(level) =
            ArrayLevel::parse(&configuration.level, configuration.layout.as_deref(), 1).ok()?
        else {
            return None;
        };
        Some(match level {
            shoal_volume::Level::Linear => Self::Linear,
            shoal_volume::Level::Raid0(_) => Self::Striped,
            shoal_volume::Level::Raid1 => Self::Mirrored,
            shoal_volume::Level::Raid4 => Self::Parity { parities: 1, rotates: false },
            shoal_volume::Level::Raid5(_) => Self::Parity { parities: 1, rotates: true },
            shoal_volume::Level::Raid6(_) => Self::Parity { parities: 2, rotates: true },
            shoal_volume::Level::Raid10(layout) => Self::StripedMirrors {
                copies: u64::from(configuration.redundancy) + 1,
                far: layout.far > 1 && !layout.offset,
            },
        })
    }
}

impl Members {
    fn of(configuration: &Configuration, drives: &[DriveSummary], workload: &WorkloadSummary) -> Option<Self> {
        let slowest = |metric| {
            let speeds = configuration.members.iter().map(|&drive| drive_bytes_per_s(drives, drive, metric));
            speeds.collect::<Option<Vec<u64>>>()?.into_iter().min()
        };
        Some(Self {
            level: Level::of(configuration)?,
            count: u64::try_from(configuration.members.len()).ok()?,
            slowest: slowest(workload.metric)?,
            random_read: slowest(Metric::RandomRead),
            random_write: slowest(Metric::RandomWrite),
        })
    }

    /// The array's speed, as its members alone would have it.
    fn bytes_per_s(&self, metric: Metric) -> Option<u64> {
        if let (Metric::RandomWrite, Level::Parity { parities, rotates }) = (metric, self.level) {
            return small_parity_write(self.count, parities, rotates, self.random_read?, self.random_write?);
        }
        let times = self.concurrency(metric)?;
        Some(scaled(self.slowest, times.numerator, Fraction { numerator: times.denominator, denominator: 1 }))
    }

    /// How many members' worth of the array's content moves at a time.
    fn concurrency(&self, metric: Metric) -> Option<Fraction> {
        let whole = |numerator| Some(Fraction { numerator, denominator: 1 });
        let count = self.count;
        match (metric, self.level) {
            (Metric::Mixed, _) => None,
            (_, Level::Striped) => whole(count),
            (Metric::SequentialRead | Metric::SequentialWrite, Level::Linear | Level::Mirrored) => whole(1),
            (Metric::RandomWrite, Level::Mirrored) => whole(1),
            (Metric::SequentialRead | Metric::SequentialWrite, Level::Parity { parities, .. }) => {
                whole(count.saturating_sub(parities))
            }
            (Metric::RandomRead, Level::Parity { parities, rotates: false }) => whole(count.saturating_sub(parities)),
            (Metric::SequentialRead, Level::StripedMirrors { far: true, .. }) => whole(count),
            (Metric::SequentialRead | Metric::SequentialWrite, Level::StripedMirrors { copies, .. })
            | (Metric::RandomWrite, Level::StripedMirrors { copies, .. }) => {
                Some(Fraction { numerator: count, denominator: copies })
            }
            (Metric::RandomRead | Metric::RandomWrite, _) => whole(count),
        }
    }

    /// Bytes that reach the members per byte of content.
    fn transferred(&self, metric: Metric) -> Fraction {
        let one = Fraction { numerator: 1, denominator: 1 };
        match (metric, self.level) {
            (Metric::SequentialWrite | Metric::RandomWrite, Level::Mirrored) => {
                Fraction { numerator: self.count, denominator: 1 }
            }
            (Metric::SequentialWrite | Metric::RandomWrite, Level::StripedMirrors { copies, .. }) => {
                Fraction { numerator: copies, denominator: 1 }
            }
            (Metric::SequentialWrite, Level::Parity { parities, .. }) => {
                Fraction { numerator: self.count, denominator: self.count.saturating_sub(parities).max(1) }
            }
            (Metric::RandomWrite, Level::Parity { parities, .. }) => {
                let reads = parity_reads(self.count, parities);
                Fraction { numerator: reads + parities + 1, denominator: 1 }
            }
            _ => one,
        }
    }
}

/// Reads before a small write can update parity: the old block and old parity, or all other data,
/// whichever is less.
fn parity_reads(count: u64, parities: u64) -> u64 {
    (1 + parities).min(count.saturating_sub(parities + 1))
}

/// A small write on a parity level costs reads, see [`parity_reads`], and a write of the block and
/// of each parity: `n / (reads / r + writes / w)` over all members. Where parity does not rotate,
/// its member does a read (if parity is read at all) and a write each time and may be the limit.
fn small_parity_write(count: u64, parities: u64, rotates: bool, read: u64, write: u64) -> Option<u64> {
    let reads = parity_reads(count, parities);
    let (wide_read, wide_write) = (u128::from(read), u128::from(write));
    let rate = |members: u64, reads: u64, writes: u64| {
        let cost = u128::from(reads) * wide_write + u128::from(writes) * wide_read;
        (u128::from(members) * wide_read * wide_write).checked_div(cost)
    };
    let all = rate(count, reads, 1 + parities)?;
    let limited = if rotates {
        all
    } else {
        let reads_parity = u64::from(reads == 1 + parities);
        all.min(rate(1, reads_parity, 1)?)
    };
    u64::try_from(limited).ok()
}
