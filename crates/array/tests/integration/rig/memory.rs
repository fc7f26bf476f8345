//! The driver's memory: buffers by number, and the engine's computations on them.

use std::ops::Range;

use shoal_array::{Block, BufferId, Compute, Outcome, Span};

use super::galois::{self, Input};
use super::model::BLOCK;

/// All buffers of a rig.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    buffers: Vec<Vec<u8>>,
}

impl Memory {
    /// Adds so many buffers with consecutive numbers, full of what nobody should use.
    pub(crate) fn add(&mut self, count: u32, bytes_each: u32) -> BufferId {
        let first = BufferId(self.buffers.len() as u32);
        self.buffers.extend((0..count).map(|_| vec![0xa5; bytes_each as usize]));
        first
    }

    pub(crate) fn bytes(&self, span: Span) -> &[u8] {
        &self.buffers[span.buffer.0 as usize][span.offset as usize..(span.offset + span.length) as usize]
    }

    pub(crate) fn bytes_mut(&mut self, span: Span) -> &mut [u8] {
        &mut self.buffers[span.buffer.0 as usize][span.offset as usize..(span.offset + span.length) as usize]
    }

    /// Does what is asked.
    pub(crate) fn perform(&mut self, compute: &Compute) -> Outcome {
        match compute {
            Compute::Solve { data, p, q } => self.solve(data, *p, *q),
            Compute::Update { p, q, exponent, old, new } => {
                let mut change = self.bytes(*old).to_vec();
                galois::add_scaled(&mut change, 1, self.bytes(*new));
                if let Some(p) = p {
                    galois::add_scaled(self.bytes_mut(*p), 1, &change);
                }
                if let Some(q) = q {
                    let factor = galois::power_of_two(usize::from(*exponent));
                    galois::add_scaled(self.bytes_mut(*q), factor, &change);
                }
            }
            Compute::Copy { from, to } => {
                let bytes = self.bytes(*from).to_vec();
                self.bytes_mut(*to).copy_from_slice(&bytes);
            }
            Compute::Compare { left, right } => return compare(self.bytes(*left), self.bytes(*right)),
        }
        Outcome::Done
    }

    fn solve(&mut self, data: &[Block], p: Block, q: Block) {
        let input = |block: &Block| match block {
            Block::Known(span) => Input::Known(self.bytes(*span)),
            Block::Lost(_) => Input::Lost,
            Block::Absent => Input::Absent,
        };
        let inputs: Vec<Input<'_>> = data.iter().map(input).collect();
        let length = data.iter().chain([&p, &q]).find_map(|block| match block {
            Block::Known(span) | Block::Lost(span) => Some(span.length as usize),
            Block::Absent => None,
        });
        let solution = galois::solve(&inputs, input(&p), input(&q), length.expect("a stripe has blocks"));
        let mut lost_data = solution.data.into_iter();
        for block in data {
            self.fill(*block, || lost_data.next());
        }
        self.fill(p, || solution.p);
        self.fill(q, || solution.q);
    }

    fn fill(&mut self, block: Block, content: impl FnOnce() -> Option<Vec<u8>>) {
        if let Block::Lost(span) = block {
            let content = content().expect("every lost block is computed");
            self.bytes_mut(span).copy_from_slice(&content);
        }
    }
}

/// Compares at the granularity of a block: finer than any driver need be.
fn compare(left: &[u8], right: &[u8]) -> Outcome {
    assert_eq!(left.len(), right.len(), "blocks of different lengths are compared");
    let mut differing: Vec<Range<u32>> = Vec::new();
    for (index, (left, right)) in left.chunks(BLOCK as usize).zip(right.chunks(BLOCK as usize)).enumerate() {
        if left == right {
            continue;
        }
        let start = index as u32 * BLOCK as u32;
        let end = start + left.len() as u32;
        match differing.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => differing.push(start..end),
        }
    }
    if differing.is_empty() { Outcome::Done } else { Outcome::Differs(differing) }
}

/// The spans that a computation writes, and those that it only reads.
pub(crate) fn spans_of(compute: &Compute) -> (Vec<Span>, Vec<Span>) {
    match compute {
        Compute::Solve { data, p, q } => {
            let (mut targets, mut sources) = (Vec::new(), Vec::new());
            for block in data.iter().chain([p, q]) {
                match block {
                    Block::Known(span) => sources.push(*span),
                    Block::Lost(span) => targets.push(*span),
                    Block::Absent => {}
                }
            }
            (targets, sources)
        }
        Compute::Update { p, q, old, new, .. } => (p.iter().chain(q).copied().collect(), vec![*old, *new]),
        Compute::Copy { from, to } => (vec![*to], vec![*from]),
        Compute::Compare { left, right } => (vec![], vec![*left, *right]),
    }
}

/// Whether two spans have a byte in common.
pub(crate) fn overlap(left: Span, right: Span) -> bool {
    left.buffer == right.buffer && left.offset < right.offset + right.length && right.offset < left.offset + left.length
}
