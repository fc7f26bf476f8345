//! What can be asked of a served array, and what comes of it.

use rustix::io::Errno;

/// Something to be done. Offsets and lengths are bytes, of any alignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// At most [`TRANSFER_BYTES_MAX`](crate::TRANSFER_BYTES_MAX).
    Read {
        /// First byte.
        offset: u64,
        /// How many.
        length: u32,
    },
    /// At most [`TRANSFER_BYTES_MAX`](crate::TRANSFER_BYTES_MAX).
    Write {
        /// First byte.
        offset: u64,
        /// The bytes.
        data: Vec<u8>,
        /// Answered only when it would survive a power cut.
        fua: bool,
    },
    /// Makes durable what was answered before.
    Flush,
    /// Tells that the bytes are of no use any more; what they read as is undefined.
    Discard {
        /// First byte.
        offset: u64,
        /// How many.
        length: u32,
    },
    /// Zeros.
    WriteZeroes {
        /// First byte.
        offset: u64,
        /// How many.
        length: u32,
        /// Whether the room may be given up.
        may_discard: bool,
    },
    /// Zeros, by giving up the room; refused with `EOPNOTSUPP` where content would have to be
    /// written. Some of it may be zeros then.
    FastZeroes {
        /// First byte.
        offset: u64,
        /// How many.
        length: u32,
    },
}

impl Operation {
    /// Whether it changes content in a way that a power cut undoes until it is flushed.
    pub(super) fn needs_flush(&self) -> bool {
        match self {
            Self::Read { .. } | Self::Flush | Self::Write { fua: true, .. } => false,
            Self::Write { .. } | Self::Discard { .. } | Self::WriteZeroes { .. } | Self::FastZeroes { .. } => true,
        }
    }

    /// Content that it holds or will hold, in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Read { length, .. } => *length as usize,
            Self::Write { data, .. } => data.len(),
            Self::Flush | Self::Discard { .. } | Self::WriteZeroes { .. } | Self::FastZeroes { .. } => 0,
        }
    }
}

/// What came of it: the content of a read, else nothing; or why not.
pub type Answer = Result<Vec<u8>, Errno>;

/// Called once with the answer, from a thread of the client's; it must neither block nor submit.
pub type Done = Box<dyn FnOnce(Answer) + Send>;

/// What a server may or may not be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// [`Operation::Flush`].
    Flush,
    /// [`Operation::Write`] with `fua`.
    Fua,
    /// [`Operation::Discard`].
    Discard,
    /// [`Operation::WriteZeroes`].
    WriteZeroes,
    /// [`Operation::FastZeroes`].
    FastZeroes,
    /// Several connections see one content, and a flush on one is a flush of all.
    SeveralConnections,
}
