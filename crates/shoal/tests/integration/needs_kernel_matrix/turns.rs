//! What each side does when it is its turn. `content` is the file that holds the whole content as
//! it should be, and `file..` the files that the file system in it should hold.

use std::fs::File;

use crate::needs_kernel_matrix::shapes::Shape;
use crate::support::pattern;
use crate::support::stage::Stage;

/// Where content changed, the bytes between two changes are written too if they are no more than
/// these.
const GAP_BYTES: usize = 64 << 10;
/// Bytes that are compared at once.
const BLOCK_BYTES: usize = 4096;
/// For each round of changes: small files, and one that covers many chunks.
const FILES: [(u64, usize); 3] = [(0, 100_003), (1, 1), (2, 1_500_000)];

const COPY_FILES: &str = "mkdir -p /run/m
mount /dev/md0 /run/m
cp file* /run/m/
umount /run/m";

/// Assembles the array, and says so in two lines that are always the same. Now and then mdadm tells
/// nothing of an array that has just been started.
const ASSEMBLE: &str = "mdadm --assemble /dev/md0 $DRIVES
for try in $(seq 100); do mdadm --detail /dev/md0 | grep 'State :' && break; sleep 0.1; done";

/// Creates the array, puts a file system with files on it, and copies the content to `content`.
pub(crate) fn kernel_creates(shape: &Shape, stage: &mut Stage) {
    put_files(stage, 1);
    kernel_creates_with(
        shape,
        stage,
        &format!(
            "mkfs.ext4 -q -F /dev/md0
             {COPY_FILES}
             dd if=/dev/md0 of=content bs=1M status=none"
        ),
    );
}

/// Creates the array, waits until it is in sync, and runs a script on it.
pub(crate) fn kernel_creates_with(shape: &Shape, stage: &mut Stage, script: &str) {
    let (options, count) = (shape.options(), shape.members_mib.len());
    let bitmap = if shape.has_redundancy() { "--bitmap none" } else { "" };
    stage.kernel(&format!(
        "mdadm --create /dev/md0 --run --quiet {options} {bitmap} --raid-devices {count} $DRIVES
         settle md0
         {script}
         mdadm --stop --quiet /dev/md0"
    ));
}

/// Assembles the array without a complaint, finds it clean, the file system sound and every byte as
/// it should be.
///
/// The kernel hands over what it reads, and the host compares: a program's every step costs the
/// guest a hundred times what it costs the host.
pub(crate) fn kernel_agrees(shape: &Shape, stage: &mut Stage) {
    kernel_finds_it_clean(
        shape,
        stage,
        "dd if=/dev/md0 of=seen bs=1M status=none
         mkdir -p /run/m
         mount -o ro,noload /dev/md0 /run/m
         cat /run/m/file* >files
         umount /run/m
         echo $(check md0)",
    );
    stage.assert_same("seen", "content");
    stage.tool("fsck.ext4 -f -n seen");
    assert!(stage.bytes("files") == every_file(stage), "what the file system's files hold");
}

/// The content of all files that have been put, one after the other in the order of their names.
fn every_file(stage: &Stage) -> Vec<u8> {
    let names = [1, 2].into_iter().flat_map(|round| FILES.map(|(number, _)| format!("file{round}{number}")));
    names.filter(|name| stage.path(name).exists()).flat_map(|name| stage.bytes(&name)).collect()
}

/// Assembles the array without a complaint, finds it clean, and runs a script that ends with the
/// number of mismatches.
pub(crate) fn kernel_finds_it_clean(shape: &Shape, stage: &mut Stage, script: &str) {
    let printed = stage.kernel(&format!("{ASSEMBLE}\n{script}\nmdadm --stop --quiet /dev/md0"));
    let mismatches = if shape.has_redundancy() { "0" } else { "" };
    let count = shape.members_mib.len();
    let expected =
        format!("mdadm: /dev/md0 has been started with {count} drives.\n             State : clean \n{mismatches}");
    assert_eq!(printed, expected.trim_end_matches('\n'));
    assert_eq!(stage.complaints(), Vec::<String>::new());
}

/// Adds files to the file system, and copies the content to `content`.
pub(crate) fn kernel_changes(stage: &mut Stage) {
    put_files(stage, 2);
    stage.kernel(&format!(
        "{ASSEMBLE}
         {COPY_FILES}
         dd if=/dev/md0 of=content bs=1M status=none
         mdadm --stop --quiet /dev/md0",
    ));
}

/// Creates the array, and writes a file system with files to it.
pub(crate) fn shoal_creates(shape: &Shape, stage: &mut Stage) {
    let created = stage.json(&format!("create {} DRIVES", shape.options()));
    put_files(stage, 1);
    let content = File::create(stage.path("content")).unwrap();
    content.set_len(created["capacity_bytes"].as_u64().unwrap()).unwrap();
    // The block size that the kernel would choose by itself for such an array: none smaller than
    // the drives'.
    let block_bytes = shape.block_bytes.max(1024);
    stage.tool(&format!("mkfs.ext4 -q -F -b {block_bytes} content"));
    add_files(stage);
    stage.shoal("write DRIVES", Some("content"), None);
}

/// Finds the array whole and clean, and every byte as it should be.
pub(crate) fn shoal_agrees(shape: &Shape, stage: &mut Stage) {
    shoal_finds_it_clean(stage);
    stage.shoal("read DRIVES", None, Some("read"));
    stage.assert_same("read", "content");
    if shape.has_redundancy() {
        let scrub = stage.json("scrub DRIVES");
        assert_eq!((&scrub["complete"], &scrub["mismatched_bytes"]), (&true.into(), &0.into()), "{scrub}");
    }
}

/// Finds the array whole and clean.
pub(crate) fn shoal_finds_it_clean(stage: &mut Stage) {
    let status = stage.json("status DRIVES");
    assert_eq!((&status["health"], &status["needs_resync"]), (&"optimal".into(), &false.into()), "{status}");
}

/// Adds files to the file system in `content`, and writes what that changed to the array.
pub(crate) fn shoal_changes(stage: &mut Stage) {
    put_files(stage, 2);
    let before = stage.bytes("content");
    add_files(stage);
    let after = stage.bytes("content");
    for (start, end) in changed_runs(&before, &after) {
        std::fs::write(stage.path("run"), &after[start..end]).unwrap();
        stage.shoal(&format!("write --force --offset {start} DRIVES"), Some("run"), None);
    }
}

/// Does not write to an array that it may only read, and says why.
pub(crate) fn shoal_refuses_to_write(stage: &Stage) {
    stage.refused("write --force DRIVES", &["0.90"]);
}

fn put_files(stage: &Stage, round: u64) {
    for (number, length) in FILES {
        std::fs::write(stage.path(&format!("file{round}{number}")), pattern(length, round * 10 + number)).unwrap();
    }
}

/// Puts the files of all rounds into the file system in `content`, replacing what is there.
fn add_files(stage: &Stage) {
    let names = [1, 2].into_iter().flat_map(|round| FILES.map(|(number, _)| format!("file{round}{number}")));
    let script: String = names
        .filter(|name| stage.path(name).exists())
        .map(|name| format!("rm {name}\nwrite {name} {name}\n"))
        .collect();
    std::fs::write(stage.path("commands"), script).unwrap();
    stage.tool("debugfs -w -f commands content");
}

/// Runs of bytes that differ. Found in blocks, which are compared at once, and then to the byte.
fn changed_runs(before: &[u8], after: &[u8]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let blocks = before.chunks(BLOCK_BYTES).zip(after.chunks(BLOCK_BYTES)).enumerate();
    for (number, (_, block)) in blocks.filter(|(_, (before, after))| before != after) {
        let at = number * BLOCK_BYTES;
        match runs.last_mut() {
            Some((_, end)) if at - *end < GAP_BYTES => *end = at + block.len(),
            _ => runs.push((at, at + block.len())),
        }
    }
    for (start, end) in &mut runs {
        *start += (*start..*end).take_while(|&at| before[at] == after[at]).count();
        *end -= (*start..*end).rev().take_while(|&at| before[at] == after[at]).count();
    }
    runs
}
