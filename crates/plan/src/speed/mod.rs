//! How fast an array will be: the engine that ships, on simulated drives, under the benchmark that
//! measures real ones.
//!
//! Each prediction is a run of [`ArrayVolume`] over a [`SimulatedWorld`] in virtual time, with what
//! `shoal bench` does by default: 1 MiB requests one after the other, four in flight, and 4 KiB
//! requests anywhere, 32 in flight. A member then fails and all is measured again; then another
//! drive takes its place, and the rebuild is watched, first alone, then under the same load. What
//! drives hold is thrown away, as only time matters; parity is computed all the same.
//!
//! A window is a number of requests, large enough for each member to pause as often as it does in
//! the long run, so slow drives are simulated for longer than fast ones and cost as much of ours. A
//! rebuild is watched for a window and extrapolated over the member, for disks by how their rate
//! falls from the first zone to the last.

mod load;
mod rebuild;
mod solve;
#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use shoal_bench::BenchError;
use shoal_sim::HostModel;
use shoal_volume::{
    ArrayVolume, BufferPlan, ConsistencyPolicy, Contents, CreateError, CreateOptions, DriveId, DriveVolume,
    ManageError, MinorVersion, OpenOptions, SimulatedWorld, SimulatedWorldError, VolumeError, World,
};

use crate::arrays::Arrangement;
use crate::drives::Inventory;
use load::Load;
pub use solve::solve_rates;

/// Chunks that are tried.
pub const CHUNKS: [u32; 2] = [64 << 10, 512 << 10];

/// What a volume does, in the long run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Speeds {
    /// Sequential reads.
    pub sequential_read_bytes_per_s: u64,
    /// Sequential writes.
    pub sequential_write_bytes_per_s: u64,
    /// Random reads of 4 KiB, a second.
    pub random_read_iops: u64,
    /// Random writes of 4 KiB, a second.
    pub random_write_iops: u64,
}

/// A rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rebuild {
    /// How long it takes if nobody uses the array.
    pub alone_ns: u64,
    /// How long it takes if somebody never stops using it: md's least rate, unless the drives allow
    /// more.
    pub under_load_ns: u64,
}

/// How fast an array will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// The chunk that this is for; none if the level has none.
    pub chunk_bytes: Option<u32>,
    /// With all members.
    pub healthy: Speeds,
    /// With one missing; none if that is the end of it.
    pub degraded: Option<Speeds>,
    /// While one is rebuilt.
    pub rebuilding: Option<Speeds>,
    /// The rebuild.
    pub rebuild: Option<Rebuild>,
}

/// Why nothing can be predicted.
#[derive(Debug, thiserror::Error)]
pub enum SpeedError {
    /// Drives and buses.
    #[error(transparent)]
    World(#[from] SimulatedWorldError),
    /// The array.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// Taking a member out, or a drive in.
    #[error(transparent)]
    Manage(#[from] ManageError),
    /// The load.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// The simulation.
    #[error(transparent)]
    Volume(#[from] VolumeError),
}

/// What is predicted, on which computer, from which seed.
#[derive(Clone, Debug)]
pub struct Scene<'a> {
    /// The drives.
    pub inventory: &'a Inventory,
    /// The computer.
    pub host: HostModel,
    /// All chance follows from it.
    pub seed: u64,
}

impl Scene<'_> {
    /// One drive alone, on its own bus.
    pub fn drive(&self, drive: usize) -> Result<Speeds, SpeedError> {
        let topology = self.inventory.topology(&[(drive, self.inventory.drives[drive].bus)]);
        let plan = BufferPlan::for_drives(1, load::DEPTH, load::REQUEST_BYTES);
        let world = SimulatedWorld::new(&topology, &self.host, Contents::Discarded, plan, self.seed)?;
        let id = world.drives()[0];
        let mut volume = DriveVolume::new(world, id, plan);
        Load::of(self.inventory, &[drive], self.seed).speeds(&mut volume)
    }

    /// All of an array, over the chunk that `score` likes best.
    pub fn array(&self, array: &Arrangement, score: &dyn Fn(&Speeds) -> f64) -> Result<Prediction, SpeedError> {
        let chunks: &[u32] = if array.has_chunks() { &CHUNKS } else { &CHUNKS[1..] };
        let mut best: Option<(f64, u32, Speeds, Stand)> = None;
        for &chunk_bytes in chunks {
            let mut stand = self.build(array, chunk_bytes)?;
            let speeds = stand.load.speeds(&mut stand.volume)?;
            let value = score(&speeds);
            if best.as_ref().is_none_or(|(other, ..)| value > *other * 1.02) {
                best = Some((value, chunk_bytes, speeds, stand));
            }
        }
        let (_, chunk_bytes, healthy, stand) = best.expect("there is a chunk to try");
        let chunk_bytes = array.has_chunks().then_some(chunk_bytes);
        let prediction = Prediction { chunk_bytes, healthy, degraded: None, rebuilding: None, rebuild: None };
        if array.redundancy() == 0 { Ok(prediction) } else { stand.break_and_mend(self.inventory, array, prediction) }
    }

    /// Many arrays at once, on all processors.
    pub fn arrays(
        &self,
        arrays: &[Arrangement],
        score: &(dyn Fn(&Speeds) -> f64 + Sync),
    ) -> Vec<Result<Prediction, SpeedError>> {
        let next = AtomicUsize::new(0);
        let results: Mutex<Vec<_>> = Mutex::new((0..arrays.len()).map(|_| None).collect());
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(arrays.len().max(1));
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let Some(array) = arrays.get(number) else { return };
                        let result = self.array(array, score);
                        results.lock().unwrap_or_else(PoisonError::into_inner)[number] = Some(result);
                    }
                });
            }
        });
        let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.into_iter().map(|result| result.expect("each number was taken once")).collect()
    }

    fn build(&self, array: &Arrangement, chunk_bytes: u32) -> Result<Stand, SpeedError> {
        // The last drive is the one that will take the failed member's place.
        let mut drives = array.members.clone();
        drives.push(array.members[0]);
        let topology = self.inventory.topology(&drives);
        let plan = BufferPlan::for_drives(drives.len(), load::DEPTH, load::REQUEST_BYTES);
        let world = SimulatedWorld::new(&topology, &self.host, Contents::Discarded, plan, self.seed)?;
        let mut ids = world.drives();
        let replacement = ids.pop().expect("there is one drive more than members");
        let create = CreateOptions {
            level: array.level,
            chunk_bytes,
            spare_count: 0,
            name: "plan".to_owned(),
            homehost: None,
            drive_bytes_limit: None,
            assume_clean: true,
            metadata: MinorVersion::Start4K,
            consistency: ConsistencyPolicy::Resync,
        };
        let volume = ArrayVolume::create(world, plan, &ids, &create, &OpenOptions::writable())?;
        let members: Vec<usize> = array.members.iter().map(|&(drive, _)| drive).collect();
        let load = Load::of(self.inventory, &members, self.seed);
        Ok(Stand { volume, load, first: ids[0], replacement })
    }
}

/// An array that runs, with the drive that waits for its first member to fail.
struct Stand {
    volume: ArrayVolume<SimulatedWorld>,
    load: Load,
    first: DriveId,
    replacement: DriveId,
}

impl Stand {
    fn break_and_mend(
        mut self,
        inventory: &Inventory,
        array: &Arrangement,
        healthy: Prediction,
    ) -> Result<Prediction, SpeedError> {
        self.volume.fail_drive(self.first)?;
        let degraded = self.load.speeds(&mut self.volume)?;
        self.volume.add_drive(self.replacement)?;
        let model = &inventory.drives[array.members[0].0].model;
        let (rebuild, rebuilding) = rebuild::watch(&mut self.volume, &self.load, model)?;
        Ok(Prediction { degraded: Some(degraded), rebuilding: Some(rebuilding), rebuild: Some(rebuild), ..healthy })
    }
}
