//! RAID5 with a partial parity log, killed in the middle of writing by one side, and started by the
//! other.
//!
//! The array holds one content, flushed, and is being filled with another when its writer is
//! killed. Then every block has to be of the one or of the other; parity has to agree without a
//! resync; and without one of the drives, which is lost at the same time, only blocks of that drive
//! that were being written may be anything.
//!
//! A cut may also fall between the superblocks that call the array active and the first entry of a
//! log, or tear a log's write. Then either side resyncs a whole array. That is rare, and counted:
//! it must stay so.
//!
//! `SHOAL_CUTS=N` does N cuts of each kind.

use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::process::Stdio;
use std::time::Duration;

use shoal_lab::Lab;
use shoal_volume::{Superblock, read_superblock};

use crate::support::pattern;
use crate::support::stage::Stage;

const MEMBERS: usize = 4;
const MEMBER_BYTES: u64 = 12 << 20;
const CHUNK_BYTES: usize = 64 << 10;
const BLOCK_BYTES: usize = 4096;
/// Writers in the kernel, each with one block under way.
const WRITERS: usize = 4;

/// How an array came back.
struct After {
    content: Vec<u8>,
    lost: Option<usize>,
    /// Its logs did not do.
    resynced: bool,
}

/// What came of all cuts.
#[derive(Default)]
struct Tally {
    cuts: usize,
    /// They met a write under way.
    cut_short: usize,
    resynced: usize,
}

impl Tally {
    fn count(&mut self, cut_short: bool, after: &After) {
        self.cuts += 1;
        self.cut_short += usize::from(cut_short);
        self.resynced += usize::from(after.resynced);
    }

    fn judge(&self) {
        let Self { cuts, cut_short, resynced } = self;
        assert!(*cut_short > 0, "no cut of {cuts} met a write under way");
        assert!(3 * resynced <= *cuts, "{resynced} of {cuts} cuts were followed by a resync");
    }
}

#[test]
fn needs_kernel_killed_while_it_writes_and_shoal_replays_its_log() {
    let Some(mut stage) = a_stage("the kernel's log") else { return };
    let mut tally = Tally::default();
    for cut in 0..cuts() {
        let lost = lost_drive(cut);
        stage.set(&[MEMBER_BYTES; MEMBERS], 512);
        stage.kernel(&format!(
            "mdadm --create /dev/md0 --run --quiet --metadata 1.2 --assume-clean --consistency-policy ppl --level 5 \
             --chunk 64 --raid-devices {MEMBERS} $DRIVES
             blockdev --getsize64 /dev/md0 >size
             mdadm --stop --quiet /dev/md0"
        ));
        let size = std::fs::read_to_string(stage.path("size")).unwrap().trim().parse().unwrap();
        put_contents(&stage, size);
        kill_the_kernel_in_mid_write(&mut stage, cut);
        let after = shoal_recovers(&mut stage, lost);
        tally.count(check(&stage, &after, WRITERS).len() < size, &after);
    }
    tally.judge();
}

#[test]
fn needs_kernel_shoal_killed_while_it_writes_and_the_kernel_replays_its_log() {
    let Some(mut stage) = a_stage("shoal's log") else { return };
    let mut tally = Tally::default();
    for cut in 0..cuts() {
        let lost = lost_drive(cut);
        stage.set(&[MEMBER_BYTES; MEMBERS], 512);
        let line = format!("create --level 5 --chunk 64K --consistency-policy ppl --assume-clean {}", stage.drives());
        let size = usize::try_from(stage.json(&line)["capacity_bytes"].as_u64().unwrap()).unwrap();
        put_contents(&stage, size);
        stage.shoal(&format!("write {}", stage.drives()), Some("one"), None);
        kill_shoal_in_mid_write(&stage, cut);
        let after = kernel_recovers(&mut stage, lost);
        // What is under way are the program's requests, each much longer than a stripe.
        tally.count(check(&stage, &after, usize::MAX).len() < size, &after);
    }
    tally.judge();
}

/// Where a resync had not been, parity is wrong, and no log tells where. The kernel goes on from
/// there all the same.
#[test]
fn needs_kernel_shoal_killed_while_it_resyncs_and_the_kernel_goes_on() {
    let Some(mut stage) = a_stage("shoal's resync") else { return };
    stage.set(&[MEMBER_BYTES; MEMBERS], 512);
    let line = format!("create --level 5 --chunk 64K --consistency-policy ppl --assume-clean {}", stage.drives());
    let size = usize::try_from(stage.json(&line)["capacity_bytes"].as_u64().unwrap()).unwrap();
    put_contents(&stage, size);
    stage.shoal(&format!("write {}", stage.drives()), Some("one"), None);
    let rows = size / CHUNK_BYTES / (MEMBERS - 1);
    for (number, drive) in stage.drives().split(' ').enumerate() {
        let mut own = superblock(&stage, drive);
        own.resync_offset_sectors = 8;
        stage.poke(drive, own.super_offset_bytes(), own.encode().as_slice());
        let has_parity = |row: &usize| MEMBERS - 1 - row % MEMBERS == number;
        for row in (rows - 16..rows).filter(has_parity) {
            stage.poke(drive, own.data_offset_bytes() + (row * CHUNK_BYTES) as u64, &[0xee; CHUNK_BYTES]);
        }
    }
    kill_shoal_in_mid_write(&stage, 0);
    let drives = stage.drives();
    let said: Vec<_> = drives.split(' ').map(|drive| superblock(&stage, drive)).collect();
    assert!(said.iter().all(|own| !own.is_clean() && own.resync_offset_sectors > 0), "{said:?}");
    let after = kernel_recovers(&mut stage, None);
    check(&stage, &after, usize::MAX);
}

fn superblock(stage: &Stage, drive: &str) -> Superblock {
    let member = std::fs::File::open(stage.path(drive)).unwrap();
    read_superblock(MEMBER_BYTES, |offset, bytes| member.read_exact_at(bytes, offset)).unwrap()
}

fn a_stage(what: &str) -> Option<Stage> {
    let lab = Lab::find().map_err(|missing| eprintln!("SKIPPED: {what} after a kill: needs {missing}")).ok()?;
    Some(Stage::new(&lab))
}

fn cuts() -> usize {
    std::env::var("SHOAL_CUTS").map_or(6, |text| text.parse().expect("SHOAL_CUTS is a number"))
}

/// Every other time a drive is lost together with the power.
fn lost_drive(cut: usize) -> Option<usize> {
    (cut % 2 == 1).then_some(cut / 2 % MEMBERS)
}

fn put_contents(stage: &Stage, size: usize) {
    std::fs::write(stage.path("one"), pattern(size, 1)).unwrap();
    std::fs::write(stage.path("two"), pattern(size, 2)).unwrap();
}

fn kill_the_kernel_in_mid_write(stage: &mut Stage, cut: usize) {
    let drives = stage.drives();
    // Each writer has a quarter of the array to itself, block by block.
    let guest = stage.guest();
    let script = format!(
        "attach_all 512 {drives}
         mdadm --assemble --quiet /dev/md0 $DRIVES
         dd if=one of=/dev/md0 bs=1M oflag=direct status=none
         sync
         count=$(( $(cat size) / {BLOCK_BYTES} / {WRITERS} ))
         for writer in $(seq 0 {last}); do
             dd if=two of=/dev/md0 bs={BLOCK_BYTES} count=$count skip=$((writer * count)) seek=$((writer * count)) \
                 oflag=direct conv=notrunc status=none &
         done
         echo writing
         wait",
        last = WRITERS - 1
    );
    guest.start(&script).unwrap();
    while guest.next_line().unwrap() != "writing" {}
    std::thread::sleep(Duration::from_millis(150 + 130 * cut as u64 % 700));
    stage.cut_power();
}

fn kill_shoal_in_mid_write(stage: &Stage, cut: usize) {
    let mut command = stage.shoal_command(&format!("write {}", stage.drives()));
    command.stdin(std::fs::File::open(stage.path("two")).unwrap()).stderr(Stdio::null());
    let mut writer = command.spawn().unwrap();
    // How far it has read its input says how far it is.
    let place = format!("/proc/{}/fdinfo/0", writer.id());
    let wanted = (12 + 3 * cut % 13) << 20;
    let position = || {
        let info = std::fs::read_to_string(&place).unwrap_or_default();
        info.lines().find_map(|line| line.strip_prefix("pos:")?.trim().parse::<usize>().ok()).unwrap_or(usize::MAX)
    };
    while position() < wanted {
        std::thread::yield_now();
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
}

/// The drives that are left, as shoal or the kernel is given them.
fn left(stage: &Stage, lost: Option<usize>) -> String {
    let drives = stage.drives();
    let left = drives.split(' ').enumerate().filter(|(number, _)| Some(*number) != lost);
    left.map(|(_, drive)| drive).collect::<Vec<_>>().join(" ")
}

/// Opens the array for writing, by which the log is replayed; reads it, and finds it in order.
fn shoal_recovers(stage: &mut Stage, lost: Option<usize>) -> After {
    let drives = left(stage, lost);
    std::fs::write(stage.path("nothing"), "").unwrap();
    stage.shoal(&format!("write --degraded {drives}"), Some("nothing"), None);
    stage.shoal(&format!("read {drives}"), None, Some("read"));
    let status = stage.json(&format!("status {drives}"));
    let health = if lost.is_some() { "degraded" } else { "optimal" };
    assert_eq!(status["health"], health, "{status}");
    let resynced = status["needs_resync"] == true;
    assert!(lost.is_none() || !resynced, "nothing can be resynced without a drive: {status}");
    if lost.is_none() {
        if resynced {
            stage.shoal(&format!("rebuild {drives}"), None, None);
        }
        let scrub = stage.json(&format!("scrub {drives}"));
        assert_eq!((&scrub["complete"], &scrub["mismatched_bytes"]), (&true.into(), &0.into()), "{scrub}");
    }
    After { content: std::fs::read(stage.path("read")).unwrap(), lost, resynced }
}

/// Assembles the array, by which the log is replayed; reads it, and finds it in order.
fn kernel_recovers(stage: &mut Stage, lost: Option<usize>) -> After {
    let present = left(stage, lost);
    let guest = stage.guest();
    let whole = if lost.is_none() { "echo mismatches $(check md0)" } else { "echo mismatches 0" };
    let printed = guest.done(&format!(
        "dmesg --clear
         attach_all 512 {present}
         mdadm --assemble --quiet --run /dev/md0 $DRIVES
         cat /sys/block/md0/md/sync_action
         dd if=/dev/md0 of=read bs=1M status=none
         {whole}
         mdadm --detail /dev/md0 | grep -E 'State :|Consistency'
         mdadm --stop --quiet /dev/md0
         detach"
    ));
    let printed = printed.unwrap_or_else(|error| panic!("{error}"));
    let state = if lost.is_some() { "clean, degraded" } else { "clean" };
    let (action, rest) = printed.split_once('\n').unwrap();
    assert!(action == "idle" || action == "resync" && lost.is_none(), "{printed}");
    assert_eq!(rest, format!("mismatches 0\n             State : {state} \nConsistency Policy : ppl"));
    After { content: std::fs::read(stage.path("read")).unwrap(), lost, resynced: action == "resync" }
}

/// Holds what is left against both contents. Gives the bytes between the first block that is not of
/// the second content and the last that is: where the writer was.
fn check(stage: &Stage, after: &After, lost_blocks_max: usize) -> Range<usize> {
    let [one, two] = ["one", "two"].map(|name| std::fs::read(stage.path(name)).unwrap());
    assert_eq!(after.content.len(), one.len());
    let blocks = after.content.len() / BLOCK_BYTES;
    let block = |bytes: &[u8], number: usize| bytes[number * BLOCK_BYTES..(number + 1) * BLOCK_BYTES].to_vec();
    let is = |bytes: &[u8], number: usize| block(bytes, number) == block(&after.content, number);
    let neither: Vec<usize> = (0..blocks).filter(|&number| !is(&one, number) && !is(&two, number)).collect();
    let elsewhere = neither.iter().find(|number| Some(drive_of(**number)) != after.lost);
    assert_eq!(elsewhere, None, "with {:?} lost, this block is of neither content", after.lost);
    assert!(neither.len() <= lost_blocks_max, "{} blocks of the lost drive are of neither content", neither.len());
    let first = (0..blocks).find(|&number| !is(&two, number)).unwrap_or(blocks);
    let last = (0..blocks).rfind(|&number| is(&two, number)).unwrap_or(0);
    println!("{:?} lost: written {first} to {last} of {blocks} blocks, {} of neither", after.lost, neither.len());
    first * BLOCK_BYTES..(last + 1).max(first) * BLOCK_BYTES
}

/// The drive that holds a block, in md's default layout.
fn drive_of(block: usize) -> usize {
    let chunk = block * BLOCK_BYTES / CHUNK_BYTES;
    let (row, index) = (chunk / (MEMBERS - 1), chunk % (MEMBERS - 1));
    (MEMBERS - 1 - row % MEMBERS + 1 + index) % MEMBERS
}
