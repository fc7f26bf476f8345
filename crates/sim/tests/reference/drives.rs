//! The drives of the reference, and buses for them.

use shoal_sim::{
    Bus, BusKind, DriveModel, Flash, HostModel, Medium, PerDirection, Scheduler, Simulation, Stall, Topology,
};

use crate::workloads::User;

/// A stick with one page buffer: media rates in bytes a second.
pub(crate) fn stick(read: u64, write: u64) -> DriveModel {
    DriveModel {
        name: "stick".to_owned(),
        title: "a stick".to_owned(),
        size_bytes: 4 << 30,
        logical_block_bytes: 512,
        bus: BusKind::Usb2,
        command_ns: PerDirection { read: 375_000, write: 375_000 },
        page_bytes: 4096,
        page_buffers: 1,
        write_through: false,
        queued_commands: 1,
        fake: None,
        medium: Medium::Flash(Flash { bytes_per_s: PerDirection { read, write }, ..Flash::default() }),
    }
}

/// The same with something changed in its flash.
pub(crate) fn with_flash(model: DriveModel, change: impl FnOnce(&mut Flash)) -> DriveModel {
    let Medium::Flash(mut flash) = model.medium else { unreachable!("it is a stick") };
    change(&mut flash);
    DriveModel { medium: Medium::Flash(flash), ..model }
}

/// The same with stalls: after every so many writes, how long, and how many of the first round
/// count as done.
pub(crate) fn with_stalls(model: DriveModel, stalls: &[(u32, u64, u32)]) -> DriveModel {
    let stall = |&(every_writes, duration_ns, phase_writes): &_| Stall { every_writes, duration_ns, phase_writes };
    with_flash(model, |flash| flash.stalls = stalls.iter().map(stall).collect())
}

/// Drives dealt out to buses of one kind.
pub(crate) fn dealt(models: &[DriveModel], kind: BusKind, buses: usize) -> Topology {
    let bus = Bus { kind, upstream: None };
    let drives = models.iter().enumerate().map(|(number, model)| (model.clone(), number % buses)).collect();
    Topology { buses: vec![bus; buses], drives }
}

/// Buffered I/O on block devices of old kernels: pages, merged up to 120 KiB whatever the bus.
pub(crate) fn old_kernel() -> HostModel {
    HostModel { max_request_bytes: 120 << 10, piece_bytes: 4096, scheduler: Scheduler::None, ..HostModel::default() }
}

pub(crate) fn user(topology: &Topology) -> User {
    User::new(Simulation::new(topology, &old_kernel()).unwrap())
}
