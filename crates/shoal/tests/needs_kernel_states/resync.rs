//! Resyncs that are interrupted, and go on from their checkpoint.

use crate::arrays::{Array, KERNEL_FINDS_IT_IN_SYNC, LARGE_BYTES, MEMBER_BYTES, interrupted, shoal_finds_it_whole};
use crate::members::kernel_finds_it_whole;
use crate::stage::Stage;
use crate::support::{names, pattern};

/// Where the kernel stops: a multiple of everything, below half of what any of the arrays resyncs.
const PAUSE_SECTORS: u64 = 16384;

/// The kernel stops in the middle of the first resync; shoal goes on at the checkpoint.
pub(crate) fn kernel_leaves_it_resyncing(array: Array, stage: &mut Stage) -> &'static str {
    stage.set(&vec![MEMBER_BYTES; array.members], 512);
    std::fs::write(stage.path("noise"), pattern(array.members * MEMBER_BYTES as usize, 1)).unwrap();
    // With --force, level 5 is resynced as the others are, instead of having its last member rebuilt.
    let printed = stage.kernel(&format!(
        "cd /proc/sys/dev/raid
         echo 1 >speed_limit_min
         echo 1 >speed_limit_max
         mdadm --create /dev/md0 --run --quiet --force {} --raid-devices {} $DRIVES
         echo {PAUSE_SECTORS} >/sys/block/md0/md/sync_max
         echo 2000000 >speed_limit_max
         echo 2000000 >speed_limit_min
         cd - >/dev/null
         until [ \"$(synced md0)\" = {PAUSE_SECTORS} ]; do sleep 0.02; done
         head -c $(blockdev --getsize64 /dev/md0) noise >content
         dd if=content of=/dev/md0 bs=1M oflag=direct status=none
         mdadm --stop --quiet /dev/md0
         mdadm --examine $DRIVES | sed -n 's/ *Resync Offset : //p' | uniq",
        array.options, array.members
    ));
    assert_eq!(printed, format!("{PAUSE_SECTORS} sectors"));
    assert_eq!(stage.json("status DRIVES")["needs_resync"], true);
    stage.shoal("rebuild DRIVES", None, None);
    shoal_finds_it_whole(stage, "DRIVES");
    kernel_finds_it_whole(array, stage);
    "goes on from there"
}

/// The same, the other way round. Members are large, so that there is time to interrupt.
pub(crate) fn shoal_leaves_it_resyncing(array: Array, stage: &mut Stage) -> &'static str {
    stage.set(&vec![LARGE_BYTES; array.members], 512);
    let create = format!("create --force {} {}", array.options, names(0..array.members));
    interrupted(stage, &create, |stage| stage.json("status DRIVES")["needs_resync"] == true);
    let printed = stage.kernel(&format!(
        "mdadm --examine $DRIVES | sed -n 's/ *Resync Offset : //p' | uniq
         mdadm --assemble --quiet /dev/md0 $DRIVES
         {KERNEL_FINDS_IT_IN_SYNC}
         dmesg --notime | grep -c 'resuming resync of md0 from checkpoint'
         mdadm --stop --quiet /dev/md0",
    ));
    let (offset, rest) = printed.split_once(" sectors\n").unwrap();
    assert!(offset.parse::<u64>().unwrap() > 0, "{printed}");
    assert_eq!(rest, "             State : clean \n1");
    let status = stage.json("status DRIVES");
    assert_eq!((&status["health"], &status["needs_resync"]), (&"optimal".into(), &false.into()), "{status}");
    "goes on from there"
}
