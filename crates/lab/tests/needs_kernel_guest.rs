//! The guest itself: it boots, runs scripts, and ends at once when its power is cut.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::time::Duration;

use shoal_lab::{Guest, Lab};

#[test]
fn needs_kernel_scripts_end_with_their_status() {
    let Some((_directory, mut guest)) = booted("scripts end with their status") else { return };
    assert_eq!(guest.done("echo one; echo two >&2").unwrap(), "one\ntwo");
    let failed = guest.run("echo before; false; echo after").unwrap();
    assert_eq!((failed.status, failed.output.as_str()), (1, "before"));
    assert_eq!(guest.done("uname -s; id -u").unwrap(), "Linux\n0");
    assert!(guest.run("echo bytes >/etc/shoal-was-here").unwrap().status != 0, "the host is read-only");
}

#[test]
fn needs_kernel_a_power_cut_falls_in_the_middle_of_writing() {
    let Some((directory, mut guest)) = booted("a power cut falls in the middle of writing") else { return };
    let image = directory.path().join("d0");
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    assert_eq!(guest.done("attach_all 4096 d0; blockdev --getss $DRIVES").unwrap(), "4096");
    guest.start("tr '\\0' x </dev/zero | dd of=/dev/loop0 bs=4K oflag=direct").unwrap();
    let written = || std::fs::read(&image).unwrap().iter().filter(|&&byte| byte == b'x').count();
    while written() == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    guest.cut_power();
    let left = written();
    assert!((1..64 << 20).contains(&left), "{left} bytes were written");
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(written(), left, "nothing writes any more");
}

#[test]
fn needs_kernel_programs_keep_their_registers() {
    let Some((directory, mut guest)) = booted("programs keep their registers") else { return };
    // The checksums of a file system cross the program's memory in large copies, into pages that
    // are not there yet.
    std::fs::File::create(directory.path().join("image")).unwrap().set_len(33 << 20).unwrap();
    guest.done("mkfs.ext4 -q -F image; fsck.ext4 -f -n image").unwrap();
}

/// A guest and what it shares, or a line that says what is missing.
fn booted(what: &str) -> Option<(tempfile::TempDir, Guest)> {
    let lab = Lab::find().map_err(|missing| eprintln!("SKIPPED: {what}: needs {missing}")).ok()?;
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let guest = lab.boot(directory.path()).unwrap();
    Some((directory, guest))
}
