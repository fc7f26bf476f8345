//! A drive at work: one command at a time, between the host's bus and its medium.
//!
//! ```text
//!  command    before ──► data ──► after ──►
//!  time       2/3 o      |  |     1/3 o + stall        o: command_ns
//!                        |  |
//!  bus          quanta ◄─┘  └─► quanta                 a page at a time
//!                  ▲          │
//!  buffers        [ ] [ ] [ ] [ ]                      page_buffers pages
//!                  ▲          ▼
//!  medium         reads    programs                    a page at a time
//! ```
//!
//! The medium runs on between commands that continue each other: it reads ahead until the buffers
//! are full, and programs until they are empty. So the overhead of commands is hidden, as far as
//! the buffers last. A command that does not continue the one before finds the buffers emptied:
//! what was read ahead is dropped, what is to be programmed is waited for. Then it pays what its
//! medium asks (`flash.rs`, `disk.rs`).
//!
//! A write ends when its last page is in a buffer, or, if the drive writes through, when it is on
//! the medium. A flush waits for the medium, and is a command without data; so is a discard, which
//! costs its command and nothing else.
//!
//! A drive behind several buses (`bus.rs`) has a *stage* for each: a quantum at most on each of
//! them, handed on when the next is free. The last stage of a write begins only if there is room in
//! the buffers.

mod disk;
mod flash;
mod flow;
mod mechanism;
mod pipeline;

use crate::bus::Wiring;
use crate::{DriveModel, Operation, PerDirection};

use mechanism::Mechanism;
use pipeline::Pipeline;

/// Which way data go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

impl Direction {
    /// The value for this direction.
    pub(crate) fn of<T>(self, values: &PerDirection<T>) -> &T {
        match self {
            Self::Read => &values.read,
            Self::Write => &values.write,
        }
    }
}

/// What the port gives a drive to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// The port's number for it.
    pub(crate) request: u32,
    pub(crate) operation: Operation,
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

impl Work {
    /// Which way its data go, if it has any.
    pub(crate) fn direction(&self) -> Option<Direction> {
        match self.operation {
            Operation::Read if self.length > 0 => Some(Direction::Read),
            Operation::Write if self.length > 0 => Some(Direction::Write),
            _ => None,
        }
    }
}

/// How far the present command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Before,
    Data,
    After,
}

/// What a drive has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriveStatistics {
    /// Commands that it has finished.
    pub commands: u64,
    /// Bytes that it gave.
    pub read_bytes: u64,
    /// Bytes that it took.
    pub written_bytes: u64,
    /// Bytes that it copied within itself, to make room.
    pub copied_bytes: u64,
    /// Time in which it was at a command.
    pub busy_ns: u64,
}

/// The buses of a drive: the channels that its quanta go over, in the order in which they do.
pub(crate) type Routes = PerDirection<Box<[u32]>>;

/// One simulated drive: its queue of commands, its state, and its medium's cost model.
#[derive(Debug)]
pub(crate) struct Drive {
    number: u32,
    page_bytes: u32,
    buffer_bytes: u64,
    size_bytes: u64,
    command_ns: PerDirection<u64>,
    writes_through: bool,
    mechanism: Mechanism,
    routes: Routes,

    phase: Phase,
    work: Work,
    began_ns: u64,
    /// Bytes of the present command that are not at their destination, and those that have not
    /// begun their way.
    left_bytes: u32,
    unsent_bytes: u32,
    pipeline: Pipeline,

    /// Where the last command with data ended, and which way it went; the medium goes the same way.
    last: Option<(Direction, u64)>,
    direction: Direction,
    /// Bytes in the buffers: read and not fetched, or to be programmed, including those that the
    /// medium is at if it writes.
    buffered_bytes: u64,
    /// The place that the medium comes to next, and how many bytes it is at; none if it stands.
    medium_position: u64,
    medium_step_bytes: u32,
    /// Bytes that the medium is to pass before what is wanted.
    gap_bytes: u64,
    /// The buffers were full of what was read ahead, and are not empty enough to go on.
    rests_from_reading: bool,
    /// When anything was done last.
    active_ns: u64,
    /// Before this it answers nothing.
    stalled_until_ns: u64,
    statistics: DriveStatistics,
}

/// A drive's timers.
pub(crate) const TIMERS_PER_DRIVE: usize = 2;

impl Drive {
    pub(crate) fn new(number: u32, model: &DriveModel, routes: Routes) -> Self {
        Self {
            number,
            page_bytes: model.page_bytes,
            buffer_bytes: u64::from(model.page_bytes) * u64::from(model.page_buffers),
            size_bytes: model.size_bytes,
            command_ns: model.command_ns,
            writes_through: model.write_through,
            mechanism: Mechanism::new(model),
            pipeline: Pipeline::new(routes.read.len()),
            routes,
            phase: Phase::Idle,
            work: Work { request: 0, operation: Operation::Flush, offset: 0, length: 0 },
            began_ns: 0,
            left_bytes: 0,
            unsent_bytes: 0,
            last: None,
            direction: Direction::Read,
            buffered_bytes: 0,
            medium_position: 0,
            medium_step_bytes: 0,
            gap_bytes: 0,
            rests_from_reading: false,
            active_ns: 0,
            stalled_until_ns: 0,
            statistics: DriveStatistics::default(),
        }
    }

    /// Whether it could begin a command.
    pub(crate) fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    pub(crate) fn statistics(&self) -> DriveStatistics {
        DriveStatistics { copied_bytes: self.mechanism.copied_bytes(), ..self.statistics }
    }

    /// What it would cost to go to a place next, for those who choose.
    pub(crate) fn reposition_ns(&self, direction: Direction, to: u64) -> u64 {
        self.mechanism.reposition_ns(direction, to)
    }

    /// The timer of the present command; the medium's is the next.
    fn command_timer(&self) -> usize {
        self.number as usize * TIMERS_PER_DRIVE
    }

    pub(crate) fn medium_timer(&self) -> usize {
        self.command_timer() + 1
    }

    /// The channel on which it is polled.
    fn own_channel(&self) -> u32 {
        self.routes.read[0]
    }

    /// Begins a command.
    pub(crate) fn begin(&mut self, work: Work, wiring: &mut Wiring) {
        let now_ns = wiring.now_ns;
        self.work = work;
        self.began_ns = now_ns;
        if self.medium_step_bytes == 0 {
            self.mechanism.rest(now_ns - self.active_ns);
        }
        let (phase, delay_ns) = match work.direction() {
            Some(direction) => (Phase::Before, self.prepare_ns(direction, wiring)),
            None => (Phase::After, self.no_data_ns(wiring)),
        };
        self.phase = phase;
        let start_ns = now_ns.max(self.stalled_until_ns);
        wiring.timers.set(self.command_timer(), start_ns.saturating_add(delay_ns));
    }

    /// The time before the data phase of the present command.
    fn prepare_ns(&mut self, direction: Direction, wiring: &mut Wiring) -> u64 {
        let Work { offset, length, .. } = self.work;
        (self.left_bytes, self.unsent_bytes) = (length, length);
        let command_ns = *direction.of(&self.command_ns);
        let mut delay_ns = command_ns - after_ns(command_ns);
        if self.last != Some((direction, offset)) && !self.passes_over_gap(direction, offset) {
            let emptied_ns = match self.direction {
                Direction::Read => {
                    self.drop_read_ahead(wiring);
                    0
                }
                Direction::Write => self.program_all_ns(wiring),
            };
            let reposition_ns = self.mechanism.reposition_ns(direction, offset);
            delay_ns = delay_ns.saturating_add(emptied_ns).saturating_add(reposition_ns);
            self.medium_position = offset;
            self.direction = direction;
        }
        match direction {
            Direction::Read => delay_ns,
            Direction::Write => delay_ns.saturating_add(self.mechanism.make_room_ns(offset, length)),
        }
    }

    /// The time that a command without data takes.
    fn no_data_ns(&mut self, wiring: &mut Wiring) -> u64 {
        let programs = self.work.operation == Operation::Flush && self.direction == Direction::Write;
        let program_ns = if programs { self.program_all_ns(wiring) } else { 0 };
        self.command_ns.write.saturating_add(program_ns)
    }

    /// The command's timer has fired. Returns the request that is finished, if one is: then the
    /// timer is left to who begins the next, or knows that there is none ([`Drive::rest`]).
    pub(crate) fn command_turn(&mut self, wiring: &mut Wiring) -> Option<u32> {
        if self.phase == Phase::After {
            self.complete(wiring.now_ns);
            return Some(self.work.request);
        }
        wiring.timers.clear(self.command_timer());
        self.phase = Phase::Data;
        wiring.open(self.own_channel());
        if self.direction == Direction::Read {
            self.read_ahead(wiring);
        }
        self.source(wiring);
        None
    }

    /// There is nothing to do.
    pub(crate) fn rest(&self, wiring: &mut Wiring) {
        wiring.timers.clear(self.command_timer());
    }

    fn begin_status(&mut self, wiring: &mut Wiring) {
        wiring.close(self.own_channel());
        self.phase = Phase::After;
        let stall_ns = if self.direction == Direction::Write { self.mechanism.stall_ns() } else { 0 };
        let end_ns = wiring.after_ns(after_ns(*self.direction.of(&self.command_ns)).saturating_add(stall_ns));
        wiring.timers.set(self.command_timer(), end_ns.max(self.stalled_until_ns));
    }

    fn complete(&mut self, now_ns: u64) {
        self.phase = Phase::Idle;
        self.active_ns = now_ns;
        let statistics = &mut self.statistics;
        statistics.commands += 1;
        statistics.busy_ns += now_ns - self.began_ns;
        let Some(direction) = self.work.direction() else { return };
        let length = u64::from(self.work.length);
        self.last = Some((direction, self.work.offset + length));
        match direction {
            Direction::Read => statistics.read_bytes += length,
            Direction::Write => statistics.written_bytes += length,
        }
    }

    /// Answers nothing for so long.
    pub(crate) fn stall(&mut self, duration_ns: u64, wiring: &mut Wiring) {
        self.stalled_until_ns = self.stalled_until_ns.max(wiring.after_ns(duration_ns));
        if self.phase == Phase::After {
            let due_ns = wiring.timers.due_ns(self.command_timer()).unwrap_or(wiring.now_ns);
            wiring.timers.set(self.command_timer(), due_ns.max(self.stalled_until_ns));
        }
    }

    /// Loses its power, and all that it was at.
    pub(crate) fn reset(&mut self, wiring: &mut Wiring) {
        if self.phase == Phase::Data {
            wiring.close(self.own_channel());
        }
        wiring.timers.clear(self.command_timer());
        self.drop_read_ahead(wiring);
        self.pipeline.clear();
        self.mechanism.reset();
        self.phase = Phase::Idle;
        self.last = None;
        self.direction = Direction::Read;
        self.stalled_until_ns = 0;
        self.active_ns = wiring.now_ns;
    }
}

/// The part of a command that comes after its data; two thirds come before.
fn after_ns(command_ns: u64) -> u64 {
    command_ns / 3
}
