//! RAID5 and RAID6 with a write journal, whose kernel is killed behind its last write: shoal
//! replays the journal, and the kernel takes the array and the journal back.
//!
//! In the journal's mode write-back the blocks written last are in the journal alone when the power
//! is cut, in mode write-through they are on the members too. All of them had been acknowledged, so
//! all have to be there.

use shoal_lab::Lab;

use crate::support::pattern;
use crate::support::stage::Stage;

const MEMBERS: usize = 4;
const DRIVE_BYTES: u64 = 16 << 20;
const BLOCK_BYTES: usize = 4096;
/// Blocks that are written last, and how far apart they are.
const LAST_WRITES: usize = 60;
const STEP: usize = 37;

/// A level, the journal's mode, and a member that is lost together with the power.
struct Story {
    level: u8,
    mode: &'static str,
    lost: Option<usize>,
}

#[test]
fn needs_kernel_killed_with_a_journal_and_shoal_replays_it() {
    let lab = Lab::find().map_err(|missing| eprintln!("SKIPPED: replaying the kernel's journal: needs {missing}"));
    let Ok(lab) = lab else { return };
    let mut stage = Stage::new(&lab);
    for story in [
        Story { level: 5, mode: "write-through", lost: None },
        Story { level: 5, mode: "write-back", lost: None },
        Story { level: 6, mode: "write-back", lost: None },
        Story { level: 5, mode: "write-back", lost: Some(1) },
        Story { level: 6, mode: "write-through", lost: Some(0) },
    ] {
        println!("RAID{}, {}, without {:?}", story.level, story.mode, story.lost);
        stage.set(&[DRIVE_BYTES; MEMBERS + 1], 512);
        kill_the_kernel(&mut stage, &story);
        shoal_replays(&mut stage, &story);
        if story.lost.is_none() {
            the_kernel_takes_it_back(&mut stage);
        }
    }
}

/// Fills the array, writes some blocks anew, and cuts the power. The content that is to be there is
/// in `expected`.
fn kill_the_kernel(stage: &mut Stage, story: &Story) {
    stage.kernel(&format!(
        "set -- $DRIVES
         mdadm --create /dev/md0 --run --quiet --metadata 1.2 --assume-clean --level {} --chunk 16 \
             --raid-devices {MEMBERS} --write-journal $5 $1 $2 $3 $4
         blockdev --getsize64 /dev/md0 >size
         mdadm --stop --quiet /dev/md0",
        story.level
    ));
    let size: usize = std::fs::read_to_string(stage.path("size")).unwrap().trim().parse().unwrap();
    let (mut expected, two) = (pattern(size, 1), pattern(size, 2));
    std::fs::write(stage.path("one"), &expected).unwrap();
    std::fs::write(stage.path("two"), &two).unwrap();
    std::fs::write(stage.path("three"), pattern(size, 3)).unwrap();
    for number in 0..LAST_WRITES {
        let block = number * STEP * BLOCK_BYTES..(number * STEP + 1) * BLOCK_BYTES;
        expected[block.clone()].copy_from_slice(&two[block]);
    }
    std::fs::write(stage.path("expected"), &expected).unwrap();
    let drives = stage.drives();
    let script = format!(
        "attach_all 512 {drives}
         mdadm --assemble --quiet /dev/md0 $DRIVES
         dd if=one of=/dev/md0 bs=1M oflag=direct status=none
         echo {} >/sys/block/md0/md/journal_mode
         for number in $(seq 0 {}); do
             place=$((number * {STEP}))
             dd if=two of=/dev/md0 bs={BLOCK_BYTES} count=1 skip=$place seek=$place oflag=direct conv=notrunc status=none
         done
         echo written
         sleep 60",
        story.mode,
        LAST_WRITES - 1
    );
    let guest = stage.guest();
    guest.start(&script).unwrap();
    while guest.next_line().unwrap() != "written" {}
    stage.cut_power();
}

fn shoal_replays(stage: &mut Stage, story: &Story) {
    let drives = stage.drives();
    let left = drives.split(' ').enumerate().filter(|(number, _)| Some(*number) != story.lost);
    let left = left.map(|(_, drive)| drive).collect::<Vec<_>>().join(" ");
    refuses_without_the_journal(stage, &left);
    if story.mode == "write-back" {
        let refused = stage.shoal_command(&format!("read {left}")).output().unwrap();
        let told = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && told.contains("open it for writing once"), "{told}");
    }
    std::fs::write(stage.path("nothing"), "").unwrap();
    stage.shoal(&format!("write --degraded {left}"), Some("nothing"), None);
    stage.shoal(&format!("read {left}"), None, Some("read"));
    stage.assert_same("read", "expected");
    // What is written now must not be undone by another replay.
    stage.shoal(&format!("write {left}"), Some("three"), None);
    stage.shoal(&format!("read {left}"), None, Some("read"));
    stage.assert_same("read", "three");
    if story.lost.is_none() {
        let scrub = stage.json(&format!("scrub {left}"));
        assert_eq!((&scrub["complete"], &scrub["mismatched_bytes"]), (&true.into(), &0.into()), "{scrub}");
    }
}

fn refuses_without_the_journal(stage: &Stage, drives: &str) {
    let members = drives.rsplit_once(' ').unwrap().0;
    let refused = stage.shoal_command(&format!("read {members}")).output().unwrap();
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && told.contains("its write journal is missing"), "{told}");
}

fn the_kernel_takes_it_back(stage: &mut Stage) {
    let printed = stage.kernel(
        "mdadm --assemble --quiet /dev/md0 $DRIVES
         cat /sys/block/md0/md/sync_action
         dd if=/dev/md0 of=read bs=1M status=none
         echo mismatches $(check md0)
         mdadm --detail /dev/md0 | grep -E 'State :|Consistency|journal'
         mdadm --stop --quiet /dev/md0",
    );
    for expected in ["idle", "mismatches 0", "State : clean", "Consistency Policy : journal", "journal   /dev/"] {
        assert!(printed.contains(expected), "{expected} not in\n{printed}");
    }
    assert_eq!(stage.complaints(), Vec::<String>::new());
    stage.assert_same("read", "three");
}
