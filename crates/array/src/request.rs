//! What is asked of an array, and how it is answered.

use core::ops::Range;

use crate::{RequestId, Span};

/// One request on the array's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The submitter's name for it.
    pub id: RequestId,
    /// What to do.
    pub command: Command,
}

/// What to do. Offsets and lengths are bytes of array content and multiples of the logical block
/// size; the length of a read or a write is that of its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Fill the span from the array. The span belongs to the engine until completion.
    Read {
        /// First byte.
        offset: u64,
        /// Where the bytes go.
        span: Span,
    },
    /// Write the span to the array. Its bytes must not change until completion.
    Write {
        /// First byte.
        offset: u64,
        /// Where the bytes come from.
        span: Span,
    },
    /// Make every write that completed before this request was submitted durable. Fails with
    /// [`RequestError::Failed`] if more members are gone than the level survives, as completed
    /// writes are gone with them.
    Flush,
    /// Tell the members that this range's content is no longer needed. When it is done the range
    /// reads as zeros; with [`RequestError::Unsupported`] some of it may, and what the rest reads
    /// as is undefined.
    Discard {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u64,
    },
}

impl Command {
    /// The bytes of content that it reads or changes; empty for a flush. An end that no array has
    /// is `u64::MAX`.
    pub fn range(&self) -> Range<u64> {
        let (offset, length) = match *self {
            Self::Read { offset, span } | Self::Write { offset, span } => (offset, u64::from(span.length)),
            Self::Discard { offset, length } => (offset, length),
            Self::Flush => (0, 0),
        };
        offset..offset.saturating_add(length)
    }

    /// Whether it changes content.
    pub fn changes_content(&self) -> bool {
        matches!(self, Self::Write { .. } | Self::Discard { .. })
    }

    /// Whether both concern some of the same bytes.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (own, other) = (self.range(), other.range());
        own.start < other.end && other.start < own.end
    }
}

/// The answer to one request. Every request is answered exactly once.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request.
    pub id: RequestId,
    /// Done, or why not. After an error of a read the span's content is undefined; after an error
    /// of a write each block of the range holds old or new data.
    pub result: Result<(), RequestError>,
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// The range does not lie within the array.
    OutOfRange,
    /// Offset or length is no multiple of the logical block size.
    Misaligned,
    /// No member, or too few members, hold the bytes from `offset` on: more members are gone than
    /// the level survives.
    Lost {
        /// First array byte that cannot be had.
        offset: u64,
    },
    /// The array has lost more members than the level survives and takes no writes (parity levels).
    Failed,
    /// The members that hold the bytes from `offset` on answer, but cannot read them.
    Unreadable {
        /// First array byte that cannot be read.
        offset: u64,
    },
    /// The array or drive is open for reading only.
    ReadOnly,
    /// The level, or one of its members, cannot do this (discard; parity levels never can).
    Unsupported,
}

impl core::fmt::Display for RequestError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::OutOfRange => write!(f, "the range does not lie within the array"),
            Self::Misaligned => write!(f, "offset or length is no multiple of the logical block size"),
            Self::Lost { offset } => write!(f, "too few members are left to have the bytes from {offset} on"),
            Self::Failed => write!(f, "the array has lost more members than its level survives, and takes no writes"),
            Self::Unreadable { offset } => write!(f, "the members cannot read the bytes from {offset} on"),
            Self::ReadOnly => write!(f, "it is open for reading only"),
            Self::Unsupported => write!(f, "the level or its members cannot do this"),
        }
    }
}

impl core::error::Error for RequestError {}
