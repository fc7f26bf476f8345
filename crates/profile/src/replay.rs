//! Probes on a simulated drive: what a model says of what was measured.

use shoal_sim::{Bus, BusKind, Command, DriveModel, HostModel, Operation, Simulation, Topology};

use crate::probe::{Direction, Step};

/// A simulated drive that steps are carried out on, one after the other.
pub(crate) struct Replay {
    simulation: Simulation,
    finished: Vec<u64>,
}

impl Replay {
    /// A drive of that model alone on the bus of its kind. None if it cannot be simulated.
    pub(crate) fn new(model: &DriveModel) -> Option<Self> {
        let bus = Bus { kind: model.bus, upstream: None };
        let topology = Topology { buses: vec![bus], drives: vec![(model.clone(), 0)] };
        let simulation = Simulation::new(&topology, &HostModel::default()).ok()?;
        Some(Self { simulation, finished: Vec::new() })
    }

    /// The latency of a step.
    pub(crate) fn step_ns(&mut self, step: Step) -> u64 {
        self.simulation.advance(step.rest_ns);
        let operation = match step.direction {
            Direction::Read => Operation::Read,
            Direction::Write => Operation::Write,
        };
        let began_ns = self.simulation.now_ns();
        self.simulation.submit(Command { token: 0, drive: 0, operation, offset: step.offset, length: step.length });
        self.finished.clear();
        self.simulation.run_until(1, None, &mut self.finished);
        self.simulation.now_ns() - began_ns
    }
}

/// What a page of 4 KiB takes on a bus, without anything else: the difference of two transfers of a
/// drive that is never waited for.
pub(crate) fn bus_page_ns(kind: BusKind) -> u64 {
    let Ok(stick) = shoal_sim::find("cruzer-titanium") else { return 0 };
    let mut model = DriveModel { bus: kind, page_buffers: 64, ..stick.model.clone() };
    model.command_ns = shoal_sim::PerDirection::default();
    if let shoal_sim::Medium::Flash(flash) = &mut model.medium {
        flash.bytes_per_s = shoal_sim::PerDirection { read: 1 << 40, write: 1 << 40 };
        flash.random_ns = shoal_sim::PerDirection::default();
    }
    let Some(mut replay) = Replay::new(&model) else { return 0 };
    let mut read = |offset: u64, length: u32| {
        replay.step_ns(Step { direction: Direction::Read, offset, length, rest_ns: 1_000_000 })
    };
    read(0, 4096);
    let (short_ns, long_ns) = (read(4096, 4096), read(8192, 16 * 4096));
    long_ns.saturating_sub(short_ns) / 15
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_takes_on_a_bus_what_its_packets_take() {
        assert_eq!(bus_page_ns(BusKind::Usb2), 8 * 125_000 / 13);
        assert_eq!(bus_page_ns(BusKind::Ata133), 2048 * 15);
        assert_eq!(bus_page_ns(BusKind::Direct), 0);
    }
}
