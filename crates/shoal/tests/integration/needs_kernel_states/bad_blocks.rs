//! Lists of bad blocks: honoured, kept, and shortened by writes.

use crate::needs_kernel_states::arrays::{Array, shoal_finds_it_whole, shoal_reads, shoal_writes};
use crate::needs_kernel_states::members::{device, kernel_finds_it_whole};
use crate::support::stage::Stage;

/// Sectors of a member, from its start: somewhat after its data begin, out of the way of
/// `shoal_writes` with seed 1.
const BAD: &str = "8192 64";

/// The kernel notes bad blocks of a member, with the superblocks of the next write. shoal reads
/// around them, keeps the list, and clears it by writing.
pub(crate) fn kernel_leaves_bad_blocks(array: Array, stage: &mut Stage) -> &'static str {
    array.kernel_creates(stage, "", array.members);
    stage.kernel(&format!(
        "mdadm --assemble --quiet /dev/md0 $DRIVES
         echo {BAD} >/sys/block/md0/md/dev-loop1/bad_blocks
         dd if=content of=/dev/md0 bs=64K count=1 oflag=direct conv=notrunc status=none
         mdadm --stop --quiet /dev/md0
         mdadm --examine-badblocks {} | grep -q '8192 for 64 sectors'",
        device(1)
    ));
    // What the list names is not looked at.
    stage.poke("d1", 8192 * 512, &[0x5a; 64 * 512]);
    shoal_reads(stage, "DRIVES");
    shoal_writes(stage, "DRIVES", 1);
    shoal_reads(stage, "DRIVES");
    assert_eq!(bad_blocks(stage), "8192 64");
    stage.shoal("write DRIVES", Some("content"), None);
    assert_eq!(bad_blocks(stage), "");
    shoal_finds_it_whole(stage, "DRIVES");
    kernel_finds_it_whole(array, stage);
    "honoured, kept, cleared by writing"
}

/// The list as the kernel has it.
fn bad_blocks(stage: &mut Stage) -> String {
    stage.kernel(
        "mdadm --assemble --quiet --readonly /dev/md0 $DRIVES
         cat /sys/block/md0/md/dev-loop1/bad_blocks
         mdadm --stop --quiet /dev/md0",
    )
}
