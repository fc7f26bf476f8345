//! Lets something happen in the middle of a load: to an array, between its requests.

use std::time::Duration;

use shoal_volume::{Arena, Command, Completion, Instant, MemberTraffic, Memory, Request, Volume, VolumeError};

use crate::running::RunningArray;

/// An array with somebody who looks at it before each write.
pub(super) struct Hooked<'a> {
    pub(super) inner: &'a mut dyn RunningArray,
    pub(super) before_write: &'a mut dyn FnMut(&mut dyn RunningArray),
}

impl Volume for Hooked<'_> {
    fn size_bytes(&self) -> u64 {
        self.inner.content().size_bytes()
    }

    fn logical_block_bytes(&self) -> u32 {
        self.inner.content().logical_block_bytes()
    }

    fn arena(&self) -> &Arena {
        self.inner.content().arena()
    }

    fn request_buffers(&self) -> u32 {
        self.inner.content().request_buffers()
    }

    fn request_buffer_bytes(&self) -> u32 {
        self.inner.content().request_buffer_bytes()
    }

    fn request_memory(&self, buffer: u32) -> Memory {
        self.inner.content().request_memory(buffer)
    }

    fn submit(&mut self, request: Request) {
        if matches!(request.command, Command::Write { .. }) {
            (self.before_write)(self.inner);
        }
        self.inner.content_mut().submit(request);
    }

    fn poll(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        completions: &mut Vec<Completion>,
    ) -> Result<(), VolumeError> {
        self.inner.content_mut().poll(at_least, timeout, completions)
    }

    fn member_traffic(&self) -> Option<MemberTraffic> {
        self.inner.content().member_traffic()
    }

    fn now(&self) -> Instant {
        self.inner.content().now()
    }
}
