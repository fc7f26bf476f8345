//! Drives in memory behind a [`World`]: they answer in any order, and every step is noted.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::Duration;

use shoal_array::Instant;
use shoal_drive::{Arena, DriveId, Finished, Io, IoKind, LoopError};
use shoal_volume::{DriveFacts, World, WriteOrder};

use crate::power_cuts::media::Media;
use crate::power_cuts::random::Random;
use crate::power_cuts::trace::{Fact, Number, Trace, note};

/// The drives that are dead: they answer nothing but errors, and keep what they have.
pub(crate) type Dead = Rc<RefCell<HashSet<usize>>>;

/// The drives that will fail a flush, after carrying out so many.
pub(crate) type Refusals = Rc<RefCell<HashMap<usize, u32>>>;

/// Virtual time that one I/O takes.
const IO_NS: u64 = 100_000;

/// An I/O that a drive is at.
struct InFlight {
    io: Io,
    /// Writes and flushes.
    number: Option<Number>,
    bytes: Option<Rc<[u8]>>,
}

/// Drives in memory on a virtual clock.
pub(crate) struct TracedWorld {
    arena: Arena,
    media: Vec<Media>,
    dead: Dead,
    refusals: Refusals,
    /// A drive that dies once so many writes and flushes were asked for.
    doomed: Option<(usize, Number)>,
    /// Blocks that cannot be read until they are written: drive and place.
    unreadable: HashSet<(usize, u64)>,
    drive_bytes: u64,
    logical_block_bytes: u32,
    in_flight: Vec<InFlight>,
    numbers: Number,
    now_ns: u64,
    random: Random,
    trace: Trace,
}

impl TracedWorld {
    pub(crate) fn new(media: Vec<Media>, drive_bytes: u64, arena: Arena, seed: u64, trace: Trace) -> Self {
        Self {
            arena,
            media,
            dead: Dead::default(),
            refusals: Refusals::default(),
            doomed: None,
            unreadable: HashSet::new(),
            drive_bytes,
            logical_block_bytes: 512,
            in_flight: Vec::new(),
            numbers: 0,
            now_ns: 0,
            random: Random::new(seed),
            trace,
        }
    }

    /// The switch that kills drives.
    pub(crate) fn dead(&self) -> Dead {
        self.dead.clone()
    }

    /// The flushes that will fail.
    pub(crate) fn refusals(&self) -> Refusals {
        self.refusals.clone()
    }

    /// Lets a drive die once so many writes and flushes were asked for.
    pub(crate) fn doom(&mut self, drive: usize, numbers: Number) {
        self.doomed = Some((drive, numbers));
    }

    /// Writes and flushes that were asked for so far.
    pub(crate) fn numbers(&self) -> Number {
        self.numbers
    }

    /// Whether a drive fails the flush that it is at.
    fn refuses(&self, drive: usize) -> bool {
        let mut refusals = self.refusals.borrow_mut();
        match refusals.get_mut(&drive) {
            None => false,
            Some(0) => refusals.remove(&drive).is_some(),
            Some(left) => {
                *left -= 1;
                false
            }
        }
    }

    /// Lets a block of 4 KiB go bad.
    pub(crate) fn spoil(&mut self, drive: usize, offset: u64) {
        self.unreadable.insert((drive, offset));
    }

    /// What lies on the drives, with everything that their caches hold.
    pub(crate) fn media(&self) -> &[Media] {
        &self.media
    }

    fn finish(&mut self, done: InFlight) -> Finished {
        let Io { token, drive, kind, offset } = done.io;
        let drive = drive.0 as usize;
        if let Some((drive, _)) = self.doomed.take_if(|(_, last)| self.numbers > *last) {
            self.dead.borrow_mut().insert(drive);
        }
        if self.dead.borrow().contains(&drive) {
            return Finished { token, result: Err(rustix::io::Errno::NODEV.into()) };
        }
        match kind {
            IoKind::Read(memory) => {
                let range = offset..offset + u64::from(memory.length);
                if self.unreadable.iter().any(|(bad, at)| *bad == drive && range.contains(at)) {
                    return Finished { token, result: Err(rustix::io::Errno::IO.into()) };
                }
                let mut bytes = vec![0; memory.length as usize];
                self.media[drive].read(offset, &mut bytes);
                self.arena.write(memory, &bytes);
            }
            IoKind::Write(_) => {
                let bytes = done.bytes.expect("a write has bytes");
                self.media[drive].write(offset, &bytes);
                note(&self.trace, Fact::Written { number: done.number.expect("a write has a number") });
            }
            IoKind::Flush if self.refuses(drive) => {
                note(&self.trace, Fact::Refused { drive });
                return Finished { token, result: Err(rustix::io::Errno::IO.into()) };
            }
            IoKind::Flush => note(&self.trace, Fact::Flushed { number: done.number.expect("a flush has a number") }),
            IoKind::Discard(_) => {
                return Finished { token, result: Err(rustix::io::Errno::OPNOTSUPP.into()) };
            }
        }
        Finished { token, result: Ok(()) }
    }
}

impl World for TracedWorld {
    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn drives(&self) -> Vec<DriveId> {
        (0..).map(DriveId).take(self.media.len()).collect()
    }

    fn facts(&self, drive: DriveId) -> DriveFacts {
        DriveFacts {
            name: format!("drive {}", drive.0),
            size_bytes: self.drive_bytes,
            logical_block_bytes: self.logical_block_bytes,
            writable: true,
            direct: true,
            write_order: WriteOrder::Any,
        }
    }

    fn submit(&mut self, io: Io) {
        let drive = io.drive.0 as usize;
        let number = self.numbers;
        let (numbered, bytes) = match io.kind {
            IoKind::Write(memory) => {
                let mut bytes = vec![0; memory.length as usize];
                self.arena.read(memory, &mut bytes);
                let bytes: Rc<[u8]> = bytes.into();
                if !self.dead.borrow().contains(&drive) {
                    note(&self.trace, Fact::Write { number, drive, offset: io.offset, bytes: bytes.clone() });
                }
                (true, Some(bytes))
            }
            IoKind::Flush => {
                note(&self.trace, Fact::Flush { number, drive });
                (true, None)
            }
            IoKind::Read(_) | IoKind::Discard(_) => (false, None),
        };
        self.numbers += usize::from(numbered);
        self.in_flight.push(InFlight { io, number: numbered.then_some(number), bytes });
    }

    fn wait(
        &mut self,
        at_least: usize,
        _timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
    ) -> Result<(), LoopError> {
        for _ in 0..at_least {
            if self.in_flight.is_empty() {
                break;
            }
            self.now_ns += IO_NS;
            let next = self.random.below(self.in_flight.len());
            let next = self.in_flight.swap_remove(next);
            finished.push(self.finish(next));
        }
        Ok(())
    }

    fn pending(&self) -> usize {
        self.in_flight.len()
    }

    fn now(&self) -> Instant {
        Instant { ns: self.now_ns }
    }

    fn unix_time_s(&self) -> u64 {
        1_700_000_000 + self.now_ns / 1_000_000_000
    }

    fn sleep(&mut self, duration: Duration) {
        self.now_ns += u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).max(1);
    }

    fn random_bytes(&mut self) -> [u8; 16] {
        self.random.bytes()
    }
}
