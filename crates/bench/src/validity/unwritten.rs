//! Looks whether a range was ever written: unwritten flash, trimmed blocks and holes of files read
//! as zeros, at once, without the drive having to look for anything.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use shoal_volume::{Arena, Volume, VolumeError};

use crate::pump::{Load, Place, pump};
use crate::workload::below;
use crate::{Blocks, Direction, Event, Operation};

/// Blocks looked at.
const SAMPLES: u32 = 64;

/// What a look at a range found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnwrittenProbe {
    /// Blocks that could be read.
    pub sampled: u32,
    /// Those of them that held nothing but zeros.
    pub zero: u32,
}

/// Reads blocks at random places of a range and counts those that hold zeros only.
pub fn probe_unwritten<V: Volume + ?Sized>(
    volume: &mut V,
    blocks: Blocks,
    seed: u64,
) -> Result<UnwrittenProbe, VolumeError> {
    let depth = volume.request_buffers().min(4);
    let length = volume.logical_block_bytes().max(4096).min(blocks.block_size_bytes).min(volume.request_buffer_bytes());
    let mut sampling = Sampling {
        blocks,
        length,
        random: Xoshiro256PlusPlus::seed_from_u64(seed),
        left: SAMPLES,
        bytes: vec![0; length as usize],
        probe: UnwrittenProbe { sampled: 0, zero: 0 },
    };
    pump(volume, depth, &mut sampling)?;
    Ok(sampling.probe)
}

struct Sampling {
    blocks: Blocks,
    /// Of the start of each block, which is enough.
    length: u32,
    random: Xoshiro256PlusPlus,
    left: u32,
    bytes: Vec<u8>,
    probe: UnwrittenProbe,
}

impl<V: ?Sized> Load<V> for Sampling {
    fn next(&mut self, _now_ns: u64) -> Option<Operation> {
        self.left = self.left.checked_sub(1)?;
        let offset = self.blocks.start(below(&mut self.random, self.blocks.count));
        Some(Operation { offset, length: self.length, direction: Direction::Read })
    }

    fn prepare(&mut self, _arena: &Arena, _place: Place, _operation: &Operation) {}

    fn completed(&mut self, arena: &Arena, place: Place, event: &Event) {
        if event.result.is_err() {
            return;
        }
        arena.read(place.memory, &mut self.bytes);
        self.probe.sampled += 1;
        self.probe.zero += u32::from(self.bytes.iter().all(|byte| *byte == 0));
    }

    fn turned(&mut self, _volume: &mut V, _now_ns: u64) {}
}
