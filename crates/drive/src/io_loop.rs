//! Submission and completion of I/O on many drives from one thread: io_uring, or threads where it is refused.

use std::time::Duration;

use crate::{Arena, Drive, Memory};

/// Which mechanism carries the I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoEngine {
    /// io_uring with registered buffers and files.
    Uring,
    /// A pool of threads with pread and pwrite.
    Threads,
}

/// A drive within one loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DriveId(pub u32);

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoKind {
    /// Fill the memory from the drive.
    Read(Memory),
    /// Write the memory to the drive.
    Write(Memory),
    /// Make completed writes durable.
    Flush,
    /// Discard so many bytes.
    Discard(u64),
}

/// One I/O. The memory belongs to the loop until the I/O is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// Handed back when finished.
    pub token: u64,
    /// On which drive.
    pub drive: DriveId,
    /// What.
    pub kind: IoKind,
    /// First byte on the drive.
    pub offset: u64,
}

/// A finished I/O.
#[derive(Debug)]
pub struct Finished {
    /// The token given at submission.
    pub token: u64,
    /// Done in full (short transfers are continued or turned into errors by the loop), or the system's error.
    pub result: Result<(), std::io::Error>,
}

/// Why a loop cannot be made or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum LoopError {
    /// The system says no.
    #[error("I/O loop: {0}")]
    System(#[from] std::io::Error),
}

/// Drives, memory and the I/O between them. One owner, one thread.
#[derive(Debug)]
pub struct IoLoop {}

impl IoLoop {
    /// Makes a loop over `arena` for up to `depth` I/Os in flight (more are queued inside). `None` probes: io_uring
    /// if the kernel lets us, else threads.
    pub fn new(_engine: Option<IoEngine>, _arena: Arena, _depth: u32) -> Result<Self, LoopError> {
        todo!()
    }
    /// The mechanism in use.
    pub fn engine(&self) -> IoEngine {
        todo!()
    }
    /// Takes a drive in.
    pub fn add_drive(&mut self, _drive: Drive) -> Result<DriveId, LoopError> {
        todo!()
    }
    /// A drive that was taken in.
    pub fn drive(&self, _id: DriveId) -> &Drive {
        todo!()
    }
    /// Gives a drive back, once nothing is in flight on it.
    pub fn remove_drive(&mut self, _id: DriveId) -> Option<Drive> {
        todo!()
    }
    /// Queues an I/O; it starts at the next [`IoLoop::wait`] at the latest.
    pub fn submit(&mut self, _io: Io) {
        todo!()
    }
    /// I/Os queued or in flight.
    pub fn pending(&self) -> usize {
        todo!()
    }
    /// Starts what is queued, waits until at least `at_least` I/Os have finished or `timeout` is over, and appends
    /// everything that has finished to `finished`. With `at_least` 0 it never blocks.
    pub fn wait(
        &mut self,
        _at_least: usize,
        _timeout: Option<Duration>,
        _finished: &mut Vec<Finished>,
    ) -> Result<(), LoopError> {
        todo!()
    }
}
