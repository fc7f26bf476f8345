//! Opening, facts, and I/O at any offset. What needs a block device makes a loop device.

use std::os::unix::fs::symlink;

use proptest::prelude::*;
use rustix::fs::{CWD, FileType, mknodat};
use tempfile::NamedTempFile;

use super::*;
use crate::tests::{LoopDevice, beside_the_binary};

fn file_of(bytes: u64) -> NamedTempFile {
    let file = NamedTempFile::new_in(beside_the_binary()).unwrap();
    file.as_file().set_len(bytes).unwrap();
    file
}

#[test]
fn a_file_is_measured_in_whole_blocks() {
    let file = file_of((1 << 20) + 100);
    let drive = Drive::open(file.path(), Access::Write).unwrap();
    assert_eq!((drive.kind(), drive.size_bytes(), drive.access()), (DriveKind::File, 1 << 20, Access::Write));
    assert_eq!(drive.path(), file.path());
    assert!(matches!(drive.logical_block_bytes(), 512 | 4096));
    assert!(drive.physical_block_bytes() >= drive.logical_block_bytes());
    assert_eq!(drive.identity(), Identity::default());
    let mut drive = drive;
    file.as_file().set_len(3 << 20).unwrap();
    assert_eq!(drive.size_bytes(), 1 << 20, "as it was found");
    drive.measure().unwrap();
    assert_eq!(drive.size_bytes(), 3 << 20);
}

#[test]
fn the_page_cache_is_not_taken_for_direct_io() {
    let file = NamedTempFile::new_in("/dev/shm").unwrap();
    file.as_file().set_len(8192).unwrap();
    let drive = Drive::open(file.path(), Access::Write).unwrap();
    assert!(!drive.is_direct());
    assert!(drive.can_discard());
    drive.write_at(5, b"page").unwrap();
    assert_eq!(&std::fs::read(file.path()).unwrap()[4..10], b"\0page\0");
}

#[test]
fn what_is_no_drive_is_named_with_its_mend() {
    let directory = tempfile::tempdir_in(beside_the_binary()).unwrap();
    let pipe = directory.path().join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let empty = directory.path().join("empty");
    std::fs::write(&empty, [0; 100]).unwrap();
    let message = |path: &Path| Drive::open(path, Access::Write).unwrap_err().to_string();
    let missing = directory.path().join("missing");
    assert_eq!(message(&missing), format!("{}: not found; check the path, or plug the drive in", missing.display()));
    assert!(message(directory.path()).ends_with("is a directory; a drive is a block device or a regular file"));
    assert!(message(&pipe).contains("is a pipe"), "opening it must not wait for a writer either");
    assert!(message(Path::new("/dev/null")).contains("is a character device"));
    assert!(message(&empty).contains("holds less than one block (100 B)"));
}

#[test]
fn errors_are_sorted_by_what_the_user_can_do() {
    let path = Path::new("/dev/does-not-matter");
    let of = |errno| OpenError::from_errno(path, errno);
    assert!(matches!(of(Errno::ACCESS), OpenError::PermissionDenied { .. }));
    assert!(matches!(of(Errno::BUSY), OpenError::Busy { .. }));
    assert!(matches!(of(Errno::NXIO), OpenError::NotFound { .. }));
    assert!(matches!(of(Errno::IO), OpenError::System { .. }));
}

#[test]
fn one_drive_is_known_by_all_its_names() {
    let directory = tempfile::tempdir_in(beside_the_binary()).unwrap();
    let [file, other, hard, soft] = ["file", "other", "hard", "soft"].map(|name| directory.path().join(name));
    std::fs::write(&file, [0; 8192]).unwrap();
    std::fs::write(&other, [0; 8192]).unwrap();
    std::fs::hard_link(&file, &hard).unwrap();
    symlink(&file, &soft).unwrap();
    let open = |path: &Path| Drive::open(path, Access::Read).unwrap();
    for name in [&hard, &soft] {
        assert!(open(&file).same_drive_as(&open(name)));
        assert_eq!(open(&file).key(), DriveKey::of_path(name).unwrap());
    }
    assert!(!open(&file).same_drive_as(&open(&other)));
}

#[test]
fn nothing_grows_and_nothing_is_written_for_a_reader() {
    let file = file_of(8192);
    let writer = Drive::open(file.path(), Access::Write).unwrap();
    assert_eq!(writer.write_at(8190, &[1; 4]).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    assert_eq!(writer.read_at(u64::MAX, &mut [0; 4]).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    let reader = Drive::open(file.path(), Access::Read).unwrap();
    assert_eq!(reader.write_at(0, &[1; 4]).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    assert_eq!(std::fs::read(file.path()).unwrap(), [0; 8192]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Offsets and lengths of all kinds, also longer than what is moved at a time.
    #[test]
    fn any_offset_and_length_reads_and_writes_what_a_model_says(
        runs in prop::collection::vec((0..3_000_000_usize, 1..1_300_000_usize, any::<u8>()), 1..6),
    ) {
        let file = file_of(3 << 20);
        let drive = Drive::open(file.path(), Access::Write).unwrap();
        let mut model = vec![0; 3 << 20];
        for (offset, length, fill) in runs {
            let end = (offset + length).min(model.len());
            model[offset..end].fill(fill);
            drive.write_at(offset as u64, &model[offset..end]).unwrap();
            let from = offset.saturating_sub(700);
            let mut bytes = vec![0; (end + 700).min(model.len()) - from];
            drive.read_at(from as u64, &mut bytes).unwrap();
            prop_assert!(bytes == model[from..from + bytes.len()]);
        }
        drive.sync().unwrap();
        prop_assert!(std::fs::read(file.path()).unwrap() == model);
    }
}

#[test]
fn needs_root_loop_a_device_is_claimed_and_its_blocks_are_found() {
    let file = file_of(1 << 20);
    let Some(device) = LoopDevice::attach(file.path(), 4096) else { return };
    let drive = Drive::open(device.path(), Access::Write).unwrap();
    assert_eq!((drive.kind(), drive.size_bytes()), (DriveKind::BlockDevice, 1 << 20));
    assert_eq!(drive.logical_block_bytes(), 4096);
    assert!(drive.is_direct());
    drive.write_at(4090, b"across two blocks").unwrap();
    let mut bytes = [0; 17];
    drive.read_at(4090, &mut bytes).unwrap();
    assert_eq!(&bytes, b"across two blocks");
    drive.sync().unwrap();
    assert_eq!(&std::fs::read(file.path()).unwrap()[4090..4107], b"across two blocks");

    let second = Drive::open(device.path(), Access::Write).unwrap_err();
    assert!(matches!(second, OpenError::Busy { .. }), "{second}");
    assert!(Drive::open(device.path(), Access::Read).unwrap().same_drive_as(&drive), "readers may look");
}

#[test]
fn a_file_has_one_writer_at_a_time() {
    let file = file_of(1 << 20);
    let open = |access| Drive::open(file.path(), access);
    let writer = open(Access::Write).unwrap();
    let error = open(Access::Write).unwrap_err();
    assert!(matches!(error, OpenError::Busy { .. }), "{error}");
    let holder = format!("(process {}); release it first", std::process::id());
    assert!(error.to_string().ends_with(&holder), "{error}");
    let mut reader = open(Access::Read).unwrap();
    assert!(matches!(reader.keep_writers_out(), Err(OpenError::Busy { .. })));
    drop(writer);
    reader.keep_writers_out().unwrap();
    open(Access::Read).unwrap().keep_writers_out().unwrap();
    assert!(matches!(open(Access::Write), Err(OpenError::Busy { .. })));
    drop(reader);
    open(Access::Write).unwrap();
}

#[test]
fn needs_root_loop_what_somebody_writes_to_is_not_written_to_through_a_loop_device_over_it() {
    let file = file_of(1 << 20);
    let (Some(device), Some(other)) = (LoopDevice::attach(file.path(), 512), LoopDevice::attach(file.path(), 512))
    else {
        return;
    };
    let Some(upper) = LoopDevice::attach(device.path(), 512) else { return };
    let open = |path: &Path| Drive::open(path, Access::Write);
    let is_refused = |path: &Path, below: &Path| {
        let error = open(path).unwrap_err();
        assert!(matches!(error, OpenError::Busy { .. }), "{error}");
        assert!(error.to_string().contains(&below.display().to_string()), "{error}");
    };
    let writer = open(file.path()).unwrap();
    is_refused(device.path(), file.path());
    is_refused(upper.path(), file.path());
    drop(writer);
    let writer = open(device.path()).unwrap();
    is_refused(other.path(), file.path());
    is_refused(upper.path(), device.path());
    assert!(matches!(open(file.path()), Err(OpenError::Busy { .. })));
    drop(writer);
    drop(open(upper.path()).unwrap());
    drop(open(file.path()).unwrap());
}

#[test]
fn who_a_drive_is_was_found_when_it_was_opened() {
    let file = file_of(1 << 20);
    let mut drive = Drive::open(file.path(), Access::Write).unwrap();
    let hardware = drive.hardware();
    assert!(hardware.is_some(), "the file system numbers its files");
    // Whoever would ask it now would wait, or hear of another one.
    drive.replace_file(File::open("/proc/self/stat").unwrap());
    assert_eq!(drive.hardware(), hardware);
}
