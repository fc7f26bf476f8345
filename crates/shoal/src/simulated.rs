//! Simulated drives as a study's bay, and options that only they have.

use std::fmt::Display;

use shoal_bench::TargetKind;
use shoal_inventory::SimulatedDrives;
use shoal_sim::{Bus, BusKind, Description, DriveModel, PREFIX};
use shoal_study::bay::{Bay, BayError, Opened, Requests};
use shoal_study::model::{DriveDescription, Machine};
use shoal_volume::{BufferPlan, Contents, SimulatedWorld};

use crate::exit::Failure;

/// What all drives of a world may keep together: beyond that a machine that other things run on may
/// be short of memory.
const KEPT_BYTES_MAX: u64 = 256 << 20;

/// Refuses options that only simulated drives have.
pub(crate) fn refuse_options(options: &[(&str, bool)], otherwise: impl Display) -> Result<(), Failure> {
    match options.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::Usage(format!("{option} is for simulated drives: {otherwise}"))),
    }
}

/// What is known of each drive; they are told apart by number.
pub(crate) fn descriptions(drives: &SimulatedDrives) -> Vec<DriveDescription> {
    let describe = |(index, (description, model, bus)): (usize, (&Description, &DriveModel, usize))| DriveDescription {
        name: format!("{}-{}", model.name, index + 1),
        path: format!("{PREFIX}{}#{index}", model.name),
        kind: TargetKind::Simulated,
        size_bytes: model.size_bytes,
        logical_block_bytes: model.logical_block_bytes,
        model: Some(description.model.title.clone()),
        bus: Some(bus_name(drives.buses(), bus)),
    };
    drives.drives().enumerate().map(describe).collect()
}

/// A bus's kind, and which of its kind it is.
fn bus_name(buses: &[Bus], bus: usize) -> String {
    let kind = buses[bus].kind;
    let number = buses[..=bus].iter().filter(|other| other.kind == kind).count();
    let kind = match kind {
        BusKind::Usb2 => "USB 2.0",
        BusKind::Usb3 => "USB 3",
        BusKind::Pci => "PCI",
        BusKind::Ata133 => "ATA 133",
        BusKind::Sata3 => "SATA 3 Gbit/s",
        BusKind::Sata6 => "SATA 6 Gbit/s",
        BusKind::GigabitNetwork => "network of 1 Gbit/s",
        BusKind::FastNetwork => "network of 100 Mbit/s",
        BusKind::Direct => "no bus",
    };
    format!("{kind}, number {number}")
}

/// Simulated drives as a study's bay: a world from the beginning for each opening.
pub(crate) struct SimulatedBay {
    drives: SimulatedDrives,
    descriptions: Vec<DriveDescription>,
    seed: u64,
}

impl SimulatedBay {
    /// All chance follows from `seed`.
    pub(crate) fn new(drives: SimulatedDrives, seed: u64) -> Self {
        Self { descriptions: descriptions(&drives), drives, seed }
    }
}

impl Bay for SimulatedBay {
    type World = SimulatedWorld;

    fn drives(&self) -> &[DriveDescription] {
        &self.descriptions
    }

    fn simulated(&self) -> Option<&str> {
        Some(self.drives.notation())
    }

    fn kept_bytes_max(&self) -> Option<u64> {
        Some(KEPT_BYTES_MAX)
    }

    fn open(&self, drives: &[u32], requests: Requests) -> Result<Opened<SimulatedWorld>, BayError> {
        let contents = if requests.compared { Contents::Kept } else { Contents::Discarded };
        let plan = BufferPlan::for_drives(drives.len(), requests.count, requests.bytes);
        let opened = self.drives.open(drives, contents, plan, self.seed)?;
        Ok(Opened { world: opened.world, plan: opened.plan, drives: opened.drives })
    }
}

/// The machine that simulated drives hang on: the model's, not this one.
pub(crate) fn host() -> Machine {
    Machine {
        os: "simulated".to_owned(),
        kernel: String::new(),
        cpu_model: String::new(),
        cores: 0,
        memory_bytes: 0,
        io_engine: "virtual time".to_owned(),
    }
}
