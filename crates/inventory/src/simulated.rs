//! Simulated drives, as they are named: `sim:cruzer-titanium*6@usb2*2`. They exist while the
//! process runs that opens them.

use std::path::{Path, PathBuf};

use shoal_documents::{Fault, HasFault};
use shoal_sim::{
    Bus, BusKind, Description, DriveModel, HostModel, Medium, NotationError, PREFIX, Topology, parse_fleet,
};
use shoal_text::format_size;
use shoal_volume::{BufferPlan, Contents, DriveId, SimulatedWorld, SimulatedWorldError};

/// Drives on buses, as they were named.
#[derive(Debug)]
pub struct SimulatedDrives {
    notation: String,
    topology: Topology,
    descriptions: Vec<Description>,
}

/// A world of simulated drives, ready to become a volume.
#[derive(Debug)]
pub struct SimulatedOpened {
    /// The drives, their memory, virtual time.
    pub world: SimulatedWorld,
    /// How the memory is cut.
    pub plan: BufferPlan,
    /// In the order given.
    pub drives: Vec<DriveId>,
}

/// A drive was named that is simulated, where there can be none.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}: simulated drives exist only while a command runs, so nothing is on them yet: use them with create, bench, study, run or \
     serve",
    argument.display()
)]
pub struct NotReal {
    /// As it was named.
    pub argument: PathBuf,
}

impl HasFault for NotReal {
    fn fault(&self) -> Fault {
        Fault::Usage
    }
}

/// Why there are no such simulated drives.
#[derive(Debug, thiserror::Error)]
pub enum SimulatedError {
    /// Some of the drives are real.
    #[error("{} is a real drive and {} a simulated one: give drives of one kind", real.display(), simulated.display())]
    Mixed {
        /// One of them.
        real: PathBuf,
        /// One that is not.
        simulated: PathBuf,
    },
    /// They are not understood.
    #[error(transparent)]
    Notation(#[from] NotationError),
    /// They would take too much of this machine's memory.
    #[error(
        "{drives}: {} together, kept in memory, of which {} are free: make them smaller, as sim:cruzer-titanium:size=256M*4",
        format_size(*total_bytes),
        format_size(*available_bytes)
    )]
    TooLarge {
        /// As they were named.
        drives: String,
        /// What they hold.
        total_bytes: u64,
        /// What this machine has left.
        available_bytes: u64,
    },
}

impl HasFault for SimulatedError {
    fn fault(&self) -> Fault {
        Fault::Usage
    }
}

impl SimulatedDrives {
    /// The simulated drives that arguments name; none if they name real ones. Several arguments are
    /// one fleet.
    pub fn named(arguments: &[PathBuf]) -> Result<Option<Self>, SimulatedError> {
        let texts: Vec<Option<&str>> =
            arguments.iter().map(|argument| argument.to_str()?.strip_prefix(PREFIX)).collect();
        let real = texts.iter().zip(arguments).find(|(text, _)| text.is_none());
        let simulated = texts.iter().zip(arguments).find(|(text, _)| text.is_some());
        match (real, simulated) {
            (_, None) => return Ok(None),
            (Some((_, real)), Some((_, simulated))) => {
                return Err(SimulatedError::Mixed { real: real.clone(), simulated: simulated.clone() });
            }
            (None, Some(_)) => {}
        }
        let text = texts.into_iter().flatten().collect::<Vec<_>>().join(",");
        let fleet = parse_fleet(&text)?;
        let notation = format!("{PREFIX}{text}");
        Ok(Some(Self { notation, descriptions: fleet.descriptions, topology: fleet.topology }))
    }

    /// All of them, in one line.
    pub fn notation(&self) -> &str {
        &self.notation
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.topology.drives.len()
    }

    /// What a drive is plugged into.
    pub fn bus_of(&self, drive: usize) -> BusKind {
        self.topology.buses[self.topology.drives[drive].1].kind
    }

    /// Whether any is flash that takes one command at a time, as sticks and cards do.
    pub fn have_cheap_flash(&self) -> bool {
        let is_cheap = |model: &DriveModel| matches!(model.medium, Medium::Flash(_)) && model.queued_commands == 1;
        self.topology.drives.iter().any(|(model, _)| is_cheap(model))
    }

    /// What each keeps its data on.
    pub fn media(&self) -> impl Iterator<Item = &Medium> {
        self.topology.drives.iter().map(|(model, _)| &model.medium)
    }

    /// Refuses drives that hold more than half of the memory that this machine has left,
    /// `available_bytes`: what is written to them is kept there.
    pub fn check_memory(&self, available_bytes: u64) -> Result<(), SimulatedError> {
        let total_bytes: u64 = self.topology.drives.iter().map(|(model, _)| model.size_bytes).sum();
        if total_bytes <= available_bytes / 2 {
            return Ok(());
        }
        Err(SimulatedError::TooLarge { drives: self.notation.clone(), total_bytes, available_bytes })
    }

    /// Each drive's description and model, and the number of its bus.
    pub fn drives(&self) -> impl Iterator<Item = (&Description, &DriveModel, usize)> {
        let models = self.topology.drives.iter();
        self.descriptions.iter().zip(models).map(|(description, (model, bus))| (description, model, *bus))
    }

    /// The buses.
    pub fn buses(&self) -> &[Bus] {
        &self.topology.buses
    }

    /// A world with some of the drives in it, on their buses, with nobody else there. All chance
    /// follows from `seed`.
    pub fn open(
        &self,
        drives: &[u32],
        contents: Contents,
        plan: BufferPlan,
        seed: u64,
    ) -> Result<SimulatedOpened, SimulatedWorldError> {
        let topology = Topology {
            buses: self.topology.buses.clone(),
            drives: drives.iter().map(|&drive| self.topology.drives[drive as usize].clone()).collect(),
        };
        let world = SimulatedWorld::new(&topology, &HostModel::default(), contents, plan, seed)?;
        Ok(SimulatedOpened { world, plan, drives: (0..).map(DriveId).take(drives.len()).collect() })
    }

    /// [`Self::open`] with all of them, for requests of a kind.
    pub fn open_all(
        &self,
        contents: Contents,
        (request_count, request_bytes): (u32, u32),
        seed: u64,
    ) -> Result<SimulatedOpened, SimulatedWorldError> {
        self.open_planned(contents, BufferPlan::for_drives(self.count(), request_count, request_bytes), seed)
    }

    /// [`Self::open`] with all of them, and the memory that is planned.
    pub fn open_planned(
        &self,
        contents: Contents,
        plan: BufferPlan,
        seed: u64,
    ) -> Result<SimulatedOpened, SimulatedWorldError> {
        let all: Vec<u32> = (0..).take(self.count()).collect();
        self.open(&all, contents, plan, seed)
    }
}

/// Whether an argument names simulated drives.
pub fn is_simulated(argument: &Path) -> bool {
    argument.to_str().is_some_and(|text| text.starts_with(PREFIX))
}

/// Refuses simulated drives where there can be none.
pub fn refuse<'a>(arguments: impl IntoIterator<Item = &'a PathBuf>) -> Result<(), NotReal> {
    match arguments.into_iter().find(|argument| is_simulated(argument)) {
        None => Ok(()),
        Some(argument) => Err(NotReal { argument: argument.clone() }),
    }
}
