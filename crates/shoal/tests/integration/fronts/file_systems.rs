//! File systems on a loop device on the file, while a member fails and is rebuilt.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use shoal_attach::{LoopDevice, LoopError, LoopOptions};

use crate::fronts::front::{Front, LONG_S, is_mounted};
use crate::fronts::fuse::{is_possible, pond};
use crate::serve::served::tool;
use crate::support::Bay;

/// The smallest array on which XFS is made, with some room: mkfs.xfs wants 300 MiB.
const DRIVE_BYTES: u64 = 168 << 20;

#[test]
fn needs_fuse_and_root_ext4_is_whole_after_a_member_failed_and_was_rebuilt() {
    holds("mkfs.ext4", &["-q", "-F"], "e2fsck", &["-f", "-n"]);
}

#[test]
fn needs_fuse_and_root_xfs_is_whole_after_a_member_failed_and_was_rebuilt() {
    holds("mkfs.xfs", &["-q", "-f"], "xfs_repair", &["-n"]);
}

#[test]
fn needs_fuse_and_root_btrfs_is_whole_after_a_member_failed_and_was_rebuilt() {
    holds("mkfs.btrfs", &["-q", "-f"], "btrfs", &["check", "--check-data-csum"]);
}

/// Makes a file system, writes to it under a check of every byte while a member fails and another
/// takes its place, and has it checked.
fn holds(make: &str, make_options: &[&str], check: &str, check_options: &[&str]) {
    if !is_possible(&["fio", "mount", make, check]) || !can_loop() {
        return;
    }
    let (bay, served) = pond(DRIVE_BYTES);
    let front = Front::start(&bay, LONG_S);
    let options = LoopOptions { logical_block_bytes: 512, is_read_only: false, has_partitions: false };
    let disk = Disk(LoopDevice::attach(&front.file, options).unwrap());
    let device = disk.0.device().to_str().unwrap().to_owned();
    tool(make, &[make_options, &[&device[..]]].concat());

    let mounted = Mounted::at(&device, &bay);
    assert!(matches!(disk.0.detach(), Err(LoopError::InUse(_))), "a mounted device is let go of");
    let load = mounted.load();
    std::thread::sleep(Duration::from_millis(500));
    bay.done("fail --member d1 d0");
    bay.done("add --drive d3 --no-rebuild d0");
    bay.done("rebuild d0");
    let output = load.join().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(bay.json("status d0")["health"], "optimal");
    mounted.unmount();

    // Again from the array, and nothing from a cache.
    let mounted = Mounted::at(&device, &bay);
    mounted.verify();
    mounted.unmount();
    tool(check, &[check_options, &[&device[..]]].concat());
    disk.0.detach().unwrap();
    front.stopped();
    served.stopped();
    assert_eq!(bay.json("scrub d0 d2 d3")["mismatched_bytes"], 0);
}

/// Says loudly if not.
fn can_loop() -> bool {
    let can = std::fs::File::options().write(true).open("/dev/loop-control").is_ok();
    if !can {
        println!("SKIPPED: {} needs root and loop devices", std::thread::current().name().unwrap_or("a test"));
    }
    can
}

/// A loop device; let go of when the test ends before it does.
struct Disk(LoopDevice);

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = self.0.detach();
    }
}

/// A file system; unmounted when the test ends before it is.
struct Mounted(PathBuf);

impl Mounted {
    fn at(device: &str, bay: &Bay) -> Self {
        let directory = bay.path("mounted");
        let _ = std::fs::create_dir(&directory);
        tool("mount", &[device, directory.to_str().unwrap()]);
        Self(directory)
    }

    fn unmount(self) {
        tool("umount", &[self.0.to_str().unwrap()]);
    }

    /// What is written, and read back.
    fn fio(directory: &Path, options: &[&str]) -> Command {
        let mut fio = Command::new("timeout");
        fio.args(["600", "fio", "--name=load", "--ioengine=libaio", "--direct=1", "--rw=randwrite", "--bs=4k"]);
        fio.args(["--size=12M", "--iodepth=4", "--fsync=64", "--verify=crc32c", "--verify_fatal=1"]).args(options);
        // What it keeps beside goes with the bay, and is there for the second time.
        fio.arg(format!("--directory={}", directory.display())).current_dir(directory.parent().unwrap());
        fio
    }

    /// Long enough for all that is to happen meanwhile.
    fn load(&self) -> std::thread::JoinHandle<std::process::Output> {
        let mut fio = Self::fio(&self.0, &["--rate_iops=1000"]);
        std::thread::spawn(move || fio.output().unwrap())
    }

    fn verify(&self) {
        let output = Self::fio(&self.0, &["--verify_only"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if is_mounted(&self.0) {
            let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
        }
    }
}
