//! Requests in flight: ranges of any length go to a volume in as many requests as its buffers make
//! of them.

use std::collections::VecDeque;

use shoal_bench::Direction;
use shoal_volume::{Command, Completion, Request, RequestId};

use crate::ReplayError;
use crate::rig::Timed;

/// A volume, and what is in flight on it.
pub(crate) struct Requests<V> {
    volume: V,
    free: VecDeque<u32>,
    lengths: Vec<u32>,
    in_flight_bytes: u64,
    completions: Vec<Completion>,
}

impl<V: Timed> Requests<V> {
    pub(crate) fn new(volume: V) -> Self {
        let buffers = volume.request_buffers();
        Self {
            volume,
            free: (0..buffers).collect(),
            lengths: vec![0; buffers as usize],
            in_flight_bytes: 0,
            completions: Vec::new(),
        }
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.volume.now().ns
    }

    pub(crate) fn pass(&mut self, duration_ns: u64) {
        self.volume.pass(duration_ns);
    }

    pub(crate) fn volume(&mut self) -> &mut V {
        &mut self.volume
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.volume.size_bytes()
    }

    pub(crate) fn in_flight_bytes(&self) -> u64 {
        self.in_flight_bytes
    }

    /// Queues a range; it starts when somebody waits. Waits itself only if there is no buffer left.
    pub(crate) fn submit(&mut self, direction: Direction, offset: u64, length: u64) -> Result<(), ReplayError> {
        let (mut next, end) = (offset, offset + length);
        while next < end {
            if self.free.is_empty() {
                self.wait(1)?;
            }
            let buffer = self.free.pop_front().expect("one has just been waited for");
            let piece = (end - next).min(u64::from(self.volume.request_buffer_bytes()));
            let piece = u32::try_from(piece).expect("no longer than a buffer");
            let span = self.volume.request_span(buffer, piece);
            let command = match direction {
                Direction::Read => Command::Read { offset: next, span },
                Direction::Write => Command::Write { offset: next, span },
            };
            self.volume.submit(Request { id: RequestId::client(u64::from(buffer)), command });
            self.lengths[buffer as usize] = piece;
            self.in_flight_bytes += u64::from(piece);
            next += u64::from(piece);
        }
        Ok(())
    }

    /// Waits until at least so many requests are answered.
    pub(crate) fn wait(&mut self, at_least: usize) -> Result<(), ReplayError> {
        self.volume.poll(at_least, None, &mut self.completions)?;
        for completion in self.completions.drain(..) {
            let buffer = u32::try_from(completion.id.number).expect("a request is named after its buffer");
            self.in_flight_bytes -= u64::from(self.lengths[buffer as usize]);
            self.free.push_back(buffer);
            completion.result.map_err(ReplayError::Request)?;
        }
        Ok(())
    }

    /// Waits until none is in flight.
    pub(crate) fn wait_for_all(&mut self) -> Result<(), ReplayError> {
        while self.in_flight_bytes > 0 {
            self.wait(1)?;
        }
        Ok(())
    }
}
