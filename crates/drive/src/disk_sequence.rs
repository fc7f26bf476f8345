//! The number by which the kernel tells one disk from the next that gets its name.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The number of the disk that a path leads to: of a block device, or of the disk on which a file
/// lies. The kernel counts disks as they appear, and loop devices as they get a file, and gives no
/// number twice while the machine goes on: another number is another disk, or the same one plugged
/// in again. None where the path leads to no disk (tmpfs, network), or the kernel does not count
/// (before Linux 5.15).
pub fn disk_sequence(path: &Path) -> Option<u64> {
    let told = std::fs::metadata(path).ok()?;
    let disk = disk_of(&told)?;
    std::fs::read_to_string(disk.join("diskseq")).ok()?.trim().parse().ok()
}

/// The highest number that a disk of this machine has; none if the kernel tells none.
pub fn newest_disk_sequence() -> Option<u64> {
    let disks = std::fs::read_dir("/sys/block").ok()?;
    let number = |disk: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(disk.ok()?.path().join("diskseq")).ok()?.trim().parse().ok()
    };
    disks.filter_map(number).max()
}

/// The disk's directory in sysfs; a partition lies in that of its disk.
fn disk_of(told: &Metadata) -> Option<PathBuf> {
    let number = if told.file_type().is_block_device() { told.rdev() } else { told.dev() };
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let directory = PathBuf::from(format!("/sys/dev/block/{major}:{minor}")).canonicalize().ok()?;
    if directory.join("partition").exists() { directory.parent().map(Path::to_owned) } else { Some(directory) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_lies_on_the_disk_that_the_kernel_counts_and_elsewhere_nothing_is_counted() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("image");
        std::fs::write(&file, b"content").unwrap();
        assert_eq!(disk_sequence(&file), disk_sequence(directory.path()), "it stays the same");
        assert!(disk_sequence(&file) <= newest_disk_sequence(), "it is one of all");
        assert_eq!(disk_sequence(Path::new("/proc/self/stat")), None);
        assert_eq!(disk_sequence(&directory.path().join("no such file")), None);
    }

    #[test]
    fn a_block_device_has_the_number_that_sysfs_tells() {
        for entry in std::fs::read_dir("/sys/block").into_iter().flatten().flatten() {
            let told = std::fs::read_to_string(entry.path().join("diskseq")).ok();
            let device = Path::new("/dev").join(entry.file_name());
            if let (Some(told), true) = (told, device.exists()) {
                assert_eq!(disk_sequence(&device), told.trim().parse().ok(), "{}", device.display());
            }
        }
    }
}
