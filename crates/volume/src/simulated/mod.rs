//! The simulated world: the drives of [`shoal_sim`] on a virtual clock, with content of their own.
//!
//! Time passes only in [`World::wait`] and [`World::sleep`]: the processor costs nothing here, and
//! a run is a function of its inputs and its seed. What an I/O does to a drive's content follows
//! its course: a write is the drive's to lose from the moment it is submitted, and acknowledged
//! when it has finished; a read sees what was acknowledged when it ends. The simulation says when
//! that is, the [`Content`] what came of it.
//!
//! A *paced* world sleeps on the machine's clock so that virtual time passes as real time does, for
//! those who meet the drives from outside.

mod contents;
mod error;
mod pace;
mod places;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use shoal_array::Instant;
use shoal_drive::{Arena, DriveId, Finished, Io, IoKind, LoopError, WriteOrder};
use shoal_sim::{Command, Content, Fault, HostModel, Operation, Scheduler, Simulation, Ticket, Topology};

use crate::BufferPlan;
use crate::slab::Slab;
use crate::world::{DriveFacts, World};

pub use contents::Contents;
pub use error::SimulatedWorldError;
use error::system_error;
use pace::Pace;
use places::{ModelFacts, Place};

/// What answering a request from memory costs the host: assumed, a system call and the copy of some
/// KiB.
const ANSWER_FROM_MEMORY_NS: u64 = 2_000;

/// Drives that do not exist, behind a [`World`].
#[derive(Debug)]
pub struct SimulatedWorld {
    simulation: Simulation,
    contents: Vec<Content>,
    models: Vec<ModelFacts>,
    /// By [`DriveId`]: ids are never used again, so a drive that comes back has a new one.
    places: Vec<Place>,
    arena: Arena,
    in_flight: Slab<InFlight>,
    /// For drives that are not there, or outside of them.
    refused: Vec<Finished>,
    /// Tokens that the simulation gave back; empty between calls.
    ended: Vec<u64>,
    /// Bytes on their way between arena and content.
    bytes: Vec<u8>,
    random: Xoshiro256PlusPlus,
    /// If the world keeps pace with the machine's clock.
    pace: Option<Pace>,
    write_order: WriteOrder,
}

/// An I/O that the simulation has.
#[derive(Debug)]
struct InFlight {
    io: Io,
    /// Of a write or flush, if the content took it.
    ticket: Option<Result<Ticket, Fault>>,
}

/// Time 0 of a world, for the record: the beginning of 2024.
const EPOCH_S: u64 = 1_704_067_200;

impl SimulatedWorld {
    /// Drives at rest at time 0, and an arena as `plan` cuts it. All chance follows from `seed`.
    pub fn new(
        topology: &Topology,
        host: &HostModel,
        contents: Contents,
        plan: BufferPlan,
        seed: u64,
    ) -> Result<Self, SimulatedWorldError> {
        let arena = plan.arena().map_err(SimulatedWorldError::Memory)?;
        Self::with_arena(topology, host, contents, arena, seed)
    }

    /// The same over memory that is there already, for who makes many worlds one after the other.
    pub fn with_arena(
        topology: &Topology,
        host: &HostModel,
        contents: Contents,
        arena: Arena,
        seed: u64,
    ) -> Result<Self, SimulatedWorldError> {
        let simulation = Simulation::new(topology, host)?;
        let contents = contents.of(topology)?;
        let facts = |(model, _): &(shoal_sim::DriveModel, usize)| ModelFacts {
            name: model.name.clone(),
            size_bytes: model.size_bytes,
            logical_block_bytes: model.logical_block_bytes,
        };
        let models: Vec<_> = topology.drives.iter().map(facts).collect();
        let place = |(drive, it): (usize, &Content)| Place::new(&models, drive, drive, !it.is_gone());
        Ok(Self {
            simulation,
            places: contents.iter().enumerate().map(place).collect(),
            models,
            contents,
            arena,
            in_flight: Slab::new(),
            refused: Vec::new(),
            ended: Vec::new(),
            bytes: Vec::new(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            pace: None,
            write_order: write_order(host),
        })
    }

    /// The same world, whose time passes as the machine's does.
    #[must_use]
    pub fn paced(self) -> Self {
        Self { pace: Some(Pace::new(self.simulation.now_ns())), ..self }
    }

    /// The drives at work.
    pub fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    /// The drives at work, to be disturbed.
    pub fn simulation_mut(&mut self) -> &mut Simulation {
        &mut self.simulation
    }

    /// The drive behind an id, as the topology counts, whether it is there or not.
    pub fn drive_of(&self, id: DriveId) -> usize {
        self.places[id.0 as usize].drive
    }

    /// Pulls a drive: what is in flight on it fails with ENODEV, and so does everything later.
    pub fn unplug(&mut self, id: DriveId) {
        let place = &mut self.places[id.0 as usize];
        if std::mem::take(&mut place.is_present) {
            self.contents[place.drive].set_gone(true);
            self.simulation.unplug(place.drive);
        }
    }

    /// Plugs a drive in again that was pulled. It comes back under another name and id; the old one
    /// stays gone.
    ///
    /// # Panics
    /// If the drive is there.
    pub fn replug(&mut self, id: DriveId) -> DriveId {
        let drive = self.places[id.0 as usize].drive;
        assert!(self.contents[drive].is_gone(), "{} is plugged in", self.name(id));
        self.contents[drive].set_gone(false);
        self.simulation.plug(drive);
        let id = self.places.len();
        self.places.push(Place::new(&self.models, drive, id, true));
        DriveId(u32::try_from(id).expect("drives are plugged in a few times"))
    }

    /// What never reaches a drive: I/O on one that is not there, or outside of it.
    fn check(&self, io: &Io) -> Result<(), io::Error> {
        let place = &self.places[io.drive.0 as usize];
        let length = match io.kind {
            IoKind::Read(memory) | IoKind::Write(memory) => u64::from(memory.length),
            IoKind::Discard(length) => length,
            IoKind::Flush => 0,
        };
        let end = io.offset.checked_add(length);
        if !place.is_present {
            Err(system_error(Fault::Gone))
        } else if end.is_none_or(|end| end > self.models[place.drive].size_bytes) {
            Err(io::ErrorKind::UnexpectedEof.into())
        } else {
            Ok(())
        }
    }

    /// What the content has to know of an I/O before it runs.
    fn begin(&mut self, drive: usize, io: &Io) -> Option<Result<Ticket, Fault>> {
        let content = &mut self.contents[drive];
        match io.kind {
            IoKind::Write(memory) => {
                if content.is_kept() {
                    self.bytes.resize(memory.length as usize, 0);
                    self.arena.read(memory, &mut self.bytes);
                } else {
                    self.bytes.clear();
                }
                Some(content.start_write(io.offset, &self.bytes))
            }
            IoKind::Flush => Some(content.start_flush()),
            IoKind::Read(_) | IoKind::Discard(_) => None,
        }
    }

    /// What came of an I/O that has run its course.
    fn end(&mut self, InFlight { io, ticket }: InFlight) -> Finished {
        let place = &self.places[io.drive.0 as usize];
        if !place.is_present {
            // It was pulled meanwhile, and may be back by now, under another id: this is not
            // answered by it.
            return Finished { token: io.token, result: Err(system_error(Fault::Gone)) };
        }
        let content = &mut self.contents[place.drive];
        let result = match (ticket, io.kind) {
            (Some(ticket), _) => ticket.and_then(|ticket| content.finish(ticket)),
            (None, IoKind::Read(memory)) => contents::read(content, io.offset, &self.arena, memory),
            (None, IoKind::Discard(length)) => content.discard(io.offset, length),
            (None, IoKind::Write(_) | IoKind::Flush) => unreachable!("writes and flushes have tickets"),
        };
        Finished { token: io.token, result: result.map_err(system_error) }
    }

    fn end_all(&mut self, finished: &mut Vec<Finished>) {
        let mut ended = std::mem::take(&mut self.ended);
        for token in ended.drain(..) {
            let io = self.in_flight.take(token);
            finished.push(self.end(io));
        }
        self.ended = ended;
    }

    /// The time that it should be.
    fn now_ns(&self) -> u64 {
        self.simulation.now_ns().max(self.pace.as_ref().map_or(0, Pace::now_ns))
    }

    /// Lets virtual time pass that has passed outside already.
    fn catch_up(&mut self) {
        let behind_ns = self.now_ns() - self.simulation.now_ns();
        if behind_ns > 0 {
            self.simulation.advance(behind_ns);
        }
    }

    fn wait_for(&mut self, at_least: usize, timeout: Option<Duration>, finished: &mut Vec<Finished>, may_wake: bool) {
        self.catch_up();
        let wanted = at_least.saturating_sub(self.refused.len());
        finished.append(&mut self.refused);
        let deadline_ns = timeout.map(|timeout| self.simulation.now_ns().saturating_add(duration_ns(timeout)));
        if self.pace.is_some() {
            self.wait_in_pace(wanted, deadline_ns, may_wake);
        } else {
            self.simulation.run_until(wanted, deadline_ns, &mut self.ended);
        }
        self.end_all(finished);
    }

    fn sleep_for(&mut self, duration: Duration, may_wake: bool) {
        match &self.pace {
            None => self.simulation.advance(duration_ns(duration)),
            Some(pace) => {
                pace.sleep_until(self.now_ns().saturating_add(duration_ns(duration)), may_wake);
                self.catch_up();
            }
        }
    }

    /// Waits for I/Os, and for the machine's clock, from event to event.
    fn wait_in_pace(&mut self, wanted: usize, deadline_ns: Option<u64>, may_wake: bool) {
        loop {
            self.catch_up();
            self.simulation.run_until(0, None, &mut self.ended);
            let is_over = match deadline_ns {
                Some(deadline_ns) => self.simulation.now_ns() >= deadline_ns,
                None => self.simulation.pending() == 0,
            };
            if self.ended.len() >= wanted || is_over {
                return;
            }
            let next_ns = self.simulation.next_event_ns().into_iter().chain(deadline_ns).min();
            let (Some(next_ns), Some(pace)) = (next_ns, &self.pace) else { return };
            if !pace.sleep_until(next_ns, may_wake) {
                return;
            }
        }
    }
}

impl World for SimulatedWorld {
    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn drives(&self) -> Vec<DriveId> {
        let present = (0..).zip(&self.places).filter(|(_, place)| place.is_present);
        present.map(|(number, _)| DriveId(number)).collect()
    }

    fn facts(&self, drive: DriveId) -> DriveFacts {
        let model = &self.models[self.drive_of(drive)];
        DriveFacts {
            name: self.name(drive).to_owned(),
            size_bytes: model.size_bytes,
            logical_block_bytes: model.logical_block_bytes,
            writable: true,
            direct: true,
            write_order: self.write_order,
        }
    }

    fn submit(&mut self, io: Io) {
        self.catch_up();
        if let Err(refusal) = self.check(&io) {
            self.refused.push(Finished { token: io.token, result: Err(refusal) });
            return;
        }
        let drive = self.drive_of(io.drive);
        let (operation, length) = match io.kind {
            IoKind::Read(memory) => (Operation::Read, memory.length),
            IoKind::Write(memory) => (Operation::Write, memory.length),
            IoKind::Flush => (Operation::Flush, 0),
            // Its length costs nothing.
            IoKind::Discard(_) => (Operation::Discard, 0),
        };
        let ticket = self.begin(drive, &io);
        let token = self.in_flight.insert(InFlight { io, ticket });
        self.simulation.submit(Command { token, drive, operation, offset: io.offset, length });
    }

    fn wait(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
    ) -> Result<(), LoopError> {
        self.wait_for(at_least, timeout, finished, false);
        Ok(())
    }

    fn wait_or_wake(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
    ) -> Result<(), LoopError> {
        self.wait_for(at_least, timeout, finished, true);
        Ok(())
    }

    fn pending(&self) -> usize {
        self.simulation.pending() + self.refused.len()
    }

    fn now(&self) -> Instant {
        Instant { ns: self.now_ns() }
    }

    fn unix_time_s(&self) -> u64 {
        EPOCH_S + self.now().ns / 1_000_000_000
    }

    fn sleep(&mut self, duration: Duration) {
        self.sleep_for(duration, false);
    }

    fn sleep_or_wake(&mut self, duration: Duration) {
        self.sleep_for(duration, true);
    }

    fn watch(&mut self, file: Arc<OwnedFd>) -> Result<(), LoopError> {
        if let Some(pace) = &mut self.pace {
            pace.watch(file);
        }
        Ok(())
    }

    fn answer_from_memory_ns(&self) -> u64 {
        if self.pace.is_some() { 0 } else { ANSWER_FROM_MEMORY_NS }
    }

    fn random_bytes(&mut self) -> [u8; 16] {
        let mut bytes = [0; 16];
        self.random.fill_bytes(&mut bytes);
        bytes
    }
}

/// A host that sorts what waits for its drives is to be given it, as it was measured; one that does
/// not is to be given no choice.
fn write_order(host: &HostModel) -> WriteOrder {
    match host.scheduler {
        Scheduler::None | Scheduler::Deadline => WriteOrder::Any,
        Scheduler::LastFirst => WriteOrder::Ascending { request_bytes: host.max_request_bytes },
    }
}

fn duration_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
