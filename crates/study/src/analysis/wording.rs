//! Numbers and configurations in words, for sentences that people read.

use crate::model::{Configuration, Metric, StudyReport};

/// "RAID5", "linear".
pub(super) fn level(configuration: &Configuration) -> String {
    match configuration.level.as_str() {
        "linear" => "linear".to_owned(),
        number => format!("RAID{number}"),
    }
}

/// Sizes that are powers of two by nature: "64 KiB", "512 KiB", "1 MiB".
pub(super) fn binary_bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} bytes"),
    }
}

/// Three significant digits and a decimal unit: "1.32 GB", "640 MB".
pub(super) fn decimal_bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 5] =
        [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB"), (1, "B")];
    // What rounds to 1000 of a unit is 1 of the next.
    let fits = |unit: u64| bytes >= unit - unit / 2000;
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| fits(*unit)).unwrap_or((1, "B"));
    format!("{} {name}", three_digits(bytes, unit))
}

/// A count a second, with thousands set apart: "12,400".
pub(super) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.char_indices() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `value / unit` to three significant digits, rounded to the nearest.
fn three_digits(value: u64, unit: u64) -> String {
    if unit == 1 {
        return value.to_string();
    }
    let rounded = |steps: u64| (u128::from(value) * u128::from(steps) + u128::from(unit / 2)) / u128::from(unit);
    match (rounded(100), rounded(10)) {
        (hundredths @ 0..1000, _) => format!("{}.{:02}", hundredths / 100, hundredths % 100),
        (_, tenths @ 0..1000) => format!("{}.{}", tenths / 10, tenths % 10),
        _ => rounded(1).to_string(),
    }
}

/// "survives the failure of any one drive".
pub(super) fn survives(redundancy: u32) -> String {
    match redundancy {
        0 => "survives no drive's failure".to_owned(),
        1 => "survives the failure of any one drive".to_owned(),
        2 => "survives the failure of any two drives".to_owned(),
        more => format!("survives the failure of any {more} drives"),
    }
}

/// The configuration spelled out: "RAID5 (left-symmetric) with 64 KiB chunks over all 6 drives".
pub(super) fn build(configuration: &Configuration, report: &StudyReport) -> String {
    let mut text = level(configuration);
    if let Some(layout) = &configuration.layout {
        text.push_str(&format!(" ({layout})"));
    }
    if let Some(chunk_bytes) = configuration.chunk_bytes {
        text.push_str(&format!(" with {} chunks", binary_bytes(chunk_bytes)));
    }
    let count = configuration.members.len();
    if count == report.drives.len() {
        text.push_str(&format!(" over all {count} drives"));
        return text;
    }
    let names: Vec<&str> = configuration
        .members
        .iter()
        .filter_map(|&drive| report.drives.get(usize::try_from(drive).ok()?))
        .map(|drive| drive.name.as_str())
        .collect();
    text.push_str(&format!(" over {count} drives ({})", names.join(", ")));
    text
}

/// "sequential reads".
pub(super) fn metric(metric: Metric) -> &'static str {
    match metric {
        Metric::SequentialRead => "sequential reads",
        Metric::SequentialWrite => "sequential writes",
        Metric::RandomRead => "random reads",
        Metric::RandomWrite => "random writes",
        Metric::Mixed => "mixed reads and writes",
    }
}

/// A metric's figure as a phrase: "reads 182 MB/s", "4,100 random reads/s".
pub(super) fn figure(metric: Metric, value: u64) -> String {
    match metric {
        Metric::SequentialRead => format!("reads {}/s", decimal_bytes(value)),
        Metric::SequentialWrite => format!("writes {}/s", decimal_bytes(value)),
        other => format!("{} {}/s", count(value), self::metric(other)),
    }
}
