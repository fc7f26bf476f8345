//! What becomes of discards on a loop device: holes in the members where the array can discard, and
//! zeros in any case.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;

use crate::fronts::front::is_mounted;
use crate::fronts::fuse::is_possible;
use crate::serve::served::tool;
use crate::support::{Bay, pattern};

const DRIVE_BYTES: u64 = 48 << 20;

/// An array as a loop device; detached if the test ends before it is.
struct Attached<'a> {
    bay: &'a Bay,
    device: String,
    mount_point: PathBuf,
}

impl<'a> Attached<'a> {
    fn new(bay: &'a Bay) -> Self {
        let device = bay.json("attach --as fuse --block-device d0 d1 d2")["device"].as_str().unwrap().to_owned();
        let mount_point = bay.path("mounted");
        let _ = std::fs::create_dir(&mount_point);
        Self { bay, device, mount_point }
    }

    /// The kernel remembers of a loop device's number that somebody did not want discards there.
    fn can_discard(&self) -> bool {
        let name = self.device.rsplit('/').next().unwrap();
        let limit = |kind: &str| std::fs::read_to_string(format!("/sys/block/{name}/queue/{kind}")).unwrap();
        assert_ne!(limit("discard_max_hw_bytes").trim(), "0", "the driver does not know that the file has holes");
        limit("discard_max_bytes").trim() != "0"
    }

    /// Room that the members take.
    fn allocated_bytes(&self) -> u64 {
        ["d0", "d1", "d2"].map(|name| self.bay.path(name).metadata().unwrap().blocks() * 512).into_iter().sum()
    }

    /// All of its content.
    fn content(&self) -> Vec<u8> {
        tool("dd", &[&format!("if={}", self.device), "bs=1M", "iflag=direct", "status=none"])
    }

    fn fill(&self) {
        let path = self.bay.path("content");
        std::fs::write(&path, pattern(24 << 20, 7)).unwrap();
        let (from, to) = (format!("if={}", path.display()), format!("of={}", self.device));
        tool("dd", &[&from, &to, "bs=1M", "oflag=direct", "conv=notrunc", "status=none"]);
    }

    fn mounted(&self) -> &str {
        let place = self.mount_point.to_str().unwrap();
        tool("mount", &[&self.device, place]);
        place
    }
}

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        if is_mounted(&self.mount_point) {
            let _ = Command::new("umount").arg(&self.mount_point).status();
        }
        let _ = self.bay.command(["detach", "d0"]).output();
    }
}

fn can_run(programs: &[&str]) -> bool {
    let can_loop = std::fs::File::options().write(true).open("/dev/loop-control").is_ok();
    if !can_loop {
        println!("SKIPPED: {} needs root and loop devices", std::thread::current().name().unwrap_or("a test"));
    }
    can_loop && is_possible(programs)
}

fn array(level: &str) -> Bay {
    let bay = Bay::with_sizes(&[DRIVE_BYTES; 3]);
    bay.done(&format!("create --level {level} --chunk 64K --assume-clean d0 d1 d2"));
    bay
}

#[test]
fn needs_fuse_and_root_discards_reach_the_members_of_an_array_without_parity() {
    if !can_run(&["mount", "mkfs.ext4", "fstrim", "e2fsck", "blkdiscard"]) {
        return;
    }
    let bay = array("0");
    let attached = Attached::new(&bay);
    if !attached.can_discard() {
        return println!(
            "SKIPPED: discards through {}: needs a loop device that nobody turned them off for",
            attached.device
        );
    }
    tool("mkfs.ext4", &["-q", "-F", &attached.device]);
    let place = attached.mounted().to_owned();
    std::fs::write(format!("{place}/kept"), pattern(5 << 20, 1)).unwrap();
    std::fs::write(format!("{place}/gone"), pattern(40 << 20, 2)).unwrap();
    tool("sync", &["--file-system", &place]);
    let full = attached.allocated_bytes();
    std::fs::remove_file(format!("{place}/gone")).unwrap();
    tool("sync", &["--file-system", &place]);
    tool("fstrim", &[&place]);
    let trimmed = attached.allocated_bytes();
    assert!(trimmed + (38 << 20) < full, "{full} bytes were taken, and {trimmed} are");
    tool("umount", &[&place]);
    tool("mount", &[&attached.device, &place]);
    assert!(std::fs::read(format!("{place}/kept")).unwrap() == pattern(5 << 20, 1));
    tool("umount", &[&place]);
    tool("e2fsck", &["-f", "-n", &attached.device]);
    // All of it in one go, and longer than any part.
    attached.fill();
    let full = attached.allocated_bytes();
    tool("blkdiscard", &["-f", &attached.device]);
    assert!(attached.allocated_bytes() + (20 << 20) < full);
    assert!(
        attached.content().iter().all(|&byte| byte == 0),
        "what was discarded through a loop device reads as zeros"
    );
}

#[test]
fn needs_fuse_and_root_an_array_with_parity_takes_no_discards_and_writes_zeros() {
    if !can_run(&["mount", "mkfs.ext4", "fstrim", "e2fsck", "blkdiscard"]) {
        return;
    }
    let bay = array("5");
    let attached = Attached::new(&bay);
    attached.fill();
    // The kernel takes a discard that cannot be done for a hint.
    let _ = Command::new("blkdiscard").args(["-f", &attached.device]).output().unwrap();
    assert!(attached.content().starts_with(&pattern(24 << 20, 7)));
    // Neither begin nor end are a stripe's.
    tool("blkdiscard", &["-f", "-z", "-o", "4096", "-l", "20975616", &attached.device]);
    let (content, before) = (attached.content(), pattern(24 << 20, 7));
    assert!(content[..4096] == before[..4096] && content[4096..20_979_712].iter().all(|&byte| byte == 0));
    assert!(content[20_979_712..24 << 20] == before[20_979_712..]);
    tool("mkfs.ext4", &["-q", "-F", &attached.device]);
    let place = attached.mounted().to_owned();
    std::fs::write(format!("{place}/kept"), pattern(5 << 20, 1)).unwrap();
    let refused = Command::new("fstrim").arg(&place).output().unwrap();
    assert!(!refused.status.success(), "it said that it could");
    tool("umount", &[&place]);
    tool("e2fsck", &["-f", "-n", &attached.device]);
    drop(attached);
    assert_eq!(bay.json("scrub d0 d1 d2")["mismatched_bytes"], 0);
}
