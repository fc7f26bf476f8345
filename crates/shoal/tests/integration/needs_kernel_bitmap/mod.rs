//! Write-intent bitmaps, kept by one side and relied on by the other: shoal and Linux's own md.
//!
//! What proves that a bitmap was followed is damage that nobody told of: a block of one member is
//! changed behind everybody's back. Where bits are clear it stays, and a check finds it; where bits
//! are set it is gone.

mod array;

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

use shoal_lab::Lab;
use shoal_volume::ScrubMode;

use crate::support::pattern;
use crate::support::stage::Stage;
use array::Running;

const MIB: u64 = 1 << 20;
/// Where the test arrays' members have their data.
const DATA_OFFSET: u64 = MIB;
/// What one bit stands for.
const CHUNK_KIB: u64 = 64;

/// Level and number of members.
const LEVELS: [(&str, usize); 4] = [("1", 2), ("5", 3), ("6", 4), ("10", 4)];

fn stage(what: &str) -> Option<Stage> {
    match Lab::find() {
        Ok(lab) => Some(Stage::new(&lab)),
        Err(missing) => {
            eprintln!("SKIPPED: {what}: needs {missing}");
            None
        }
    }
}

/// Changes 4 KiB of a member's data.
fn damage(stage: &Stage, drive: usize, offset: u64) {
    let file = OpenOptions::new().read(true).write(true).open(stage.path(&format!("d{drive}"))).unwrap();
    let mut bytes = [0; 4096];
    file.read_exact_at(&mut bytes, DATA_OFFSET + offset).unwrap();
    bytes.iter_mut().for_each(|byte| *byte ^= 0x5a);
    file.write_all_at(&bytes, DATA_OFFSET + offset).unwrap();
}

/// Has the kernel make an array with a bitmap, write all of it, and wait until all bits are clear.
fn kernel_creates(stage: &mut Stage, level: &str, count: usize) {
    stage.set(&vec![10 * MIB; count], 512);
    std::fs::write(stage.path("content"), pattern(usize::try_from(9 * MIB).unwrap(), 1)).unwrap();
    let chunk = if level == "1" { "" } else { "--chunk 16" };
    stage.kernel(&format!(
        "mdadm --create /dev/md0 --run --quiet --level {level} {chunk} --raid-devices {count} \
             --bitmap internal --bitmap-chunk {CHUNK_KIB} --data-offset 1M $DRIVES
         settle md0
         size=$(blockdev --getsize64 /dev/md0)
         truncate -s $size content
         dd if=content of=/dev/md0 bs=1M conv=fsync status=none
         mdadm --stop --quiet /dev/md0",
    ));
}

/// Has shoal make one, with its content in `content`.
fn shoal_creates(stage: &mut Stage, level: &str, count: usize) {
    stage.set(&vec![10 * MIB; count], 512);
    let mut array = Running::create(stage, level, count, CHUNK_KIB << 10);
    let content = pattern(array.size(), 1);
    array.write(0, &content);
    std::fs::write(stage.path("content"), content).unwrap();
    array.close();
}

/// Writes new bytes at an offset of the content, by shoal.
fn shoal_writes(stage: &Stage, array: &mut Running, offset: u64, length: usize) {
    let bytes = pattern(length, offset);
    array.write(offset, &bytes);
    let content = OpenOptions::new().write(true).open(stage.path("content")).unwrap();
    content.write_all_at(&bytes, offset).unwrap();
}

/// The shell's words for the same, by the kernel. `offset` is in KiB.
fn kernel_writes(stage: &Stage, offset_kib: u64, length: usize) -> String {
    let name = format!("new{offset_kib}");
    std::fs::write(stage.path(&name), pattern(length, offset_kib)).unwrap();
    let to = |file: &str| format!("dd if={name} of={file} bs=1K seek={offset_kib} conv=notrunc,fsync status=none");
    format!("{}\n{}", to("/dev/md0"), to("content"))
}

/// mdadm finds nothing wrong with what shoal wrote, and the kernel takes it as it is.
#[test]
fn needs_kernel_takes_a_bitmap_of_shoals() {
    let Some(mut stage) = stage("a bitmap of shoal's") else { return };
    for (level, count) in LEVELS {
        shoal_creates(&mut stage, level, count);
        let printed = stage.kernel(
            "mdadm --assemble /dev/md0 $DRIVES
             for drive in $DRIVES; do mdadm --examine-bitmap $drive; done | grep -E 'State|dirty'
             cmp /dev/md0 content
             echo mismatches $(check md0)
             mdadm --stop --quiet /dev/md0",
        );
        assert_eq!(printed.matches("State : OK").count(), count, "raid{level}: {printed}");
        assert_eq!(printed.matches(" 0 dirty (0.0%)").count(), count, "raid{level}: {printed}");
        assert!(printed.ends_with("mismatches 0"), "raid{level}: {printed}");
        assert_eq!(stage.complaints(), Vec::<String>::new(), "raid{level}");
    }
}

/// A member that missed what shoal wrote is re-added by the kernel, which copies nothing else.
#[test]
fn needs_kernel_re_adds_by_a_bitmap_of_shoals() {
    let Some(mut stage) = stage("re-adding by a bitmap of shoal's") else { return };
    for (level, count) in LEVELS {
        shoal_creates(&mut stage, level, count);
        let mut array = Running::open(&stage, 0..count);
        array.fail(1);
        shoal_writes(&stage, &mut array, 300 << 10, 5_000);
        shoal_writes(&stage, &mut array, 2 * MIB, 70_000);
        array.close();
        damage(&stage, 1, 6 * MIB);
        let printed = stage.kernel(
            "set -- $DRIVES; back=$2
             mdadm --assemble --quiet --run /dev/md0 $(echo $DRIVES | sed \"s,$back,,\")
             mdadm /dev/md0 --re-add $back
             settle md0
             mdadm --detail /dev/md0 | grep 'State :'
             echo mismatches $(check md0)
             echo repair >/sys/block/md0/md/sync_action; settle md0
             mdadm --stop --quiet /dev/md0",
        );
        assert!(printed.contains("re-added") && printed.contains("State : clean \n"), "raid{level}: {printed}");
        // The damage, in a chunk that nobody wrote to, is there still, and nothing else. Mirrors
        // are compared in pieces of up to 64 KiB, and one that differs counts as a whole.
        let sectors: u64 = printed.rsplit(' ').next().unwrap().parse().unwrap();
        assert!((8..=128).contains(&sectors), "raid{level}: {printed}");
    }
}

/// A member that missed what the kernel wrote is re-added by shoal, which copies nothing else.
#[test]
fn needs_kernel_whose_bitmap_shoal_re_adds_by() {
    let Some(mut stage) = stage("re-adding by a bitmap of the kernel's") else { return };
    for (level, count) in LEVELS {
        kernel_creates(&mut stage, level, count);
        let writes = [kernel_writes(&stage, 300, 5_000), kernel_writes(&stage, 2048, 70_000)].join("\n");
        stage.kernel(&format!(
            "mdadm --assemble --quiet /dev/md0 $DRIVES
             set -- $DRIVES
             mdadm --quiet /dev/md0 --fail $2
             mdadm --quiet /dev/md0 --remove $2
             {writes}
             mdadm --stop --quiet /dev/md0"
        ));
        damage(&stage, 1, 6 * MIB);
        let mut array = Running::open_with(&stage, (0..count).filter(|drive| *drive != 1), 1);
        array.re_add(1);
        assert_eq!(array.mismatched_bytes(ScrubMode::Check), 4096, "raid{level}");
        array.mismatched_bytes(ScrubMode::Repair);
        array.close();
        let printed = stage.kernel(
            "mdadm --assemble /dev/md0 $DRIVES
             for drive in $DRIVES; do mdadm --examine-bitmap $drive; done | grep -E 'State|dirty'
             echo mismatches $(check md0)
             mdadm --stop --quiet /dev/md0",
        );
        assert_eq!(printed.matches(" 0 dirty (0.0%)").count(), count, "raid{level}: {printed}");
        assert!(printed.ends_with("mismatches 0"), "raid{level}: {printed}");
        assert_eq!(stage.complaints(), Vec::<String>::new(), "raid{level}");
    }
}
