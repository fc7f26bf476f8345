//! A profile, as the lab book keeps it: each probe's mean, and what drives did together. Means that
//! the model gives are no measurements, and are left out.

use std::collections::BTreeMap;

use shoal_bench::{Validity, Verdict};
use shoal_labbook::{Measured, Target};
use shoal_volume::{DriveId, World};

use super::document::ProfileDocument;

/// The drive, with nothing measured yet.
pub(super) fn drive(world: &impl World, drive: DriveId, simulated: Option<&str>) -> Target {
    let facts = world.facts(drive);
    Target {
        name: facts.name.clone(),
        kind: if simulated.is_some() { "simulated" } else { "drive" }.to_owned(),
        size_bytes: facts.size_bytes,
        drive: simulated.map(|_| crate::labbook::simulated(&facts.name)),
        array: None,
        members: Vec::new(),
        simulated: simulated.map(str::to_owned),
        measurements: Vec::new(),
    }
}

/// The same, with what a profile found.
pub(super) fn with(target: Target, document: &ProfileDocument) -> Target {
    let residuals = document.residuals.iter();
    let mut measurements: Vec<_> =
        residuals.map(|residual| measured(&residual.what, "mean_ns", residual.measured_ns)).collect();
    if let Some(together) = &document.together {
        let what = format!("{} drives read together", together.drives);
        measurements.push(measured(&what, "bytes_per_s", together.measured_bytes_per_s));
    }
    Target { measurements, ..target }
}

fn measured(what: &str, figure: &str, value: u64) -> Measured {
    Measured {
        workload: format!("profile: {what}"),
        settings: BTreeMap::new(),
        repeat: 1,
        figures: BTreeMap::from([(figure.to_owned(), value)]),
        validity: Validity { verdict: Verdict::Valid, reasons: Vec::new() },
        read_histogram: Vec::new(),
        write_histogram: Vec::new(),
        series: Vec::new(),
    }
}
