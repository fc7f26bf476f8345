//! Members that are copied to another drive while they are still there.

use crate::needs_kernel_states::arrays::{Array, MEMBER_BYTES, shoal_finds_it_whole, shoal_reads, shoal_writes};
use crate::needs_kernel_states::members::{device, kernel_finds_them_whole};
use crate::support::names;
use crate::support::stage::Stage;

/// Where the kernel stops.
const PAUSE_SECTORS: u64 = 16384;

/// The kernel stops in the middle of the copy; shoal goes on, and the new drive takes the old one's
/// place.
pub(crate) fn kernel_leaves_it_replacing(array: Array, stage: &mut Stage) -> &'static str {
    array.kernel_creates(stage, "", array.members);
    stage.add(MEMBER_BYTES);
    let first: Vec<_> = (0..array.members).map(device).collect();
    stage.kernel(&format!(
        "mdadm --assemble --quiet /dev/md0 {}
         echo {PAUSE_SECTORS} >/sys/block/md0/md/sync_max
         mdadm --add --quiet /dev/md0 {new}
         mdadm --quiet /dev/md0 --replace {old} --with {new}
         until [ \"$(synced md0)\" = {PAUSE_SECTORS} ]; do sleep 0.02; done
         mdadm --stop --quiet /dev/md0
         mdadm --examine {new} | grep -q 'Feature Map : 0x12'",
        first.join(" "),
        old = device(1),
        new = device(array.members),
    ));
    shoal_reads(stage, "DRIVES");
    shoal_writes(stage, "DRIVES", 2);
    stage.shoal("rebuild DRIVES", None, None);
    let members = (0..=array.members).filter(|&number| number != 1);
    shoal_finds_it_whole(stage, &names(members.clone()));
    kernel_finds_them_whole(array, stage, members);
    "goes on from there"
}
