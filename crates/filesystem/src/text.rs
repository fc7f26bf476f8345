//! Sizes in sentences.

/// In the largest unit that it is a whole number of, or to two decimals.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.into_iter().find(|&(_, unit_bytes)| bytes >= unit_bytes) {
        None => format!("{bytes} B"),
        Some((unit, unit_bytes)) if bytes.is_multiple_of(unit_bytes) => format!("{} {unit}", bytes / unit_bytes),
        Some((unit, unit_bytes)) => format!("{:.2} {unit}", bytes as f64 / unit_bytes as f64),
    }
}
