//! A volume of no content, that answers at once: what is left is the cost of the load generator
//! itself.

use std::time::Duration;

use shoal_volume::{Arena, Completion, Instant, Request, Volume, VolumeError};

/// Answers every request at once and moves no bytes.
#[derive(Debug)]
pub(crate) struct NullVolume {
    size_bytes: u64,
    logical_block_bytes: u32,
    arena: Arena,
    request_buffers: u32,
    request_buffer_bytes: u32,
    answers: Vec<Completion>,
    origin: std::time::Instant,
}

impl NullVolume {
    pub(crate) fn new(
        size_bytes: u64,
        logical_block_bytes: u32,
        request_buffers: u32,
        request_buffer_bytes: u32,
    ) -> std::io::Result<Self> {
        let arena = Arena::new(request_buffers as usize * request_buffer_bytes as usize)?;
        Ok(Self {
            size_bytes,
            logical_block_bytes,
            arena,
            request_buffers,
            request_buffer_bytes,
            answers: Vec::new(),
            origin: std::time::Instant::now(),
        })
    }
}

impl Volume for NullVolume {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn logical_block_bytes(&self) -> u32 {
        self.logical_block_bytes
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
        self.answers.push(Completion { id: request.id, result: Ok(()) });
    }

    fn poll(
        &mut self,
        _at_least: usize,
        _timeout: Option<Duration>,
        completions: &mut Vec<Completion>,
    ) -> Result<(), VolumeError> {
        completions.append(&mut self.answers);
        Ok(())
    }

    /// The machine's time: what passes is the generator's own.
    fn now(&self) -> Instant {
        Instant { ns: u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX) }
    }
}
