//! The world as the array sees it, with somebody who writes down all that passes, and who has his
//! hand at the mains.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use shoal_array::Instant;
use shoal_drive::{Finished, Io, IoKind, LoopError};
use shoal_volume::{Arena, DriveFacts, DriveId, SimulatedWorld, World};

use crate::checkers::Placement;
use crate::chronicle::Shared;
use crate::limits::IDLE_WAITS_MAX;
use crate::out_of_order::OutOfOrder;

/// A simulated world under watch.
pub(crate) struct Watched {
    world: OutOfOrder,
    chronicle: Shared,
    pub(crate) placement: Placement,
    /// Drives that are to hang, each before the start of so many I/Os more.
    hangs: BTreeMap<usize, u32>,
    /// Calls to `wait` since time last moved.
    idle_waits: u32,
    last_ns: u64,
    /// Virtual time before this world began.
    began_ns: u64,
}

impl Watched {
    pub(crate) fn new(world: OutOfOrder, given: HashSet<DriveId>, chronicle: Shared) -> Self {
        let began_ns = chronicle.borrow().total_ns;
        Self {
            world,
            chronicle,
            placement: Placement::new(given),
            hangs: BTreeMap::new(),
            idle_waits: 0,
            last_ns: 0,
            began_ns,
        }
    }

    pub(crate) fn inner(&self) -> &SimulatedWorld {
        self.world.inner()
    }

    pub(crate) fn inner_mut(&mut self) -> &mut SimulatedWorld {
        self.world.inner_mut()
    }

    pub(crate) fn into_inner(self) -> SimulatedWorld {
        self.world.into_inner()
    }

    /// Power goes off. Who runs the array does not see it: what he waits for ends with an error,
    /// all of it.
    pub(crate) fn cut_power(&mut self) {
        self.chronicle.borrow_mut().power_is_off(self.world.inner_mut().picture(), self.placement.verdict());
    }

    /// Lets each of these drives hang when so many I/Os were started.
    pub(crate) fn plan_hangs(&mut self, hangs: &BTreeMap<usize, u32>) {
        self.hangs.clone_from(hangs);
    }

    /// A drive that was to hang does not any more.
    pub(crate) fn forget_hang(&mut self, drive: usize) {
        self.hangs.remove(&drive);
    }

    fn count_for_hangs(&mut self) {
        let simulation = self.world.inner_mut().simulation_mut();
        self.hangs.retain(|drive, after_ios| match after_ios.checked_sub(1) {
            None => {
                simulation.hang(*drive);
                false
            }
            Some(left) => {
                *after_ios = left;
                true
            }
        });
    }

    fn is_dark(&self) -> bool {
        self.chronicle.borrow().is_dark()
    }

    /// I/Os have started or ended.
    fn count_events(&mut self, events: usize) {
        let is_due = self.chronicle.borrow_mut().is_cut_due(events);
        if is_due {
            self.cut_power();
        }
    }

    fn watch_progress(&mut self) {
        let now_ns = self.world.now().ns;
        self.idle_waits = if now_ns == self.last_ns { self.idle_waits + 1 } else { 0 };
        self.last_ns = now_ns;
        let mut chronicle = self.chronicle.borrow_mut();
        chronicle.total_ns = self.began_ns + now_ns;
        chronicle.hash.add(now_ns);
        assert!(self.idle_waits < IDLE_WAITS_MAX, "the array turns and no time passes");
    }

    fn write_down_start(&self, io: &Io) {
        let mut chronicle = self.chronicle.borrow_mut();
        chronicle.io_count += 1;
        for word in [u64::from(io.drive.0), kind_word(io.kind), io.offset, self.world.now().ns] {
            chronicle.hash.add(word);
        }
        if !chronicle.is_traced() {
            return;
        }
        let (drive, offset, token) = (self.world.inner().drive_of(io.drive), io.offset, io.token);
        let what = match io.kind {
            IoKind::Read(memory) => format!("read {} at {offset}", memory.length),
            IoKind::Write(memory) => format!("write {} at {offset}", memory.length),
            IoKind::Flush => "flush".to_owned(),
            IoKind::Discard(length) => format!("discard {length} at {offset}"),
        };
        chronicle.note(format_args!("  drive {drive}: {what} [{token}]"));
    }

    fn write_down_ends(&self, finished: &[Finished]) {
        let mut chronicle = self.chronicle.borrow_mut();
        if finished.iter().any(|finished| finished.result.is_err()) {
            chronicle.error_came();
        }
        for Finished { token, result } in finished {
            chronicle.hash.add(token << 1 | u64::from(result.is_ok()));
            match result {
                _ if !chronicle.is_traced() => {}
                Ok(()) => chronicle.note(format_args!("  [{token}] done")),
                Err(error) => chronicle.note(format_args!("  [{token}] failed: {error}")),
            }
        }
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

/// What becomes of waiting when there is no power.
fn power_is_off() -> LoopError {
    LoopError::System(std::io::Error::other("power is off"))
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

    fn hardware(&self, drive: DriveId) -> Option<String> {
        Some(format!("drive {}", self.world.inner().drive_of(drive)))
    }

    fn submit(&mut self, io: Io) {
        if self.is_dark() {
            return;
        }
        self.count_for_hangs();
        self.placement.submitted(&io, self.world.inner().size_bytes(io.drive));
        self.write_down_start(&io);
        self.world.submit(io);
        self.count_events(1);
    }

    fn wait(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
    ) -> Result<(), LoopError> {
        if self.is_dark() {
            return Err(power_is_off());
        }
        let already = finished.len();
        self.world.wait(at_least, timeout, finished)?;
        self.watch_progress();
        self.write_down_ends(&finished[already..]);
        self.count_events(finished.len() - already);
        if self.is_dark() { Err(power_is_off()) } else { Ok(()) }
    }

    fn pending(&self) -> usize {
        // Without power whatever was asked for is never over: who waits for it has to meet the
        // error.
        self.world.pending() + usize::from(self.is_dark())
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
    }

    fn random_bytes(&mut self) -> [u8; 16] {
        self.world.random_bytes()
    }
}
