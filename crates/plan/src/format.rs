//! Numbers as a buyer reads them: capacities and rates in powers of ten, as drives are sold.

use crate::units::{GB, TB, YEAR_DAYS};

/// `12 GB`, `2.75 TB`.
pub fn size(bytes: u64) -> String {
    if bytes >= TB {
        format!("{} TB", digits(bytes as f64 / TB as f64))
    } else if bytes >= GB {
        format!("{} GB", digits(bytes as f64 / GB as f64))
    } else {
        format!("{} MB", digits(bytes as f64 / 1e6))
    }
}

/// `44.7 MB/s`.
pub fn rate(bytes_per_s: u64) -> String {
    format!("{} MB/s", digits(bytes_per_s as f64 / 1e6))
}

/// `0.3 %`, `25 %`, `1 in 40,000`.
pub fn chance(probability: f64) -> String {
    let percent = probability * 100.0;
    if percent >= 0.995 {
        format!("{percent:.0} %")
    } else if percent >= 0.0995 {
        format!("{percent:.1} %")
    } else if percent >= 0.009_95 {
        format!("{percent:.2} %")
    } else if probability > 1e-9 {
        let one_in = 1.0 / probability;
        let scale = 10_f64.powf(one_in.log10().floor());
        format!("1 in {}", thousands((one_in / scale).round() * scale))
    } else {
        "under 1 in 1,000,000,000".to_owned()
    }
}

/// `$1,850`, `$0.61`.
pub fn usd(usd: f64) -> String {
    if usd >= 100.0 {
        format!("${}", thousands(usd.round()))
    } else if usd >= 0.1 {
        format!("${usd:.2}")
    } else {
        format!("${usd:.3}")
    }
}

/// `40 s`, `12 min`, `2.3 h`, `4 days`.
pub fn duration(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    match seconds {
        _ if seconds < 90.0 => format!("{seconds:.0} s"),
        _ if seconds < 90.0 * 60.0 => format!("{:.0} min", seconds / 60.0),
        _ if seconds < 48.0 * 3600.0 => format!("{} h", digits(seconds / 3600.0)),
        _ => format!("{:.0} days", seconds / 86_400.0),
    }
}

/// `3.4 years`, `20 days`, `over 100 years`.
pub fn years(years: f64) -> String {
    match years {
        _ if years > 100.0 => "over 100 years".to_owned(),
        _ if years >= 1.005 => format!("{} years", digits(years)),
        _ if years >= 0.995 => "1 year".to_owned(),
        _ if years >= 0.25 => format!("{:.0} months", years * 12.0),
        _ if years * YEAR_DAYS >= 1.5 => format!("{:.0} days", years * YEAR_DAYS),
        _ if years * YEAR_DAYS * 24.0 >= 1.5 => format!("{:.0} hours", years * YEAR_DAYS * 24.0),
        _ => "an hour or less".to_owned(),
    }
}

/// Three digits, or all before the point.
fn digits(value: f64) -> String {
    let text = match value {
        _ if value >= 100.0 => return format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Digits in groups of three.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_carry_their_units() {
        assert_eq!(size(2_750 * GB), "2.75 TB");
        assert_eq!(size(12 * GB), "12 GB");
        assert_eq!(rate(44_700_000), "44.7 MB/s");
        assert_eq!(rate(0), "0 MB/s");
        assert_eq!(usd(1850.0), "$1,850");
        assert_eq!(usd(0.61), "$0.61");
        assert_eq!(chance(0.25), "25 %");
        assert_eq!(chance(0.0003), "0.03 %");
        assert_eq!(chance(0.000_025), "1 in 40,000");
        assert_eq!(duration(8_280_000_000_000), "2.3 h");
        assert_eq!(years(0.5), "6 months");
        let [an_hour, a_day] = [0.01 / 24.0, 1.0].map(|days| days / YEAR_DAYS);
        assert_eq!([1.0, a_day, an_hour].map(years), ["1 year", "24 hours", "an hour or less"]);
    }
}
