//! Moves ranges of a volume's content to and from byte streams, as many requests deep as it has
//! request buffers.
//!
//! Ranges may start and end anywhere: the transfer works on whole blocks, and reads the blocks at
//! the ends of a write before it changes them.

use std::collections::VecDeque;
use std::io::{self, Read, Write};

use shoal_array::{Command, Completion, Request, RequestError, RequestId};

use crate::{Volume, VolumeError};

/// Why a transfer ended early.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The volume cannot go on.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// The array cannot give or take the bytes.
    #[error("content at byte {offset}: {error}")]
    Content {
        /// First byte of the request that failed.
        offset: u64,
        /// Why.
        error: RequestError,
    },
    /// The range does not lie within the content.
    #[error("the range ends at byte {end}, the content at byte {size_bytes}: choose a smaller range")]
    Range {
        /// End of the range asked for.
        end: u64,
        /// Size of the content.
        size_bytes: u64,
        /// How much of it was moved before that was seen.
        moved_bytes: u64,
    },
    /// The stream at the other end.
    #[error("{0}")]
    Stream(#[from] io::Error),
}

/// Writes `length` bytes of content from `offset` on to `sink`, in order.
pub fn read_to(volume: &mut dyn Volume, offset: u64, length: u64, sink: &mut dyn Write) -> Result<(), TransferError> {
    let end = checked_end(volume, offset, length, 0)?;
    let block = u64::from(volume.logical_block_bytes());
    let mut pipe = Pipe::new(volume);
    let mut bytes = vec![0; pipe.step as usize];
    let mut next = offset / block * block;
    loop {
        while next < end && pipe.has_room() {
            let piece = u64::from(pipe.step).min((end - next).next_multiple_of(block));
            pipe.submit(next, u32::try_from(piece).expect("a step fits 32 bits"), Direction::Read);
            next += piece;
        }
        let Some(done) = pipe.finish_oldest()? else { return Ok(()) };
        let data = &mut bytes[..done.length as usize];
        pipe.volume.arena().read(pipe.volume.request_memory(done.buffer), data);
        let from = usize::try_from(offset.saturating_sub(done.offset)).expect("within one buffer");
        let to = usize::try_from(end.min(done.offset + u64::from(done.length)) - done.offset).expect("one buffer");
        sink.write_all(&data[from..to])?;
    }
}

/// Writes everything that `source` yields to the content from `offset` on, makes it durable, and
/// returns the number of bytes.
pub fn write_from(volume: &mut dyn Volume, offset: u64, source: &mut dyn Read) -> Result<u64, TransferError> {
    let mut pipe = Pipe::new(volume);
    let step = pipe.step as usize;
    let mut bytes = vec![0; step];
    let mut position = offset;
    loop {
        let block = u64::from(pipe.volume.logical_block_bytes());
        let skew = usize::try_from(position % block).expect("less than a block");
        let filled = fill(source, &mut bytes[skew..])?;
        if filled == 0 {
            break;
        }
        checked_end(pipe.volume, position, filled as u64, position - offset)?;
        let first = position - skew as u64;
        let whole = (skew + filled).next_multiple_of(usize::try_from(block).expect("blocks are small"));
        pipe.complete_ends(first, &mut bytes[..whole], skew, skew + filled)?;
        pipe.write(first, &bytes[..whole])?;
        position += filled as u64;
    }
    while pipe.finish_oldest()?.is_some() {}
    flush(pipe.volume)?;
    Ok(position - offset)
}

/// Makes everything written to a volume with no request in flight durable.
pub fn flush(volume: &mut dyn Volume) -> Result<(), TransferError> {
    volume.submit(Request { id: RequestId::client(0), command: Command::Flush });
    let mut completions = Vec::new();
    while completions.is_empty() {
        volume.poll(1, None, &mut completions)?;
    }
    completions[0].result.map_err(|error| TransferError::Content { offset: 0, error })
}

fn checked_end(volume: &dyn Volume, offset: u64, length: u64, moved_bytes: u64) -> Result<u64, TransferError> {
    let end = offset.saturating_add(length);
    let size_bytes = volume.size_bytes();
    if end > size_bytes { Err(TransferError::Range { end, size_bytes, moved_bytes }) } else { Ok(end) }
}

/// Reads until `bytes` is full or the source ends.
fn fill(source: &mut dyn Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match source.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Read,
    Write,
}

/// One request in the pipe; the buffer's number is also the request's id.
#[derive(Clone, Copy)]
struct Step {
    buffer: u32,
    offset: u64,
    length: u32,
}

/// Requests in flight, in the order of submission, one request buffer each.
struct Pipe<'a> {
    volume: &'a mut dyn Volume,
    step: u32,
    free: Vec<u32>,
    queue: VecDeque<Step>,
    answers: Vec<Option<Result<(), RequestError>>>,
    completions: Vec<Completion>,
}

/// A transfer that ends early leaves nothing in flight: its answers would be taken for those of the
/// next one.
impl Drop for Pipe<'_> {
    fn drop(&mut self) {
        while !self.queue.is_empty() {
            if let Err(TransferError::Volume(_)) = self.finish_oldest() {
                return; // the volume cannot go on anyway
            }
        }
    }
}

impl<'a> Pipe<'a> {
    fn new(volume: &'a mut dyn Volume) -> Self {
        let count = volume.request_buffers();
        let block = volume.logical_block_bytes();
        let step = volume.request_buffer_bytes() / block * block;
        Self {
            volume,
            step,
            free: (0..count).rev().collect(),
            queue: VecDeque::new(),
            answers: vec![None; count as usize],
            completions: Vec::new(),
        }
    }

    fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    fn submit(&mut self, offset: u64, length: u32, direction: Direction) {
        let buffer = self.free.pop().expect("the caller made room");
        self.submit_in(buffer, offset, length, direction);
    }

    fn submit_in(&mut self, buffer: u32, offset: u64, length: u32, direction: Direction) {
        let span = self.volume.request_span(buffer, length);
        let command = match direction {
            Direction::Read => Command::Read { offset, span },
            Direction::Write => Command::Write { offset, span },
        };
        self.volume.submit(Request { id: RequestId::client(u64::from(buffer)), command });
        self.queue.push_back(Step { buffer, offset, length });
    }

    /// Waits for the request that was submitted first, and frees its buffer. The buffer's content
    /// stays as it is until the next submission.
    fn finish_oldest(&mut self) -> Result<Option<Step>, TransferError> {
        let Some(&step) = self.queue.front() else { return Ok(None) };
        let slot = step.buffer as usize;
        while self.answers[slot].is_none() {
            self.volume.poll(1, None, &mut self.completions)?;
            for completion in self.completions.drain(..) {
                let index = usize::try_from(completion.id.number).expect("ids are buffer numbers");
                self.answers[index] = Some(completion.result);
            }
        }
        self.queue.pop_front();
        self.free.push(step.buffer);
        match self.answers[slot].take() {
            Some(Err(error)) => Err(TransferError::Content { offset: step.offset, error }),
            _ => Ok(Some(step)),
        }
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), TransferError> {
        if !self.has_room() {
            self.finish_oldest()?;
        }
        let buffer = self.free.pop().expect("the oldest request has just freed one");
        self.volume.arena().write(self.volume.request_memory(buffer), bytes);
        self.submit_in(buffer, offset, u32::try_from(bytes.len()).expect("one step"), Direction::Write);
        Ok(())
    }

    /// Fills what lies before `from` and from `to` on with the content that is there now.
    fn complete_ends(&mut self, offset: u64, bytes: &mut [u8], from: usize, to: usize) -> Result<(), TransferError> {
        let block = self.volume.logical_block_bytes() as usize;
        if from > 0 {
            let old = self.read_block(offset)?;
            bytes[..from].copy_from_slice(&old[..from]);
        }
        if to < bytes.len() {
            let last = bytes.len() - block;
            let old = self.read_block(offset + last as u64)?;
            bytes[to..].copy_from_slice(&old[to - last..]);
        }
        Ok(())
    }

    fn read_block(&mut self, offset: u64) -> Result<Vec<u8>, TransferError> {
        while self.finish_oldest()?.is_some() {}
        let block = self.volume.logical_block_bytes();
        self.submit(offset, block, Direction::Read);
        let mut bytes = vec![0; block as usize];
        if let Some(step) = self.finish_oldest()? {
            self.volume.arena().read(self.volume.request_memory(step.buffer), &mut bytes);
        }
        Ok(bytes)
    }
}
