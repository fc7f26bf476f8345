//! The interface upward: what benchmarks, servers and the command line see of a drive or an array.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use shoal_array::{BufferId, Completion, Instant, Request, Span};
use shoal_drive::{Arena, LoopError, Memory};

/// Why a volume cannot go on at all (errors of single requests are in their [`Completion`]).
#[derive(Debug, thiserror::Error)]
pub enum VolumeError {
    /// The loop under it broke.
    #[error(transparent)]
    Loop(#[from] LoopError),
    /// Something has been waited for in vain. What was begun goes on, and ends if the drives
    /// answer.
    #[error(
        "no answer from {drives}: look at the drives and their cables; `shoal fail` takes a drive out that can be spared"
    )]
    Silent {
        /// The drives that are waited for, those that have been silent for longest first.
        drives: String,
    },
    /// The members have not taken what was answered from the write-back window, and it is
    /// forgotten.
    #[error(
        "{bytes} bytes that were answered could not be written to the array, and are lost: `shoal status` tells how its \
         members are"
    )]
    NotWritten {
        /// How much is lost.
        bytes: u64,
    },
}

/// What the drives of an array were asked, all together, by everything that happens there:
/// superblocks and background work too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberTraffic {
    /// Reads.
    pub reads: u64,
    /// And their bytes.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// And their bytes.
    pub written_bytes: u64,
    /// Writes that neither go on where one of the two 4 MiB units was left that the drive was
    /// written in last, nor begin a unit: each costs flash a copy.
    pub out_of_sequence: u64,
    /// Flushes.
    pub flushes: u64,
    /// Flushes that drives were not asked for, as they had answered no write since the last one.
    pub needless_flushes: u64,
    /// Updates of superblocks, each on all members.
    pub updates: u64,
    /// Pages of bitmaps that were written, on each member.
    pub bitmap_writes: u64,
}

impl MemberTraffic {
    /// What has come since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            reads: self.reads - earlier.reads,
            read_bytes: self.read_bytes - earlier.read_bytes,
            writes: self.writes - earlier.writes,
            written_bytes: self.written_bytes - earlier.written_bytes,
            out_of_sequence: self.out_of_sequence - earlier.out_of_sequence,
            flushes: self.flushes - earlier.flushes,
            needless_flushes: self.needless_flushes - earlier.needless_flushes,
            updates: self.updates - earlier.updates,
            bitmap_writes: self.bitmap_writes - earlier.bitmap_writes,
        }
    }
}

/// Content that can be read and written by requests, many in flight at a time: one drive, or an
/// array of them.
///
/// The volume owns `request_buffers` buffers of `request_buffer_bytes` each, laid out one after the
/// other from the arena's start. A request names one of them (or a part) as its span; it belongs to
/// the volume until completion.
pub trait Volume {
    /// Bytes of content.
    fn size_bytes(&self) -> u64;
    /// Requests are multiples of this.
    fn logical_block_bytes(&self) -> u32;
    /// The memory of the request buffers.
    fn arena(&self) -> &Arena;
    /// How many request buffers there are.
    fn request_buffers(&self) -> u32;
    /// Size of each.
    fn request_buffer_bytes(&self) -> u32;
    /// Queues a request. Its id must be below 2^63: the others are the volume's own.
    fn submit(&mut self, request: Request);
    /// Starts what is queued, waits until at least `at_least` requests are answered or `timeout` is
    /// over, and appends the answers to `completions`. With `at_least` 0 it never blocks. With
    /// nothing in flight it returns at once.
    fn poll(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        completions: &mut Vec<Completion>,
    ) -> Result<(), VolumeError>;

    /// The time by which it works, for measuring: the machine's, or that of a simulated world,
    /// where no time passes but in [`Volume::poll`]. Never goes back; counts from an origin of its
    /// own.
    fn now(&self) -> Instant;

    /// Whether members of it are missing or being filled: then its speed is not that of the whole.
    /// A drive has no members.
    fn is_degraded(&self) -> bool {
        false
    }

    /// What the drives of an array were asked since it was opened; none where that is not known, or
    /// there are no members.
    fn member_traffic(&self) -> Option<MemberTraffic> {
        None
    }

    /// The span of `length` bytes at the start of a request buffer.
    fn request_span(&self, buffer: u32, length: u32) -> Span {
        assert!(buffer < self.request_buffers() && length <= self.request_buffer_bytes());
        Span { buffer: BufferId(buffer), offset: 0, length }
    }

    /// Where a request buffer lies in the arena: the same place while no request has it, and
    /// perhaps another one after a request than before.
    fn request_memory(&self, buffer: u32) -> Memory {
        let bytes = self.request_buffer_bytes();
        Memory { offset: buffer as usize * bytes as usize, length: bytes }
    }
}

/// A volume that a process keeps running for others. [`Volume::poll`] is for whoever waits for
/// answers and for nothing else; this is for whoever has clients to wait for as well.
pub trait LiveVolume: Volume {
    /// Lets everything go on, requests and what the volume does by itself, and waits until
    /// something has happened, what is watched can be read from, or `patience` is over; appends the
    /// answers.
    fn turn(&mut self, patience: Duration, completions: &mut Vec<Completion>) -> Result<(), VolumeError>;

    /// Makes `file` a wake source: [`LiveVolume::turn`] returns early while it is readable.
    fn watch(&mut self, file: Arc<OwnedFd>) -> Result<(), VolumeError>;
}
