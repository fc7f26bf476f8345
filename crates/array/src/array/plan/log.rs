//! What of a write goes into the partial parity log.
//!
//! While a stripe is written, some of its blocks are old and some new, and parity agrees with
//! neither. If a member is lost just then, what is solved for it is wrong, even where nothing was
//! written to it: the write hole. A log entry closes it for the chunks that are not written. It
//! holds their XOR, the *partial parity*, from before any write; and parity is this, with whatever
//! the written chunks hold by now.
//!
//! An entry describes a rectangle: columns of consecutive chunks, all of them written there. How
//! the partial parity is had depends on what the write reads anyway:
//!
//! | strategy | partial parity |
//! | --- | --- |
//! | read-modify-write | old parity, with the old content of the written chunks taken away |
//! | reconstruct-write, recover | XOR of the chunks that are not written |
//! | either, all chunks written | none |
//! | data only | nothing is logged: parity is not written |

use alloc::vec::Vec;

use super::{Cols, Part, Step, write::Batch};
use crate::{Block, Compute, PartialParity, Span};

/// Columns in which the same consecutive blocks are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::array) struct Rectangle {
    pub(in crate::array) cols: Cols,
    /// The first block, and how many.
    pub(in crate::array) first: usize,
    pub(in crate::array) count: usize,
}

impl Rectangle {
    fn has(&self, index: usize) -> bool {
        (self.first..self.first + self.count).contains(&index)
    }
}

/// The rectangles of these parts (sorted by index), with no column in two of them. If there are
/// columns whose blocks are not consecutive, or in which `alone` is written with others, the index
/// of a block to be left out, with all behind it.
pub(in crate::array) fn rectangles(parts: &[Part], alone: Option<usize>) -> Result<Vec<Rectangle>, usize> {
    let mut borders: Vec<u32> = parts.iter().flat_map(|part| [part.cols.start, part.cols.end]).collect();
    borders.sort_unstable();
    borders.dedup();
    let mut rectangles: Vec<Rectangle> = Vec::new();
    for pair in borders.windows(2) {
        let cols = Cols { start: pair[0], end: pair[1] };
        let Some((first, count)) = run(parts, cols, alone)? else { continue };
        match rectangles.last_mut() {
            Some(last) if (last.first, last.count, last.cols.end) == (first, count, cols.start) => {
                last.cols.end = cols.end;
            }
            _ => rectangles.push(Rectangle { cols, first, count }),
        }
    }
    Ok(rectangles)
}

/// The first of the blocks that are written in all of the columns, and how many.
fn run(parts: &[Part], cols: Cols, alone: Option<usize>) -> Result<Option<(usize, usize)>, usize> {
    let mut run: Option<(usize, usize)> = None;
    for part in parts.iter().filter(|part| part.cols.common(cols).is_some()) {
        run = match run {
            None => Some((part.index, 1)),
            Some((first, count))
                if part.index == first + count && ![Some(part.index), Some(first)].contains(&alone) =>
            {
                Some((first, count + 1))
            }
            Some(_) => return Err(part.index),
        };
    }
    Ok(run)
}

impl Batch<'_, '_> {
    /// Logs a read-modify-write: `p` is the old parity, `olds` what the touched blocks hold in
    /// their columns.
    pub(super) fn log_modify(&mut self, p: Option<Span>, olds: &[Span]) {
        let Some(p) = p else { return };
        self.log(|batch, rectangle| {
            let blocks = batch.touched.iter().zip(olds).filter(|(block, _)| rectangle.has(block.index));
            let old = blocks.map(|(block, span)| block.cols.part(*span, rectangle.cols));
            old.chain([batch.view.cols.part(p, rectangle.cols)]).collect()
        });
    }

    /// Logs a write for which all data are at hand: `blocks` has every block in the columns at
    /// work.
    pub(super) fn log_data(&mut self, blocks: &[Block]) {
        self.log(|batch, rectangle| {
            let others = blocks.iter().enumerate().filter(|(index, _)| !rectangle.has(*index));
            let spans = others.filter_map(|(_, block)| block.span());
            spans.map(|span| batch.view.cols.part(span, rectangle.cols)).collect()
        });
    }

    /// Makes an entry of each rectangle; `sources` names the spans whose XOR is its partial parity.
    fn log(&mut self, sources: impl Fn(&Self, &Rectangle) -> Vec<Span>) {
        let mut buffer = None;
        for rectangle in core::mem::take(&mut self.logged) {
            let mut parity = None;
            if rectangle.count < self.view.stripe.data.len() {
                let data = sources(self, &rectangle).into_iter().map(Block::Known).collect();
                let buffer = *buffer.get_or_insert_with(|| self.draft.span(self.view.cols.length()));
                let span = self.view.cols.part(buffer, rectangle.cols);
                self.plan.steps.push(Step::Compute(Compute::Solve { data, p: Block::Lost(span), q: Block::Absent }));
                parity = Some(span);
            }
            let offset = self.offset_of(rectangle.first) + u64::from(rectangle.cols.start);
            let chunks = u32::try_from(rectangle.count).expect("members are counted in 16 bits");
            self.plan.log.push(PartialParity { offset, chunks, length: rectangle.cols.length(), parity });
        }
    }

    /// The first array byte of a touched block's chunk.
    fn offset_of(&self, index: usize) -> u64 {
        let block = self.touched.iter().find(|block| block.index == index);
        let part = block.expect("a rectangle is of touched blocks").parts[0];
        part.offset - u64::from(part.cols.start)
    }
}
