//! The array's user: requests and their answers.

use std::ops::Range;
use std::time::Duration;

use shoal_volume::{Command, Completion, LiveVolume, Mark, Memory, Request, RequestId, Volume, World};

use super::{Player, Waits};
use crate::checkers::{Answered, BLOCK_BYTES, DEADLINE_NS, Failure, Seen, stamp};
use crate::limits::REQUEST_BLOCKS_MAX;
use crate::scenario::{Run, Step};

pub(super) const BLOCK: u64 = BLOCK_BYTES as u64;

/// What a request was, for when its answer comes.
#[derive(Debug)]
pub(super) enum Asked {
    Read { seen: Seen, buffer: u32, length: u32 },
    Write { version: u32, buffer: u32 },
    Discard { version: u32 },
    Flush { covered: Vec<u32>, mark: Mark },
}

impl Player<'_> {
    /// Asks for something, once there is room for it.
    pub(super) fn request(&mut self, step: Step) -> Result<(), Failure> {
        while self.answers.pending() >= self.scenario.depth as usize {
            self.await_some()?;
        }
        self.counts.requests += 1;
        let id = self.next_id;
        self.next_id += 1;
        let (command, asked) = match step {
            Step::Read(run) => self.read(run),
            Step::Write(run) => self.write(run),
            Step::Discard(run) => {
                let blocks = self.wrapped(run);
                let (offset, length) = (blocks.start as u64 * BLOCK, blocks.len() as u64 * BLOCK);
                let version = self.promises.asked(blocks, true);
                (Command::Discard { offset, length }, Asked::Discard { version })
            }
            _ => {
                let (covered, mark) = (self.promises.flush_asked(), self.client.mark());
                (Command::Flush, Asked::Flush { covered, mark })
            }
        };
        self.note(format_args!("request {id}: {command:?}"));
        let now_ns = self.now_ns();
        self.answers.asked(id, now_ns, asked);
        self.array_mut().submit(Request { id: RequestId::client(id), command });
        Ok(())
    }

    fn read(&mut self, run: Run) -> (Command, Asked) {
        let blocks = self.wrapped(run);
        let buffer = self.buffers.pop().expect("a buffer for each request in flight");
        let (offset, length) = (blocks.start as u64 * BLOCK, blocks.len() as u32 * BLOCK as u32);
        let span = self.array().request_span(buffer, length);
        let is_in_sync = self.is_settled();
        let seen = self.promises.read_asked(blocks, is_in_sync);
        (Command::Read { offset, span }, Asked::Read { seen, buffer, length })
    }

    fn write(&mut self, run: Run) -> (Command, Asked) {
        let blocks = self.wrapped(run);
        let buffer = self.buffers.pop().expect("a buffer for each request in flight");
        let (offset, length) = (blocks.start as u64 * BLOCK, blocks.len() as u32 * BLOCK as u32);
        let version = self.promises.asked(blocks.clone(), false);
        let mut bytes = vec![0; length as usize];
        stamp(blocks.start, version, &mut bytes);
        let memory = self.array().request_memory(buffer);
        self.arena.write(Memory { length, ..memory }, &bytes);
        let span = self.array().request_span(buffer, length);
        (Command::Write { offset, span }, Asked::Write { version, buffer })
    }

    /// The blocks of a run, within the content and the size of a buffer.
    fn wrapped(&self, run: Run) -> Range<usize> {
        let blocks = self.promises.block_count() as u64;
        let count = u64::from(run.count.clamp(1, REQUEST_BLOCKS_MAX)).min(blocks);
        let first = run.first % (blocks - count + 1);
        first as usize..(first + count) as usize
    }

    /// Waits for an answer, or longer than any may take.
    pub(super) fn await_some(&mut self) -> Result<(), Failure> {
        let mut answers = Vec::new();
        let polled = self.array_mut().poll(1, Some(Duration::from_nanos(DEADLINE_NS + 1)), &mut answers);
        polled.map_err(|error| Failure::new("answers", error.to_string()))?;
        let is_stuck = answers.is_empty() && self.array().world().pending() == 0;
        self.hear(answers)?;
        self.answers.check_deadline(self.now_ns())?;
        if is_stuck { self.answers.check_none_forgotten() } else { Ok(()) }
    }

    /// Waits for all answers.
    pub(super) fn settle(&mut self) -> Result<(), Failure> {
        while self.answers.pending() > 0 {
            self.await_some()?;
        }
        Ok(())
    }

    /// Lets time pass; what the array does by itself goes on.
    pub(super) fn pass(&mut self, milliseconds: u64) -> Result<(), Failure> {
        self.note(format_args!("{milliseconds} ms pass"));
        let end_ns = self.now_ns() + milliseconds * 1_000_000;
        while self.now_ns() < end_ns {
            let left = Duration::from_nanos(end_ns - self.now_ns());
            let mut answers = Vec::new();
            let turned = self.array_mut().turn(left, &mut answers);
            turned.map_err(|error| Failure::new("answers", error.to_string()))?;
            self.hear(answers)?;
            if self.array().quiet_for().is_none() {
                let left = end_ns.saturating_sub(self.now_ns());
                self.array_mut().world_mut().sleep(Duration::from_nanos(left));
            }
        }
        Ok(())
    }

    fn hear(&mut self, answers: Vec<Completion>) -> Result<(), Failure> {
        let is_in_sync = self.is_settled();
        for answer in answers {
            self.note(format_args!("answer {}: {:?}", answer.id.number, answer.result));
            self.chronicle.borrow_mut().hash.add(answer.id.number << 1 | u64::from(answer.result.is_ok()));
            let answered = self.answers.answered(&answer, |asked| matches!(asked, Asked::Read { .. }))?;
            let Answered { what: asked, is_done, asked_ns } = answered;
            let waited_ns = self.now_ns().saturating_sub(asked_ns);
            Waits::note(&mut self.counts, waited_ns);
            match asked {
                Asked::Read { seen, buffer, length } => {
                    self.buffers.push(buffer);
                    if is_done {
                        self.check_read(&seen, buffer, length, is_in_sync)?;
                    }
                }
                Asked::Write { version, buffer } => {
                    self.buffers.push(buffer);
                    self.changed(version, is_done);
                }
                Asked::Discard { version } => self.changed(version, is_done),
                Asked::Flush { covered, mark } if is_done && self.client.flushed(mark).is_ok() => {
                    let is_renewed = !self.array().renews_whole_members();
                    self.promises.flush_answered(&covered, is_renewed)?;
                }
                Asked::Flush { .. } => self.promises.flush_failed(),
            }
        }
        Ok(())
    }

    fn changed(&mut self, version: u32, is_done: bool) {
        self.promises.answered(version, is_done);
        if is_done {
            self.client.answered();
        }
    }

    /// Whether what is read now is what will be read later. It is not while copies may differ; nor
    /// if the first copy has failed, which is not recorded yet: it may be the first again.
    fn is_settled(&self) -> bool {
        !self.array().needs_resync() && self.array().is_recorded()
    }

    fn check_read(&mut self, seen: &Seen, buffer: u32, length: u32, is_in_sync: bool) -> Result<(), Failure> {
        self.note_struck();
        let mut bytes = vec![0; length as usize];
        let memory = self.array().request_memory(buffer);
        self.arena.read(Memory { length, ..memory }, &mut bytes);
        let silent = &self.silent;
        let wrong = self.promises.check(seen, &bytes, is_in_sync, |block| silent.is_tainted(block))?;
        self.silent.seen_wrong(wrong);
        Ok(())
    }

    /// Reads all that was ever asked to change.
    pub(super) fn read_touched(&mut self) -> Result<(), Failure> {
        for blocks in self.promises.touched(REQUEST_BLOCKS_MAX as usize) {
            self.request(Step::Read(Run { first: blocks.start as u64, count: blocks.len() as u32 }))?;
        }
        self.settle()
    }

    /// Reads all content, several requests at a time; of vast drives, what was ever asked to
    /// change, and what lies at the end.
    pub(super) fn read_all(&mut self) -> Result<(), Failure> {
        let blocks = self.promises.block_count() as u64;
        if self.scenario.is_vast() {
            self.request(Step::Read(Run { first: blocks - 1, count: 1 }))?;
            return self.read_touched();
        }
        let count = REQUEST_BLOCKS_MAX;
        for first in (0..blocks).step_by(count as usize) {
            let count = u64::from(count).min(blocks - first) as u32;
            self.request(Step::Read(Run { first, count }))?;
        }
        self.settle()
    }
}
