//! Three sticks under three operating systems with three file systems, by HD Tune and ATTO.
//!
//! HD Tune asks for 64 KiB, does something of its own, asks for the next; ATTO keeps four requests
//! in flight. What HD Tune loses is a gap of the host's, the same for every stick: it follows from
//! one cell for which both are given. Each system reads each stick at a rate of its own, which HD
//! Tune's figure gives; file systems do not matter to HD Tune, which reads below them, and to
//! ATTO's reads of one large file. Writes are as fast as the stick, under any system.

mod claims;
mod rates;

pub(crate) use claims::claims;

use shoal_bench::Direction;
use shoal_sim::HostModel;

use crate::experiment::Experiment;
use crate::methods::{hd_tune, overlapped};
use crate::outcomes::{Missing, Outcomes};
use crate::rig::{alone, drive};
use crate::{Figure, ReplayError, figures};

/// What the studies call them.
pub(crate) const STICKS: [&str; 3] = ["8GB Lexar JD FireFly", "4GB Apacer", "1GB RunDisk (pre 2005)"];
/// In the catalogue, in the same order.
const MODELS: [&str; 3] = ["lexar-firefly-8g", "apacer-4g", "rundisk-1g"];
pub(crate) const SYSTEMS: [&str; 3] = ["Windows XP", "Windows Vista", "Windows 7 Ultimate"];

/// ATTO's file; HD Tune goes over as much.
const FILE_BYTES: u64 = 256_000_000 / (64 << 10) * (64 << 10);
const BLOCK_BYTES: u32 = 64 << 10;

/// A cell of the study's tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) stick: String,
    pub(crate) system: String,
    pub(crate) file_system: String,
}

impl Cell {
    /// The cell that a figure is in.
    pub(crate) fn of(figure: &Figure) -> Result<Self, Missing> {
        let mut parts = figure.configuration.split("; ").map(str::to_owned);
        match (parts.next(), parts.next(), parts.next()) {
            (Some(stick), Some(system), Some(file_system)) => Ok(Self { stick, system, file_system }),
            _ => Err(Missing(figure.configuration.clone())),
        }
    }

    pub(crate) fn hd_tune(&self) -> String {
        format!("{}, {}, HD Tune read", self.stick, self.system)
    }

    pub(crate) fn atto_read(&self) -> String {
        format!("{}, {}, ATTO read", self.stick, self.system)
    }

    /// FAT32's clusters need not begin with a page, and on one stick that shows.
    pub(crate) fn atto_write(&self) -> String {
        let misaligned = self.stick == STICKS[0] && self.file_system == "FAT32";
        format!("{}, {}, ATTO write", self.stick, if misaligned { "misaligned" } else { "aligned" })
    }

    /// What a table prints for it.
    pub(crate) fn published(&self, method: &str, metric: &str) -> Option<f64> {
        let configuration = format!("{}; {}; {}", self.stick, self.system, self.file_system);
        let found = figures().into_iter().find(|figure| {
            figure.configuration == configuration && figure.metric == metric && figure.experiment.contains(method)
        });
        found.and_then(|figure| figure.value.number())
    }
}

/// A host whose driver for USB storage asks for 64 KiB at most, as Windows' did
/// (`MaximumTransferLength` of usbstor).
fn windows() -> HostModel {
    HostModel { max_request_bytes: BLOCK_BYTES, piece_bytes: BLOCK_BYTES, ..HostModel::default() }
}

/// One for each stick and system, and for each rate of writing.
pub(crate) fn experiments() -> Vec<Experiment> {
    let mut experiments = Vec::new();
    for stick in 0..STICKS.len() {
        for system in SYSTEMS {
            experiments.push(Experiment::new(move |outcomes| reads(stick, system, outcomes)));
        }
        experiments.push(Experiment::new(move |outcomes| writes(stick, "NTFS", outcomes)));
    }
    experiments.push(Experiment::new(|outcomes| writes(0, "FAT32", outcomes)));
    experiments
}

fn cell(stick: usize, system: &str, file_system: &str) -> Cell {
    Cell { stick: STICKS[stick].to_owned(), system: system.to_owned(), file_system: file_system.to_owned() }
}

fn reads(stick: usize, system: &str, outcomes: &mut Outcomes) -> Result<(), ReplayError> {
    let cell = cell(stick, system, "NTFS");
    let topology = alone(rates::reading(MODELS[stick], &cell)?);
    let hd = hd_tune(drive(&topology, &windows())?, FILE_BYTES, rates::gap_ns()?)?;
    outcomes.put(cell.hd_tune(), hd);
    let atto = overlapped(&mut drive(&topology, &windows())?, Direction::Read, BLOCK_BYTES, FILE_BYTES)?;
    outcomes.put(cell.atto_read(), atto.megabytes_per_s());
    Ok(())
}

fn writes(stick: usize, file_system: &str, outcomes: &mut Outcomes) -> Result<(), ReplayError> {
    let cell = cell(stick, "Windows XP", file_system);
    let topology = alone(rates::writing(MODELS[stick], &cell)?);
    let atto = overlapped(&mut drive(&topology, &windows())?, Direction::Write, BLOCK_BYTES, FILE_BYTES)?;
    outcomes.put(cell.atto_write(), atto.megabytes_per_s());
    Ok(())
}
