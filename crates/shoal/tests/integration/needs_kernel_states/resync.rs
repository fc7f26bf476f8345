//! Resyncs that are interrupted, and go on from their checkpoint.

use crate::needs_kernel_states::arrays::{
    Array, KERNEL_FINDS_IT_IN_SYNC, LARGE_BYTES, MEMBER_BYTES, interrupted, shoal_finds_it_whole,
};
use crate::needs_kernel_states::members::kernel_finds_it_whole;
use crate::support::stage::Stage;
use crate::support::{names, pattern};

/// Where the kernel stops: a multiple of everything, below half of what any of the arrays resyncs.
const PAUSE_SECTORS: u64 = 16384;

/// The kernel stops in the middle of the first resync; shoal goes on at the checkpoint.
pub(crate) fn kernel_leaves_it_resyncing(array: Array, stage: &mut Stage) -> &'static str {
    stage.set(&vec![MEMBER_BYTES; array.members], 512);
    std::fs::write(stage.path("noise"), pattern(array.members * MEMBER_BYTES as usize, 1)).unwrap();
    // Its limit is set while the resync is frozen, as md refuses one below where a running resync
    // may already be; at the least speed it cannot have come that far. With --force, level 5 is
    // resynced as the others are, instead of having its last member rebuilt.
    stage.kernel(&format!(
        "echo 1 >/proc/sys/dev/raid/speed_limit_min
         echo 1 >/proc/sys/dev/raid/speed_limit_max
         mdadm --create /dev/md0 --run --quiet --force {} --raid-devices {} $DRIVES
         echo frozen >/sys/block/md0/md/sync_action
         echo {PAUSE_SECTORS} >/sys/block/md0/md/sync_max
         echo 2000000 >/proc/sys/dev/raid/speed_limit_max
         echo 2000000 >/proc/sys/dev/raid/speed_limit_min
         echo idle >/sys/block/md0/md/sync_action
         until [ \"$(synced md0)\" = {PAUSE_SECTORS} ]; do sleep 0.02; done
         head -c $(blockdev --getsize64 /dev/md0) noise >content
         dd if=content of=/dev/md0 bs=1M oflag=direct status=none
         mdadm --stop --quiet /dev/md0",
        array.options, array.members
    ));
    assert_eq!(checkpoint_sectors(stage), PAUSE_SECTORS);
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
    interrupted(stage, &create, |stage| (1..u64::MAX).contains(&checkpoint_sectors(stage)));
    let printed = stage.kernel(&format!(
        "mdadm --assemble --quiet /dev/md0 $DRIVES
         {KERNEL_FINDS_IT_IN_SYNC}
         dmesg --notime | grep -c 'resync of RAID array md0'
         mdadm --stop --quiet /dev/md0",
    ));
    assert_eq!(printed, "1");
    let status = stage.json("status DRIVES");
    assert_eq!((&status["health"], &status["needs_resync"]), (&"optimal".into(), &false.into()), "{status}");
    "goes on from there"
}

/// What the first member's superblock says of the resync: where it is to go on, or that there is
/// none.
fn checkpoint_sectors(stage: &Stage) -> u64 {
    let field = stage.peek("d0", 4096 + 208, 8);
    u64::from_le_bytes(field.try_into().unwrap())
}
