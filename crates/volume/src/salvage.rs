//! Copies content of which some may be lost: what can be had is had, block by block, and what cannot is listed.

use std::io;
use std::ops::Range;

use crate::Volume;
use crate::transfer::{TransferError, read_to};

/// What is read in one go; after an error, halves of it.
const STEP_BYTES: u64 = 8 << 20;

/// Hands every block of `range` that can be read to `sink`, with its offset, in order. Returns what cannot, in ascending
/// ranges that do not touch.
pub fn salvage(
    volume: &mut dyn Volume,
    range: Range<u64>,
    sink: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>,
) -> Result<Vec<Range<u64>>, TransferError> {
    let block = u64::from(volume.logical_block_bytes());
    let (mut lost, mut bytes) = (Vec::new(), Vec::new());
    // What is left to do, the next on top.
    let mut left = vec![range];
    while let Some(next) = left.pop() {
        let length = next.end.saturating_sub(next.start);
        if length == 0 {
            continue;
        }
        if length > STEP_BYTES {
            let middle = next.start + STEP_BYTES;
            left.extend([middle..next.end, next.start..middle]);
            continue;
        }
        bytes.clear();
        match read_to(volume, next.start, length, &mut bytes) {
            Ok(()) => sink(next.start, &bytes)?,
            Err(TransferError::Content { .. }) if length > block => {
                let middle = next.start + (length / 2).next_multiple_of(block);
                left.extend([middle..next.end, next.start..middle]);
            }
            Err(TransferError::Content { .. }) => add(&mut lost, next),
            Err(error) => return Err(error),
        }
    }
    Ok(lost)
}

fn add(lost: &mut Vec<Range<u64>>, range: Range<u64>) {
    match lost.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => lost.push(range),
    }
}
