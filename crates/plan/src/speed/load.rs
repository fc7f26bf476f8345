//! What is done to a volume to see how fast it is.

use std::sync::atomic::AtomicBool;

use shoal_bench::{Bench, Conditions, Limit, Measurement, Pattern, TargetDescription, TargetKind, Watch, Workload};
use shoal_sim::Medium;
use shoal_volume::Volume;

use super::{SpeedError, Speeds};
use crate::drives::Inventory;

/// Requests in flight at random, as `shoal bench` has them.
pub(super) const DEPTH: u32 = 32;
/// And one after the other.
const SEQUENTIAL_DEPTH: u32 = 4;
/// Size of a sequential request.
pub(super) const REQUEST_BYTES: u32 = 1 << 20;
/// Size of a random one.
const RANDOM_BYTES: u32 = 4 << 10;
/// What runs before a window begins.
const WARM_UP_NS: u64 = 60_000_000;
/// Fewest and most requests of a window.
const SEQUENTIAL_REQUESTS: (u64, u64) = (96, 384);
const RANDOM_REQUESTS: (u64, u64) = (480, 2_400);
/// A member sees each of its pauses about so often in a window.
const ROUNDS_OF_STALLS: u64 = 2;
/// What a sequential request becomes on a USB 2.0 member, at least: requests of 240 sectors.
const WRITES_PER_REQUEST: u64 = 8;

/// The windows for an array of some drives.
pub(super) struct Load {
    sequential_requests: u64,
    random_requests: u64,
    seed: u64,
}

impl Load {
    pub(super) fn of(inventory: &Inventory, members: &[usize], seed: u64) -> Self {
        let rounds = members.iter().map(|&drive| match &inventory.drives[drive].model.medium {
            Medium::Flash(flash) => flash.stalls.iter().map(|stall| u64::from(stall.every_writes)).max().unwrap_or(0),
            Medium::Disk(_) => 0,
        });
        let writes = rounds.max().unwrap_or(0) * ROUNDS_OF_STALLS * members.len() as u64;
        Self {
            sequential_requests: (writes / WRITES_PER_REQUEST).clamp(SEQUENTIAL_REQUESTS.0, SEQUENTIAL_REQUESTS.1),
            random_requests: writes.clamp(RANDOM_REQUESTS.0, RANDOM_REQUESTS.1),
            seed,
        }
    }

    /// All four figures.
    pub(super) fn speeds(&self, volume: &mut impl Volume) -> Result<Speeds, SpeedError> {
        let mut measure = |pattern, read_percent| self.measure(volume, pattern, read_percent);
        Ok(Speeds {
            sequential_read_bytes_per_s: measure(Pattern::Sequential, 100)?.bytes_per_s,
            random_read_iops: measure(Pattern::Random, 100)?.iops,
            sequential_write_bytes_per_s: measure(Pattern::Sequential, 0)?.bytes_per_s,
            random_write_iops: measure(Pattern::Random, 0)?.iops,
        })
    }

    fn measure(&self, volume: &mut impl Volume, pattern: Pattern, read_percent: u8) -> Result<Measurement, SpeedError> {
        let bench = Bench {
            target: target(volume),
            workload: self.workload(pattern, read_percent),
            repeats: 1,
            conditions: Conditions { buffered: false, unwritten: None, degraded: false, resyncing: false },
        };
        let interrupt = AtomicBool::new(false);
        let mut watch = Watch { interrupt: &interrupt, progress: &mut |_| {}, observer: &mut () };
        Ok(bench.run(volume, &mut watch)?.pop().expect("one repeat is one measurement"))
    }

    fn workload(&self, pattern: Pattern, read_percent: u8) -> Workload {
        let (block_size_bytes, depth, requests) = match pattern {
            Pattern::Sequential => (REQUEST_BYTES, SEQUENTIAL_DEPTH, self.sequential_requests),
            Pattern::Random => (RANDOM_BYTES, DEPTH, self.random_requests),
        };
        Workload {
            pattern,
            read_percent,
            block_size_bytes,
            depth,
            limit: Limit::Bytes(requests * u64::from(block_size_bytes)),
            warm_up_ns: WARM_UP_NS,
            range_offset: 0,
            range_bytes: 0,
            visit_once: false,
            seed: self.seed,
        }
    }
}

fn target(volume: &impl Volume) -> TargetDescription {
    TargetDescription {
        name: "plan".to_owned(),
        kind: TargetKind::Array,
        size_bytes: volume.size_bytes(),
        logical_block_bytes: volume.logical_block_bytes(),
        level: None,
        layout: None,
        chunk_bytes: None,
        member_count: None,
        simulated: Some("plan".to_owned()),
        engine: None,
    }
}
