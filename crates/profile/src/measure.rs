//! Carries probes out on a drive, one I/O at a time.

use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use shoal_drive::{Io, IoKind, LoopError};
use shoal_volume::{DriveId, Memory, World};

use crate::probe::{Direction, Probe, Step};

/// A probe and what came of it.
#[derive(Clone, Debug)]
pub struct Observation {
    /// What was done.
    pub probe: Probe,
    /// How long each step took.
    pub latencies_ns: Vec<u64>,
}

/// Why a drive could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The loop under it broke.
    #[error(transparent)]
    Loop(#[from] LoopError),
    /// The drive failed an I/O: no timing of such a drive means anything.
    #[error("{drive} could not {what} {length} bytes at {offset}: {error}; repair or replace it before it is profiled")]
    Io {
        /// Which drive.
        drive: String,
        /// Read or write.
        what: &'static str,
        /// Where.
        offset: u64,
        /// How much.
        length: u32,
        /// What the system says.
        error: std::io::Error,
    },
    /// Somebody wants it to end.
    #[error("stopped: nothing is known of the drive; what was written to it stays")]
    Stopped,
}

/// Who looks on.
pub trait Watch {
    /// So many steps of so many are done. `false` ends the measurement.
    fn goes_on(&mut self, done: u64, steps: u64) -> bool;
}

/// Steps are multiples of it.
const SECTOR_BYTES: usize = 512;

/// The bytes at the start of a world's arena that steps use: the longest step.
pub const STEP_BYTES_MAX: u32 = 1 << 20;

/// Carries out probes on a drive. Nobody else may have anything in flight in its world; the arena's
/// first [`STEP_BYTES_MAX`] bytes are used.
pub fn measure(
    world: &mut impl World,
    drive: DriveId,
    probes: Vec<Probe>,
    watch: &mut impl Watch,
) -> Result<Vec<Observation>, MeasureError> {
    let steps = probes.iter().map(|probe| probe.steps.len() as u64).sum();
    let mut done = 0;
    let mut observations = Vec::new();
    fill(world);
    for probe in probes {
        let mut latencies_ns = Vec::with_capacity(probe.steps.len());
        for &step in &probe.steps {
            latencies_ns.push(take_step(world, drive, step)?);
            done += 1;
            if !watch.goes_on(done, steps) {
                return Err(MeasureError::Stopped);
            }
        }
        observations.push(Observation { probe, latencies_ns });
    }
    Ok(observations)
}

fn fill(world: &impl World) {
    world.arena().write(Memory { offset: 0, length: STEP_BYTES_MAX }, &content());
}

/// What is written cannot be compressed, so that a controller that does so gains nothing. It is the
/// same each time.
fn content() -> Vec<u8> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(0x70_726f_6669_6c65);
    let mut bytes = vec![0; STEP_BYTES_MAX as usize];
    random.fill_bytes(&mut bytes);
    bytes
}

/// Whether bytes begin with a sector that [`measure`] has written to a drive.
pub fn wrote(bytes: &[u8]) -> bool {
    let sector = bytes.get(..SECTOR_BYTES);
    sector.is_some_and(|sector| content().chunks_exact(SECTOR_BYTES).any(|own| own == sector))
}

fn take_step(world: &mut impl World, drive: DriveId, step: Step) -> Result<u64, MeasureError> {
    if step.rest_ns > 0 {
        world.sleep(Duration::from_nanos(step.rest_ns));
    }
    let memory = Memory { offset: 0, length: step.length };
    let kind = match step.direction {
        Direction::Read => IoKind::Read(memory),
        Direction::Write => IoKind::Write(memory),
    };
    let began = world.now();
    let mut finished = Vec::new();
    world.submit(Io { token: 0, drive, kind, offset: step.offset });
    while finished.is_empty() {
        world.wait(1, None, &mut finished)?;
    }
    let latency_ns = world.now().since_ns(began);
    match finished.remove(0).result {
        Ok(()) => Ok(latency_ns),
        Err(error) => Err(MeasureError::Io {
            drive: world.facts(drive).name,
            what: if step.direction == Direction::Read { "read" } else { "write" },
            offset: step.offset,
            length: step.length,
            error,
        }),
    }
}
