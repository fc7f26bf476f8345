//! From observations to a description.

mod disk;
mod flash;
mod origins;
mod residuals;
mod statistics;
mod transfer;
mod writing;

use shoal_sim::{BusKind, Description, Disk, DriveModel, Facts, Flash, Medium, PerDirection};

use crate::measure::Observation;
use crate::probe::{Direction, Question};
use crate::replay::bus_page_ns;
use origins::Origins;
use transfer::Transfers;

pub use residuals::Residual;

/// What is known of a drive before it is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The name of the description: lowercase words joined by hyphens.
    pub name: String,
    /// What people call the drive.
    pub title: String,
    /// Capacity.
    pub size_bytes: u64,
    /// Smallest unit of I/O.
    pub logical_block_bytes: u32,
    /// What it is plugged into, as far as it is known; `Direct` for a file.
    pub bus: BusKind,
    /// Whether it rotates; found out if it is not known.
    pub rotates: Option<bool>,
    /// The day of the measurement.
    pub date: String,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The drive.
    pub description: Description,
    /// How well a simulated drive of this description does what the measured one did.
    pub residuals: Vec<Residual>,
    /// What else is worth knowing, a sentence each.
    pub remarks: Vec<String>,
}

/// What the parts of the analysis share.
struct Analysis<'a> {
    given: &'a Given,
    observations: &'a [Observation],
    /// What a page of 4 KiB takes on the bus.
    bus_page_ns: u64,
    origins: Origins,
    remarks: Vec<String>,
}

/// Flash is read and programmed in pages; how large they are does not show.
const FLASH_PAGE_BYTES: u32 = 4096;
/// A disk's cache is filled in segments.
const DISK_PAGE_BYTES: u32 = 64 << 10;

/// Finds the model that does what was observed. None if the observations lack what `plan` always
/// asks for.
#[must_use]
pub fn analyse(given: &Given, observations: &[Observation]) -> Option<Profile> {
    let mut analysis = Analysis {
        given,
        observations,
        bus_page_ns: bus_page_ns(given.bus),
        origins: Origins::new(&given.date),
        remarks: Vec::new(),
    };
    let reads = analysis.transfers(Direction::Read)?;
    let rotates = match given.rotates {
        Some(rotates) => rotates,
        None => disk::seems_to_rotate(analysis.of(Question::Random(Direction::Read))?, analysis.of(Question::Ends)?),
    };
    let mut model = analysis.frame(&reads, rotates);
    if rotates {
        analysis.fit_disk(&mut model, &reads)?;
    } else {
        analysis.fit_flash(&mut model, &reads)?;
    }
    let residuals = residuals::residuals(&model, observations);
    analysis.remarks.extend(residuals::remark(&residuals));
    let description = Description { model, facts: Facts::default(), origins: analysis.origins.finish() };
    Some(Profile { description, residuals, remarks: analysis.remarks })
}

impl Analysis<'_> {
    /// The observation that answers a question.
    fn of(&self, question: Question) -> Option<&Observation> {
        let found = self.observations.iter().find(|observation| observation.probe.question == question);
        found.filter(|observation| !observation.latencies_ns.is_empty())
    }

    fn transfers(&self, direction: Direction) -> Option<Transfers> {
        let rested = self.of(Question::Transfer(direction))?;
        Transfers::new(rested, self.of(Question::Stream(direction))?, self.bus_page_ns)
    }

    /// The model as far as it does not depend on the medium.
    fn frame(&mut self, reads: &Transfers, rotates: bool) -> DriveModel {
        let given = self.given;
        self.origins.published("drive.size", "what the drive says of itself");
        self.origins.published("drive.logical_block", "what the drive says of itself");
        self.origins.published("drive.bus", "what it was plugged into, as far as the system tells");
        self.origins.assumed("drive.queued_commands", "one at a time; more does not show with one at a time");
        let method = "reads of 4 KiB one after the other, less what the bus takes";
        self.origins.measured("command.read", method, reads.spread_ppm);
        let medium = if rotates { Medium::Disk(Disk::default()) } else { Medium::Flash(Flash::default()) };
        DriveModel {
            name: given.name.clone(),
            title: given.title.clone(),
            size_bytes: given.size_bytes,
            logical_block_bytes: given.logical_block_bytes,
            bus: given.bus,
            command_ns: PerDirection { read: reads.command_ns, write: reads.command_ns },
            page_bytes: if rotates { DISK_PAGE_BYTES } else { FLASH_PAGE_BYTES },
            page_buffers: 1,
            write_through: false,
            queued_commands: 1,
            medium,
            fake: None,
        }
    }
}
