//! What the kernel asks of the file, as operations of the client.

use std::io;

use fuser::{Errno, ReplyData, ReplyEmpty, ReplyWrite};

use super::openers::Openers;
use crate::ranges::{Change, Ranges};
use crate::{Ability, Answer, Client, Operation};

/// Hands operations to the client, and answers to the kernel.
#[derive(Debug)]
pub(super) struct Requests {
    client: Client,
    ranges: Ranges,
    openers: Openers,
}

impl Requests {
    /// Starts the thread for long ranges, which ends with the requests.
    pub(super) fn new(client: Client) -> io::Result<Self> {
        Ok(Self { ranges: Ranges::start(client.clone())?, client, openers: Openers::default() })
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn openers(&self) -> &Openers {
        &self.openers
    }

    /// What lies beyond the end is not there.
    pub(super) fn read(&self, offset: u64, length: u32, reply: ReplyData) {
        let left = self.client.size_bytes().saturating_sub(offset);
        let length = u32::try_from(left).map_or(length, |left| left.min(length));
        if length == 0 {
            return reply.data(&[]);
        }
        let done = move |answer: Answer| match answer {
            Ok(content) => reply.data(&content),
            Err(errno) => reply.error(errno_of(errno)),
        };
        self.client.submit(Operation::Read { offset, length }, Box::new(done));
    }

    /// As on a disk that is full at its end: what fits is written.
    pub(super) fn write(&self, offset: u64, data: &[u8], fua: bool, reply: ReplyWrite) {
        let left = self.client.size_bytes().saturating_sub(offset);
        let fits = usize::try_from(left).map_or(data.len(), |left| left.min(data.len()));
        if data.is_empty() {
            return reply.written(0);
        }
        if fits == 0 {
            return reply.error(Errno::ENOSPC);
        }
        let written = u32::try_from(fits).expect("a request of the kernel's is shorter");
        let done = move |answer: Answer| match answer {
            Ok(_) => reply.written(written),
            Err(errno) => reply.error(errno_of(errno)),
        };
        let fua = fua && self.client.can(Ability::Flush);
        self.client.submit(Operation::Write { offset, data: data[..fits].to_vec(), fua }, Box::new(done));
    }

    /// Makes durable what was answered before, for this opener. A server that cannot has nothing
    /// that could be lost.
    pub(super) fn flush(&self, opener: u64, reply: ReplyEmpty) {
        if !self.client.can(Ability::Flush) {
            return reply.ok();
        }
        let openers = self.openers.clone();
        let done = move |answer: Answer| match openers.flushed(opener, answer.map(drop)) {
            Ok(()) => reply.ok(),
            Err(errno) => reply.error(errno_of(errno)),
        };
        self.client.submit(Operation::Flush, Box::new(done));
    }

    /// Makes a range, which lies within the content, read as zeros.
    pub(super) fn change(&self, change: Change, offset: u64, length: u64, reply: ReplyEmpty) {
        let done = move |answer: Answer| match answer {
            Ok(_) => reply.ok(),
            Err(errno) => reply.error(errno_of(errno)),
        };
        self.ranges.change(change, offset, length, Box::new(done));
    }
}

pub(super) fn errno_of(errno: rustix::io::Errno) -> Errno {
    Errno::from_i32(errno.raw_os_error())
}
