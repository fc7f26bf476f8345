//! Simulated drives, wherever a command asks for drives: `sim:cruzer-titanium*6@usb2*2`. They exist while the command runs.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use shoal_bench::TargetKind;
use shoal_sim::{BusKind, Fleet, HostModel, Medium, PREFIX, Topology, parse_fleet};
use shoal_study::bay::{Bay, BayError, Opened, Requests};
use shoal_study::model::{DriveDescription, Host};
use shoal_volume::{BufferPlan, Contents, DriveId, SimulatedWorld, SimulatedWorldError};

use crate::exit::Failure;
use crate::host::memory_available_bytes;
use crate::size::format_size;

/// What all drives of a world may keep together: beyond that a machine that other things run on may be short of memory.
const KEPT_BYTES_MAX: u64 = 256 << 20;

/// Drives on buses, as they were named.
#[derive(Debug)]
pub(crate) struct SimulatedDrives {
    notation: String,
    topology: Topology,
    descriptions: Vec<DriveDescription>,
}

impl SimulatedDrives {
    /// The simulated drives that arguments name; none if they name real ones. Several arguments are one fleet.
    pub(crate) fn named(arguments: &[PathBuf]) -> Result<Option<Self>, Failure> {
        let texts: Vec<Option<&str>> =
            arguments.iter().map(|argument| argument.to_str()?.strip_prefix(PREFIX)).collect();
        let real = texts.iter().zip(arguments).find(|(text, _)| text.is_none());
        let simulated = texts.iter().zip(arguments).find(|(text, _)| text.is_some());
        match (real, simulated) {
            (_, None) => return Ok(None),
            (Some((_, real)), Some((_, simulated))) => {
                return Err(Failure::Usage(format!(
                    "{} is a real drive and {} a simulated one: give drives of one kind",
                    real.display(),
                    simulated.display()
                )));
            }
            (None, Some(_)) => {}
        }
        let text = texts.into_iter().flatten().collect::<Vec<_>>().join(",");
        let fleet = parse_fleet(&text).map_err(Failure::usage)?;
        Ok(Some(Self {
            notation: format!("{PREFIX}{text}"),
            descriptions: descriptions(&fleet),
            topology: fleet.topology,
        }))
    }

    /// All of them, in one line.
    pub(crate) fn notation(&self) -> &str {
        &self.notation
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.topology.drives.len()
    }

    /// What a drive is plugged into.
    pub(crate) fn bus_of(&self, drive: usize) -> BusKind {
        self.topology.buses[self.topology.drives[drive].1].kind
    }

    /// What each keeps its data on.
    pub(crate) fn media(&self) -> impl Iterator<Item = &Medium> {
        self.topology.drives.iter().map(|(model, _)| &model.medium)
    }

    /// Refuses drives that hold more than half of the memory that this machine has left: what is written to them is kept
    /// there.
    pub(crate) fn check_memory(&self) -> Result<(), Failure> {
        let total_bytes: u64 = self.descriptions.iter().map(|drive| drive.size_bytes).sum();
        let available_bytes = memory_available_bytes().unwrap_or(u64::MAX);
        if total_bytes <= available_bytes / 2 {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "{}: {} together, kept in memory, of which {} are free: make them smaller, as sim:cruzer-titanium:size=256M*4",
            self.notation,
            format_size(total_bytes),
            format_size(available_bytes),
        )))
    }

    /// What is known of each.
    pub(crate) fn descriptions(&self) -> &[DriveDescription] {
        &self.descriptions
    }

    /// A world with some of the drives in it, on their buses, with nobody else there. All chance follows from `seed`.
    pub(crate) fn open(
        &self,
        drives: &[u32],
        contents: Contents,
        plan: BufferPlan,
        seed: u64,
    ) -> Result<Opened<SimulatedWorld>, SimulatedWorldError> {
        let topology = Topology {
            buses: self.topology.buses.clone(),
            drives: drives.iter().map(|&drive| self.topology.drives[drive as usize].clone()).collect(),
        };
        let world = SimulatedWorld::new(&topology, &HostModel::default(), contents, plan, seed)?;
        Ok(Opened { world, plan, drives: (0..).map(DriveId).take(drives.len()).collect() })
    }

    /// [`Self::open`] with all of them, for requests of a kind.
    pub(crate) fn open_all(
        &self,
        contents: Contents,
        (request_count, request_bytes): (u32, u32),
        seed: u64,
    ) -> Result<Opened<SimulatedWorld>, Failure> {
        let all: Vec<u32> = (0..).take(self.count()).collect();
        let plan = BufferPlan::for_drives(all.len(), request_count, request_bytes);
        self.open(&all, contents, plan, seed).map_err(Failure::failed)
    }
}

/// Whether an argument names simulated drives.
pub(crate) fn is_simulated(argument: &Path) -> bool {
    argument.to_str().is_some_and(|text| text.starts_with(PREFIX))
}

/// Refuses simulated drives where there can be none.
pub(crate) fn refuse<'a>(arguments: impl IntoIterator<Item = &'a PathBuf>) -> Result<(), Failure> {
    match arguments.into_iter().find(|argument| is_simulated(argument)) {
        None => Ok(()),
        Some(argument) => Err(Failure::Usage(format!(
            "{}: simulated drives exist only while a command runs, so nothing is on them yet: use them with create, bench, \
             study, run or serve",
            argument.display()
        ))),
    }
}

/// Refuses options that only simulated drives have.
pub(crate) fn refuse_options(options: &[(&str, bool)], otherwise: impl Display) -> Result<(), Failure> {
    match options.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::Usage(format!("{option} is for simulated drives: {otherwise}"))),
    }
}

/// The drives of a fleet, told apart by number.
fn descriptions(fleet: &Fleet) -> Vec<DriveDescription> {
    let describe = |(index, (description, (model, bus))): (usize, (&shoal_sim::Description, &(_, usize)))| {
        let model: &shoal_sim::DriveModel = model;
        DriveDescription {
            name: format!("{}-{}", model.name, index + 1),
            path: format!("{PREFIX}{}#{index}", model.name),
            kind: TargetKind::Simulated,
            size_bytes: model.size_bytes,
            logical_block_bytes: model.logical_block_bytes,
            model: Some(description.model.title.clone()),
            bus: Some(bus_name(&fleet.topology, *bus)),
        }
    };
    fleet.descriptions.iter().zip(&fleet.topology.drives).enumerate().map(describe).collect()
}

/// A bus's kind, and which of its kind it is.
fn bus_name(topology: &Topology, bus: usize) -> String {
    let kind = topology.buses[bus].kind;
    let number = topology.buses[..=bus].iter().filter(|other| other.kind == kind).count();
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
    seed: u64,
}

impl SimulatedBay {
    /// All chance follows from `seed`.
    pub(crate) fn new(drives: SimulatedDrives, seed: u64) -> Self {
        Self { drives, seed }
    }
}

impl Bay for SimulatedBay {
    type World = SimulatedWorld;

    fn drives(&self) -> &[DriveDescription] {
        self.drives.descriptions()
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
        Ok(self.drives.open(drives, contents, plan, self.seed)?)
    }
}

/// The machine that simulated drives hang on: the model's, not this one.
pub(crate) fn host() -> Host {
    Host {
        os: "simulated".to_owned(),
        kernel: String::new(),
        cpu_model: String::new(),
        cores: 0,
        memory_bytes: 0,
        io_engine: "virtual time".to_owned(),
    }
}
