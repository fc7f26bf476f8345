//! Writes of drives that are to be given one at a time, and flushes of all, on their way to the
//! world.

mod flushes;

use shoal_array::Instant;
use shoal_drive::{DriveId, Io, IoKind, Memory};

use crate::elevator::{Elevator, memory_of};
use crate::world::World;

use super::Tree;
use super::flights::Flight;
pub(super) use flushes::Flushes;

impl<W: World> Tree<W> {
    /// Sends I/O on to the world: writes at the end of the [pump](Tree::pump) in the order that
    /// suits their drive, [one flush at a time](flushes), all else at once.
    pub(super) fn send(&mut self, io: Io) {
        if io.kind == IoKind::Flush {
            self.flushes.submit(io);
            return self.begin_flush(io.drive);
        }
        let Self { world, elevators, sequence, .. } = self;
        if let IoKind::Write(_) = io.kind
            && let Some(elevator) = elevators.of(io.drive, || world.facts(io.drive).write_order)
        {
            return elevator.submit(io);
        }
        sequence.note(io.drive, io.offset, io.kind);
        world.submit(io);
    }

    /// Whether a flush of a drive is left out: it has nothing new, and would not refuse one.
    pub(super) fn is_flushed(&mut self, drive: DriveId) -> bool {
        let is_needless = self.flushes.are_needless(drive);
        if is_needless && self.world.refuses_flushes(drive) {
            self.flushes.changed(drive);
            return false;
        }
        if is_needless {
            self.sequence.note_needless_flush();
        }
        is_needless
    }

    /// Gives a drive that has no flush the next one.
    fn begin_flush(&mut self, drive: DriveId) {
        if let Some(io) = self.flushes.begin(drive) {
            self.sequence.note(io.drive, io.offset, io.kind);
            self.world.submit(io);
        }
    }

    /// A drive has answered something: all that this is the answer to.
    pub(super) fn answered_by(&mut self, token: u64, is_good: bool) -> Vec<u64> {
        let Some(Flight { drive, kind, .. }) = self.flights.get(token) else { return vec![token] };
        match kind {
            IoKind::Flush => {
                let answered = self.flushes.ended(drive, is_good);
                self.begin_flush(drive);
                return answered;
            }
            IoKind::Write(_) | IoKind::Discard(_) => self.flushes.changed(drive),
            IoKind::Read(_) => {}
        }
        vec![token]
    }

    /// Whether a drive has not been given this yet.
    pub(super) fn is_unsent(&mut self, drive: DriveId, token: u64) -> bool {
        self.elevators.holds(drive, token) || self.flushes.holds(drive, token)
    }

    /// Gives drives that have no write the next one.
    pub(super) fn send_writes(&mut self) {
        for elevator in self.elevators.all() {
            let request = elevator.begin();
            let (Some(first), Some(last)) = (request.first(), request.last()) else { continue };
            let end = last.offset + u64::from(memory_of(last).length);
            let length = u32::try_from(end - first.offset).unwrap_or(u32::MAX);
            self.sequence.note(first.drive, first.offset, IoKind::Write(Memory { length, ..memory_of(first) }));
            self.world.submit_together(&request);
        }
    }

    /// Whether drives have answered all that they were asked, and nothing waits to be asked of
    /// them.
    pub(crate) fn has_landed(&self) -> bool {
        self.world.pending() == 0 && !self.elevators.are_waiting() && !self.flushes.are_waiting()
    }

    /// Takes back a write or flush that nobody waits for any more. Says whether its drive had not
    /// been given it: then it is never done.
    pub(super) fn take_back_one(&mut self, now: Instant, token: u64) -> bool {
        let Some(flight) = self.flights.get(token) else { return false };
        let (elevators, flushes) = (&mut self.elevators, &mut self.flushes);
        let is_unsent = elevators.take_back_one(flight.drive, token) || flushes.take_back_one(flight.drive, token);
        if is_unsent {
            self.landed(now, token, false);
            self.pending.take(token);
        }
        is_unsent
    }

    /// Takes back all that drives have not been given, as nobody waits for it any more.
    pub(super) fn take_back_all(&mut self) {
        let now = self.world.now();
        let mut unsent = self.flushes.take_back_all();
        unsent.extend(self.elevators.all().flat_map(Elevator::take_back));
        for token in unsent {
            self.flights.leave(token);
            self.landed(now, token, false);
            self.pending.take(token);
        }
    }

    /// Answers, by "gone", what a drive has not been given. Says whether there were any.
    pub(super) fn answer_unsent(&mut self, now: Instant, drive: DriveId) -> bool {
        let mut unsent = self.elevators.take_back(drive);
        unsent.extend(self.flushes.take_back(drive));
        for &token in &unsent {
            self.landed(now, token, false);
            let pending = self.pending.take(token);
            self.io_ended(now, pending, Err(&rustix::io::Errno::NODEV.into()));
        }
        !unsent.is_empty()
    }
}

#[cfg(test)]
mod tests;
