//! What `shoal check` prints.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Serialize;
use shoal_check::{Evidence, Kind, Report, Tally, Verdict};
use shoal_text::{format_ns, format_size};

/// `check`: whether drives have the capacity that they claim.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckDocument {
    /// Decides the places, and the bytes that are written.
    pub(super) seed: u64,
    /// In the order in which they were given.
    pub(super) drives: Vec<CheckedDocument>,
}

/// What was found of one drive.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckedDocument {
    /// The drive.
    pub(super) drive: String,
    /// It exists only as a model.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) simulated: bool,
    /// What was found.
    #[serde(flatten)]
    pub(super) report: Report,
}

pub(super) fn text(document: &CheckDocument) -> String {
    let drives: Vec<_> = document.drives.iter().map(of_drive).collect();
    drives.join("\n")
}

fn of_drive(checked: &CheckedDocument) -> String {
    let CheckedDocument { drive, simulated, report } = checked;
    let mark = if *simulated { "SIMULATED: " } else { "" };
    let mut text = format!("{mark}{drive}: {}", verdict(report));
    // Strings take everything.
    let _ = writeln!(text, "\n  claims      {}", format_size(report.claimed_bytes));
    if let (Some(usable), Verdict::Fake) = (report.usable_bytes, report.verdict) {
        let _ = writeln!(text, "  has         {}{}", format_size(usable), at_most(report, usable));
    }
    if let Some(bytes) = report.repeat_bytes {
        let _ = writeln!(text, "  repeats     every {}", format_size(bytes));
    }
    if report.confidence_ppm > 0 {
        let percent = f64::from(report.confidence_ppm) / 10_000.0;
        let _ = writeln!(text, "  confidence  {percent:.4} %: {}{}", report.confidence_from, bad_at_most(report));
    }
    if let Some(tally) = &report.tally {
        let _ = writeln!(text, "  all of it   {}", counted(tally));
    }
    if let Some(bytes) = report.defeated_cache_bytes {
        let _ = writeln!(text, "  cache       one of up to {} hid nothing", format_size(bytes));
    }
    for evidence in wrong(report) {
        let _ = writeln!(text, "  at {:<14} {}", evidence.offset, found(evidence));
    }
    for remark in &report.remarks {
        let _ = writeln!(text, "  {remark}");
    }
    let (written, read) = (format_size(report.written_bytes), format_size(report.read_bytes));
    let _ = writeln!(text, "  wrote {written}, read {read}, took {}", format_ns(report.duration_ns));
    let _ = writeln!(text, "  What to do: {}.", report.advice);
    text
}

/// What became of all bytes.
fn counted(tally: &Tally) -> String {
    let parts = [
        (tally.held_bytes, "held"),
        (tally.overwritten_bytes, "overwritten by others"),
        (tally.lost_bytes, "lost"),
        (tally.changed_bytes, "changed"),
        (tally.failed_bytes, "unreadable"),
    ];
    let parts = parts.into_iter().filter(|(bytes, _)| *bytes > 0);
    let parts: Vec<_> = parts.map(|(bytes, what)| format!("{} {what}", format_size(bytes))).collect();
    let first = tally.first_wrong_offset.map(|offset| format!("; the first wrong byte is {offset}"));
    parts.join(", ") + &first.unwrap_or_default()
}

fn verdict(report: &Report) -> &'static str {
    match (report.verdict, report.kind) {
        (Verdict::Genuine, _) => "genuine",
        (Verdict::Damaged, _) => "damaged",
        (Verdict::Unsure, _) => "unsure",
        (Verdict::Fake, Some(Kind::Limbo)) => "FAKE (limbo: what is written beyond its real end is lost)",
        (Verdict::Fake, Some(Kind::Wraparound)) => {
            "FAKE (wraparound: what is written beyond its real end overwrites the start)"
        }
        (Verdict::Fake, Some(Kind::Chain)) => {
            "FAKE (chain: beyond its real end some writes are lost, some overwrite the start)"
        }
        (Verdict::Fake, _) => "FAKE",
    }
}

fn at_most(report: &Report, usable: u64) -> String {
    let more = report.real_at_most_bytes.filter(|&bytes| bytes > usable);
    more.map(|bytes| format!(" at least, and at most {}", format_size(bytes))).unwrap_or_default()
}

fn bad_at_most(report: &Report) -> String {
    let share = report.bad_at_most_ppm.filter(|&ppm| ppm > 0);
    share.map(|ppm| format!(", which is {:.2} %", f64::from(ppm) / 10_000.0)).unwrap_or_default()
}

/// Some of the wrong places.
fn wrong(report: &Report) -> impl Iterator<Item = &Evidence> {
    report.evidence.iter().filter(|evidence| evidence.found != "held").take(6)
}

fn found(evidence: &Evidence) -> String {
    match (evidence.found.as_str(), evidence.written_at_offset) {
        ("elsewhere", Some(offset)) => format!("held what was written at {offset}"),
        ("lost", _) => "held nothing of what was written".to_owned(),
        ("changed", _) => "held other bytes among what was written".to_owned(),
        _ => "could not be written or read".to_owned(),
    }
}
