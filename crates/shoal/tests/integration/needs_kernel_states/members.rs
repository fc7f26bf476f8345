//! Members that fail, come late, are being rebuilt or wait.

use crate::needs_kernel_states::arrays::{
    Array, KERNEL_FINDS_IT_IN_SYNC, LARGE_BYTES, interrupted, kernel_writes, shoal_finds_it_whole, shoal_reads,
    shoal_writes,
};
use crate::support::names;
use crate::support::stage::{Stage, name};

/// The device of drive `number`, in a script of the kernel's.
pub(crate) fn device(number: usize) -> String {
    format!("$(echo $DRIVES | cut -d ' ' -f {})", number + 1)
}

/// A member fails while the array is written. The other side leaves it out, goes on without it, and
/// takes it as new.
pub(crate) fn kernel_leaves_it_degraded(array: Array, stage: &mut Stage) -> &'static str {
    array.kernel_creates(stage, "", array.members);
    let change = kernel_writes(stage, 2);
    stage.kernel(&format!(
        "mdadm --assemble --quiet /dev/md0 $DRIVES
         mdadm --fail --quiet /dev/md0 {}
         {change}
         mdadm --stop --quiet /dev/md0",
        device(1)
    ));
    let status = stage.json("status DRIVES");
    assert_eq!(status["health"], "degraded", "{status}");
    assert_eq!(name(status["left_out"][0]["drive"].as_str().unwrap()), "d1", "{status}");
    shoal_reads(stage, "DRIVES");
    shoal_writes(stage, "DRIVES", 3);
    let left = names((0..array.members).filter(|&number| number != 1));
    stage.shoal(&format!("add --force --drive d1 {left}"), None, None);
    shoal_finds_it_whole(stage, "DRIVES");
    kernel_finds_it_whole(array, stage);
    "goes on without it; it is taken as new"
}

/// The same, the other way round.
pub(crate) fn shoal_leaves_it_degraded(array: Array, stage: &mut Stage) -> &'static str {
    array.shoal_creates(stage, "", array.members);
    stage.shoal("fail --member d1 DRIVES", None, None);
    let left = names((0..array.members).filter(|&number| number != 1));
    shoal_writes(stage, &left, 2);
    let change = kernel_writes(stage, 3);
    let printed = stage.kernel(&format!(
        "mdadm --assemble --run /dev/md0 $DRIVES 2>&1 | tail -n 1
         cmp /dev/md0 content
         {change}
         mdadm --zero-superblock {stale}
         mdadm --add --quiet /dev/md0 {stale}
         {KERNEL_FINDS_IT_IN_SYNC}
         cmp /dev/md0 content
         mdadm --stop --quiet /dev/md0",
        stale = device(1)
    ));
    let count = array.members;
    let started = format!("mdadm: /dev/md0 has been started with {} drives (out of {count}).", count - 1);
    assert!(printed.starts_with(&started), "{printed}");
    shoal_finds_it_whole(stage, "DRIVES");
    "goes on without it; it is taken as new"
}

/// The kernel stops in the middle of filling a new member; shoal goes on at that position.
pub(crate) fn kernel_leaves_it_rebuilding(array: Array, stage: &mut Stage) -> &'static str {
    array.kernel_creates(stage, "", array.members);
    stage.add(crate::needs_kernel_states::arrays::MEMBER_BYTES);
    let left: Vec<_> = (0..array.members).filter(|&number| number != 1).map(device).collect();
    let position = stage.kernel(&format!(
        "mdadm --assemble --quiet --run /dev/md0 {left}
         cd /sys/block/md0/md
         echo {PAUSE_SECTORS} >sync_max
         mdadm --add --quiet /dev/md0 {new}
         until [ \"$(synced md0)\" = {PAUSE_SECTORS} ]; do sleep 0.02; done
         mdadm --stop --quiet /dev/md0
         mdadm --examine {new} | sed -n 's/ *Recovery Offset : //p'",
        left = left.join(" "),
        new = device(array.members),
    ));
    assert_eq!(position, format!("{PAUSE_SECTORS} sectors"));
    let drives = names((0..=array.members).filter(|&number| number != 1));
    let status = stage.json(&format!("status {drives}"));
    assert_eq!(status["members"][1]["state"], "rebuilding", "{status}");
    assert_eq!(status["members"][1]["rebuilt_bytes"], PAUSE_SECTORS * 512, "{status}");
    shoal_reads(stage, &drives);
    stage.shoal(&format!("rebuild {drives}"), None, None);
    shoal_finds_it_whole(stage, &drives);
    "goes on from there"
}

/// A multiple of the chunk, and somewhat below half a member.
const PAUSE_SECTORS: u64 = 16384;

/// The same, the other way round. Members are large, so that there is time to interrupt.
pub(crate) fn shoal_leaves_it_rebuilding(array: Array, stage: &mut Stage) -> &'static str {
    stage.set(&vec![LARGE_BYTES; array.members + 1], 512);
    let first = names(0..array.members);
    stage.shoal(&format!("create --assume-clean {} {first}", array.options), None, None);
    stage.shoal(&format!("fail --member d1 {first}"), None, None);
    let left = names((0..array.members).filter(|&number| number != 1));
    let new = array.members;
    let drives = format!("{left} d{new}");
    let position = |stage: &mut Stage| stage.json(&format!("status {drives}"))["members"][1]["rebuilt_bytes"].as_u64();
    stage.shoal(&format!("add --no-rebuild --drive d{new} {left}"), None, None);
    interrupted(stage, &format!("rebuild {drives}"), |stage| position(stage) != Some(0));
    let position = position(stage).expect("it was rebuilt before it could be interrupted");
    let attached: Vec<_> = (0..=array.members).filter(|&number| number != 1).map(device).collect();
    let printed = stage.kernel(&format!(
        "mdadm --examine {new} | sed -n 's/ *Recovery Offset : //p'
         mdadm --assemble --quiet --run /dev/md0 {attached}
         settle md0
         mdadm --detail /dev/md0 | grep 'State : '
         check md0
         dmesg --notime | grep 'recovery of RAID'
         mdadm --stop --quiet /dev/md0",
        new = device(new),
        attached = attached.join(" ")
    ));
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(
        lines,
        [&format!("{} sectors", position / 512), "             State : clean ", "0", "md: recovery of RAID array md0"]
    );
    let status = stage.json(&format!("status {drives}"));
    assert_eq!(status["health"], "optimal", "{status}");
    "goes on from there"
}

/// A spare takes the place of a member that fails.
pub(crate) fn kernel_leaves_a_spare(array: Array, stage: &mut Stage) -> &'static str {
    array.kernel_creates(stage, "--spare-devices 1", array.members + 1);
    let status = stage.json("status DRIVES");
    assert_eq!(name(status["spares"][0].as_str().unwrap()), format!("d{}", array.members), "{status}");
    stage.shoal("fail --member d0 DRIVES", None, None);
    shoal_writes(stage, "DRIVES", 2);
    stage.shoal("rebuild DRIVES", None, None);
    shoal_finds_it_whole(stage, "DRIVES");
    kernel_finds_them_whole(array, stage, 1..=array.members);
    "takes a failed member's place"
}

/// The same, the other way round.
pub(crate) fn shoal_leaves_a_spare(array: Array, stage: &mut Stage) -> &'static str {
    array.shoal_creates(stage, "--spares 1", array.members + 1);
    let change = kernel_writes(stage, 2);
    let printed = stage.kernel(&format!(
        "mdadm --assemble /dev/md0 $DRIVES
         mdadm --fail --quiet /dev/md0 {}
         {change}
         {KERNEL_FINDS_IT_IN_SYNC}
         cmp /dev/md0 content
         mdadm --stop --quiet /dev/md0",
        device(0)
    ));
    let started = format!("mdadm: /dev/md0 has been started with {} drives and 1 spare.", array.members);
    assert!(printed.starts_with(&started), "{printed}");
    shoal_finds_it_whole(stage, &names(1..=array.members));
    "takes a failed member's place"
}

fn started(members: usize) -> String {
    format!("mdadm: /dev/md0 has been started with {members} drives.")
}

/// The kernel finds all members in use, nothing to complain of, and every byte as it should be.
pub(crate) fn kernel_finds_it_whole(array: Array, stage: &mut Stage) {
    kernel_finds_them_whole(array, stage, 0..array.members);
}

/// The same of these drives.
pub(crate) fn kernel_finds_them_whole(array: Array, stage: &mut Stage, drives: impl Iterator<Item = usize>) {
    let devices: Vec<_> = drives.map(device).collect();
    let printed = stage.kernel(&format!(
        "mdadm --assemble /dev/md0 {}
         {KERNEL_FINDS_IT_IN_SYNC}
         cmp /dev/md0 content
         mdadm --stop --quiet /dev/md0",
        devices.join(" "),
    ));
    assert!(printed.starts_with(&started(array.members)), "{printed}");
    assert_eq!(stage.complaints(), Vec::<String>::new());
}
