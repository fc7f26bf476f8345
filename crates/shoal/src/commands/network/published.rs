//! The studies' network tables, and which of our rows stands beside which figure.

use SmallDirection::{Read, Write};
use SmallMetric::{Latency, Rate};
use schemars::JsonSchema;
use serde::Serialize;
use shoal_network::{Findings, Row};
use shoal_replay::{Figure, Study, figures};

use super::small::{SmallDirection, SmallDocument, SmallRun};
use crate::args::Preset;

/// One published figure, and one's own beside it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BesideDocument {
    /// The part of the study and what was measured there.
    pub(crate) figure: String,
    /// In which unit.
    pub(crate) unit: String,
    /// What was published.
    pub(crate) published: f64,
    /// What was measured here; left out if it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) measured: Option<f64>,
    /// By which workload.
    pub(crate) workload: String,
}

/// What stands beside a figure.
#[derive(Clone, Copy)]
enum Own {
    /// A row's rate: on the drives, for what was written.
    Rate(&'static str),
    /// What is lost to the network of the array's own rate.
    Loss(&'static str),
    /// Of 4 KiB after 4 KiB, one at a time, on what is served.
    Small(SmallDirection, SmallMetric),
}

/// What is told of blocks of 4 KiB.
#[derive(Clone, Copy)]
enum SmallMetric {
    /// The average rate.
    Rate,
    /// The 99.99th percentile of latency.
    Latency,
}

const EIDE: &str = "Gigabit network to software RAID5";
const DISKS: &str = "software RAID5, 8 disks";
const LINEAR: &str = "dm-linear (omni_drive)";
const LINEAR_WRITE: &str = "omni_drive; fio 4 KiB direct QD1 seq write";
const LINEAR_READ: &str = "omni_drive; fio 4 KiB direct QD1 seq read";
/// The sticks, each of which was measured alone three times; one's own drives stand beside them in
/// the order in which they are named.
const STICKS: [&str; 4] = ["/dev/sda", "/dev/sdb", "/dev/sdc", "/dev/sdd"];
const STICK_RUNS: u32 = 3;

/// Experiment, configuration, metric; and what stands beside.
type Beside = (&'static str, &'static str, &'static str, Own);

/// The file was written by a program or copied by `cp`; here it is copied, so one row stands beside
/// both.
const EIDE_FIGURES: [Beside; 10] = [
    (EIDE, "internal, base (repeated)", "write", Own::Rate("array-write")),
    (EIDE, "internal, copy (repeated)", "write", Own::Rate("array-write")),
    (DISKS, "file copied to the system disk", "read", Own::Rate("array-read")),
    (EIDE, "synchronous NFS", "write", Own::Rate("nfs-sync-put")),
    (EIDE, "asynchronous NFS", "write", Own::Rate("nfs-async-put")),
    (EIDE, "NFS, copy", "write", Own::Rate("nfs-put")),
    (EIDE, "FTP", "write", Own::Rate("ftp-put")),
    (EIDE, "asynchronous NFS", "network and NFS overhead", Own::Loss("nfs-async-put")),
    (EIDE, "NFS, copy", "network and NFS overhead", Own::Loss("nfs-put")),
    (EIDE, "FTP", "network overhead", Own::Loss("ftp-put")),
];

const PI_ZERO_FIGURES: [Beside; 4] = [
    (LINEAR, LINEAR_WRITE, "average write speed", Own::Small(Write, Rate)),
    (LINEAR, LINEAR_WRITE, "99.99th percentile latency", Own::Small(Write, Latency)),
    (LINEAR, LINEAR_READ, "average read speed", Own::Small(Read, Rate)),
    (LINEAR, LINEAR_READ, "99.99th percentile latency", Own::Small(Read, Latency)),
];

/// The figures of a study, each with what was measured of it.
pub(super) fn beside(preset: Preset, findings: &Findings, small: &[SmallDocument]) -> Vec<BesideDocument> {
    let (study, wanted): (_, &[Beside]) = match preset {
        Preset::Eide => (Study::Eide, &EIDE_FIGURES),
        Preset::PiZero => (Study::PiZero, &PI_ZERO_FIGURES),
    };
    let table = figures();
    let entry = |&(experiment, configuration, metric, own): &Beside| {
        let is_it = |figure: &&Figure| {
            figure.study == study
                && (figure.experiment.as_str(), figure.configuration.as_str(), figure.metric.as_str())
                    == (experiment, configuration, metric)
        };
        let figure = table.iter().find(is_it)?;
        Some(BesideDocument {
            // What follows is how it was measured, the same for all.
            figure: format!("{}: {metric}", configuration.split(';').next().unwrap_or(configuration)),
            unit: figure.unit.clone(),
            published: figure.value.number()?,
            measured: own.measured(findings, small),
            workload: own.workload(),
        })
    };
    let sticks = if preset == Preset::PiZero { sticks(&table, small) } else { Vec::new() };
    sticks.into_iter().chain(wanted.iter().filter_map(entry)).collect()
}

/// What the study printed of each stick, as the median of its runs.
fn sticks(table: &[Figure], small: &[SmallDocument]) -> Vec<BesideDocument> {
    let mut all = Vec::new();
    for (experiment, direction) in [("Write speed tests", Write), ("Read speeds", Read)] {
        for (stick, metric) in STICKS.iter().flat_map(|stick| [(stick, Rate), (stick, Latency)]) {
            let place = STICKS.iter().position(|other| other == stick);
            let own = small.iter().find(|one| one.direction == direction && one.drive.map(|it| it as usize) == place);
            let name = metric.name(direction);
            let configuration = |run| format!("{stick} run {run}; fio 4 KiB direct QD1 seq {}", direction.name());
            let run = |run: u32| {
                let is_it = |figure: &&Figure| {
                    figure.study == Study::PiZero
                        && figure.experiment == experiment
                        && figure.configuration == configuration(run)
                        && figure.metric == name
                };
                table.iter().find(is_it)?.value.number()
            };
            let runs: Option<Vec<f64>> = (1..=STICK_RUNS).map(run).collect();
            all.extend(runs.map(|mut runs| {
                runs.sort_by(f64::total_cmp);
                BesideDocument {
                    figure: format!("{stick}: {name}, median of {STICK_RUNS}"),
                    unit: metric.unit().to_owned(),
                    published: runs[runs.len() / 2],
                    measured: own.and_then(|own| metric.measured(&own.runs)),
                    workload: small_workload(direction),
                }
            }));
        }
    }
    all
}

fn small_workload(direction: SmallDirection) -> String {
    format!("small-{}", direction.name())
}

impl SmallMetric {
    /// As the study's tables name it.
    fn name(self, direction: SmallDirection) -> &'static str {
        match (self, direction) {
            (Rate, Write) => "average write speed",
            (Rate, Read) => "average read speed",
            (Latency, _) => "99.99th percentile latency",
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Rate => "MB/s",
            Latency => "ms",
        }
    }

    /// The middle of what all runs tell, in its unit.
    fn measured(self, runs: &[SmallRun]) -> Option<f64> {
        let value = |run: &SmallRun| match self {
            Rate => Some(run.bytes_per_s),
            Latency => run.latency_99_99_ns,
        };
        let values: Option<Vec<u64>> = runs.iter().map(value).collect();
        shoal_bench::Spread::of(values?).map(|spread| spread.median as f64 / 1e6)
    }
}

impl Own {
    fn workload(self) -> String {
        match self {
            Self::Rate(name) | Self::Loss(name) => name.to_owned(),
            Self::Small(direction, _) => small_workload(direction),
        }
    }

    /// In the figure's unit: MB/s, per cent or milliseconds.
    fn measured(self, findings: &Findings, small: &[SmallDocument]) -> Option<f64> {
        let row = |name: &str| findings.rows.iter().find(|row| row.workload == name);
        match self {
            Self::Rate(name) => row(name).map(|row| rate_of(row) as f64 / 1e6),
            Self::Loss(name) => row(name)?.of_array_per_mille.map(|share| 100.0 - share as f64 / 10.0),
            Self::Small(direction, metric) => {
                let is_it = |one: &&SmallDocument| one.direction == direction && one.drive.is_none();
                metric.measured(&small.iter().find(is_it)?.runs)
            }
        }
    }
}

/// What a row's rate is: content on the drives, or content that came.
fn rate_of(row: &Row) -> u64 {
    row.durable_bytes_per_s.unwrap_or(row.bytes_per_s).median
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_in_the_table() {
        let nothing = Findings {
            seed: 0,
            size_bytes: 0,
            repeats: 0,
            served: String::new(),
            links: Vec::new(),
            rows: Vec::new(),
            left_out: Vec::new(),
        };
        assert_eq!(beside(Preset::Eide, &nothing, &[]).len(), EIDE_FIGURES.len());
        assert_eq!(beside(Preset::PiZero, &nothing, &[]).len(), PI_ZERO_FIGURES.len() + STICKS.len() * 4);
        assert!(beside(Preset::Eide, &nothing, &[]).iter().all(|figure| figure.measured.is_none()));
    }
}
