//! The kernel is killed, and shoal takes over.

use std::ops::Range;
use std::thread;
use std::time::Duration;

use crate::history::{BLOCKS, History, Random};
use crate::stage::Stage;
use crate::{Array, MEMBER_BYTES};

/// Processes that write at the same time, each to blocks of its own, in the same stripes.
const WRITERS: usize = 3;
/// Blocks in a row that belong to one writer.
const SHARE: usize = 8;
/// Writes of one writer: more than there is time for.
const WRITES: usize = 40;

/// One write; its version is its number, from 1.
struct Write {
    version: usize,
    blocks: Range<usize>,
}

pub(crate) fn cut(array: Array, number: u64, stage: &mut Stage) -> &'static str {
    stage.cut_power();
    stage.set(&vec![MEMBER_BYTES; array.members], 512);
    let mut history = History::new(stage, WRITES);
    let mut random = Random::new(number + 1);
    let writers: Vec<Vec<Write>> = (0..WRITERS).map(|writer| writes(writer, &mut random)).collect();
    for write in writers.iter().flatten() {
        history.submitted(write.version, write.blocks.clone());
    }
    let loops: String = writers.iter().enumerate().map(|(writer, writes)| script(writer, writes)).collect();
    stage.start_kernel(&format!(
        "mdadm --create /dev/md0 --run --quiet --assume-clean {} --raid-devices {} $DRIVES\n{loops}\nwait",
        array.options, array.members
    ));
    for _ in 0..5 + random.below(40) {
        let line = stage.guest().next_line().unwrap();
        let (writer, write) = acknowledgement(&line).unwrap_or_else(|| panic!("{line}"));
        let Write { version, blocks } = &writers[writer][write];
        history.acknowledged(*version, blocks.clone());
    }
    thread::sleep(Duration::from_micros(random.below(30_000)));
    stage.cut_power();
    shoal_takes_over(stage, &history);
    "every block old or new"
}

/// What a writer is to write, in this order.
fn writes(writer: usize, random: &mut Random) -> Vec<Write> {
    let shares = BLOCKS / SHARE / WRITERS;
    (1..=WRITES)
        .map(|version| {
            let share = (random.below(shares as u64) as usize * WRITERS + writer) * SHARE;
            let start = random.below(SHARE as u64) as usize;
            let length = 1 + random.below((SHARE - start) as u64) as usize;
            Write { version, blocks: share + start..share + start + length }
        })
        .collect()
}

/// A process of its own that writes, and says so after each write.
fn script(writer: usize, writes: &[Write]) -> String {
    let lines = writes.iter().enumerate().map(|(number, Write { version, blocks })| {
        let (start, count) = (blocks.start, blocks.len());
        format!(
            "dd if=v{version} of=/dev/md0 bs=4K skip={start} seek={start} count={count} oflag=direct conv=notrunc,fsync status=none
             echo acknowledged {writer} {number}\n"
        )
    });
    format!("(\n{}) &\n", lines.collect::<String>())
}

/// Which write of which writer a line acknowledges.
fn acknowledgement(line: &str) -> Option<(usize, usize)> {
    let (writer, number) = line.strip_prefix("acknowledged ")?.split_once(' ')?;
    Some((writer.parse().ok()?, number.parse().ok()?))
}

/// Assembles the array, brings it in sync, and finds everything as it must be.
fn shoal_takes_over(stage: &mut Stage, history: &History) {
    if stage.json("status DRIVES")["needs_resync"] == true {
        stage.shoal("scrub --repair DRIVES", None, None);
    }
    let status = stage.json("status DRIVES");
    assert_eq!((&status["health"], &status["needs_resync"]), (&"optimal".into(), &false.into()), "{status}");
    let scrub = stage.json("scrub DRIVES");
    assert_eq!((&scrub["complete"], &scrub["mismatched_bytes"]), (&true.into(), &0.into()), "{scrub}");
    stage.shoal("read DRIVES", None, Some("read"));
    history.assert_holds(&stage.bytes("read"));
}
