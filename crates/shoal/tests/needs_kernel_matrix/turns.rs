//! What each side does when it is its turn. `content` is the file in which the whole content is expected to be, and
//! `tree` the files that the file system on it is expected to hold.

use std::fs::File;

use crate::shapes::Shape;
use crate::stage::{Stage, assert_same};
use crate::support::pattern;

/// What is written at once where content changed: a run of bytes that differ, with gaps no longer than this.
const GAP_BYTES: usize = 64 << 10;

/// Creates the array, puts a file system with files on it, and copies the content to `content`.
pub(crate) fn kernel_creates(shape: &Shape, stage: &mut Stage) {
    put_files(stage, 1);
    let (options, count) = (shape.options(), shape.members_mib.len());
    stage.kernel(&format!(
        "mdadm --create /dev/md0 --run --quiet --metadata {} {options} --raid-devices {count} $DRIVES
         settle md0
         mkfs.ext4 -q -F /dev/md0
         {COPY_FILES}
         dd if=/dev/md0 of=content bs=1M status=none
         mdadm --stop --quiet /dev/md0",
        shape.metadata
    ));
}

const COPY_FILES: &str = "mkdir -p /run/m
         mount /dev/md0 /run/m
         cp file* /run/m/
         umount /run/m";

/// Assembles the array without a complaint, finds it clean, the file system sound and every byte as expected.
pub(crate) fn kernel_agrees(shape: &Shape, stage: &mut Stage) {
    let count = shape.members_mib.len();
    let printed = stage.kernel(
        "mdadm --assemble /dev/md0 $DRIVES
         mdadm --detail /dev/md0 | grep 'State :'
         cmp /dev/md0 content
         fsck.ext4 -f -n /dev/md0 >fsck 2>&1 || { cat fsck; false; }
         mkdir -p /run/m
         mount -o ro,noload /dev/md0 /run/m
         for file in file*; do cmp $file /run/m/$file; done
         umount /run/m
         cmp /dev/md0 content
         echo mismatches $(check md0)
         mdadm --stop --quiet /dev/md0",
    );
    let mismatches = if shape.has_redundancy() { "mismatches 0" } else { "mismatches" };
    let expected =
        format!("mdadm: /dev/md0 has been started with {count} drives.\n             State : clean \n{mismatches}");
    assert_eq!(printed, expected);
    assert_eq!(stage.complaints(), Vec::<String>::new());
}

/// Adds files to the file system, and copies the content to `content`.
pub(crate) fn kernel_changes(stage: &mut Stage) {
    put_files(stage, 2);
    stage.kernel(&format!(
        "mdadm --assemble --quiet /dev/md0 $DRIVES
         {COPY_FILES}
         dd if=/dev/md0 of=content bs=1M status=none
         mdadm --stop --quiet /dev/md0",
    ));
}

/// Creates the array, and writes a file system with files to it.
pub(crate) fn shoal_creates(shape: &Shape, stage: &mut Stage) {
    let created = stage.json(&format!("create {} {}", shape.options(), stage.drives()));
    put_files(stage, 1);
    let content = File::create(stage.path("content")).unwrap();
    content.set_len(created["capacity_bytes"].as_u64().unwrap()).unwrap();
    stage.tool("mkfs.ext4 -q -F content");
    add_files(stage);
    stage.shoal(&format!("write {}", stage.drives()), Some("content"), None);
}

/// Finds the array whole and clean, and every byte as expected.
pub(crate) fn shoal_agrees(shape: &Shape, stage: &Stage) {
    let drives = stage.drives();
    let status = stage.json(&format!("status {drives}"));
    assert_eq!((&status["health"], &status["needs_resync"]), (&"optimal".into(), &false.into()), "{status}");
    stage.shoal(&format!("read {drives}"), None, Some("read"));
    assert_same(&stage.path("read"), &stage.path("content"), "what shoal reads");
    if shape.has_redundancy() {
        let scrub = stage.json(&format!("scrub {drives}"));
        assert_eq!((&scrub["complete"], &scrub["mismatched_bytes"]), (&true.into(), &0.into()), "{scrub}");
    }
}

/// Adds files to the file system in `content`, and writes what that changed to the array.
pub(crate) fn shoal_changes(stage: &Stage) {
    put_files(stage, 2);
    let before = std::fs::read(stage.path("content")).unwrap();
    add_files(stage);
    let after = std::fs::read(stage.path("content")).unwrap();
    for (start, end) in changed_runs(&before, &after) {
        std::fs::write(stage.path("run"), &after[start..end]).unwrap();
        stage.shoal(&format!("write --offset {start} {}", stage.drives()), Some("run"), None);
    }
}

/// Files to be put into the file system: some small, and one as long as many chunks.
fn put_files(stage: &Stage, round: u64) {
    for (number, length) in [(0, 100_003), (1, 1), (2, 1_500_000)] {
        std::fs::write(stage.path(&format!("file{round}{number}")), pattern(length, round * 10 + number)).unwrap();
    }
}

/// Puts the files into the file system in `content`, replacing what is there.
fn add_files(stage: &Stage) {
    let names = ["file10", "file11", "file12", "file20", "file21", "file22"];
    let script: String = names
        .iter()
        .filter(|name| stage.path(name).exists())
        .map(|name| format!("rm {name}\nwrite {name} {name}\n"))
        .collect();
    std::fs::write(stage.path("commands"), script).unwrap();
    stage.tool("debugfs -w -f commands content");
}

/// Runs of bytes that differ.
fn changed_runs(before: &[u8], after: &[u8]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for at in (0..before.len()).filter(|&at| before[at] != after[at]) {
        match runs.last_mut() {
            Some((_, end)) if at - *end < GAP_BYTES => *end = at + 1,
            _ => runs.push((at, at + 1)),
        }
    }
    runs
}
