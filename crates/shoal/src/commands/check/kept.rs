//! A check, as the lab book keeps it: what a drive claims, and what of it is there.

use std::collections::BTreeMap;

use shoal_bench::Validity;
use shoal_check::{Report, Verdict};
use shoal_labbook::{DriveIdentity, Measured, Target};

/// The drive and what was found of it. A check that leaves one unsure measured nothing.
pub(super) fn checked(drive: &str, identity: Option<DriveIdentity>, notation: Option<&str>, report: &Report) -> Target {
    let usable_bytes = report.usable_bytes.filter(|_| report.verdict != Verdict::Unsure);
    Target {
        name: drive.to_owned(),
        kind: if notation.is_some() { "simulated" } else { "drive" }.to_owned(),
        size_bytes: report.claimed_bytes,
        drive: notation.map_or(identity, |_| Some(crate::labbook::simulated(drive))),
        array: None,
        members: Vec::new(),
        simulated: notation.map(str::to_owned),
        measurements: usable_bytes.map(measured).into_iter().collect(),
    }
}

fn measured(usable_bytes: u64) -> Measured {
    Measured {
        workload: "check: capacity".to_owned(),
        settings: BTreeMap::new(),
        repeat: 1,
        figures: BTreeMap::from([("usable_bytes".to_owned(), usable_bytes)]),
        validity: Validity { verdict: shoal_bench::Verdict::Valid, reasons: Vec::new() },
        read_histogram: Vec::new(),
        write_histogram: Vec::new(),
        series: Vec::new(),
    }
}
