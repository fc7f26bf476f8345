//! A client in the transmission phase: what it is saying, and what it is still to hear.

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use shoal_volume::{Arena, Instant, Memory, RequestError};

use crate::handshakes::Seat;
use crate::negotiation::Agreement;
use crate::output::Output;
use crate::protocol::REQUEST_BYTES;
use crate::request::Header;
use crate::slab::Key;
use crate::transport::{End, Transport};

/// Requests are received in bunches of so many bytes; of a write's payload only what comes along is
/// copied.
const INPUT_BYTES: usize = 8 << 10;

/// A client.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) transport: Transport,
    pub(crate) agreement: Agreement,
    pub(crate) input: Input,
    pub(crate) reading: Reading,
    pub(crate) output: Output,
    /// Requests that are not answered.
    pub(crate) under_way: u32,
    /// Buffers of the pool.
    pub(crate) held: usize,
    /// Those of them that the volume keeps for requests that were given up.
    pub(crate) overdue: usize,
    /// What its next flush comes to, whatever the volume says.
    pub(crate) next_flush: Result<(), RequestError>,
    /// It waits to be looked at again, for a buffer or a turn.
    pub(crate) is_in_line: bool,
    /// It is to be looked at again when something of its own has ended.
    pub(crate) is_paused: bool,
    /// It has said goodbye: what is under way is answered, then it ends.
    pub(crate) is_leaving: bool,
    /// What the kernel is asked to tell of it.
    pub(crate) interest: EventFlags,
    /// When it last took or gave a byte.
    pub(crate) moved_at: Instant,
    /// Its place among the clients, kept for as long as it is one.
    #[expect(dead_code, reason = "dropping it is its use")]
    pub(crate) seat: Seat,
}

impl Connection {
    /// Whether the client has gone, and may have come again: it hears nothing any more; or it will
    /// say nothing more and has not been listened to to the end, goodbyes apart.
    pub(crate) fn has_gone(&mut self) -> bool {
        match self.transport.end() {
            End::Open => false,
            End::Closed => true,
            End::Silent => {
                while self.input.has_room() && self.input.receive(&mut self.transport) == Received::Something {}
                !matches!(self.reading, Reading::Request) || !self.input.is_over()
            }
        }
    }
}

/// What the next bytes from the client are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reading {
    /// A request.
    Request,
    /// None, until the rest of this request has been begun.
    Begin(Key),
    /// The payload of a part of a write, of which so much is there.
    Payload { transaction: Key, part: Part, buffer: u32, filled: u32 },
    /// The payload of a write that was refused: so many bytes more.
    Refused(u32),
}

impl Reading {
    /// The request that is in the making.
    pub(crate) fn transaction(&self) -> Option<Key> {
        match self {
            Self::Begin(transaction) | Self::Payload { transaction, .. } => Some(*transaction),
            Self::Request | Self::Refused(_) => None,
        }
    }
}

/// A part of a request that fits a buffer: whole blocks of the volume, and where the client's bytes
/// lie in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// First byte in the volume.
    pub(crate) offset: u64,
    /// Bytes.
    pub(crate) length: u32,
    /// Before the client's bytes.
    pub(crate) skew: u32,
    /// The client's bytes.
    pub(crate) payload: u32,
}

impl Part {
    /// Cuts the first part, of at most `length_max`, off a range.
    pub(crate) fn first_of(offset: u64, end: u64, block_bytes: u32, length_max: u32) -> Self {
        let block = u64::from(block_bytes);
        let first = offset / block * block;
        let stop = end.min(first + u64::from(length_max));
        let length = stop.next_multiple_of(block) - first;
        let narrow = |bytes: u64| u32::try_from(bytes).expect("a part fits a buffer");
        Self { offset: first, length: narrow(length), skew: narrow(offset - first), payload: narrow(stop - offset) }
    }

    /// Whether it begins or ends within a block, so that writing it needs reading.
    pub(crate) fn is_ragged(&self) -> bool {
        self.payload < self.length
    }

    pub(crate) fn overlaps(&self, offset: u64, length: u64) -> bool {
        self.offset < offset.saturating_add(length) && offset < self.offset + u64::from(self.length)
    }

    /// The client's bytes in a buffer.
    pub(crate) fn payload_in(&self, buffer: Memory) -> Memory {
        Memory { offset: buffer.offset + self.skew as usize, length: self.payload }
    }
}

/// Bytes that were received and not yet looked at.
#[derive(Debug)]
pub(crate) struct Input {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
    /// Whether there may be more in the socket.
    pub(crate) is_readable: bool,
}

/// How receiving ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    Something,
    Nothing,
    Gone,
}

impl Input {
    /// With what came along with the handshake.
    pub(crate) fn new(rest: &[u8]) -> Self {
        let mut bytes = vec![0; INPUT_BYTES.max(rest.len())].into_boxed_slice();
        bytes[..rest.len()].copy_from_slice(rest);
        Self { bytes, start: 0, end: rest.len(), is_readable: true }
    }

    /// The next request's bytes, if they are all there.
    pub(crate) fn request(&mut self) -> Option<[u8; REQUEST_BYTES]> {
        let request = *self.bytes[self.start..self.end].first_chunk()?;
        self.start += REQUEST_BYTES;
        Some(request)
    }

    /// Whether a request has begun to come.
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Whether nothing is left but a goodbye, if anything is.
    fn is_over(&self) -> bool {
        let left = &self.bytes[self.start..self.end];
        let last = left.first_chunk().filter(|_| left.len() == REQUEST_BYTES).and_then(Header::parse);
        left.is_empty() || last.is_some_and(|header| header.is_goodbye())
    }

    fn has_room(&self) -> bool {
        self.end - self.start < self.bytes.len()
    }

    /// Takes up to `count` bytes out.
    pub(crate) fn take(&mut self, count: usize) -> &[u8] {
        let from = self.start;
        self.start = self.end.min(from.saturating_add(count));
        &self.bytes[from..self.start]
    }

    /// Receives what is there.
    pub(crate) fn receive(&mut self, transport: &mut Transport) -> Received {
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let room = self.bytes.len() - self.end;
        let received = transport.receive(&mut self.bytes[self.end..]);
        self.end += received.unwrap_or(0);
        self.judge(received, room, transport)
    }

    /// Receives into a run of the arena.
    pub(crate) fn receive_into(&mut self, transport: &mut Transport, arena: &Arena, memory: Memory) -> (Received, u32) {
        let received = transport.receive_into(arena, memory);
        let count = received.unwrap_or(0) as u32;
        (self.judge(received, memory.length as usize, transport), count)
    }

    fn judge(&mut self, received: Result<usize, Errno>, room: usize, transport: &Transport) -> Received {
        match received {
            Ok(0) => Received::Gone,
            Ok(count) => {
                self.is_readable = count == room || !transport.short_means_empty();
                Received::Something
            }
            Err(Errno::AGAIN) => {
                self.is_readable = false;
                Received::Nothing
            }
            Err(Errno::INTR) => Received::Something,
            Err(_) => Received::Gone,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parts_cover_a_range_without_gap_or_overlap(
            offset in 0_u64..1 << 20, length in 1_u64..1 << 20, block in prop::sample::select(vec![512_u32, 4096]),
        ) {
            let (mut position, end) = (offset, offset + length);
            while position < end {
                let part = Part::first_of(position, end, block, 64 << 10);
                prop_assert!(part.payload > 0 && part.length <= 64 << 10);
                prop_assert!(part.offset.is_multiple_of(u64::from(block)) && part.length.is_multiple_of(block));
                prop_assert_eq!(part.offset + u64::from(part.skew), position);
                prop_assert!(part.skew + part.payload <= part.length && part.length < part.skew + part.payload + block);
                position += u64::from(part.payload);
            }
            prop_assert_eq!(position, end);
        }
    }
}
