//! A benchmark's results as text.

use std::fmt::Write;

use shoal_bench::{Latency, Measurement, Members, Pattern, Summary, Verdict};
use shoal_text::{format_ns, format_rate, format_size};

use crate::documents::{BenchDocument, DirectoryDocument};

pub(super) fn text(document: &BenchDocument) -> String {
    let mut text = String::new();
    for of_target in document.results.chunk_by(|left, right| left.target == right.target) {
        describe(&mut text, of_target).expect("strings take everything");
    }
    for directory in &document.directories {
        account(&mut text, directory).expect("strings take everything");
    }
    text
}

/// What it cost.
fn account(text: &mut String, directory: &DirectoryDocument) -> std::fmt::Result {
    write!(text, "{}: {} written in all", directory.directory, format_size(directory.written_bytes))?;
    match (directory.member_bytes_least, directory.member_bytes_most) {
        (Some(least), Some(most)) if least < most => {
            write!(text, ", {} to {} on the array's members", format_size(least), format_size(most))?;
        }
        (Some(least), _) => write!(text, ", {} on the array's members", format_size(least))?,
        _ => {}
    }
    writeln!(text, "; the file is deleted")
}

fn describe(text: &mut String, measurements: &[Measurement]) -> std::fmt::Result {
    let Some(first) = measurements.first() else { return Ok(()) };
    writeln!(text, "{}: {}", first.target.name, what(first))?;
    if first.target.simulated.is_some() {
        writeln!(
            text,
            "  SIMULATED: computed from the models of drives and buses, in virtual time; nothing was measured"
        )?;
    }
    if let Some(engine) = &first.target.engine {
        writeln!(text, "  run by {engine}")?;
    }
    for measurement in measurements {
        writeln!(
            text,
            "  {}, {} IOPS, latency {}{}{}",
            format_rate(measurement.bytes_per_s),
            measurement.iops,
            latency(&measurement.latency_ns),
            measurement.cpu_ns_per_io.map_or_else(String::new, |ns| format!(", CPU {} per I/O", format_ns(ns))),
            verdict(measurement.validity.verdict)
        )?;
        remarks(text, measurement)?;
    }
    match Summary::of(measurements) {
        Some(summary) if measurements.len() > 1 => writeln!(
            text,
            "  median of {}: {} ({} to {}), {} IOPS",
            summary.repeats,
            format_rate(summary.bytes_per_s.median),
            format_rate(summary.bytes_per_s.min),
            format_rate(summary.bytes_per_s.max),
            summary.iops.median
        ),
        _ => Ok(()),
    }
}

/// What is to be known of a measurement beside its figures.
fn remarks(text: &mut String, measurement: &Measurement) -> std::fmt::Result {
    if let Some(members) = measurement.members.filter(|members| members.out_of_sequence_writes > 0) {
        writeln!(text, "    {}", out_of_sequence(&members))?;
    }
    measurement.validity.reasons.iter().try_for_each(|reason| writeln!(text, "    {}", reason.text))
}

/// What flash minds.
fn out_of_sequence(members: &Members) -> String {
    let hundredths = members.out_of_sequence_per_1000_mib / 10;
    let (count, whole, rest) = (members.out_of_sequence_writes, hundredths / 100, hundredths % 100);
    format!("members: {count} writes out of sequence, {whole}.{rest:02} for each MiB that one was written")
}

fn what(measurement: &Measurement) -> String {
    let workload = &measurement.workload;
    let pattern = match workload.pattern {
        Pattern::Sequential => "sequential",
        Pattern::Random => "random",
    };
    let direction = match workload.read_percent {
        100 => "read".to_owned(),
        0 => "write".to_owned(),
        percent => format!("{percent} % read"),
    };
    let block = format_size(u64::from(workload.block_size_bytes));
    format!("{pattern} {direction}, {block}, depth {}, seed {}", workload.depth, workload.seed)
}

fn latency(latency: &Latency) -> String {
    let mut text = format!("mean {}", format_ns(latency.mean));
    for percentile in ["50", "99", "99.99"] {
        if let Some(&ns) = latency.percentiles.get(percentile) {
            let _ = write!(text, ", p{percentile} {}", format_ns(ns));
        }
    }
    text + &format!(", max {}", format_ns(latency.max))
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "",
        Verdict::Suspect => " (suspect)",
        Verdict::Invalid => " (INVALID)",
    }
}
