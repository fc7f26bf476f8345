//! Simulated sticks, and what is created of drives unless a test says otherwise.

use shoal_sim::{Bus, BusKind, Content, DriveModel, Flash, HostModel, Medium, PerDirection, Topology};
use shoal_volume::{ArrayLevel, BufferPlan, ConsistencyPolicy, Contents, CreateOptions, MinorVersion, SimulatedWorld};

/// An array that is in sync from the start, with 1.2 superblocks and nothing that keeps track of
/// writes. Levels of arrays of arrays have two groups.
pub(crate) fn create_options(level: &str, layout: Option<&str>, chunk_bytes: u32) -> CreateOptions {
    CreateOptions {
        level: ArrayLevel::parse(level, layout, 2).unwrap(),
        chunk_bytes,
        spare_count: 0,
        name: "test".to_owned(),
        homehost: None,
        drive_bytes_limit: None,
        assume_clean: true,
        metadata: MinorVersion::Start4K,
        consistency: ConsistencyPolicy::Resync,
    }
}

/// A stick as people have them, slow at writes out of order.
pub(crate) fn usb_stick(size_bytes: u64) -> DriveModel {
    let bytes_per_s = PerDirection { read: 30_000_000, write: 10_000_000 };
    let random_ns = PerDirection { read: 200_000, write: 1_000_000 };
    let command_ns = PerDirection { read: 375_000, write: 375_000 };
    let flash = Flash { bytes_per_s, random_ns, ..Flash::default() };
    DriveModel { bus: BusKind::Usb2, command_ns, ..stick(size_bytes, flash) }
}

/// Sticks of `size_bytes` with contents that are given; nothing holds them up but their own 100 us
/// a command.
pub(crate) fn world_of_sticks(size_bytes: u64, contents: Vec<Content>) -> (SimulatedWorld, BufferPlan) {
    let command_ns = vec![100_000; contents.len()];
    world_of_slow_sticks(size_bytes, contents, &command_ns)
}

/// The same with what each takes for a command.
pub(crate) fn world_of_slow_sticks(
    size_bytes: u64,
    contents: Vec<Content>,
    command_ns: &[u64],
) -> (SimulatedWorld, BufferPlan) {
    let bytes_per_s = PerDirection { read: 100_000_000, write: 100_000_000 };
    let model = |&ns: &u64| {
        let command_ns = PerDirection { read: ns, write: ns };
        (DriveModel { command_ns, ..stick(size_bytes, Flash { bytes_per_s, ..Flash::default() }) }, 0)
    };
    let buses = vec![Bus { kind: BusKind::Direct, upstream: None }];
    let topology = Topology { buses, drives: command_ns.iter().map(model).collect() };
    let plan = BufferPlan::for_drives(contents.len(), 4, 64 << 10).with_room_for(4);
    let contents = Contents::Given(contents);
    (SimulatedWorld::new(&topology, &HostModel::default(), contents, plan, 1).unwrap(), plan)
}

fn stick(size_bytes: u64, flash: Flash) -> DriveModel {
    DriveModel {
        name: "stick".to_owned(),
        title: "a stick of the tests".to_owned(),
        size_bytes,
        logical_block_bytes: 512,
        bus: BusKind::Direct,
        command_ns: PerDirection { read: 100_000, write: 100_000 },
        page_bytes: 4096,
        page_buffers: 1,
        write_through: false,
        queued_commands: 1,
        fake: None,
        medium: Medium::Flash(flash),
    }
}
