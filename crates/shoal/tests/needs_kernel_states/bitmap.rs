//! Members that come back to an array with a write-intent bitmap.

use crate::arrays::{Array, MEMBER_BYTES, kernel_writes, shoal_finds_it_whole, shoal_writes};
use crate::members::{device, kernel_finds_it_whole};
use crate::stage::Stage;
use crate::support::names;

const BITMAP: &str = "--bitmap internal --bitmap-chunk 64K";
/// A place near the end of a member, where nothing is written: what is put there tells whether it is copied over.
const UNTOUCHED: u64 = MEMBER_BYTES - (1 << 20);
const MARK: [u8; 4096] = [0x5a; 4096];

/// A member is out for a while; shoal takes it back, and copies only what was written meanwhile.
pub(crate) fn kernel_misses_a_member(array: Array, stage: &mut Stage) -> &'static str {
    array.kernel_creates(stage, BITMAP, array.members);
    let change = kernel_writes(stage, 2);
    // The bits of the first filling are cleared some time after it.
    stage.kernel(&format!(
        "mdadm --assemble --quiet /dev/md0 $DRIVES
         until mdadm --examine-bitmap {} | grep -q ' 0 dirty'; do sleep 0.2; done
         mdadm --fail --quiet /dev/md0 {}
         {change}
         mdadm --stop --quiet /dev/md0",
        device(0),
        device(1),
    ));
    let untouched = stage.swap("d1", UNTOUCHED, &MARK);
    let left = names((0..array.members).filter(|&number| number != 1));
    stage.shoal(&format!("re-add --drive d1 {left}"), None, None);
    let scrub = stage.json("scrub DRIVES");
    assert!(scrub["mismatched_bytes"].as_u64().unwrap() > 0, "everything was copied: {scrub}");
    stage.swap("d1", UNTOUCHED, &untouched);
    shoal_finds_it_whole(stage, "DRIVES");
    kernel_finds_it_whole(array, stage);
    "comes back, with what has changed"
}

/// The same, the other way round.
pub(crate) fn shoal_misses_a_member(array: Array, stage: &mut Stage) -> &'static str {
    array.shoal_creates(stage, BITMAP, array.members);
    stage.shoal("fail --member d1 DRIVES", None, None);
    let left: Vec<_> = (0..array.members).filter(|&number| number != 1).collect();
    shoal_writes(stage, &names(left.iter().copied()), 2);
    let untouched = stage.swap("d1", UNTOUCHED, &MARK);
    let devices: Vec<_> = left.into_iter().map(device).collect();
    let printed = stage.kernel(&format!(
        "mdadm --assemble --run --quiet /dev/md0 {}
         mdadm --re-add /dev/md0 {}
         settle md0
         check md0
         mdadm --stop --quiet /dev/md0",
        devices.join(" "),
        device(1),
    ));
    let mismatches = printed.strip_prefix("mdadm: re-added /dev/loop1\n").expect(&printed);
    assert_ne!(mismatches, "0", "everything was copied");
    stage.swap("d1", UNTOUCHED, &untouched);
    kernel_finds_it_whole(array, stage);
    shoal_finds_it_whole(stage, "DRIVES");
    "comes back, with what has changed"
}
