//! The same arrays of simulated sticks, under shoal's engine.

use std::sync::atomic::AtomicBool;

use shoal_bench::{Bench, Conditions, Limit, Pattern, TargetDescription, TargetKind, Watch, Workload};
use shoal_sim::{Bus, BusKind, DriveModel, Flash, HostModel, Medium, PerDirection, Topology};
use shoal_volume::{
    ArrayLevel, ArrayVolume, BufferPlan, ConsistencyPolicy, Contents, CreateOptions, DriveId, MinorVersion,
    OpenOptions, SimulatedWorld, Volume,
};

use crate::needs_bus_reality::figures::{Each, Figures, Kind};
use crate::needs_bus_reality::guest::STICK_BYTES;
use crate::needs_bus_reality::shapes::{CHUNK_KIB, Shape};

const SEQUENTIAL_BYTES: u32 = 1 << 20;
const SMALL_BYTES: u32 = 4096;
const DEPTH: u32 = 4;
const PAGE_BYTES: u32 = 4096;
/// Linux's usb-storage asks for no more at a time (`max_sectors` 240).
const REQUEST_BYTES: u32 = 240 * 512;
/// A medium that takes no time to speak of.
const AT_ONCE: PerDirection<u64> = PerDirection { read: 1_000_000_000_000, write: 1_000_000_000_000 };
const SECOND_NS: u64 = 1_000_000_000;

/// The throttled stick as QEMU emulates it, from what it does alone. Its throttle lets a tenth of a
/// second's worth pass at once, and then goes by the clock, whatever else takes time meanwhile: as
/// a medium of that speed does behind so much memory. The emulated controller knows no limit of the
/// bus.
pub(crate) fn throttled(stick: &Figures) -> DriveModel {
    let Each { read, write } = stick.bytes_per_s;
    let buffers = read.max(write) / 10 / u64::from(PAGE_BYTES);
    let page_ns = u64::from(PAGE_BYTES) * SECOND_NS / read;
    let command_ns =
        PerDirection { read: stick.request_ns.read.saturating_sub(page_ns), write: stick.request_ns.write };
    described(command_ns, PerDirection { read, write }, u32::try_from(buffers).unwrap().max(1))
}

/// A drive of which nothing takes time but its commands.
pub(crate) fn of_commands(small: &Figures) -> DriveModel {
    let Each { read, write } = small.request_ns;
    described(PerDirection { read, write }, AT_ONCE, 1)
}

fn described(command_ns: PerDirection<u64>, bytes_per_s: PerDirection<u64>, page_buffers: u32) -> DriveModel {
    DriveModel {
        name: "emulated-stick".to_owned(),
        title: "QEMU's usb-storage".to_owned(),
        size_bytes: STICK_BYTES,
        logical_block_bytes: 512,
        bus: BusKind::Direct,
        command_ns,
        page_bytes: PAGE_BYTES,
        page_buffers,
        write_through: false,
        queued_commands: 1,
        fake: None,
        medium: Medium::Flash(Flash { bytes_per_s, ..Flash::default() }),
    }
}

/// What the array does in virtual time.
pub(crate) fn predicted(shape: &Shape, stick: &DriveModel) -> Figures {
    let figure = |kind| run(shape, stick, kind);
    Figures {
        bytes_per_s: Each { read: figure(Kind::SequentialRead), write: figure(Kind::SequentialWrite) },
        request_ns: Each { read: figure(Kind::SmallRead), write: figure(Kind::SmallWrite) },
    }
}

fn run(shape: &Shape, stick: &DriveModel, kind: Kind) -> u64 {
    let mut array = array(shape, stick);
    let (pattern, block_size_bytes, depth) = match kind.is_sequential() {
        true => (Pattern::Sequential, SEQUENTIAL_BYTES, DEPTH),
        false => (Pattern::Random, SMALL_BYTES, 1),
    };
    let workload = Workload {
        pattern,
        read_percent: if matches!(kind, Kind::SequentialRead | Kind::SmallRead) { 100 } else { 0 },
        block_size_bytes,
        depth,
        limit: Limit::DurationNs(5 * SECOND_NS),
        warm_up_ns: SECOND_NS,
        range_offset: 0,
        range_bytes: 0,
        visit_once: false,
        seed: 1,
    };
    let target = TargetDescription {
        name: shape.name(),
        kind: TargetKind::Array,
        size_bytes: array.size_bytes(),
        logical_block_bytes: array.logical_block_bytes(),
        level: None,
        layout: None,
        chunk_bytes: None,
        member_count: None,
        simulated: Some(stick.name.clone()),
        engine: None,
    };
    let bench = Bench { target, workload, repeats: 1, conditions: Conditions::default() };
    let interrupt = AtomicBool::new(false);
    let mut watch = Watch { interrupt: &interrupt, progress: &mut |_| (), observer: &mut () };
    let measured = bench.run(&mut array, &mut watch).unwrap();
    if kind.is_sequential() { measured[0].bytes_per_s } else { measured[0].latency_ns.mean }
}

fn array(shape: &Shape, stick: &DriveModel) -> ArrayVolume<SimulatedWorld> {
    let buses = vec![Bus { kind: BusKind::Direct, upstream: None }; shape.sticks.len()];
    let drives = shape.sticks.iter().enumerate();
    let drives = drives.flat_map(|(bus, &count)| std::iter::repeat_n((stick.clone(), bus), count)).collect();
    let topology = Topology { buses, drives };
    let host = HostModel { max_request_bytes: REQUEST_BYTES, ..HostModel::default() };
    let plan = BufferPlan::for_drives(shape.count(), DEPTH, SEQUENTIAL_BYTES);
    let world = SimulatedWorld::new(&topology, &host, Contents::Kept, plan, 1).unwrap();
    let create = CreateOptions {
        level: ArrayLevel::parse(shape.level, None, 2).unwrap(),
        chunk_bytes: CHUNK_KIB << 10,
        spare_count: 0,
        name: "reality".to_owned(),
        homehost: None,
        drive_bytes_limit: None,
        assume_clean: true,
        metadata: MinorVersion::Start4K,
        consistency: ConsistencyPolicy::Resync,
    };
    let ids: Vec<_> = (0..shape.count()).map(|number| DriveId(u32::try_from(number).unwrap())).collect();
    ArrayVolume::create(world, plan, &ids, &create, &OpenOptions::writable()).unwrap()
}
