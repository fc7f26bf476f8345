//! Carries out the engine's computations on the arena, with the parity kernels.

use std::ops::Range;

use shoal_array::{Block, Compute, Outcome, Span};
use shoal_drive::Arena;
use shoal_parity::Parity;

use crate::homes::Homes;

/// Differences are reported in blocks of this size: a page, as md counts them.
const COMPARE_BYTES: usize = 4096;

/// The arena, seen as bytes that the engine's spans name.
///
/// The engine's contract makes the accesses sound: spans named by a computation belong to the
/// driver until it is answered, no I/O is in flight on them, and targets do not overlap sources.
pub(crate) struct Bytes<'a> {
    pub(crate) arena: &'a Arena,
    pub(crate) homes: &'a Homes,
}

impl<'a> Bytes<'a> {
    fn shared(&self, span: Span) -> &'a [u8] {
        let memory = self.homes.memory(span);
        // SAFETY: the run lies in the arena (checked by `pointer`), which outlives 'a; nobody
        // writes to it while the computation lasts, by the engine's contract.
        unsafe { std::slice::from_raw_parts(self.arena.pointer(memory), memory.length as usize) }
    }

    fn exclusive(&self, span: Span) -> &'a mut [u8] {
        let memory = self.homes.memory(span);
        // SAFETY: as in `shared`; and a target overlaps no other span of its computation.
        unsafe { std::slice::from_raw_parts_mut(self.arena.pointer(memory), memory.length as usize) }
    }

    fn block(&self, block: Block) -> shoal_parity::Block<'a> {
        match block {
            Block::Known(span) => shoal_parity::Block::Known(self.shared(span)),
            Block::Lost(span) => shoal_parity::Block::Lost(self.exclusive(span)),
            Block::Absent => shoal_parity::Block::Absent,
        }
    }

    /// Copies bytes, and gives them back to be looked at.
    pub(crate) fn copy(&self, from: Span, to: Span) -> &'a [u8] {
        let bytes = self.shared(from);
        self.exclusive(to).copy_from_slice(bytes);
        bytes
    }

    /// Does what is asked.
    pub(crate) fn perform(&self, parity: Parity, compute: &Compute) -> Outcome {
        match compute {
            Compute::Solve { data, p, q } => {
                let mut blocks: Vec<_> = data.iter().map(|&block| self.block(block)).collect();
                parity
                    .solve(&mut blocks, self.block(*p), self.block(*q))
                    .expect("the engine never asks for more blocks than the known parity can give");
            }
            Compute::Update { p, q, exponent, old, new } => {
                let p = p.map(|span| self.exclusive(span));
                let q = q.map(|span| self.exclusive(span));
                parity.update(p, q, *exponent, self.shared(*old), self.shared(*new));
            }
            Compute::Copy { from, to } => {
                self.copy(*from, *to);
            }
            Compute::Compare { left, right } => return differences(self.shared(*left), self.shared(*right)),
        }
        Outcome::Done
    }
}

/// Where two runs of equal length differ, in whole blocks.
fn differences(left: &[u8], right: &[u8]) -> Outcome {
    let mut ranges: Vec<Range<u32>> = Vec::new();
    let blocks = left.chunks(COMPARE_BYTES).zip(right.chunks(COMPARE_BYTES)).enumerate();
    for (number, (left_block, right_block)) in blocks {
        if left_block == right_block {
            continue;
        }
        let start = u32::try_from(number * COMPARE_BYTES).expect("spans are shorter than 4 GiB");
        let end = start + u32::try_from(left_block.len()).expect("a block is short");
        match ranges.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => ranges.push(start..end),
        }
    }
    if ranges.is_empty() { Outcome::Done } else { Outcome::Differs(ranges) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_whole_blocks_joined() {
        let left = vec![0u8; 5 * COMPARE_BYTES + 512];
        let mut right = left.clone();
        assert_eq!(differences(&left, &right), Outcome::Done);
        right[4096] = 1;
        right[2 * 4096 + 7] = 1;
        right[5 * 4096 + 511] = 1;
        assert_eq!(differences(&left, &right), Outcome::Differs(vec![4096..3 * 4096, 5 * 4096..5 * 4096 + 512]));
    }
}
