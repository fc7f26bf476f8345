//! What is kept of a measurement that `bench` made.

use std::collections::BTreeMap;

use shoal_bench::{DirectionResult, Latency, Limit, Measurement, Pattern, TargetDescription, Workload};
use shoal_text::{format_ns, format_size};

use crate::model::{Measured, Target};

impl Measured {
    /// A measurement, as it is kept. `circumstance` says what is not the workload's, as "all drives
    /// at once"; empty if there is none.
    pub fn of(measurement: &Measurement, circumstance: &str) -> Self {
        let histogram = |direction: &Option<DirectionResult>| {
            direction.as_ref().map_or_else(Vec::new, |result| result.histogram.clone())
        };
        let name = workload_name(&measurement.workload);
        Self {
            workload: if circumstance.is_empty() { name } else { format!("{circumstance}: {name}") },
            settings: settings(measurement),
            repeat: measurement.repeat,
            figures: figures(measurement),
            validity: measurement.validity.clone(),
            read_histogram: histogram(&measurement.read),
            write_histogram: histogram(&measurement.write),
            series: measurement.series.clone(),
        }
    }
}

impl Target {
    /// What measurements were made on, by what they say of it. Who it is has to be said beside.
    pub fn of(measurements: &[Measurement], circumstance: &str) -> Option<Self> {
        let measured = measurements.iter().map(|it| Measured::of(it, circumstance)).collect();
        Some(Self { measurements: measured, ..Self::described(&measurements.first()?.target) })
    }

    /// What is going to be measured.
    pub fn described(description: &TargetDescription) -> Self {
        Self {
            name: description.name.clone(),
            kind: word(&description.kind),
            size_bytes: description.size_bytes,
            drive: None,
            array: None,
            members: Vec::new(),
            simulated: description.simulated.clone(),
            measurements: Vec::new(),
        }
    }
}

/// A workload in words. What one name stands for is comparable, so all that bears on the result is
/// in it, and the seed is not.
pub fn workload_name(workload: &Workload) -> String {
    let pattern = match workload.pattern {
        Pattern::Sequential => "sequential",
        Pattern::Random => "random",
    };
    let direction = match workload.read_percent {
        100 => "read".to_owned(),
        0 => "write".to_owned(),
        percent => format!("{percent} % read"),
    };
    let limit = match workload.limit {
        Limit::DurationNs(ns) => format_ns(ns),
        Limit::Bytes(bytes) => format_size(bytes),
    };
    let block = format_size(u64::from(workload.block_size_bytes));
    let mut name = format!("{pattern} {direction}, {block}, depth {}, {limit}", workload.depth);
    if workload.range_offset > 0 || workload.range_bytes > 0 {
        let length = match workload.range_bytes {
            0 => "to the end".to_owned(),
            bytes => format!("{} long", format_size(bytes)),
        };
        name += &format!(", from {} {length}", format_size(workload.range_offset));
    }
    name
}

/// Settings in the words that documents have for them.
fn settings(measurement: &Measurement) -> BTreeMap<String, String> {
    let Measurement { workload, target, .. } = measurement;
    let limit = match workload.limit {
        Limit::DurationNs(ns) => ("duration_ns", ns.to_string()),
        Limit::Bytes(bytes) => ("limit_bytes", bytes.to_string()),
    };
    let always = [
        ("pattern", word(&workload.pattern)),
        ("read_percent", workload.read_percent.to_string()),
        ("block_size_bytes", workload.block_size_bytes.to_string()),
        ("depth", workload.depth.to_string()),
        limit,
        ("warm_up_ns", workload.warm_up_ns.to_string()),
        ("range_offset", workload.range_offset.to_string()),
        ("range_bytes", workload.range_bytes.to_string()),
        ("visit_once", workload.visit_once.to_string()),
        ("seed", workload.seed.to_string()),
    ];
    let sometimes = [
        ("level", target.level.clone()),
        ("layout", target.layout.clone()),
        ("chunk_bytes", target.chunk_bytes.map(|bytes| bytes.to_string())),
        ("member_count", target.member_count.map(|count| count.to_string())),
        ("engine", target.engine.clone()),
    ];
    let said = sometimes.into_iter().filter_map(|(name, value)| Some((name, value?)));
    always.into_iter().chain(said).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// As documents write a word; empty if it is none.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).ok();
    value.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn figures(measurement: &Measurement) -> BTreeMap<String, u64> {
    let mut figures = BTreeMap::from([("elapsed_ns".to_owned(), measurement.elapsed_ns)]);
    let mut add = |name: &str, value: Option<u64>| {
        figures.extend(value.map(|value| (name.to_owned(), value)));
    };
    add("flush_ns", measurement.flush_ns);
    add("cpu_ns_per_io", measurement.cpu_ns_per_io);
    let out_of_sequence = measurement.members.map(|members| members.out_of_sequence_writes);
    add("members_out_of_sequence_writes", out_of_sequence);
    for (direction, result) in [("read", &measurement.read), ("write", &measurement.write)] {
        let Some(result) = result else { continue };
        for (name, value) in [
            ("bytes_per_s", result.bytes_per_s),
            ("iops", result.iops),
            ("bytes", result.bytes),
            ("ios", result.ios),
            ("errors", result.errors),
        ] {
            add(&format!("{direction}_{name}"), Some(value));
        }
        if result.ios > 0 {
            latencies(&result.latency_ns, &mut |name, value| {
                add(&format!("{direction}_latency_{name}_ns"), Some(value))
            });
        }
    }
    figures
}

fn latencies(latency: &Latency, add: &mut dyn FnMut(&str, u64)) {
    add("min", latency.min);
    add("mean", latency.mean);
    add("max", latency.max);
    for (percentile, &value) in &latency.percentiles {
        add(&format!("p{}", percentile.replace('.', "_")), value);
    }
}
