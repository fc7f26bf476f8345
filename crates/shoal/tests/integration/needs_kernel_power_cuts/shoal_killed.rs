//! shoal is killed, and the kernel takes over.

use std::time::Duration;

use crate::needs_kernel_power_cuts::history::{BLOCK_BYTES, BLOCKS, History, Random};
use crate::needs_kernel_power_cuts::{Array, MEMBER_BYTES};
use crate::support::stage::Stage;

/// Writes that end well before the one that does not.
const WHOLE: usize = 3;

pub(crate) fn cut(array: Array, number: u64, stage: &mut Stage) -> &'static str {
    stage.set(&vec![MEMBER_BYTES; array.members], 512);
    let mut history = History::new(stage, WHOLE + 1);
    let mut random = Random::new(number + 1);
    stage.shoal(&format!("create --assume-clean {} DRIVES", array.options), None, None);
    for version in 1..=WHOLE {
        let start = random.below(BLOCKS as u64 / 2) as usize;
        let blocks = start..start + 1 + random.below(BLOCKS as u64 / 2) as usize;
        let bytes = &stage.bytes(&format!("v{version}"))[blocks.start * BLOCK_BYTES..blocks.end * BLOCK_BYTES];
        std::fs::write(stage.path("change"), bytes).unwrap();
        history.submitted(version, blocks.clone());
        stage.shoal(&format!("write --offset {} DRIVES", blocks.start * BLOCK_BYTES), Some("change"), None);
        history.acknowledged(version, blocks);
    }
    history.submitted(WHOLE + 1, 0..BLOCKS);
    let delay = Duration::from_micros(random.below(15_000));
    stage.killed("write DRIVES", &format!("v{}", WHOLE + 1), delay);
    if let Some(lost) = array.lost {
        stage.lose(lost);
    }
    kernel_takes_over(array, stage, &history);
    "every block old or new"
}

/// Assembles the array, waits until it is in sync, and finds everything as it must be.
fn kernel_takes_over(array: Array, stage: &mut Stage, history: &History) {
    let (run, state, mismatches) = match array.lost {
        None => ("", "clean", "check md0"),
        Some(_) => ("--run", "clean, degraded", "echo 0"),
    };
    let printed = stage.kernel(&format!(
        "mdadm --assemble --quiet {run} /dev/md0 $DRIVES
         settle md0
         mdadm --detail /dev/md0 | grep 'State :'
         {mismatches}
         dd if=/dev/md0 of=read bs=1M count=4 status=none
         mdadm --stop --quiet /dev/md0",
    ));
    assert_eq!(printed, format!("             State : {state} \n0"));
    history.assert_holds(&stage.bytes("read"), array.lost.is_some());
}
