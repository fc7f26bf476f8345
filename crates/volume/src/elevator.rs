//! An elevator for the writes of one drive: what waits for it goes out ascending, neighbours as
//! one, one at a time.
//!
//! A step back is what costs flash most (`tree/sequence.rs`). The engine gives its writes out in an
//! order that suits members, but many of them are under way at once, and nothing on their way to
//! the medium has to keep their order: Linux hands what was submitted together to a queue without a
//! scheduler last in, first out, and bridges and servers work on many at a time, scheduler or not.
//! A single swap of two neighbours costs a stick the copy of an erase unit. So the drive is given
//! no choice: at any moment it has one write. Measured on six paced `stick-64g` behind the virtio
//! queues of Linux 6.1, RAID5 with a write-back window, 64 KiB in sequence, one at a time: 6.8 MB/s
//! with all under way at once, 116 MB/s with this.
//!
//! ```text
//!  write ──► next sweep ──► this sweep, by place ──► neighbours, as one request ──► drive
//!                │                  ▲
//!                └── lies further up ┘ (a few in each sweep)
//! ```
//!
//! *Order.* A sweep takes what waits when it begins, and goes upwards once; then the next one
//! begins with its lowest place, as C-SCAN does. What comes meanwhile and lies further up than the
//! write under way may still join, so that a stream goes on.
//!
//! *One request* is made of writes each of which goes on where the last one ends, as long as it
//! does not get longer than the drive's best. It costs a drive one command, and nothing is copied
//! for it (`World::submit_together`).
//!
//! *What waits how long.* A sweep ends: it has what was there when it began, and no more than
//! [`JOINS_MAX`] others. So nothing waits for more than the rest of one sweep and all of the next,
//! whatever comes.
//!
//! *What it may not change.* What is ordered is ordered by answers: who needs one write to be
//! durable before another waits for its answer and for a flush before asking for the other. This is
//! a queue for what was asked for and not answered, and that drives may do in any order. So it
//! changes nothing for superblocks, logs, bitmaps and barriers: none of these has a write and what
//! depends on it under way at once. Two writes of one place are never under way at once either,
//! that is the engine's. Were they, they would go out in their order, and one at a time.
//!
//! *What does not wait here.* Reads, which somebody waits for, and which do not wear; flushes,
//! which are for what was answered before; discards.
//!
//! *Which drives.* Those that say so ([`WriteOrder`]): not files, and not drives with deep queues
//! of their own. The simulated host has a scheduler that sorts, as Linux puts one before sticks,
//! and so it says no, unless it is told to have none.
//!
//! *What is taken back.* A drive that is given up takes nothing of what waits here with it: that
//! was never begun, and is answered at once. So is a small write whose caller stops waiting, and
//! all of arrays that are forgotten: what waits here is on its way as much as what drives have, and
//! nobody makes anything new of drives and buffers before it is done or taken back.

use std::collections::BTreeMap;

use shoal_drive::{DriveId, Io, IoKind, Memory, WriteOrder};

use crate::limits::{JOINS_MAX, PARTS_MAX};

/// By place, and of one place in the order in which they came.
type ByPlace = BTreeMap<(u64, u64), Io>;

/// The writes of one drive that are not answered.
#[derive(Debug)]
pub(crate) struct Elevator {
    request_bytes: u64,
    sweep: ByPlace,
    next: ByPlace,
    /// Writes that have come so far.
    count: u64,
    /// Writes that have joined this sweep.
    joined: u32,
    /// Tokens of what the drive has.
    under_way: Vec<u64>,
    /// Where that ends.
    reached: u64,
}

/// Where a write's bytes are.
pub(crate) fn memory_of(write: &Io) -> Memory {
    match write.kind {
        IoKind::Write(memory) => memory,
        IoKind::Read(_) | IoKind::Flush | IoKind::Discard(_) => unreachable!("elevators have writes"),
    }
}

fn length_of(write: &Io) -> u64 {
    u64::from(memory_of(write).length)
}

impl Elevator {
    /// For a drive that takes requests of up to so many bytes.
    pub(crate) fn new(request_bytes: u32) -> Self {
        let (sweep, next, count, joined, under_way, reached) = Default::default();
        Self { request_bytes: u64::from(request_bytes), sweep, next, count, joined, under_way, reached }
    }

    /// Takes a write in.
    pub(crate) fn submit(&mut self, io: Io) {
        let is_under_way = !(self.under_way.is_empty() && self.sweep.is_empty());
        let joins = is_under_way && io.offset >= self.reached && self.joined < JOINS_MAX;
        self.joined += u32::from(joins);
        let waiting = if joins { &mut self.sweep } else { &mut self.next };
        waiting.insert((io.offset, self.count), io);
        self.count += 1;
    }

    /// What the drive is to be given now, as one request; nothing while it has something, or
    /// nothing waits.
    pub(crate) fn begin(&mut self) -> Vec<Io> {
        if !self.under_way.is_empty() {
            return Vec::new();
        }
        if self.sweep.is_empty() {
            self.sweep = std::mem::take(&mut self.next);
            self.joined = 0;
        }
        let Some((_, first)) = self.sweep.pop_first() else { return Vec::new() };
        let mut request = vec![first];
        self.reached = first.offset + length_of(&first);
        while let Some(neighbour) = self.sweep.first_entry() {
            let end = self.reached + length_of(neighbour.get());
            let is_too_long = end - first.offset > self.request_bytes || request.len() == PARTS_MAX;
            if neighbour.get().offset != self.reached || is_too_long {
                break;
            }
            request.push(neighbour.remove());
            self.reached = end;
        }
        self.under_way = request.iter().map(|io| io.token).collect();
        request
    }

    /// The drive has answered a write.
    pub(crate) fn ended(&mut self, token: u64) {
        self.under_way.retain(|&other| other != token);
    }

    /// Takes out of the queue what the drive was not given.
    pub(crate) fn take_back(&mut self) -> Vec<u64> {
        let waiting = std::mem::take(&mut self.sweep).into_values().chain(std::mem::take(&mut self.next).into_values());
        waiting.map(|io| io.token).collect()
    }

    /// Takes one write out of the queue. Says whether it was there: the drive may have been given
    /// it.
    pub(crate) fn take_back_one(&mut self, token: u64) -> bool {
        let holds = self.holds(token);
        for waiting in [&mut self.sweep, &mut self.next] {
            waiting.retain(|_, io| io.token != token);
        }
        holds
    }

    /// Whether anything is in the queue.
    fn is_waiting(&self) -> bool {
        !(self.sweep.is_empty() && self.next.is_empty())
    }

    /// Whether a write is in the queue, and the drive was not given it.
    pub(crate) fn holds(&self, token: u64) -> bool {
        self.sweep.values().chain(self.next.values()).any(|io| io.token == token)
    }
}

/// By the drive's number: nothing where it was not asked yet, and for drives whose writes go out as
/// they come no elevator.
#[derive(Debug, Default)]
pub(crate) struct Elevators(Vec<Option<Option<Elevator>>>);

impl Elevators {
    /// The elevator of a drive, if it has one.
    pub(crate) fn of(&mut self, drive: DriveId, order: impl FnOnce() -> WriteOrder) -> Option<&mut Elevator> {
        let index = drive.0 as usize;
        if self.0.len() <= index {
            self.0.resize_with(index + 1, || None);
        }
        let elevator = self.0[index].get_or_insert_with(|| match order() {
            WriteOrder::Any => None,
            WriteOrder::Ascending { request_bytes } => Some(Elevator::new(request_bytes)),
        });
        elevator.as_mut()
    }

    /// All that there are.
    pub(crate) fn all(&mut self) -> impl Iterator<Item = &mut Elevator> {
        self.0.iter_mut().flatten().flatten()
    }

    fn known(&mut self, drive: DriveId) -> Option<&mut Elevator> {
        self.0.get_mut(drive.0 as usize)?.as_mut()?.as_mut()
    }

    /// The drive has answered a write.
    pub(crate) fn ended(&mut self, drive: DriveId, token: u64) {
        if let Some(elevator) = self.known(drive) {
            elevator.ended(token);
        }
    }

    /// Whether a drive has not been given this write yet.
    pub(crate) fn holds(&mut self, drive: DriveId, token: u64) -> bool {
        self.known(drive).is_some_and(|elevator| elevator.holds(token))
    }

    /// Whether any drive has not been given everything yet.
    pub(crate) fn are_waiting(&self) -> bool {
        self.0.iter().flatten().flatten().any(Elevator::is_waiting)
    }

    /// Takes back a write that a drive has not been given yet. Says whether it has not.
    pub(crate) fn take_back_one(&mut self, drive: DriveId, token: u64) -> bool {
        self.known(drive).is_some_and(|elevator| elevator.take_back_one(token))
    }

    /// Takes back what a drive has not been given yet.
    pub(crate) fn take_back(&mut self, drive: DriveId) -> Vec<u64> {
        self.known(drive).map(Elevator::take_back).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
