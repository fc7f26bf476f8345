//! Whether drives, buses and host make sense, and which channels lead to which drive.

use crate::bus::{Wiring, is_hub};
use crate::drive::Routes;
use crate::limits::{
    BUFFER_MAX_BYTES, DURATION_MAX_NS, OPEN_UNITS_MAX, PAGE_MAX_BYTES, RATE_MIN_BYTES_PER_S, SIZE_MAX_BYTES, STALLS_MAX,
};
use crate::{BusKind, Disk, DriveModel, Flash, HostModel, Medium, Operation, PerDirection, Topology};

/// What is wrong with drives, buses or host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// A drive is plugged into nothing.
    #[error("drive {drive} is on bus {bus}, and there are {buses}: name one of them, counted from 0")]
    NoSuchBus {
        /// The drive.
        drive: usize,
        /// The bus that it names.
        bus: usize,
        /// How many there are.
        buses: usize,
    },
    /// A bus hangs on itself, on a later one, or on none that there is.
    #[error("bus {bus} hangs on bus {upstream}: let it hang on one that comes before it")]
    Upstream {
        /// The bus.
        bus: usize,
        /// What it hangs on.
        upstream: usize,
    },
    /// A figure of a drive cannot be.
    #[error("drive model {model}: {problem}")]
    Model {
        /// Its name.
        model: String,
        /// What is wrong, and what would be right.
        problem: &'static str,
    },
    /// A figure of the host cannot be.
    #[error("host: {problem}")]
    Host {
        /// What is wrong, and what would be right.
        problem: &'static str,
    },
}

/// The channels of everything, bus by bus: for reads, and for writes.
pub(crate) type BusChannels = Vec<PerDirection<u32>>;

/// Holds everything against what can be.
pub(crate) fn check(topology: &Topology, host: &HostModel) -> Result<(), TopologyError> {
    for (bus, it) in topology.buses.iter().enumerate() {
        if let Some(upstream) = it.upstream.filter(|&upstream| upstream >= bus) {
            return Err(TopologyError::Upstream { bus, upstream });
        }
    }
    for (drive, (model, bus)) in topology.drives.iter().enumerate() {
        let (bus, buses) = (*bus, topology.buses.len());
        if bus >= buses {
            return Err(TopologyError::NoSuchBus { drive, bus, buses });
        }
        if let Some(problem) = problem_of(model) {
            return Err(TopologyError::Model { model: model.name.clone(), problem });
        }
    }
    let checks = [
        (host.max_request_bytes < 512, "requests of less than a sector: let max_request_bytes be at least 512"),
        (host.piece_bytes < 512, "pieces of less than a sector: let piece_bytes be at least 512"),
        (host.request_ns > DURATION_MAX_NS, "more than an hour's work a request"),
    ];
    first_of(&checks).map_or(Ok(()), |problem| Err(TopologyError::Host { problem }))
}

fn first_of(checks: &[(bool, &'static str)]) -> Option<&'static str> {
    checks.iter().find(|(is_wrong, _)| *is_wrong).map(|&(_, problem)| problem)
}

fn is_slow(rate: u64) -> bool {
    rate < RATE_MIN_BYTES_PER_S
}

fn problem_of(model: &DriveModel) -> Option<&'static str> {
    let buffer_bytes = u64::from(model.page_bytes) * u64::from(model.page_buffers);
    let longest_ns = model.command_ns.read.max(model.command_ns.write);
    let general = first_of(&[
        (model.size_bytes == 0, "no capacity: give size_bytes"),
        (model.size_bytes > SIZE_MAX_BYTES, "a size of more than 1 EiB"),
        (model.page_bytes == 0, "a page of no bytes: give page_bytes, as 4096"),
        (model.page_bytes > PAGE_MAX_BYTES, "a page of more than 16 MiB"),
        (model.page_buffers == 0, "no page buffer: give page_buffers, at least 1"),
        (buffer_bytes > BUFFER_MAX_BYTES, "buffers of more than 64 GiB"),
        (model.queued_commands == 0, "no command at a time: give queued_commands, at least 1"),
        (longest_ns > DURATION_MAX_NS, "a command of more than an hour"),
    ]);
    general.or_else(|| match &model.medium {
        Medium::Flash(flash) => problem_of_flash(flash),
        Medium::Disk(disk) => problem_of_disk(disk),
    })
}

fn problem_of_flash(flash: &Flash) -> Option<&'static str> {
    let rates = &flash.bytes_per_s;
    let (random, stalls) = (&flash.random_ns, &flash.stalls);
    let area_is_slow = |area: crate::FastArea| is_slow(area.write_bytes_per_s);
    let units_are_none = |units: crate::AllocationUnits| units.unit_bytes == 0 || units.open_units == 0;
    first_of(&[
        (is_slow(rates.read), "reads slower than 1 kB/s: give bytes_per_s"),
        (is_slow(rates.write), "writes slower than 1 kB/s: give bytes_per_s"),
        (random.read.max(random.write) > DURATION_MAX_NS, "a random access of more than an hour"),
        (stalls.len() > STALLS_MAX, "more than 64 kinds of stalls"),
        (stalls.iter().any(|stall| stall.every_writes == 0), "a stall after every 0 writes: at least 1"),
        (stalls.iter().any(|stall| stall.duration_ns > DURATION_MAX_NS), "a stall of more than an hour"),
        (flash.fast_area.is_some_and(area_is_slow), "a fast area slower than 1 kB/s"),
        (flash.allocation.is_some_and(units_are_none), "allocation units of no bytes, or none open"),
        (flash.allocation.is_some_and(|it| it.open_units > OPEN_UNITS_MAX), "more than 4096 open allocation units"),
        (flash.allocation.is_some_and(|it| is_slow(it.copy_bytes_per_s)), "units copied slower than 1 kB/s"),
    ])
}

fn problem_of_disk(disk: &Disk) -> Option<&'static str> {
    let begins_at_0 = disk.zones.first().is_some_and(|zone| zone.start_byte == 0);
    let ascends = disk.zones.windows(2).all(|pair| pair[0].start_byte < pair[1].start_byte);
    let longest_ns = disk.rotation_ns.max(disk.full_seek_ns);
    let seeks_grow = disk.track_seek_ns <= disk.average_seek_ns && disk.average_seek_ns <= disk.full_seek_ns;
    first_of(&[
        (!begins_at_0, "no zone at 0: let the first zone start there"),
        (!ascends, "zones out of order: let each start after the one before"),
        (disk.zones.iter().any(|zone| is_slow(zone.bytes_per_s)), "a zone slower than 1 kB/s"),
        (longest_ns > DURATION_MAX_NS, "a seek or turn of more than an hour"),
        (!seeks_grow, "seeks out of order: track, average and full seek ascend"),
    ])
}

/// How data get to a drive and from it.
#[derive(Debug)]
pub(crate) struct Paths {
    /// The channels of its quanta.
    pub(crate) quanta: Routes,
    /// The channels of a whole request before the drive has it, for reads and for writes: the
    /// processor, and networks.
    pub(crate) outward: PerDirection<Box<[u32]>>,
    /// And afterwards: networks, for reads.
    pub(crate) homeward: Box<[u32]>,
    /// The largest request that the buses let through.
    pub(crate) max_request_bytes: u32,
}

/// A step on the way of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Over a channel, as a whole.
    Channel(u32),
    /// The drive carries it out.
    Drive,
    /// There is no further step.
    End,
}

impl Paths {
    /// The step with this number, counted from 0.
    pub(crate) fn step(&self, operation: Operation, number: usize) -> Step {
        let outward = if operation == Operation::Write { &self.outward.write } else { &self.outward.read };
        let homeward: &[u32] = if operation == Operation::Read { &self.homeward } else { &[] };
        match number.checked_sub(outward.len()) {
            None => Step::Channel(outward[number]),
            Some(0) => Step::Drive,
            Some(further) => homeward.get(further - 1).map_or(Step::End, |&channel| Step::Channel(channel)),
        }
    }
}

/// Makes the channels of all buses. A hub has those of its root.
pub(crate) fn channels(topology: &Topology, wiring: &mut Wiring) -> BusChannels {
    let mut channels: BusChannels = Vec::new();
    for bus in &topology.buses {
        let root = bus.upstream.filter(|&upstream| is_hub(bus, &topology.buses[upstream]));
        channels.push(match root {
            Some(root) => channels[root],
            None => {
                let write = wiring.add(bus.kind);
                let read = if bus.kind.is_full_duplex() { wiring.add(bus.kind) } else { write };
                PerDirection { read, write }
            }
        });
    }
    channels
}

/// The paths to a drive on `bus`. Everything goes through `processor`, if there is one.
pub(crate) fn paths(
    topology: &Topology,
    bus: usize,
    channels: &BusChannels,
    processor: Option<u32>,
    wiring: &mut Wiring,
) -> Paths {
    let chain: Vec<usize> = std::iter::successors(Some(bus), |&bus| topology.buses[bus].upstream).collect();
    let kinds = chain.iter().map(|&bus| topology.buses[bus].kind);
    let max_request_bytes = kinds.clone().map(BusKind::max_request_bytes).min().unwrap_or(u32::MAX);
    let local_count = kinds.clone().position(BusKind::is_network).unwrap_or(chain.len());
    let (local, remote) = chain.split_at(local_count);

    let mut local: Vec<_> = local.iter().map(|&bus| channels[bus]).collect();
    local.dedup(); // behind hubs
    if local.is_empty() {
        let channel = wiring.add(BusKind::Direct); // on the very network
        local.push(PerDirection { read: channel, write: channel });
    }
    let quanta = PerDirection {
        read: local.iter().map(|channel| channel.read).collect(),
        write: local.iter().rev().map(|channel| channel.write).collect(),
    };
    let outward_to_write = remote.iter().rev().map(|&bus| channels[bus].write);
    Paths {
        quanta,
        outward: PerDirection {
            read: processor.into_iter().collect(),
            write: processor.into_iter().chain(outward_to_write).collect(),
        },
        homeward: remote.iter().map(|&bus| channels[bus].read).collect(),
        max_request_bytes,
    }
}
