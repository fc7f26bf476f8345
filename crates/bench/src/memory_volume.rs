//! For tests: a volume in memory, on a virtual clock. Every request takes a time of its own, one
//! after the other or all at once, so that what a benchmark has to report is known beforehand.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use shoal_volume::{Arena, Command, Completion, Instant, Memory, Request, RequestError, Volume, VolumeError};

/// Content in memory, requests served in order, each in `read_ns`, `write_ns` or `flush_ns`.
pub(crate) struct MemoryVolume {
    /// Moves only when it works.
    pub(crate) now_ns: u64,
    pub(crate) content: Vec<u8>,
    pub(crate) read_ns: u64,
    pub(crate) write_ns: u64,
    pub(crate) flush_ns: u64,
    /// Answers to requests with these offsets.
    pub(crate) faults: Vec<(u64, RequestError)>,
    /// With so many requests it loses a member.
    pub(crate) degraded_from: usize,
    pub(crate) most_in_flight: usize,
    /// Every request, in order.
    pub(crate) requests: Vec<Request>,
    queue: std::collections::VecDeque<Request>,
    arena: Arena,
    request_buffers: u32,
    request_buffer_bytes: u32,
}

impl MemoryVolume {
    pub(crate) fn new(size_bytes: usize, request_buffers: u32, request_buffer_bytes: u32) -> Self {
        Self {
            now_ns: 0,
            content: vec![0; size_bytes],
            read_ns: 100_000,
            write_ns: 200_000,
            flush_ns: 5_000_000,
            faults: Vec::new(),
            degraded_from: usize::MAX,
            most_in_flight: 0,
            requests: Vec::new(),
            queue: std::collections::VecDeque::new(),
            arena: Arena::new(request_buffers as usize * request_buffer_bytes as usize).unwrap(),
            request_buffers,
            request_buffer_bytes,
        }
    }

    fn serve(&mut self, request: &Request) -> Result<(), RequestError> {
        let memory = |volume: &Self, buffer: u32, length: u32| Memory { length, ..volume.request_memory(buffer) };
        let offset = match request.command {
            Command::Read { offset, .. } | Command::Write { offset, .. } | Command::Discard { offset, .. } => offset,
            Command::Flush => u64::MAX,
        };
        let place = usize::try_from(offset).unwrap();
        let fault = self.faults.iter().find(|(at, _)| *at == offset).map(|(_, error)| *error);
        match request.command {
            Command::Read { span, .. } => {
                self.now_ns += self.read_ns;
                let to = memory(self, span.buffer.0, span.length);
                self.arena.write(to, &self.content[place..place + span.length as usize]);
            }
            Command::Write { span, .. } => {
                self.now_ns += self.write_ns;
                if fault.is_none() {
                    let from = memory(self, span.buffer.0, span.length);
                    self.arena.read(from, &mut self.content[place..place + span.length as usize]);
                }
            }
            Command::Flush => self.now_ns += self.flush_ns,
            Command::Discard { .. } => unreachable!("benchmarks discard nothing"),
        }
        fault.map_or(Ok(()), Err)
    }
}

impl Volume for MemoryVolume {
    fn size_bytes(&self) -> u64 {
        self.content.len() as u64
    }

    fn logical_block_bytes(&self) -> u32 {
        512
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn request_buffers(&self) -> u32 {
        self.request_buffers
    }

    fn request_buffer_bytes(&self) -> u32 {
        self.request_buffer_bytes
    }

    fn submit(&mut self, request: Request) {
        self.requests.push(request);
        self.queue.push_back(request);
        self.most_in_flight = self.most_in_flight.max(self.queue.len());
    }

    fn poll(
        &mut self,
        _at_least: usize,
        _timeout: Option<Duration>,
        completions: &mut Vec<Completion>,
    ) -> Result<(), VolumeError> {
        let Some(request) = self.queue.pop_front() else { return Ok(()) };
        let result = self.serve(&request);
        completions.push(Completion { id: request.id, result });
        Ok(())
    }

    fn now(&self) -> Instant {
        Instant { ns: self.now_ns }
    }

    fn is_degraded(&self) -> bool {
        self.requests.len() >= self.degraded_from
    }
}
