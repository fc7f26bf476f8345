//! A world whose drives answer reads without being read, once it is told so: what an array over it
//! can have does not depend on what its members hold.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use shoal_drive::{Arena, DriveId, Finished, Io, IoKind, LoopError};
use shoal_volume::{DriveFacts, Instant, World};

/// Whether reads are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// As in the world below.
    Done,
    /// They are answered well, and nothing comes into the memory.
    Left,
}

/// Shows a world that is only read.
pub(crate) struct HollowWorld<W> {
    below: W,
    reading: Rc<Cell<Reading>>,
    answered: Vec<Finished>,
}

impl<W: World> HollowWorld<W> {
    /// Reads are done as `reading` says at their time.
    pub(crate) fn new(below: W, reading: Rc<Cell<Reading>>) -> Self {
        Self { below, reading, answered: Vec::new() }
    }
}

impl<W: World> World for HollowWorld<W> {
    fn arena(&self) -> &Arena {
        self.below.arena()
    }

    fn drives(&self) -> Vec<DriveId> {
        self.below.drives()
    }

    fn facts(&self, drive: DriveId) -> DriveFacts {
        self.below.facts(drive)
    }

    fn hardware(&self, drive: DriveId) -> Option<String> {
        self.below.hardware(drive)
    }

    fn submit(&mut self, io: Io) {
        match (io.kind, self.reading.get()) {
            (IoKind::Read(_), Reading::Left) => self.answered.push(Finished { token: io.token, result: Ok(()) }),
            _ => self.below.submit(io),
        }
    }

    fn wait(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
    ) -> Result<(), LoopError> {
        let at_least = at_least.saturating_sub(self.answered.len()).min(self.below.pending());
        finished.append(&mut self.answered);
        self.below.wait(at_least, timeout, finished)
    }

    fn pending(&self) -> usize {
        self.below.pending() + self.answered.len()
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
