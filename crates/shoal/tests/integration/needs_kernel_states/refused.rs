//! What one side does not understand, or must not do by itself: it says so, and touches nothing.

use crate::needs_kernel_states::arrays::{Array, MEMBER_BYTES, shoal_reads};
use crate::needs_kernel_states::members::device;
use crate::support::stage::Stage;

/// A level that is being changed.
pub(crate) fn kernel_leaves_it_reshaping(array: Array, stage: &mut Stage) -> &'static str {
    array.kernel_creates(stage, "", array.members);
    stage.add(MEMBER_BYTES);
    let first: Vec<_> = (0..array.members).map(device).collect();
    stage.kernel(&format!(
        "mdadm --assemble --quiet /dev/md0 {}
         mdadm --add --quiet /dev/md0 {}
         echo 1 >/proc/sys/dev/raid/speed_limit_min
         echo 1 >/proc/sys/dev/raid/speed_limit_max
         mdadm --grow --quiet /dev/md0 --raid-devices {}
         until mdadm --examine {} | grep -q 'Reshape pos'; do sleep 0.05; done
         mdadm --stop --quiet /dev/md0
         echo 2000000 >/proc/sys/dev/raid/speed_limit_max
         echo 2000000 >/proc/sys/dev/raid/speed_limit_min",
        first.join(" "),
        device(array.members),
        array.members + 1,
        device(0),
    ));
    stage.refused("write DRIVES", &["reshape"]);
    stage.refused("read DRIVES", &["reshape"]);
    "refused by name"
}

/// Power is cut while a degraded array is written to: nobody goes on by himself, and both do when
/// forced.
pub(crate) fn kernel_leaves_it_dirty_and_degraded(array: Array, stage: &mut Stage) -> &'static str {
    array.kernel_creates(stage, "", array.members);
    stage.start_kernel(&format!(
        "mdadm --assemble --quiet /dev/md0 $DRIVES
         mdadm --fail --quiet /dev/md0 {}
         dd if=content of=/dev/md0 bs=64K count=8 oflag=direct conv=notrunc status=none
         echo written",
        device(1)
    ));
    while stage.guest().next_line().unwrap() != "written" {}
    stage.cut_power();
    stage.lose(1);
    stage.refused("write DRIVES", &["not shut down cleanly", "--force"]);
    shoal_reads(stage, "DRIVES");
    stage.shoal("write --force DRIVES", Some("content"), None);
    shoal_reads(stage, "DRIVES");
    kernel_goes_on(stage, "");
    "refused; goes on by force"
}

/// The same, the other way round.
pub(crate) fn shoal_leaves_it_dirty_and_degraded(array: Array, stage: &mut Stage) -> &'static str {
    array.shoal_creates(stage, "", array.members);
    stage.shoal("fail --member d1 DRIVES", None, None);
    stage.lose(1);
    // What is written is what was there: so all content is as it should be, wherever the power was
    // cut.
    stage.killed_while_active("write DRIVES", "content");
    let refused = stage
        .kernel("mdadm --assemble --run /dev/md0 $DRIVES 2>&1 || true; mdadm --stop /dev/md0 || true; dmesg --notime");
    assert!(refused.contains("cannot start dirty degraded array"), "{refused}");
    kernel_goes_on(stage, "--force");
    "refused; goes on by force"
}

fn kernel_goes_on(stage: &mut Stage, force: &str) {
    stage.kernel(&format!(
        "mdadm --assemble --run --quiet {force} /dev/md0 $DRIVES
         mdadm --detail /dev/md0 | grep 'State : clean, degraded'
         cmp /dev/md0 content
         mdadm --stop --quiet /dev/md0"
    ));
}
