//! The kernel is killed, and shoal takes over.

use std::ops::Range;
use std::thread;
use std::time::Duration;

use crate::needs_kernel_power_cuts::history::{BLOCKS, History, Random};
use crate::needs_kernel_power_cuts::{Array, MEMBER_BYTES};
use crate::support::stage::Stage;

/// Processes that write at the same time, each to blocks of its own, in the same stripes.
const WRITERS: usize = 3;
/// Blocks in a row that belong to one writer.
const SHARE: usize = 8;
/// Writes of one writer: more than there is time for.
const WRITES: usize = 40;

pub(crate) fn cut(array: Array, number: u64, stage: &mut Stage) -> &'static str {
    stage.cut_power();
    stage.set(&vec![MEMBER_BYTES; array.members], 512);
    let mut history = History::new(stage, WRITES);
    let mut random = Random::new(number + 1);
    let mut writers: Vec<Writer> = (0..WRITERS).map(|writer| Writer::new(writer, &mut random)).collect();
    writers.iter_mut().for_each(|writer| writer.goes_on(&mut history));
    let loops: String = writers.iter().map(Writer::script).collect();
    stage.start_kernel(&format!(
        "mdadm --create /dev/md0 --run --quiet --assume-clean {} --raid-devices {} $DRIVES\n{loops}\nwait",
        array.options, array.members
    ));
    let count = 5 + random.below(40) as usize;
    let mut lines: Vec<_> = (0..count).map(|_| stage.guest().next_line().unwrap()).collect();
    thread::sleep(Duration::from_micros(random.below(30_000)));
    lines.extend(stage.cut_power());
    for line in lines {
        // The last line may have been cut, too.
        let writer = line.strip_prefix("acknowledged ").and_then(|writer| writer.parse::<usize>().ok());
        let Some(writer) = writer else { break };
        let writer: &mut Writer = &mut writers[writer];
        writer.is_acknowledged(&mut history);
        writer.goes_on(&mut history);
    }
    if let Some(lost) = array.lost {
        stage.lose(lost);
    }
    shoal_takes_over(array, stage, &history);
    "every block old or new"
}

/// A process that writes: what, in this order, and how far it has come. The version of a write is
/// its number, from 1.
struct Writer {
    number: usize,
    writes: Vec<Range<usize>>,
    submitted: usize,
}

impl Writer {
    fn new(number: usize, random: &mut Random) -> Self {
        let shares = BLOCKS / SHARE / WRITERS;
        let mut write = || {
            let share = (random.below(shares as u64) as usize * WRITERS + number) * SHARE;
            let start = random.below(SHARE as u64) as usize;
            let length = 1 + random.below((SHARE - start) as u64) as usize;
            share + start..share + start + length
        };
        Self { number, writes: (0..WRITES).map(|_| write()).collect(), submitted: 0 }
    }

    /// Writes one after the other, with a line after each.
    fn script(&self) -> String {
        let lines = self.writes.iter().enumerate().map(|(write, blocks)| {
            let (version, start, count) = (write + 1, blocks.start, blocks.len());
            let flags = "oflag=direct conv=notrunc,fsync status=none";
            format!(
                "dd if=v{version} of=/dev/md0 bs=4K skip={start} seek={start} count={count} {flags}
                 echo acknowledged {}\n",
                self.number
            )
        });
        format!("(\n{}) &\n", lines.collect::<String>())
    }

    fn goes_on(&mut self, history: &mut History) {
        if let Some(blocks) = self.writes.get(self.submitted) {
            self.submitted += 1;
            history.submitted(self.submitted, blocks.clone());
        }
    }

    fn is_acknowledged(&self, history: &mut History) {
        history.acknowledged(self.submitted, self.writes[self.submitted - 1].clone());
    }
}

/// Assembles the array, brings it in sync, and finds everything as it must be.
fn shoal_takes_over(array: Array, stage: &mut Stage, history: &History) {
    stage.shoal("rebuild DRIVES", None, None);
    let status = stage.json("status DRIVES");
    let health = if array.lost.is_some() { "degraded" } else { "optimal" };
    assert_eq!((&status["health"], &status["needs_resync"]), (&health.into(), &false.into()), "{status}");
    if array.lost.is_none() {
        let scrub = stage.json("scrub DRIVES");
        assert_eq!((&scrub["complete"], &scrub["mismatched_bytes"]), (&true.into(), &0.into()), "{scrub}");
    }
    stage.shoal("read DRIVES", None, Some("read"));
    history.assert_holds(&stage.bytes("read"), array.lost.is_some());
}
