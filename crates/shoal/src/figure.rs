//! Figures of the lab book, as text.

use comfy_table::{Table, presets};
use shoal_labbook::{Interval, Unit};
use shoal_text::{format_ns, format_rate, format_size};

/// A figure with its unit, which its name says.
pub(crate) fn figure(name: &str, value: u64) -> String {
    match Unit::of(name) {
        Unit::BytesPerSecond => format_rate(value),
        Unit::RequestsPerSecond => format!("{value} IOPS"),
        Unit::Nanoseconds => format_ns(value),
        Unit::Bytes => format_size(value),
        Unit::Count => value.to_string(),
    }
}

/// A difference of such a figure.
pub(crate) fn difference(name: &str, value: i64) -> String {
    let sign = if value < 0 { "-" } else { "+" };
    format!("{sign}{}", figure(name, value.unsigned_abs()))
}

/// A figure's name in words, without its unit.
pub(crate) fn words(name: &str) -> String {
    // Of percentiles the underscore is a point: `p99_9`.
    let name = name.replace("_p99_9", "_p99.9");
    for (unit, instead) in [("bytes_per_s", "rate"), ("ns_per_io", "per io"), ("_ns", "")] {
        if let Some(stem) = name.strip_suffix(unit) {
            return format!("{stem}{instead}").replace('_', " ");
        }
    }
    name.replace('_', " ")
}

/// Thousandths as a percentage.
pub(crate) fn percent(per_mille: i64) -> String {
    format!("{:+.1} %", per_mille as f64 / 10.0)
}

/// Where a difference lies.
pub(crate) fn bounds(name: &str, interval: Interval) -> String {
    let Interval { low, high, confidence_per_mille } = interval;
    let confidence = f64::from(confidence_per_mille) / 10.0;
    format!("{} to {} ({confidence:.0} %)", difference(name, low), difference(name, high))
}

/// A table without lines.
pub(crate) fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

/// A table's lines, so many columns further in.
pub(crate) fn indented(table: &Table, columns: usize) -> String {
    table.lines().map(|line| format!("{}{}\n", " ".repeat(columns), line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_in_words() {
        for (name, told) in [
            ("read_bytes_per_s", "read rate"),
            ("bytes_per_s", "rate"),
            ("read_latency_p99_99_ns", "read latency p99.99"),
            ("cpu_ns_per_io", "cpu per io"),
            ("write_iops", "write iops"),
            ("", ""),
        ] {
            assert_eq!(words(name), told);
        }
        assert_eq!(difference("read_bytes_per_s", -1_500_000), "-1.5 MB/s");
        assert_eq!(percent(-31), "-3.1 %");
    }
}
