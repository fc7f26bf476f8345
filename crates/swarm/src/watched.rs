//! The world as the array sees it, with somebody who writes down all that passes.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::Duration;

use shoal_array::Instant;
use shoal_drive::{Finished, Io, IoKind, LoopError};
use shoal_volume::{Arena, DriveFacts, DriveId, SimulatedWorld, World};

use crate::checkers::Placement;

/// What passed between an array and its drives, in one number: equal for equal runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceHash(u64);

impl TraceHash {
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Mixes a number in (FNV-1a, a word at a time, and a rotation for the high bits).
    pub(crate) fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    }

    pub(crate) fn value(self) -> u64 {
        self.0
    }
}

/// A simulated world under watch.
pub(crate) struct Watched {
    world: SimulatedWorld,
    pub(crate) hash: TraceHash,
    pub(crate) io_count: u64,
    /// A line for each I/O, if they are wanted.
    pub(crate) lines: Option<String>,
    pub(crate) placement: Placement,
    /// Calls to `wait` since time last moved.
    idle_waits: u32,
    last_ns: u64,
    /// Virtual time before this world began.
    began_ns: u64,
}

/// So many waits in a row without any time passing are no progress.
const IDLE_WAITS_MAX: u32 = 1_000_000;

impl Watched {
    pub(crate) fn new(world: SimulatedWorld, given: HashSet<DriveId>, is_traced: bool, began_ns: u64) -> Self {
        Self {
            world,
            hash: TraceHash::new(),
            io_count: 0,
            lines: is_traced.then(String::new),
            placement: Placement::new(given),
            idle_waits: 0,
            last_ns: 0,
            began_ns,
        }
    }

    pub(crate) fn inner_mut(&mut self) -> &mut SimulatedWorld {
        &mut self.world
    }

    pub(crate) fn into_inner(self) -> SimulatedWorld {
        self.world
    }

    /// Virtual time since the scenario began.
    pub(crate) fn total_ns(&self) -> u64 {
        self.began_ns + self.world.now().ns
    }

    /// Notes something that is not I/O.
    pub(crate) fn note(&mut self, line: std::fmt::Arguments<'_>) {
        let at_us = self.total_ns() / 1000;
        if let Some(lines) = &mut self.lines {
            let _infallible = writeln!(lines, "{at_us:>12} us  {line}");
        }
    }

    fn watch_progress(&mut self) {
        let now_ns = self.world.now().ns;
        self.idle_waits = if now_ns == self.last_ns { self.idle_waits + 1 } else { 0 };
        self.last_ns = now_ns;
        assert!(self.idle_waits < IDLE_WAITS_MAX, "the array turns and no time passes");
    }
}

/// Told apart, and with its length.
fn kind_word(kind: IoKind) -> u64 {
    match kind {
        IoKind::Read(memory) => 1 << 60 | u64::from(memory.length),
        IoKind::Write(memory) => 2 << 60 | u64::from(memory.length),
        IoKind::Flush => 3 << 60,
        IoKind::Discard(length) => 4 << 60 | length,
    }
}

impl World for Watched {
    fn arena(&self) -> &Arena {
        self.world.arena()
    }

    fn drives(&self) -> Vec<DriveId> {
        self.world.drives()
    }

    fn facts(&self, drive: DriveId) -> DriveFacts {
        self.world.facts(drive)
    }

    fn submit(&mut self, io: Io) {
        self.io_count += 1;
        self.placement.submitted(&io, self.world.facts(io.drive).size_bytes);
        for word in [u64::from(io.drive.0), kind_word(io.kind), io.offset, self.world.now().ns] {
            self.hash.add(word);
        }
        if self.lines.is_some() {
            let drive = self.world.drive_of(io.drive);
            let (offset, token) = (io.offset, io.token);
            match io.kind {
                IoKind::Read(memory) => {
                    self.note(format_args!("  drive {drive}: read {} at {offset} [{token}]", memory.length))
                }
                IoKind::Write(memory) => {
                    self.note(format_args!("  drive {drive}: write {} at {offset} [{token}]", memory.length));
                }
                IoKind::Flush => self.note(format_args!("  drive {drive}: flush [{token}]")),
                IoKind::Discard(length) => {
                    self.note(format_args!("  drive {drive}: discard {length} at {offset} [{token}]"))
                }
            }
        }
        self.world.submit(io);
    }

    fn wait(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
    ) -> Result<(), LoopError> {
        let already = finished.len();
        self.world.wait(at_least, timeout, finished)?;
        self.watch_progress();
        self.hash.add(self.last_ns);
        for Finished { token, result } in &finished[already..] {
            self.hash.add(token << 1 | u64::from(result.is_ok()));
        }
        if self.lines.is_some() {
            for Finished { token, result } in &finished[already..] {
                match result {
                    Ok(()) => self.note(format_args!("  [{token}] done")),
                    Err(error) => self.note(format_args!("  [{token}] failed: {error}")),
                }
            }
        }
        Ok(())
    }

    fn pending(&self) -> usize {
        self.world.pending()
    }

    fn now(&self) -> Instant {
        self.world.now()
    }

    fn unix_time_s(&self) -> u64 {
        self.world.unix_time_s() + self.began_ns / 1_000_000_000
    }

    fn sleep(&mut self, duration: Duration) {
        self.world.sleep(duration);
        self.watch_progress();
        self.hash.add(self.last_ns);
    }

    fn random_bytes(&mut self) -> [u8; 16] {
        self.world.random_bytes()
    }
}
