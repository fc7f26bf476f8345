//! Writes a range, reads it back, and compares every byte.

use std::sync::atomic::{AtomicBool, Ordering};

use shoal_volume::{Arena, Volume};

use crate::fill::{Fill, WrongUnit};
use crate::pump::{Load, Place, flush, pump};
use crate::runner::BenchError;
use crate::{Blocks, Direction, Event, Operation};

/// So many wrong units are told of one by one; the rest are counted.
const WRONG_TOLD: usize = 16;

/// A range to be written and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verification {
    /// Where.
    pub blocks: Blocks,
    /// Requests in flight.
    pub depth: u32,
    /// Decides the bytes, with `pass`.
    pub seed: u64,
    /// Which time the range is written: a later pass over the same range writes other bytes.
    pub pass: u64,
}

/// What came of writing or comparing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Bytes written or compared.
    pub bytes: u64,
    /// How long it took, with the flush after writing.
    pub elapsed_ns: u64,
    /// Requests that failed, the flush included.
    pub errors: u64,
    /// Bytes that could be read but differ, in units of the fill.
    pub wrong_bytes: u64,
    /// The first units that differ, in the order they were found.
    pub wrong: Vec<WrongUnit>,
    /// Ended before the range was done, by the interrupt flag.
    pub interrupted: bool,
}

impl Verified {
    /// The whole range was done, without an error, and nothing differs.
    pub fn is_good(&self) -> bool {
        self.errors == 0 && self.wrong_bytes == 0 && !self.interrupted
    }
}

/// What a caller may do between requests, given the volume and the bytes done so far: show
/// progress, fail a member.
pub type BetweenRequests<'a, V> = &'a mut dyn FnMut(&mut V, u64);

impl Verification {
    /// Writes the range and makes it durable.
    pub fn write<V: Volume + ?Sized>(
        &self,
        volume: &mut V,
        interrupt: &AtomicBool,
        between: BetweenRequests<'_, V>,
    ) -> Result<Verified, BenchError> {
        let mut verified = self.run(volume, Task::Write, interrupt, between)?;
        let (took, flushed) = flush(volume)?;
        verified.elapsed_ns += took.elapsed_ns();
        verified.errors += u64::from(flushed.is_err());
        Ok(verified)
    }

    /// Reads the range and compares it with what [`Verification::write`] wrote.
    pub fn compare<V: Volume + ?Sized>(
        &self,
        volume: &mut V,
        interrupt: &AtomicBool,
        between: BetweenRequests<'_, V>,
    ) -> Result<Verified, BenchError> {
        self.run(volume, Task::Compare, interrupt, between)
    }

    /// Reads the range and compares it with what a [`Bench`](crate::Bench) of the same seed and
    /// block size wrote there, in whichever repetition.
    pub fn compare_load<V: Volume + ?Sized>(
        &self,
        volume: &mut V,
        interrupt: &AtomicBool,
        between: BetweenRequests<'_, V>,
    ) -> Result<Verified, BenchError> {
        self.run(volume, Task::CompareLoad, interrupt, between)
    }

    fn fill(&self) -> Fill {
        let alignment_bytes = 1 << (u64::from(self.blocks.block_size_bytes) | self.blocks.offset).trailing_zeros();
        Fill::new(self.seed, alignment_bytes)
    }

    fn run<V: Volume + ?Sized>(
        &self,
        volume: &mut V,
        task: Task,
        interrupt: &AtomicBool,
        between: BetweenRequests<'_, V>,
    ) -> Result<Verified, BenchError> {
        // Checked again, since the blocks may have been made for another volume.
        let length = self.blocks.count * u64::from(self.blocks.block_size_bytes);
        let block = self.blocks.block_size_bytes;
        Blocks::of_range(self.blocks.offset, length, block, volume.size_bytes(), volume.logical_block_bytes())?;
        crate::runner::check_buffers(volume, self.depth, block)?;
        let mut pass = Pass {
            verification: *self,
            fill: self.fill(),
            task,
            next_block: 0,
            content: vec![0; block as usize],
            interrupt,
            between,
            verified: Verified::default(),
        };
        let took = pump(volume, self.depth, &mut pass)?;
        let mut verified = pass.verified;
        verified.elapsed_ns = took.elapsed_ns();
        Ok(verified)
    }
}

/// What is done on the way over the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Write,
    Compare,
    CompareLoad,
}

/// One way over the range.
struct Pass<'a, V: ?Sized> {
    verification: Verification,
    fill: Fill,
    task: Task,
    next_block: u64,
    /// One block, made or looked at here.
    content: Vec<u8>,
    interrupt: &'a AtomicBool,
    between: BetweenRequests<'a, V>,
    verified: Verified,
}

impl<V: ?Sized> Load<V> for Pass<'_, V> {
    fn next(&mut self, _now_ns: u64) -> Option<Operation> {
        let blocks = self.verification.blocks;
        if self.next_block == blocks.count {
            return None;
        }
        if self.interrupt.load(Ordering::Relaxed) {
            self.verified.interrupted = true;
            return None;
        }
        self.next_block += 1;
        let offset = blocks.start(self.next_block - 1);
        let direction = if self.task == Task::Write { Direction::Write } else { Direction::Read };
        Some(Operation { offset, length: blocks.block_size_bytes, direction })
    }

    fn prepare(&mut self, arena: &Arena, place: Place, operation: &Operation) {
        if operation.direction == Direction::Write {
            self.fill.write(operation.offset, self.verification.pass, &mut self.content);
            arena.write(place.memory, &self.content);
        }
    }

    fn completed(&mut self, arena: &Arena, place: Place, event: &Event) {
        if event.result.is_err() {
            self.verified.errors += 1;
            return;
        }
        self.verified.bytes += u64::from(event.length);
        if event.direction == Direction::Write {
            return;
        }
        arena.read(place.memory, &mut self.content);
        let (verified, unit_bytes) = (&mut self.verified, u64::from(self.fill.unit_bytes()));
        let mut note = |unit| {
            verified.wrong_bytes += unit_bytes;
            if verified.wrong.len() < WRONG_TOLD {
                verified.wrong.push(unit);
            }
        };
        match self.task {
            Task::CompareLoad => self.fill.check_stamped(event.offset, &self.content, &mut note),
            Task::Write | Task::Compare => {
                self.fill.check(event.offset, self.verification.pass, &self.content, &mut note);
            }
        }
    }

    fn turned(&mut self, volume: &mut V, _now_ns: u64) {
        (self.between)(volume, self.verified.bytes);
    }
}

#[cfg(test)]
mod tests;
