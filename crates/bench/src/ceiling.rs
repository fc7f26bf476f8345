//! How fast the load generator could go if the target took no time at all: what a target's rate is
//! held against.

use shoal_volume::Arena;

use crate::fill::buffers::WriteBuffers;
use crate::null_volume::NullVolume;
use crate::projection::{Projections, per_second};
use crate::pump::{Load, Place, pump};
use crate::runner::workload_fill;
use crate::{Blocks, Direction, Event, Observer, Operation, Operations, Workload};

/// Long enough to be past the first filling of the buffers, too short for anyone to wait for.
const TRIAL_NS: u64 = 20_000_000;

/// Requests per second that a workload's generation, fill and records allow. 0 if it cannot be
/// told.
pub(crate) fn generator_iops(workload: &Workload, blocks: Blocks, logical_block_bytes: u32) -> u64 {
    let size_bytes = blocks.start(blocks.count);
    let depth = workload.depth;
    let Ok(operations) = Operations::new(workload, blocks) else { return 0 };
    let Ok(mut volume) = NullVolume::new(size_bytes, logical_block_bytes, depth, blocks.block_size_bytes) else {
        return 0;
    };
    let fill = workload_fill(workload, blocks);
    let mut trial = Trial {
        operations,
        buffers: WriteBuffers::new(fill, 0, depth, blocks.block_size_bytes),
        warm_requests: u64::from(depth),
        projections: Projections::new(u64::MAX),
        start_ns: None,
    };
    match pump(&mut volume, depth, &mut trial) {
        Ok(took) => {
            let ios = trial.projections.read.ios + trial.projections.write.ios;
            per_second(ios, took.end_ns - trial.start_ns.unwrap_or(took.start_ns))
        }
        Err(_broken) => 0,
    }
}

struct Trial {
    operations: Operations,
    buffers: WriteBuffers,
    /// Requests yet to come before the trial begins: each buffer's first filling is paid once and
    /// does not count.
    warm_requests: u64,
    projections: Projections,
    start_ns: Option<u64>,
}

impl Load<NullVolume> for Trial {
    fn next(&mut self, now_ns: u64) -> Option<Operation> {
        if self.warm_requests > 0 {
            self.warm_requests -= 1;
            return Some(self.operations.next_operation());
        }
        let start_ns = *self.start_ns.get_or_insert(now_ns);
        (now_ns < start_ns + TRIAL_NS).then(|| self.operations.next_operation())
    }

    fn prepare(&mut self, arena: &Arena, place: Place, operation: &Operation) {
        match operation.direction {
            Direction::Read => self.buffers.spoil(place.buffer),
            Direction::Write => self.buffers.prepare(arena, place.buffer, place.memory, operation.offset),
        }
    }

    fn completed(&mut self, _arena: &Arena, _place: Place, event: &Event) {
        if self.start_ns.is_some() {
            self.projections.record(event);
        }
    }

    fn turned(&mut self, _volume: &mut NullVolume, _now_ns: u64) {}
}

/// What the clock costs is part of the trial, since the trial runs on it.
#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::generator_iops;
    use crate::{Blocks, Limit, Pattern, Workload};

    /// How fast it is belongs to whoever reads a result; here, that each kind of request has a rate
    /// at all.
    #[test]
    fn every_kind_of_request_has_a_rate() {
        let workload = |read_percent, block_size_bytes| Workload {
            pattern: Pattern::Random,
            read_percent,
            block_size_bytes,
            depth: 32,
            limit: Limit::Bytes(1 << 30),
            warm_up_ns: 0,
            range_offset: 0,
            range_bytes: 0,
            visit_once: false,
            seed: 1,
        };
        for (read_percent, block_size_bytes) in [(100, 4096), (0, 4096), (50, 4096), (0, 1 << 20)] {
            let blocks = Blocks::of_range(0, 0, block_size_bytes, 1 << 30, 512).unwrap();
            let iops = generator_iops(&workload(read_percent, block_size_bytes), blocks, 512);
            println!("{read_percent} % reads of {block_size_bytes}: {iops} requests/s");
            assert!(iops > 0, "{read_percent} % reads of {block_size_bytes}");
        }
    }
}
