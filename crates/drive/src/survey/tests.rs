//! Surveys of files and devices as users have them.

use std::path::PathBuf;

use tempfile::{NamedTempFile, TempDir};

use super::*;
use crate::tests::{LoopDevice, Mounted, beside_the_binary, run};
use crate::{Access, Drive, OpenError};

fn file_of(bytes: u64) -> NamedTempFile {
    let file = NamedTempFile::new_in(beside_the_binary()).unwrap();
    file.as_file().set_len(bytes).unwrap();
    file
}

fn findings(path: &Path) -> Vec<String> {
    survey(path).unwrap().findings.iter().map(ToString::to_string).collect()
}

#[test]
fn a_blank_drive_has_nothing_against_it() {
    for bytes in [0, 1, 511, 512, 4096, 1 << 20, 5 << 30] {
        assert_eq!(findings(file_of(bytes).path()), [""; 0], "{bytes} bytes");
    }
}

#[test]
fn content_that_begins_as_a_file_does_is_known() {
    let found = |bytes: &[u8]| {
        let read = |offset: u64, into: &mut [u8]| {
            let length = into.len();
            into.copy_from_slice(&bytes[offset as usize..][..length]);
            Ok(())
        };
        let findings = survey_content(bytes.len() as u64, read).unwrap();
        findings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let mut content = vec![0; 1 << 20];
    assert!(found(&content).is_empty());
    content[..12].copy_from_slice(b"dear diary,\n");
    assert_eq!(found(&content), ["carries text (at byte 0)"]);
    content[0] = 0xff;
    assert!(found(&content).is_empty(), "what is no file that is known may be what was on the drives before");
    content[257..262].copy_from_slice(b"ustar");
    assert_eq!(found(&content), ["carries a tar archive (at byte 0)"]);
}

#[test]
fn a_directory_is_not_surveyed() {
    assert_eq!(survey(&beside_the_binary()).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    assert!(survey(Path::new("/dev/null")).is_err());
}

/// Images made by the formats' own tools: blkid(8) and we recognise the same. A tool that is
/// missing is told.
#[test]
fn needs_mkfs_and_blkid_images_are_recognised_as_blkid_does() {
    let tools: [(&str, &[&str], &str, &str); 17] = [
        ("mkfs.ext2", &["-q", "-F"], "ext2", "ext2 file system"),
        ("mkfs.ext3", &["-q", "-F"], "ext3", "ext3 file system"),
        ("mkfs.ext4", &["-q", "-F"], "ext4", "ext4 file system"),
        ("mkfs.xfs", &["-q", "-f"], "xfs", "XFS file system"),
        ("mkfs.btrfs", &["-q", "-f"], "btrfs", "btrfs file system"),
        ("mkfs.f2fs", &["-q", "-f"], "f2fs", "f2fs file system"),
        ("mkfs.vfat", &["-F12"], "vfat", "FAT12 file system"),
        ("mkfs.vfat", &["-F16"], "vfat", "FAT16 file system"),
        ("mkfs.vfat", &["-F32"], "vfat", "FAT32 file system"),
        ("mkfs.exfat", &[], "exfat", "exFAT file system"),
        ("mkfs.ntfs", &["-q", "-F"], "ntfs", "NTFS file system"),
        ("mkfs.jfs", &["-q"], "jfs", "JFS file system"),
        ("mkfs.reiserfs", &["-q", "-f"], "reiserfs", "ReiserFS file system"),
        ("mkswap", &[], "swap", "swap"),
        ("bcachefs", &["format", "-q"], "bcachefs", "bcachefs file system"),
        ("make-bcache", &["-B"], "bcache", "bcache device"),
        ("pvcreate", &["-q"], "LVM2_member", "LVM physical volume"),
    ];
    for (tool, options, blkid_type, what) in tools {
        let file = file_of(if what.starts_with("FAT12") { 16 << 20 } else { 512 << 20 });
        let path = file.path().to_str().unwrap();
        if run(tool, &[options, &[path]].concat()).is_none() {
            continue;
        }
        let found = findings(file.path());
        assert!(found.len() == 1 && found[0].starts_with(&format!("carries {what} ")), "{tool}: {found:?}");
        if let Some(answer) = run("blkid", &["-p", "-o", "value", "-s", "TYPE", path]) {
            assert_eq!(answer, blkid_type, "{tool}");
        }
    }
}

struct Ext4 {
    file: NamedTempFile,
    directory: TempDir,
}

fn ext4() -> Option<Ext4> {
    let file = file_of(16 << 20);
    run("mkfs.ext4", &["-q", "-F", file.path().to_str().unwrap()])?;
    Some(Ext4 { file, directory: tempfile::tempdir_in(beside_the_binary()).unwrap() })
}

#[test]
fn needs_root_loop_a_mounted_device_is_refused_by_name() {
    let Some(Ext4 { file, directory }) = ext4() else { return };
    let Some(device) = LoopDevice::attach(file.path(), 512) else { return };
    assert_eq!(findings(device.path()), ["carries ext4 file system (at byte 1080)"]);
    let through_the_file = findings(file.path());
    assert!(through_the_file[0].starts_with("in use by loop"), "{through_the_file:?}");
    let Some(mounted) = Mounted::mount(device.path(), directory.path()) else { return };
    let place = format!("mounted on {}", directory.path().canonicalize().unwrap().display());
    let device_survey = survey(device.path()).unwrap();
    assert!(device_survey.is_in_use());
    assert_eq!(device_survey.findings[0], Finding::InUse { how: place.clone() });
    let through_the_file = findings(file.path());
    assert!(through_the_file[0].starts_with(&format!("{place} through loop")), "{through_the_file:?}");
    let error = Drive::open(device.path(), Access::Write).unwrap_err();
    assert!(matches!(&error, OpenError::Busy { holder, .. } if *holder == place), "{error}");
    drop(mounted);
    assert!(!survey(device.path()).unwrap().is_in_use());
}

#[test]
fn needs_root_loop_a_claimed_device_is_in_use() {
    let file = file_of(1 << 20);
    let Some(device) = LoopDevice::attach(file.path(), 512) else { return };
    assert_eq!(findings(device.path()), [""; 0]);
    let claim = Drive::open(device.path(), Access::Write).unwrap();
    assert_eq!(findings(device.path()), ["in use by another program or driver"]);
    drop(claim);
    // A child that another test forks holds a copy of the claim until it starts its program.
    let freed = (0..18_000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        findings(device.path()).is_empty()
    });
    assert!(freed, "{:?}", findings(device.path()));
}

#[test]
fn the_root_file_systems_device_is_in_use() {
    let source = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let root = source.lines().find(|line| line.split(' ').nth(4) == Some("/")).unwrap();
    let device = PathBuf::from(root.split(" - ").nth(1).unwrap().split(' ').nth(1).unwrap());
    if std::fs::File::open(&device).is_err() || !device.starts_with("/dev") {
        eprintln!("SKIPPED: this test needs to read the root file system's device ({})", device.display());
        return;
    }
    assert!(findings(&device).contains(&"mounted on /".to_owned()), "{:?}", findings(&device));
}
