//! Which block comes next, and whether it is read or written: a function of the workload and its
//! seed.

mod permutation;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::{Direction, Pattern, Workload};
use permutation::Permutation;

/// Why a workload cannot run on a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// Not a multiple of the target's blocks.
    #[error(
        "block size {block_size_bytes} bytes: must be a multiple of the target's {logical_block_bytes}-byte blocks"
    )]
    BlockSize {
        /// As asked.
        block_size_bytes: u32,
        /// The target's.
        logical_block_bytes: u32,
    },
    /// More than the target has buffers for.
    #[error(
        "depth {depth} at {block_size_bytes} bytes: the target was opened for 1..={request_buffers} requests of up to \
         {request_buffer_bytes} bytes"
    )]
    Buffers {
        /// As asked.
        depth: u32,
        /// As asked.
        block_size_bytes: u32,
        /// What the target has.
        request_buffers: u32,
        /// Size of each.
        request_buffer_bytes: u32,
    },
    /// The range begins beyond the end of the target, or at it.
    #[error("nothing can be measured from byte {offset} on: the target ends at {size_bytes}; begin before that")]
    Start {
        /// First byte.
        offset: u64,
        /// The target's size.
        size_bytes: u64,
    },
    /// The range begins within a block.
    #[error("byte {offset} is within a block: begin at a multiple of the target's {logical_block_bytes}-byte blocks")]
    Unaligned {
        /// First byte.
        offset: u64,
        /// The target's block.
        logical_block_bytes: u32,
    },
    /// The range is longer than what the target has from its start on.
    #[error(
        "{length} bytes from byte {offset} on reach past the target's end at {size_bytes}: at most {} can be measured there",
        size_bytes - offset
    )]
    Length {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u64,
        /// The target's size.
        size_bytes: u64,
    },
    /// The range holds not one block.
    #[error("{length} bytes hold not one block of {block_size_bytes}: measure more of the target, or smaller blocks")]
    Short {
        /// Number of bytes.
        length: u64,
        /// As asked.
        block_size_bytes: u32,
    },
    /// More than a hundred of a hundred.
    #[error("{0} % reads: must be 0 to 100")]
    Mix(u8),
}

/// The blocks a workload visits: `count` of them, one after the other from `offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// First byte of the first.
    pub offset: u64,
    /// How many; at least 1.
    pub count: u64,
    /// Size of each.
    pub block_size_bytes: u32,
}

impl Blocks {
    /// The blocks of `length` bytes from `offset` on a target (0: up to its end); a last part that
    /// holds no whole block is left out.
    pub fn of_range(
        offset: u64,
        length: u64,
        block_size_bytes: u32,
        size_bytes: u64,
        logical_block_bytes: u32,
    ) -> Result<Self, WorkloadError> {
        if block_size_bytes == 0 || !block_size_bytes.is_multiple_of(logical_block_bytes) {
            return Err(WorkloadError::BlockSize { block_size_bytes, logical_block_bytes });
        }
        let Some(rest_bytes) = size_bytes.checked_sub(offset).filter(|rest_bytes| *rest_bytes > 0) else {
            return Err(WorkloadError::Start { offset, size_bytes });
        };
        if !offset.is_multiple_of(u64::from(logical_block_bytes)) {
            return Err(WorkloadError::Unaligned { offset, logical_block_bytes });
        }
        let length = if length == 0 { rest_bytes } else { length };
        if length > rest_bytes {
            return Err(WorkloadError::Length { offset, length, size_bytes });
        }
        let count = length / u64::from(block_size_bytes);
        if count == 0 {
            return Err(WorkloadError::Short { length, block_size_bytes });
        }
        Ok(Self { offset, count, block_size_bytes })
    }

    /// First byte of a block.
    pub fn start(&self, block: u64) -> u64 {
        self.offset + block * u64::from(self.block_size_bytes)
    }
}

/// One request to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u32,
    /// Read or write.
    pub direction: Direction,
}

/// An endless sequence of operations.
#[derive(Clone, Debug)]
pub struct Operations {
    blocks: Blocks,
    order: Walk,
    read_percent: u8,
    random: Xoshiro256PlusPlus,
}

#[derive(Clone, Debug)]
enum Walk {
    Sequential { next: u64 },
    Random,
    VisitOnce { permutation: Permutation, next: u64 },
}

impl Operations {
    /// The operations of a workload on its blocks.
    pub fn new(workload: &Workload, blocks: Blocks) -> Result<Self, WorkloadError> {
        if workload.read_percent > 100 {
            return Err(WorkloadError::Mix(workload.read_percent));
        }
        let mut random = Xoshiro256PlusPlus::seed_from_u64(workload.seed);
        let order = match (workload.pattern, workload.visit_once) {
            (Pattern::Sequential, _) => Walk::Sequential { next: 0 },
            (Pattern::Random, false) => Walk::Random,
            (Pattern::Random, true) => {
                Walk::VisitOnce { permutation: Permutation::new(blocks.count, random.next_u64()), next: 0 }
            }
        };
        Ok(Self { blocks, order, read_percent: workload.read_percent, random })
    }

    /// The next one.
    pub fn next_operation(&mut self) -> Operation {
        let block = self.next_block();
        Operation {
            offset: self.blocks.start(block),
            length: self.blocks.block_size_bytes,
            direction: self.next_direction(),
        }
    }

    fn next_block(&mut self) -> u64 {
        let count = self.blocks.count;
        match &mut self.order {
            Walk::Sequential { next } => {
                let block = *next;
                *next = if block + 1 == count { 0 } else { block + 1 };
                block
            }
            Walk::Random => below(&mut self.random, count),
            Walk::VisitOnce { permutation, next } => {
                if *next == count {
                    *permutation = Permutation::new(count, self.random.next_u64());
                    *next = 0;
                }
                *next += 1;
                permutation.at(*next - 1)
            }
        }
    }

    fn next_direction(&mut self) -> Direction {
        let read = match self.read_percent {
            0 => false,
            100.. => true,
            percent => below(&mut self.random, 100) < u64::from(percent),
        };
        if read { Direction::Read } else { Direction::Write }
    }
}

/// A number in `0..limit`; the bias, below limit / 2^64, is too small to be seen.
pub(crate) fn below(random: &mut Xoshiro256PlusPlus, limit: u64) -> u64 {
    let product = u128::from(random.next_u64()) * u128::from(limit);
    u64::try_from(product >> 64).expect("the high half of a product of two 64-bit numbers has 64 bits")
}

#[cfg(test)]
mod tests;
