//! Sizes as people write them: `64K`, `512KiB`, `1M` are powers of two; `1MB` and its like are
//! powers of ten.

/// Powers of two, largest first.
const BINARY: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// Reads a size in bytes.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let unit_bytes = match unit.trim_start() {
        "" | "B" => 1,
        "K" | "k" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        "T" | "TiB" => 1 << 40,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return Err(format!("`{text}` is no size: write a whole number and a unit, as in 64K, 512KiB, 1M or 1MB")),
    };
    let number: u64 = digits.parse().map_err(|_| format!("`{text}` is no size: it must begin with a whole number"))?;
    number.checked_mul(unit_bytes).ok_or_else(|| format!("`{text}` is too large: sizes go up to 2^64 bytes"))
}

/// Reads a size of less than 4 GiB.
pub fn parse_small_size(text: &str) -> Result<u32, String> {
    u32::try_from(parse_size(text)?).map_err(|_| format!("`{text}` is too large here: at most 4095 MiB"))
}

/// Writes a size in the largest unit that it reaches: exactly if it is a whole number of them, else
/// to two decimals.
pub fn format_size(bytes: u64) -> String {
    match BINARY.into_iter().find(|&(_, unit_bytes)| bytes >= unit_bytes) {
        None => format!("{bytes} B"),
        Some((unit, unit_bytes)) if bytes.is_multiple_of(unit_bytes) => format!("{} {unit}", bytes / unit_bytes),
        Some((unit, unit_bytes)) => format!("{:.2} {unit}", bytes as f64 / unit_bytes as f64),
    }
}

/// Writes a rate in MB/s, powers of ten, as drives are sold; in kB/s where that would be next to
/// nothing.
pub fn format_rate(bytes_per_s: u64) -> String {
    let mb_per_s = bytes_per_s as f64 / 1e6;
    if bytes_per_s < 100_000 {
        return format!("{:.1} kB/s", bytes_per_s as f64 / 1e3);
    }
    if mb_per_s >= 100.0 { format!("{mb_per_s:.0} MB/s") } else { format!("{mb_per_s:.1} MB/s") }
}

/// Writes what a link carries in bits a second, powers of ten: "480 Mbit/s", "1.5 Mbit/s", "5
/// Gbit/s".
pub fn format_bit_rate(bits_per_s: u64) -> String {
    let (unit, name) = if bits_per_s >= 1_000_000_000 { (1e9, "Gbit/s") } else { (1e6, "Mbit/s") };
    let text = format!("{:.1}", bits_per_s as f64 / unit);
    format!("{} {name}", text.strip_suffix(".0").unwrap_or(&text))
}

/// Writes a duration with the unit that suits it.
pub fn format_ns(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} us", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.2} ms", ns as f64 / 1e6),
        1_000_000_000..60_000_000_000 => format!("{:.2} s", ns as f64 / 1e9),
        _ => format_long_s(ns.saturating_add(500_000_000) / 1_000_000_000),
    }
}

/// Writes a minute or more, as people say it.
fn format_long_s(seconds: u64) -> String {
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, 0, _) => format!("{hours} h"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// Writes a number of things: `1 array`, `2 arrays`. The word takes an s.
pub fn format_count(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// Writes how long ago something was, in the largest unit that it reaches.
pub fn format_age_s(age_s: u64) -> String {
    match age_s {
        0..60 => format!("{age_s} s"),
        60..3_600 => format!("{} min", age_s / 60),
        3_600..86_400 => format!("{} h", age_s / 3_600),
        86_400..172_800 => "1 day".to_owned(),
        _ => format!("{} days", age_s / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_duration_is_told() {
        assert_eq!(format_ns(u64::MAX), "5124095 h 34 min");
    }

    #[test]
    fn slow_rates_are_told_in_what_shows_them() {
        let rates = [0, 512, 99_999, 100_000, 2_500_000, 250_000_000];
        let told = ["0.0 kB/s", "0.5 kB/s", "100.0 kB/s", "0.1 MB/s", "2.5 MB/s", "250 MB/s"];
        assert_eq!(rates.map(format_rate), told);
    }

    #[test]
    fn links_are_told_as_they_are_sold() {
        let rates = [1_500_000, 480_000_000, 5_000_000_000, 20_000_000_000];
        assert_eq!(rates.map(format_bit_rate), ["1.5 Mbit/s", "480 Mbit/s", "5 Gbit/s", "20 Gbit/s"]);
    }

    #[test]
    fn powers_of_two_and_of_ten_are_told_apart() {
        assert_eq!(parse_size("64K"), Ok(65_536));
        assert_eq!(parse_size("512KiB"), Ok(524_288));
        assert_eq!(parse_size("1M"), Ok(1_048_576));
        assert_eq!(parse_size("1MB"), Ok(1_000_000));
        assert_eq!(parse_size("1 GB"), Ok(1_000_000_000));
        assert_eq!(parse_size("4096"), Ok(4096));
    }

    #[test]
    fn nonsense_is_named() {
        for text in ["", "K", "12X", "-1", "1.5M", "99999999999999999999", "16777216T"] {
            let error = parse_size(text).expect_err("nonsense is refused");
            assert!(error.contains(&format!("`{text}`")), "{error}");
        }
    }

    #[test]
    fn long_times_are_said_as_people_do() {
        const S: u64 = 1_000_000_000;
        for (ns, text) in [
            (59 * S, "59.00 s"),
            (60 * S, "1 min"),
            (646_410_000_000, "10 min 46 s"),
            (3_599_700_000_000, "1 h"),
            (3_660 * S, "1 h 1 min"),
            (90_000 * S, "25 h"),
        ] {
            assert_eq!(format_ns(ns), text);
        }
        assert_eq!([1, 2].map(|days| format_age_s(days * 86_400)), ["1 day", "2 days"]);
        assert_eq!([0, 1, 2].map(|count| format_count(count, "array")), ["0 arrays", "1 array", "2 arrays"]);
    }

    #[test]
    fn sizes_read_back() {
        for bytes in [0, 1, 511, 512, 4096, 65_536, 1 << 20, 3 << 30, 5 << 40] {
            assert_eq!(parse_size(&format_size(bytes)), Ok(bytes));
        }
        assert_eq!(format_size(1_000_000), "976.56 KiB");
    }
}
