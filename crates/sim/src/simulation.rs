//! Commands to drives, and when they end.
//!
//! ```text
//!  command ──► port ──► (processor) ──► (networks) ──► drive ◄──► buses
//!                                           ▲            │
//!              finished ◄── (networks) ◄────┴────────────┘
//! ```
//!
//! Everything that happens is a timer that fires ([`crate::queue`]): a drive's command comes to its
//! data or to its end, its medium finishes a page, a channel has carried a load. One event is
//! looked at at a time, and time is that event's.

use crate::bus::{Load, Owner, Wiring};
use crate::drive::{Drive, DriveStatistics, TIMERS_PER_DRIVE};
use crate::port::{Port, Requests};
use crate::topology::{self, BusChannels, Paths, Step, TopologyError};
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
    /// Bytes; flushes and discards move none.
    pub length: u32,
}

/// A drive and its port.
#[derive(Debug)]
struct Site {
    drive: Drive,
    port: Port,
    paths: Paths,
    size_bytes: u64,
    /// How many commands it can choose from.
    choice: usize,
    is_plugged: bool,
}

/// Drives and buses at work: timing only, no content.
#[derive(Debug)]
pub struct Simulation {
    wiring: Wiring,
    sites: Vec<Site>,
    requests: Requests,
    buses: BusChannels,
    /// Finished and not told yet.
    finished: Vec<u64>,
    events: u64,
    trace_hash: u64,
}

impl Simulation {
    /// Drives at rest, at time 0.
    pub fn new(topology: &Topology, host: &HostModel) -> Result<Self, TopologyError> {
        topology::check(topology, host)?;
        let first_channel = topology.drives.len() * TIMERS_PER_DRIVE;
        let mut wiring = Wiring::new(first_channel);
        let buses = topology::channels(topology, &mut wiring);
        let processor = (host.request_ns > 0).then(|| wiring.add_step(host.request_ns));
        let site = |(number, (model, bus)): (u32, &(crate::DriveModel, usize))| {
            let paths = topology::paths(topology, *bus, &buses, processor, &mut wiring);
            Site {
                drive: Drive::new(number, model, paths.quanta.clone()),
                port: Port::new(host, paths.max_request_bytes),
                paths,
                size_bytes: model.size_bytes,
                choice: model.queued_commands as usize,
                is_plugged: true,
            }
        };
        let sites = (0..).zip(&topology.drives).map(site).collect();
        Ok(Self {
            wiring,
            sites,
            requests: Requests::new(),
            buses,
            finished: Vec::new(),
            events: 0,
            trace_hash: TRACE_BASIS,
        })
    }

    /// The time, since the beginning.
    pub fn now_ns(&self) -> u64 {
        self.wiring.now_ns
    }

    /// Queues a command. It is held back until [`Simulation::start`], so that neighbours are merged
    /// as the block layer would. One for a drive that was pulled is finished at once.
    ///
    /// # Panics
    /// If there is no such drive, or no such place on it.
    pub fn submit(&mut self, command: Command) {
        let site = &mut self.sites[command.drive];
        let end = command.offset.checked_add(u64::from(command.length));
        assert!(end.is_some_and(|end| end <= site.size_bytes), "{command:?} is outside {} bytes", site.size_bytes);
        if site.is_plugged {
            self.requests.take_in(self.wiring.now_ns, command, &mut site.port);
        } else {
            self.finished.push(command.token);
        }
    }

    /// Lets what is queued go to the drives.
    pub fn start(&mut self) {
        let held = self.requests.take_held();
        for &request in &held {
            self.send_on(request);
        }
        self.requests.give_back(held);
    }

    /// Starts what is queued, lets time pass until at least so many commands have finished, all
    /// have, or the deadline is reached, and appends the tokens of all that have, in the order of
    /// completion. If none is left and there is a deadline, time passes to the deadline.
    pub fn run_until(&mut self, at_least: usize, deadline_ns: Option<u64>, finished: &mut Vec<u64>) {
        self.start();
        while self.finished.len() < at_least {
            let due = self.wiring.timers.first();
            let waits = due.is_some() && (self.requests.commands() > 0 || deadline_ns.is_some());
            match due.filter(|&(due_ns, _)| waits && deadline_ns.is_none_or(|deadline_ns| due_ns <= deadline_ns)) {
                Some((due_ns, timer)) => self.turn(due_ns, timer),
                None => {
                    self.wiring.now_ns = deadline_ns.unwrap_or(0).max(self.wiring.now_ns);
                    break;
                }
            }
        }
        finished.append(&mut self.finished);
    }

    /// When something happens next, if anything does: not before, but perhaps nothing that anybody
    /// waits for.
    pub fn next_event_ns(&self) -> Option<u64> {
        self.wiring.timers.first().map(|(due_ns, _)| due_ns)
    }

    /// Commands that are queued or under way, or finished and not told yet.
    pub fn pending(&self) -> usize {
        self.requests.commands() + self.finished.len()
    }

    /// Time passes; what is under way goes on. What finishes is told by the next
    /// [`Simulation::run_until`].
    pub fn advance(&mut self, duration_ns: u64) {
        self.start();
        let end_ns = self.wiring.after_ns(duration_ns);
        while let Some((due_ns, timer)) = self.wiring.timers.first().filter(|&(due_ns, _)| due_ns <= end_ns) {
            self.turn(due_ns, timer);
        }
        self.wiring.now_ns = end_ns;
    }

    /// Pulls a drive: its commands are finished at once, and those that come later too. What became
    /// of them is for others to say.
    pub fn unplug(&mut self, drive: usize) {
        let site = &mut self.sites[drive];
        site.is_plugged = false;
        site.drive.reset(&mut self.wiring);
        site.port.clear();
        let number = u32::try_from(drive).expect("drives are counted in tens");
        let requests = self.requests.give_up(number);
        self.wiring.forget(|owner| match owner {
            Owner::Drive { drive, .. } => drive == number,
            Owner::Request(request) => requests.contains(&request),
            Owner::Nobody => false,
        });
        for request in requests {
            self.requests.finish(request, &mut self.finished);
        }
    }

    /// Plugs a drive in again: it begins anew, with empty buffers.
    pub fn plug(&mut self, drive: usize) {
        self.sites[drive].is_plugged = true;
    }

    /// A drive answers nothing for so long, beginning now.
    pub fn stall(&mut self, drive: usize, duration_ns: u64) {
        self.sites[drive].drive.stall(duration_ns, &mut self.wiring);
    }

    /// A drive answers nothing any more, until it is pulled.
    pub fn hang(&mut self, drive: usize) {
        self.stall(drive, u64::MAX);
    }

    /// What a drive has done so far.
    pub fn drive_statistics(&self, drive: usize) -> DriveStatistics {
        self.sites[drive].drive.statistics()
    }

    /// Time in which a bus carried something: of a full-duplex one, the direction that did more.
    pub fn bus_busy_ns(&self, bus: usize) -> u64 {
        let channels = self.buses[bus];
        self.wiring.channel(channels.read).busy_ns.max(self.wiring.channel(channels.write).busy_ns)
    }

    /// How many events there were.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// A hash over all events so far, their times and their order: equal runs have equal ones, on
    /// every machine.
    pub fn trace_hash(&self) -> u64 {
        self.trace_hash
    }

    /// One event.
    fn turn(&mut self, due_ns: u64, timer: usize) {
        self.wiring.now_ns = due_ns;
        self.events += 1;
        self.trace_hash = (self.trace_hash.rotate_left(5) ^ due_ns ^ ((timer as u64) << 48)).wrapping_mul(TRACE_PRIME);
        let Some(channel) = timer.checked_sub(self.sites.len() * TIMERS_PER_DRIVE) else {
            let drive = timer / TIMERS_PER_DRIVE;
            let it = &mut self.sites[drive].drive;
            if timer == it.medium_timer() {
                it.medium_turn(&mut self.wiring);
            } else if let Some(request) = it.command_turn(&mut self.wiring) {
                self.begin_next(drive);
                self.send_on(request);
            }
            return;
        };
        let channel = u32::try_from(channel).expect("channels are counted in tens");
        match self.wiring.served(channel) {
            Owner::Drive { drive, stage } => {
                self.sites[drive as usize].drive.arrived(stage as usize, &mut self.wiring);
            }
            Owner::Request(request) => self.send_on(request),
            Owner::Nobody => {}
        }
        self.wiring.serve_next(channel);
    }

    /// A request goes on: to the next channel on its way, to the drive, or to its end.
    fn send_on(&mut self, request: u32) {
        let it = self.requests.at_mut(request);
        let (drive, bytes) = (it.drive as usize, it.length);
        let site = &mut self.sites[drive];
        let step = site.paths.step(it.operation, it.steps as usize);
        it.steps += 1;
        match step {
            Step::Channel(channel) => {
                site.port.close(request);
                self.wiring.offer(channel, Load { owner: Owner::Request(request), bytes });
            }
            Step::Drive => {
                site.port.waiting.push_back(request);
                if site.drive.is_idle() {
                    self.begin_next(drive);
                }
            }
            Step::End => self.requests.finish(request, &mut self.finished),
        }
    }

    /// An idle drive begins what is best of what waits for it.
    fn begin_next(&mut self, drive: usize) {
        let site = &mut self.sites[drive];
        let Some(request) = site.port.take_next(self.wiring.now_ns, &site.drive, site.choice, &self.requests) else {
            site.drive.rest(&mut self.wiring);
            return;
        };
        let work = self.requests.at(request).work(request);
        site.drive.begin(work, &mut self.wiring);
    }
}

/// Where the hash begins, and what it is multiplied by: those of FNV-1a.
const TRACE_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const TRACE_PRIME: u64 = 0x0000_0100_0000_01b3;
