//! The arrays that are put into states, and what each side does to them. `content` is the file that
//! holds the whole content as it should be.

use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::support::pattern;
use crate::support::stage::Stage;

pub(crate) const MEMBER_BYTES: u64 = 24 << 20;
/// Large enough for shoal to be interrupted while it goes over one.
pub(crate) const LARGE_BYTES: u64 = 384 << 20;

/// An array: the options that make it, which shoal and mdadm share, and its number of members.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array {
    pub(crate) name: &'static str,
    pub(crate) options: &'static str,
    pub(crate) members: usize,
}

pub(crate) const MIRROR: Array = Array { name: "RAID1", options: "--level 1", members: 3 };
pub(crate) const RAID5: Array = Array { name: "RAID5", options: "--level 5 --chunk 64K", members: 4 };
pub(crate) const RAID6: Array = Array { name: "RAID6", options: "--level 6 --chunk 64K", members: 5 };
pub(crate) const RAID10: Array = Array { name: "RAID10", options: "--level 10 --chunk 64K", members: 4 };

impl Array {
    /// Creates the array and fills it with bytes that are all different.
    pub(crate) fn kernel_creates(self, stage: &mut Stage, options: &str, drives: usize) {
        stage.set(&vec![MEMBER_BYTES; drives], 512);
        std::fs::write(stage.path("noise"), pattern(self.members * MEMBER_BYTES as usize, 1)).unwrap();
        stage.kernel(&format!(
            "mdadm --create /dev/md0 --run --quiet {} {options} --raid-devices {} $DRIVES
             settle md0
             head -c $(blockdev --getsize64 /dev/md0) noise >content
             dd if=content of=/dev/md0 bs=1M oflag=direct status=none
             mdadm --stop --quiet /dev/md0",
            self.options, self.members
        ));
    }

    /// Creates the array and fills it with bytes that are all different.
    pub(crate) fn shoal_creates(self, stage: &mut Stage, options: &str, drives: usize) {
        stage.set(&vec![MEMBER_BYTES; drives], 512);
        let created = stage.json(&format!("create {} {options} DRIVES", self.options));
        let capacity = created["capacity_bytes"].as_u64().unwrap();
        std::fs::write(stage.path("content"), pattern(capacity as usize, 1)).unwrap();
        stage.shoal("write DRIVES", Some("content"), None);
    }
}

/// Changes some of the content: a range that is not aligned to anything.
pub(crate) fn shoal_writes(stage: &mut Stage, drives: &str, seed: u64) {
    let offset = 1_234_567 * (seed as usize % 8);
    let bytes = pattern(900_001, seed);
    std::fs::write(stage.path("change"), &bytes).unwrap();
    stage.shoal(&format!("write --offset {offset} {drives}"), Some("change"), None);
    let mut content = stage.bytes("content");
    content[offset..offset + bytes.len()].copy_from_slice(&bytes);
    std::fs::write(stage.path("content"), content).unwrap();
}

/// Runs shoal and interrupts it, again and again, until it leaves the array as wanted; earlier or
/// later each time.
pub(crate) fn interrupted(stage: &mut Stage, line: &str, is_as_wanted: impl Fn(&mut Stage) -> bool) {
    let mut delay = Duration::from_millis(150);
    for _ in 0..100 {
        let child = stage.shoal_command(line).spawn().unwrap();
        thread::sleep(delay);
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        let ended = child.wait_with_output().unwrap().status.success();
        if is_as_wanted(stage) {
            return;
        }
        delay = if ended { delay * 2 / 3 } else { delay * 4 / 3 };
    }
    panic!("shoal {line}: is never interrupted in its middle");
}

/// Every byte is as it should be.
pub(crate) fn shoal_reads(stage: &mut Stage, drives: &str) {
    stage.shoal(&format!("read {drives}"), None, Some("read"));
    stage.assert_same("read", "content");
}

/// The array is whole, parity and copies agree, and every byte is as it should be.
pub(crate) fn shoal_finds_it_whole(stage: &mut Stage, drives: &str) {
    let status = stage.json(&format!("status {drives}"));
    assert_eq!((&status["health"], &status["needs_resync"]), (&"optimal".into(), &false.into()), "{status}");
    let scrub = stage.json(&format!("scrub {drives}"));
    assert_eq!((&scrub["complete"], &scrub["mismatched_bytes"]), (&true.into(), &0.into()), "{scrub}");
    shoal_reads(stage, drives);
}

/// Lines that wait until the running array is whole and clean, and find parity and copies that
/// agree. A rebuild does not begin in the moment in which a member fails, nor is an array clean in
/// that in which it was written to.
pub(crate) const KERNEL_FINDS_IT_IN_SYNC: &str =
    "until mdadm --detail /dev/md0 | grep -q 'State : clean $'; do sleep 0.1; done
settle md0
test $(check md0) = 0";

/// Lines that change some of the content, on the array and in `content`.
pub(crate) fn kernel_writes(stage: &Stage, seed: u64) -> String {
    std::fs::write(stage.path("change"), pattern(900_001, seed)).unwrap();
    let offset = 1_234_567 * (seed % 8);
    ["/dev/md0", "content"]
        .map(|to| format!("dd if=change of={to} bs=1M seek={offset} oflag=seek_bytes conv=notrunc,fsync status=none\n"))
        .concat()
}
