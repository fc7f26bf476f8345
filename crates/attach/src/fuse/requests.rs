//! What the kernel asks of the file, as operations of the client.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};

use fuser::{Errno, ReplyData, ReplyEmpty, ReplyWrite};

use crate::{Ability, Answer, Client, Operation};

/// The longest hole that is written as zeros instead of being refused.
pub const PUNCH_BYTES_MAX: u64 = 64 << 20;
/// Zeros that are written at a time: each part has the client's deadline for itself.
const ZEROES_BYTES_MAX: u64 = 32 << 20;

/// Hands operations to the client, and answers to the kernel.
#[derive(Debug)]
pub(super) struct Requests {
    client: Client,
    zeroing: Sender<Zeroing>,
}

/// A range that is to read as zeros, whatever that takes.
#[derive(Debug)]
struct Zeroing {
    offset: u64,
    length: u64,
    may_discard: bool,
    reply: ReplyEmpty,
}

impl Requests {
    /// Starts the thread for ranges of zeros, which ends with the requests.
    pub(super) fn new(client: Client) -> io::Result<Self> {
        let (zeroing, ranges) = channel();
        let own = client.clone();
        std::thread::Builder::new().name("zeroes".to_owned()).spawn(move || write_zeroes(&own, &ranges))?;
        Ok(Self { client, zeroing })
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
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

    /// Makes durable what was answered before. A server that cannot has nothing that could be lost.
    pub(super) fn flush(&self, reply: ReplyEmpty) {
        if !self.client.can(Ability::Flush) {
            return reply.ok();
        }
        let done = move |answer: Answer| match answer {
            Ok(_) => reply.ok(),
            Err(errno) => reply.error(errno_of(errno)),
        };
        self.client.submit(Operation::Flush, Box::new(done));
    }

    /// Makes a range, which lies within the content, read as zeros.
    pub(super) fn zero(&self, offset: u64, length: u64, may_discard: bool, reply: ReplyEmpty) {
        let zeroing = Zeroing { offset, length, may_discard, reply };
        if let Err(unsent) = self.zeroing.send(zeroing) {
            unsent.0.reply.error(Errno::EIO);
        }
    }
}

/// Writes range after range, part after part: a range that takes long takes nobody's place, and each part has a deadline of its own.
fn write_zeroes(client: &Client, ranges: &Receiver<Zeroing>) {
    for Zeroing { offset, length, may_discard, reply } in ranges {
        let end = offset + length;
        let starts = (offset..end).step_by(usize::try_from(ZEROES_BYTES_MAX).expect("it fits"));
        let result = starts.map(|start| (start, ZEROES_BYTES_MAX.min(end - start))).try_for_each(|(start, length)| {
            let length = u32::try_from(length).expect("a part is shorter");
            let (tell, told) = channel();
            let done = move |answer: Answer| {
                let _ = tell.send(answer);
            };
            client.submit(Operation::WriteZeroes { offset: start, length, may_discard }, Box::new(done));
            told.recv().unwrap_or(Err(rustix::io::Errno::IO)).map(drop)
        });
        match result {
            Ok(()) => reply.ok(),
            Err(errno) => reply.error(errno_of(errno)),
        }
    }
}

pub(super) fn errno_of(errno: rustix::io::Errno) -> Errno {
    Errno::from_i32(errno.raw_os_error())
}
