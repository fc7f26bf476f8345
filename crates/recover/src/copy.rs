//! Reads all content of which some may be lost: in large pieces, several under way; what fails in
//! halves, down to single blocks.

use std::ops::{ControlFlow, Range};

use shoal_volume::{Volume, VolumeError};

use crate::reads::{Answer, Reads, merged};

/// How a copy ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    /// All was asked for.
    All {
        /// What cannot be had, in ascending ranges that do not touch.
        lost: Vec<Range<u64>>,
    },
    /// Somebody wanted no more.
    Stopped,
}

/// Hands every block of content that can be read to `sink`, with its offset, in no order. What is
/// known to be unreadable is not asked for. `tell` hears how many bytes are done. Both can stop it.
pub(crate) fn copy(
    volume: &mut dyn Volume,
    unreadable: &[Range<u64>],
    sink: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    tell: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<Copied, VolumeError> {
    let mut copy = Copy::of(volume, unreadable);
    let mut flow = tell(copy.done_bytes);
    loop {
        while flow.is_continue() && copy.begin_next() {}
        let Some(answer) = copy.reads.next()? else { break };
        // What is under way after a stop is waited for: the buffers are the volume's until then.
        if flow.is_continue() {
            flow = copy.take(answer, sink);
        }
        if flow.is_continue() {
            flow = tell(copy.done_bytes);
        }
    }
    Ok(if flow.is_continue() { Copied::All { lost: merged(copy.lost) } } else { Copied::Stopped })
}

struct Copy<'a> {
    reads: Reads<'a>,
    /// What is to be asked for, the next on top.
    left: Vec<Range<u64>>,
    lost: Vec<Range<u64>>,
    done_bytes: u64,
    /// The longest read.
    step: u64,
    /// The shortest.
    block: u64,
    /// A read's bytes.
    bytes: Vec<u8>,
}

impl<'a> Copy<'a> {
    fn of(volume: &'a mut dyn Volume, unreadable: &[Range<u64>]) -> Self {
        let (size_bytes, block) = (volume.size_bytes(), u64::from(volume.logical_block_bytes()));
        let step = u64::from(volume.request_buffer_bytes()) / block * block;
        let starts = std::iter::once(0).chain(unreadable.iter().map(|range| range.end));
        let ends = unreadable.iter().map(|range| range.start).chain([size_bytes]);
        let mut left: Vec<_> = starts.zip(ends).map(|(start, end)| start..end).collect();
        left.reverse();
        let done_bytes = unreadable.iter().map(|range| range.end - range.start).sum();
        let (reads, lost, bytes) = (Reads::new(volume), unreadable.to_vec(), Vec::new());
        Self { reads, left, lost, done_bytes, step, block, bytes }
    }

    /// Begins the next read; whether there was one, and room for it.
    fn begin_next(&mut self) -> bool {
        if !self.reads.has_room() {
            return false;
        }
        let Some(next) = self.left.pop() else { return false };
        // Ends of pieces are multiples of their length: a row is not read twice.
        let end = next.end.min((next.start / self.step + 1) * self.step);
        if end < next.end {
            self.left.push(end..next.end);
        }
        if next.start < end {
            self.reads.begin(next.start..end, end - next.start);
        }
        true
    }

    /// Passes on what was read, or tries it in halves.
    fn take(&mut self, answer: Answer, sink: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>) -> ControlFlow<()> {
        let Answer { range, result } = answer;
        let length = range.end - range.start;
        match result {
            Ok(memory) => {
                self.done_bytes += length;
                self.bytes.resize(usize::try_from(length).expect("one buffer"), 0);
                self.reads.volume().arena().read(memory, &mut self.bytes);
                sink(range.start, &self.bytes)
            }
            Err(_) if length > self.block => {
                let middle = range.start + (length / 2).next_multiple_of(self.block);
                self.left.extend([middle..range.end, range.start..middle]);
                ControlFlow::Continue(())
            }
            Err(_) => {
                self.done_bytes += length;
                self.lost.push(range);
                ControlFlow::Continue(())
            }
        }
    }
}

#[cfg(test)]
mod tests;
