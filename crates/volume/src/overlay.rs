//! A world over a world that is never written: what is written stays in memory, over what is read
//! from below.
//!
//! Its drives are *windows*: parts of the drives below, as partitions are, that may end where their
//! image was cut off, or have ranges that could not be copied. What a window lacks answers as
//! unreadable, so an array over it takes that from its other members.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::time::Duration;

use shoal_array::Instant;
use shoal_drive::{Arena, DriveId, Finished, Io, IoKind, LoopError, Memory};

use crate::world::{DriveFacts, World};

/// What is kept of a write as one.
const BLOCK_BYTES: u64 = 512;

/// A part of a drive that stands for a drive of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// What people call it.
    pub name: String,
    /// The drive below.
    pub drive: DriveId,
    /// Where on it the window starts, in bytes.
    pub offset: u64,
    /// Size of the window; the drive below may end before.
    pub size_bytes: u64,
    /// Bytes of the window that hold nothing.
    pub holes: Vec<Range<u64>>,
}

/// What is done about a read of what was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// It goes below.
    Done,
    /// It is answered well if there is no hole in its place, and nothing comes into the memory.
    Left,
}

/// Drives whose writes stay in memory, over windows of drives that are only read.
#[derive(Debug)]
pub struct OverlayWorld<W> {
    below: W,
    windows: Vec<Window>,
    /// What was written, per window, by block.
    written: Vec<BTreeMap<u64, [u8; BLOCK_BYTES as usize]>>,
    /// Reads below that have to be completed from what was written.
    reads: HashMap<u64, Io>,
    reading: Reading,
    finished: Vec<Finished>,
}

impl<W: World> OverlayWorld<W> {
    /// Shows `windows` of the drives below as drives, with ids from 0 on in this order. What lies
    /// behind the end of a drive below becomes a hole.
    pub fn new(below: W, mut windows: Vec<Window>) -> Self {
        for window in &mut windows {
            let there = below.facts(window.drive).size_bytes.saturating_sub(window.offset);
            if there < window.size_bytes {
                window.holes.push(there..window.size_bytes);
            }
        }
        let written = windows.iter().map(|_| BTreeMap::new()).collect();
        Self { below, windows, written, reads: HashMap::new(), reading: Reading::Done, finished: Vec::new() }
    }

    /// Answers reads from now on without reading: what an array over these drives can have does not
    /// depend on what they hold.
    pub fn leave_reads(&mut self) {
        self.reading = Reading::Left;
    }

    /// Puts bytes over what is below, in whole blocks of 512 bytes.
    ///
    /// # Panics
    /// If they are no whole blocks: a mistake of the caller's.
    pub fn write(&mut self, window: DriveId, offset: u64, bytes: &[u8]) {
        assert!(offset.is_multiple_of(BLOCK_BYTES) && bytes.len().is_multiple_of(BLOCK_BYTES as usize), "odd blocks");
        let window = window.0 as usize;
        let blocks = (offset / BLOCK_BYTES..).zip(bytes.chunks_exact(BLOCK_BYTES as usize));
        for (number, block) in blocks {
            self.written[window].insert(number, block.try_into().expect("chunks are exact"));
        }
    }

    fn read(&mut self, io: Io, memory: Memory) {
        let index = io.drive.0 as usize;
        let range = io.offset..io.offset + u64::from(memory.length);
        let over = self.written[index].range(range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES)).count() as u64;
        let whole = over * BLOCK_BYTES == range.end - range.start;
        let window = &self.windows[index];
        let outside = range.end > window.size_bytes;
        let in_hole = |hole: &Range<u64>| {
            let missing = hole.start.max(range.start)..hole.end.min(range.end);
            !missing.is_empty() && !covers(&self.written[index], &missing)
        };
        if outside || window.holes.iter().any(in_hole) {
            return self.answer(io.token, Err(rustix::io::Errno::IO.into()));
        }
        if whole {
            self.complete(&io, memory);
            return self.answer(io.token, Ok(()));
        }
        if self.reading == Reading::Left {
            return self.answer(io.token, Ok(()));
        }
        if over > 0 {
            self.reads.insert(io.token, io);
        }
        self.below.submit(Io { drive: window.drive, offset: window.offset + io.offset, ..io });
    }

    /// Puts what was written over what was read.
    fn complete(&self, io: &Io, memory: Memory) {
        let (start, end) = (io.offset, io.offset + u64::from(memory.length));
        for (number, block) in self.written[io.drive.0 as usize].range(start / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES)) {
            let skipped = usize::try_from(number * BLOCK_BYTES - start).expect("within one request");
            let at = Memory { offset: memory.offset + skipped, length: BLOCK_BYTES as u32 };
            self.below.arena().write(at, block);
        }
    }

    fn answer(&mut self, token: u64, result: Result<(), std::io::Error>) {
        self.finished.push(Finished { token, result });
    }
}

/// Whether all blocks of a range were written.
fn covers(written: &BTreeMap<u64, [u8; BLOCK_BYTES as usize]>, range: &Range<u64>) -> bool {
    let blocks = range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES);
    written.range(blocks.clone()).count() as u64 == blocks.end - blocks.start
}

impl<W: World> World for OverlayWorld<W> {
    fn arena(&self) -> &Arena {
        self.below.arena()
    }

    fn drives(&self) -> Vec<DriveId> {
        (0..).map(DriveId).take(self.windows.len()).collect()
    }

    fn facts(&self, drive: DriveId) -> DriveFacts {
        let window = &self.windows[drive.0 as usize];
        let below = self.below.facts(window.drive);
        DriveFacts { name: window.name.clone(), size_bytes: window.size_bytes, writable: true, ..below }
    }

    fn hardware(&self, drive: DriveId) -> Option<String> {
        self.below.hardware(self.windows[drive.0 as usize].drive)
    }

    fn submit(&mut self, io: Io) {
        match io.kind {
            IoKind::Read(memory) => self.read(io, memory),
            IoKind::Write(memory) => {
                let mut bytes = vec![0; memory.length as usize];
                self.below.arena().read(memory, &mut bytes);
                self.write(io.drive, io.offset, &bytes);
                self.answer(io.token, Ok(()));
            }
            IoKind::Flush => self.answer(io.token, Ok(())),
            IoKind::Discard(_) => self.answer(io.token, Err(rustix::io::Errno::OPNOTSUPP.into())),
        }
    }

    fn wait(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
    ) -> Result<(), LoopError> {
        let first = finished.len();
        let at_least = at_least.saturating_sub(self.finished.len()).min(self.below.pending());
        finished.append(&mut self.finished);
        self.below.wait(at_least, timeout, finished)?;
        for Finished { token, result } in &finished[first..] {
            if let (Some(io), Ok(())) = (self.reads.remove(token), result)
                && let IoKind::Read(memory) = io.kind
            {
                self.complete(&io, memory);
            }
        }
        Ok(())
    }

    fn pending(&self) -> usize {
        self.below.pending() + self.finished.len()
    }

    fn go_on(&self) -> Result<(), LoopError> {
        self.below.go_on()
    }

    fn now(&self) -> Instant {
        self.below.now()
    }

    fn unix_time_s(&self) -> u64 {
        self.below.unix_time_s()
    }

    fn sleep(&mut self, duration: Duration) {
        self.below.sleep(duration);
    }

    fn random_bytes(&mut self) -> [u8; 16] {
        self.below.random_bytes()
    }
}
