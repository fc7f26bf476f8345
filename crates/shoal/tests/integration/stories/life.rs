//! One story, life by life.

use std::sync::mpsc::Receiver;
use std::time::Instant;

use shoal_attach::{Answer, Operation};

use super::Chance;
use super::host::{Clock, Host, Server};
use super::model::{BLOCK_BYTES, Model};
use crate::running::server::PATIENCE;
use crate::support::{Bay, Ran, names};

/// Blocks that are written and looked at, from the start of the content.
const BLOCKS: usize = 512;
/// Stretches of them, each of which has one write under way at most.
const STRETCHES: usize = 8;
const STRETCH_BLOCKS: usize = BLOCKS / STRETCHES;
/// The longest write, in blocks.
const RUN_BLOCKS: usize = 24;
const CHUNK_BLOCKS: usize = 4;
/// Bytes that are read at once when everything is looked at.
const READ_BYTES: usize = 128 << 10;
/// What a refused start must say something of.
const REASONS: [&str; 6] = ["trust", "--degraded", "--force", "missing", "older", "lost"];

/// An array, its content, and what is left to chance.
pub(crate) struct Story<'a> {
    chance: Chance,
    bay: Bay,
    clock: Option<&'a Clock>,
    shape: Shape,
    model: Model,
}

/// What kind of array.
#[derive(Clone, Copy)]
struct Shape {
    create: &'static str,
    members: usize,
    /// Members that it survives without.
    redundancy: usize,
}

impl Shape {
    /// It has a partial parity log.
    fn is_logged(self) -> bool {
        self.create.contains("ppl")
    }

    /// Blocks of a row of parity; more than that for others does not matter.
    fn row_blocks(self) -> usize {
        (self.members - self.redundancy) * CHUNK_BLOCKS
    }
}

/// A write under way.
struct Write {
    first: usize,
    data: Vec<u8>,
    answer: Receiver<Answer>,
}

const SHAPES: [Shape; 8] = [
    Shape { create: "--level 1", members: 2, redundancy: 1 },
    Shape { create: "--level 1 --bitmap internal", members: 3, redundancy: 2 },
    Shape { create: "--level 5", members: 3, redundancy: 1 },
    Shape { create: "--level 5 --consistency-policy ppl", members: 3, redundancy: 1 },
    Shape { create: "--level 5 --bitmap internal", members: 4, redundancy: 1 },
    Shape { create: "--level 6", members: 4, redundancy: 2 },
    Shape { create: "--level 10", members: 4, redundancy: 1 },
    Shape { create: "--level 10 --layout f2 --bitmap internal", members: 3, redundancy: 1 },
];

impl<'a> Story<'a> {
    pub(crate) fn new(seed: u64, clock: Option<&'a Clock>) -> Self {
        let mut chance = Chance::new(seed);
        let shape = chance.pick(&SHAPES);
        let bay = Bay::new(shape.members);
        Self { chance, bay, clock, shape, model: Model::new(BLOCKS) }
    }

    pub(crate) fn tell(mut self) {
        let bay = std::mem::replace(&mut self.bay, Bay::new(0));
        let [home, away] = ["home", "away"].map(|name| Host::new(&bay, name, self.clock));
        let all = names(0..self.shape.members);
        let created = home.attempt(&format!("create --assume-clean --chunk 16K {} {all}", self.shape.create));
        created.unwrap_or_else(|ran| panic!("create {}: {}", self.shape.create, ran.stderr));
        for _ in 0..3 + self.chance.below(4) {
            if self.chance.percent(20) {
                home.set_clock_days(self.chance.pick(&[-4000, -1, 0, 1, 4000]));
            }
            // Only what is whole goes to another machine: that one cannot know what it has not
            // seen.
            let (host, missing) = match self.chance.below(10) {
                0 => (&away, 0),
                1..=4 => (&home, 0),
                _ => (&home, self.chance.below(self.shape.redundancy + 1)),
            };
            self.live(host, missing);
        }
        self.end(&home, &all);
    }

    /// One life, with so many members missing if it starts without them.
    fn live(&mut self, host: &Host, missing: usize) {
        let everybody: Vec<usize> = (0..self.shape.members).collect();
        let there = self.chance.some(everybody.clone(), self.shape.members - missing);
        let away: Vec<usize> = everybody.into_iter().filter(|member| !there.contains(member)).collect();
        away.iter().for_each(|member| host.unplug(*member));
        let drives = names(there.iter().copied());
        match host.serve(&drives) {
            Ok(server) => {
                if missing > 0 && self.shape.is_logged() {
                    // What was being written to a member that is lost is in no log; all else is.
                    self.model.holed(1);
                }
                self.serve(host, server, &there);
            }
            Err(refused) if missing > 0 => {
                assert!(REASONS.iter().any(|reason| refused.stderr.contains(reason)), "refused: {}", refused.stderr);
            }
            Err(refused) => {
                let server = self.force(host, &drives, &refused);
                self.serve(host, server, &there);
            }
        }
        away.iter().for_each(|member| host.plug(*member));
    }

    fn serve(&mut self, host: &Host, server: Server, there: &[usize]) {
        self.check(&server);
        self.use_it(host, server, there);
        self.model.ended();
    }

    /// All members are there. Only one of parity that is dirty and degraded is refused, for its
    /// write hole.
    fn force(&mut self, host: &Host, drives: &str, refused: &Ran) -> Server {
        let is_hole = refused.stderr.contains("--force") && refused.stderr.contains("degraded");
        assert!(is_hole, "with all members the array does not start: {}", refused.stderr);
        self.model.holed(self.shape.row_blocks());
        let forced = host.serve(&format!("--force {drives}"));
        forced.unwrap_or_else(|refused| panic!("not even by force: {}", refused.stderr))
    }

    /// Reads all that is known.
    fn check(&self, server: &Server) {
        assert!(server.size_bytes() >= (BLOCKS * BLOCK_BYTES) as u64);
        for offset in (0..BLOCKS * BLOCK_BYTES).step_by(READ_BYTES) {
            let content = server.done(Operation::Read { offset: offset as u64, length: READ_BYTES as u32 });
            if let Some(fault) = self.model.fault(offset / BLOCK_BYTES, &content) {
                panic!("{}: {fault}", self.shape.create);
            }
        }
    }

    /// Writes, flushes, reads; somebody administers the array meanwhile; then it ends, one way or
    /// the other.
    fn use_it(&mut self, host: &Host, server: Server, there: &[usize]) {
        let mut failed = None;
        for _ in 0..self.chance.below(30) {
            let admin = self.administration(there, &mut failed);
            std::thread::scope(|scope| {
                let admin = admin.map(|line| scope.spawn(move || host.attempt(&line)));
                self.write_some(&server);
                if let Some(admin) = admin {
                    admin.join().unwrap().map_or_else(drop, drop);
                }
            });
            match self.chance.below(10) {
                0..4 => {
                    server.done(Operation::Flush);
                    self.model.flushed();
                    println!("flushed up to version {}", self.model.last());
                }
                4 => self.check(&server),
                5 if self.chance.percent(20) => host.set_clock_days(self.chance.pick(&[-4000, -1, 0, 1, 4000])),
                _ => {}
            }
        }
        if self.chance.percent(30) {
            server.stop();
            self.model.flushed();
            println!("stopped");
        } else {
            // In the midst of writes, which may have been done or not.
            let writes = self.start_writes(&server);
            server.kill();
            println!("killed before version {}", self.model.last());
            for Write { first, data, .. } in writes {
                self.model.interrupted(first, data.len() / BLOCK_BYTES);
            }
        }
    }

    /// Some writes at once, all of which succeed.
    fn write_some(&mut self, server: &Server) {
        for Write { first, data, answer } in self.start_writes(server) {
            answer.recv().unwrap().unwrap_or_else(|error| panic!("a write at block {first}: {error}"));
            self.model.answered(first, &data);
        }
    }

    /// Starts writes in some of the stretches.
    fn start_writes(&mut self, server: &Server) -> Vec<Write> {
        let count = 1 + self.chance.below(6);
        let stretches = self.chance.some((0..STRETCHES).collect(), count);
        let mut writes = Vec::new();
        for stretch in stretches {
            let count = 1 + self.chance.below(RUN_BLOCKS);
            let first = stretch * STRETCH_BLOCKS + self.chance.below(STRETCH_BLOCKS - count);
            let data = self.model.write(first, count);
            let offset = (first * BLOCK_BYTES) as u64;
            let answer = server.submit(Operation::Write { offset, data: data.clone(), fua: false });
            writes.push(Write { first, data, answer });
        }
        writes
    }

    /// What an administrator does next, if anything.
    fn administration(&mut self, there: &[usize], failed: &mut Option<usize>) -> Option<String> {
        let array = names(there.iter().copied().filter(|member| *failed != Some(*member)));
        match (self.chance.below(12), *failed) {
            (0, _) => Some(format!("--json status {array}")),
            (1, _) => Some(format!("scrub {array}")),
            (2, None) => {
                let member = self.chance.pick(there);
                *failed = Some(member);
                Some(format!("fail --member d{member} {array}"))
            }
            (3 | 4, Some(member)) => {
                *failed = None;
                Some(format!("re-add --drive d{member} {array}"))
            }
            _ => None,
        }
    }

    /// All members are brought back in sync; then the content is right, and parity and copies
    /// agree.
    fn end(mut self, host: &Host, all: &str) {
        let server = host.serve(all).unwrap_or_else(|refused| self.force(host, all, &refused));
        self.check(&server);
        // One that was started by force is not clean before its resync is over.
        let start = Instant::now();
        while !host.attempt(&format!("--json status {all}")).unwrap_or_else(|ran| ran).json()["background"].is_null() {
            assert!(start.elapsed() < PATIENCE, "background work does not end");
        }
        server.stop();
        for number in 0..self.shape.members {
            let others = names((0..self.shape.members).filter(|other| *other != number));
            // Who is a member in sync is refused.
            let _ = host.attempt(&format!("add --force --drive d{number} {others}"));
        }
        let done = |line: &str| host.attempt(line).unwrap_or_else(|ran| panic!("shoal {line}: {}", ran.stderr));
        done(&format!("rebuild {all}"));
        let scrubbed = done(&format!("--json scrub {all}")).json();
        assert_eq!(
            (&scrubbed["complete"], &scrubbed["mismatched_bytes"]),
            (&true.into(), &0.into()),
            "{}: {scrubbed}",
            self.shape.create
        );
        let status = done(&format!("--json status {all}")).json();
        assert_eq!(status["health"], "optimal", "{}: {status}", self.shape.create);
        self.check(&host.serve(all).unwrap_or_else(|refused| panic!("at the end: {}", refused.stderr)));
    }
}
