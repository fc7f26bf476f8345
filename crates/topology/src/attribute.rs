//! Attributes: small files of the kernel, below a device's directory in sysfs.

use std::fs;
use std::path::Path;

/// The trimmed text of an attribute; `None` if it is not there, cannot be read, or says nothing.
pub fn text(directory: &Path, name: &str) -> Option<String> {
    let bytes = fs::read(directory.join(name)).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// A number that is an attribute.
pub(crate) fn number(directory: &Path, name: &str) -> Option<u64> {
    text(directory, name)?.parse().ok()
}

/// The last part of what a link leads to: `subsystem` and `driver` are such links.
pub(crate) fn link_name(directory: &Path, name: &str) -> Option<String> {
    let target = fs::read_link(directory.join(name)).ok()?;
    Some(target.file_name()?.to_string_lossy().into_owned())
}

/// A rate as the kernel writes it, in units of a million (USB: "480", "1.5") or with a unit ("6.0
/// Gbps", "8.0 GT/s PCIe").
pub fn bits_per_s(text: &str, unit_bits_per_s: u64) -> Option<u64> {
    let number = text.split_whitespace().next()?;
    let (whole, tenths) = number.split_once('.').unwrap_or((number, "0"));
    let (whole, tenths) =
        (whole.parse::<u64>().ok()?, u64::from(tenths.parse::<u8>().ok().filter(|tenth| *tenth < 10)?));
    whole.checked_mul(unit_bits_per_s)?.checked_add(tenths * (unit_bits_per_s / 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_the_kernel_writes_them() {
        assert_eq!(bits_per_s("480", 1_000_000), Some(480_000_000));
        assert_eq!(bits_per_s("1.5", 1_000_000), Some(1_500_000));
        assert_eq!(bits_per_s("6.0 Gbps", 1_000_000_000), Some(6_000_000_000));
        for nonsense in ["<unknown>", "", "fast", "-1", "1.25", "1.", "99999999999999999"] {
            assert_eq!(bits_per_s(nonsense, 1_000_000), None, "{nonsense}");
        }
    }
}
