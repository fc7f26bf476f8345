//! The studies' network tables, and which of our rows stands beside which figure.

use schemars::JsonSchema;
use serde::Serialize;
use shoal_bench::Measurement;
use shoal_network::{Findings, Row};
use shoal_replay::{Figure, Study, figures};

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
    /// Of 4 KiB after 4 KiB, one at a time: the rate.
    Small(usize),
    /// The same: the 99.99th percentile of latency.
    SmallLatency(usize),
}

/// Reads and writes of 4 KiB, in the order in which they are measured.
pub(super) const SMALL: [&str; 2] = ["small-write", "small-read"];

const EIDE: &str = "Gigabit network to software RAID5";
const DISKS: &str = "software RAID5, 8 disks";
const LINEAR: &str = "dm-linear (omni_drive)";
const LINEAR_WRITE: &str = "omni_drive; fio 4 KiB direct QD1 seq write";
const LINEAR_READ: &str = "omni_drive; fio 4 KiB direct QD1 seq read";

/// Experiment, configuration, metric; and what stands beside.
type Beside = (&'static str, &'static str, &'static str, Own);

/// The file was written by a program or copied by `cp`; here it is copied, so one row stands beside both.
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
    (LINEAR, LINEAR_WRITE, "average write speed", Own::Small(0)),
    (LINEAR, LINEAR_WRITE, "99.99th percentile latency", Own::SmallLatency(0)),
    (LINEAR, LINEAR_READ, "average read speed", Own::Small(1)),
    (LINEAR, LINEAR_READ, "99.99th percentile latency", Own::SmallLatency(1)),
];

/// The figures of a study, each with what was measured of it.
pub(super) fn beside(preset: Preset, findings: &Findings, small: &[Vec<Measurement>]) -> Vec<BesideDocument> {
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
            figure: format!("{configuration}: {metric}"),
            unit: figure.unit.clone(),
            published: figure.value.number()?,
            measured: own.measured(findings, small),
            workload: own.workload().to_owned(),
        })
    };
    wanted.iter().filter_map(entry).collect()
}

impl Own {
    fn workload(self) -> &'static str {
        match self {
            Self::Rate(name) | Self::Loss(name) => name,
            Self::Small(at) | Self::SmallLatency(at) => SMALL[at],
        }
    }

    /// In the figure's unit: MB/s, per cent or milliseconds.
    fn measured(self, findings: &Findings, small: &[Vec<Measurement>]) -> Option<f64> {
        let row = |name: &str| findings.rows.iter().find(|row| row.workload == name);
        match self {
            Self::Rate(name) => row(name).map(|row| rate_of(row) as f64 / 1e6),
            Self::Loss(name) => row(name)?.of_array_per_mille.map(|share| 100.0 - share as f64 / 10.0),
            Self::Small(at) => median(small.get(at)?, |one| Some(one.bytes_per_s)).map(|rate| rate / 1e6),
            Self::SmallLatency(at) => {
                let latency = |one: &Measurement| one.latency_ns.percentiles.get("99.99").copied();
                median(small.get(at)?, latency).map(|latency| latency / 1e6)
            }
        }
    }
}

/// What a row's rate is: content on the drives, or content that came.
fn rate_of(row: &Row) -> u64 {
    row.durable_bytes_per_s.unwrap_or(row.bytes_per_s).median
}

/// The middle of what all repeats tell.
fn median(repeats: &[Measurement], value: impl Fn(&Measurement) -> Option<u64>) -> Option<f64> {
    let values: Option<Vec<u64>> = repeats.iter().map(value).collect();
    shoal_bench::Spread::of(values?).map(|spread| spread.median as f64)
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
        assert_eq!(beside(Preset::PiZero, &nothing, &[]).len(), PI_ZERO_FIGURES.len());
        assert!(beside(Preset::Eide, &nothing, &[]).iter().all(|figure| figure.measured.is_none()));
    }
}
