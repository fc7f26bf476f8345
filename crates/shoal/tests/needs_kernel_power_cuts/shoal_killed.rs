//! shoal is killed, and the kernel takes over.

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::history::{BLOCK_BYTES, BLOCKS, History, Random};
use crate::stage::Stage;
use crate::{Array, MEMBER_BYTES};

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
    killed_write(stage, &mut random);
    kernel_takes_over(stage, &history);
    "every block old or new"
}

/// Starts to write the last version over everything, and kills shoal some time after it has begun to change members.
fn killed_write(stage: &Stage, random: &mut Random) {
    let before = members_changed(stage);
    let version = std::fs::File::open(stage.path(&format!("v{}", WHOLE + 1))).unwrap();
    let mut command = stage.shoal_command("write DRIVES");
    let mut writer = command.stdin(Stdio::from(version)).spawn().unwrap();
    while members_changed(stage) == before && writer.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_micros(200));
    }
    thread::sleep(Duration::from_micros(random.below(15_000)));
    writer.kill().unwrap();
    writer.wait().unwrap();
}

/// When the members were last written to.
fn members_changed(stage: &Stage) -> Vec<std::time::SystemTime> {
    stage.drive_paths().iter().map(|path| path.metadata().unwrap().modified().unwrap()).collect()
}

/// Assembles the array, waits until it is in sync, and finds everything as it must be.
fn kernel_takes_over(stage: &mut Stage, history: &History) {
    let printed = stage.kernel(
        "mdadm --assemble --quiet /dev/md0 $DRIVES
         settle md0
         mdadm --detail /dev/md0 | grep 'State :'
         check md0
         dd if=/dev/md0 of=read bs=1M count=4 status=none
         mdadm --stop --quiet /dev/md0",
    );
    assert_eq!(printed, "             State : clean \n0");
    history.assert_holds(&stage.bytes("read"));
}
