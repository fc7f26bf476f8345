//! Six Cruzer Titanium sticks in RAID0, by dd on the raw device, on one and on two USB 2.0 buses.

mod claims;

pub(crate) use claims::claims;

use shoal_volume::{ArrayLevel, Level, Raid0Layout, Volume};

use crate::ReplayError;
use crate::experiment::Experiment;
use crate::host::{ReadAhead, WriteBack, linux_2_6, md_read_ahead_bytes};
use crate::methods::{dd_read, dd_write};
use crate::outcomes::Outcomes;
use crate::rig::{array, fleet};

/// How many sticks there were.
pub(crate) const DRIVES: usize = 6;
/// The chunks that were tried.
pub(crate) const CHUNKS_KIB: [u32; 9] = [4, 8, 16, 32, 64, 128, 256, 512, 1024];
/// mdadm's default of the time.
const DEFAULT_CHUNK_KIB: u32 = 64;
/// Long enough to be steady: some hundred windows.
const READ_BYTES: u64 = 96 << 20;
const WRITE_BYTES: u64 = 512 << 20;
/// By chunk, which writes do not care for.
const WRITE_BYTES_BY_CHUNK: u64 = 64 << 20;

const RAID0: ArrayLevel = ArrayLevel::Plain(Level::Raid0(Raid0Layout::Original));

/// Sticks on buses, and how they were striped.
#[derive(Clone, Copy)]
struct Setup {
    buses: usize,
    drives: usize,
    chunk_kib: u32,
}

impl Setup {
    fn name(self) -> String {
        let buses = if self.buses == 1 { "one bus" } else { "two buses" };
        format!("{buses}, {} drives, {} KiB", self.drives, self.chunk_kib)
    }

    fn play(self, outcomes: &mut Outcomes) -> Result<(), ReplayError> {
        let host = linux_2_6(0);
        let topology = fleet(&format!("cruzer-titanium*{}@usb2*{}", self.drives, self.buses))?.topology;
        let chunk_bytes = self.chunk_kib << 10;
        let volume = || array(&topology, &host, RAID0, chunk_bytes);
        let members = u32::try_from(self.drives).expect("six");
        let window_bytes = md_read_ahead_bytes(&host, members, chunk_bytes);
        let read = dd_read(ReadAhead::new(volume()?, window_bytes, host.turn_ns), READ_BYTES)?;
        outcomes.put(format!("{}, read", self.name()), read);
        if self.chunk_kib != DEFAULT_CHUNK_KIB && self.drives != DRIVES {
            return Ok(()); // for the best chunk, which only matters to reads
        }
        let bytes = if self.chunk_kib == DEFAULT_CHUNK_KIB { WRITE_BYTES } else { WRITE_BYTES_BY_CHUNK };
        let write = dd_write(WriteBack::new(volume()?, host.dirty_bytes), bytes, true)?;
        outcomes.put(format!("{}, write", self.name()), write);
        if (self.buses, self.drives, self.chunk_kib) == (1, DRIVES, DEFAULT_CHUNK_KIB) {
            outcomes.put("capacity in GB", volume()?.size_bytes() as f64 / 1e9);
        }
        Ok(())
    }
}

/// One for each setup.
pub(crate) fn experiments() -> Vec<Experiment> {
    let all = |buses, drives| CHUNKS_KIB.map(|chunk_kib| Setup { buses, drives, chunk_kib });
    let one_bus = (2..=DRIVES).flat_map(|drives| all(1, drives));
    let fewer_on_two = [2, 4].map(|drives| Setup { buses: 2, drives, chunk_kib: DEFAULT_CHUNK_KIB });
    let alone = Setup { buses: 1, drives: 1, chunk_kib: DEFAULT_CHUNK_KIB };
    let setups = all(2, DRIVES).into_iter().chain(one_bus).chain(fewer_on_two).chain([alone]);
    setups.map(|setup| Experiment::new(move |outcomes| setup.play(outcomes))).collect()
}
