//! What a drive's flash erases at a time, where the drive tells.

use std::path::{Path, PathBuf};

/// What the kernel was told by a memory card: `preferred_erase_size`
/// (Documentation/driver-api/mmc/mmc-dev-attrs.rst). USB sticks and SSDs tell nothing of the kind,
/// and files have no flash of their own.
pub fn erase_unit_of_device(major: u32, minor: u32) -> Option<u64> {
    of_directory(&PathBuf::from(format!("/sys/dev/block/{major}:{minor}")))
}

/// A partition is asked for its disk.
fn of_directory(directory: &Path) -> Option<u64> {
    let mut disk = directory.canonicalize().ok()?;
    if disk.join("partition").exists() {
        disk.pop();
    }
    let text = std::fs::read_to_string(disk.join("device/preferred_erase_size")).ok()?;
    // A card that does not know says 0 or 512, and nothing larger than a segment of a terabyte card
    // is believed.
    text.trim().parse().ok().filter(|bytes| (4096..=1 << 30).contains(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_and_its_partition_tell_and_others_do_not() {
        let directory = tempfile::tempdir().unwrap();
        let partition = directory.path().join("mmcblk0/mmcblk0p1");
        std::fs::create_dir_all(&partition).unwrap();
        std::fs::create_dir_all(directory.path().join("mmcblk0/device")).unwrap();
        std::fs::write(partition.join("partition"), "1\n").unwrap();
        let attribute = directory.path().join("mmcblk0/device/preferred_erase_size");
        for (text, expected) in [("4194304\n", Some(4 << 20)), ("512\n", None), ("0\n", None), ("much\n", None)] {
            std::fs::write(&attribute, text).unwrap();
            assert_eq!(of_directory(&partition), expected, "{text}");
            assert_eq!(of_directory(&directory.path().join("mmcblk0")), expected, "{text}");
        }
        assert_eq!(of_directory(directory.path()), None);
    }
}
