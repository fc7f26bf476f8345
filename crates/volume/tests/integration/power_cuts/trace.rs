//! Everything that happened, in order: what drives were asked and did, what the array's user asked
//! and heard.

use std::cell::RefCell;
use std::rc::Rc;

/// A write or flush, numbered over all drives in the order of submission.
pub(crate) type Number = usize;

/// One thing that happened. Between any two of them power may be cut.
#[derive(Clone, Debug)]
pub(crate) enum Fact {
    /// A drive was given a write.
    Write { number: Number, drive: usize, offset: u64, bytes: Rc<[u8]> },
    /// A drive says that it has a write, be it in its cache.
    Written { number: Number },
    /// A drive was told to flush.
    Flush { number: Number, drive: usize },
    /// A drive has flushed.
    Flushed { number: Number },
    /// The user wrote these blocks of content.
    Asked { blocks: std::ops::Range<usize>, version: u32 },
    /// The user was told how that ended.
    Answered { version: u32, good: bool },
    /// The user asked for a flush.
    FlushAsked,
    /// All that was answered before the flush was asked for is durable now.
    FlushAnswered { good: bool },
    /// A drive dies: it answers nothing from here on, and keeps what it has.
    Died { drive: usize },
    /// A drive fails a flush, once: what it was to make durable is as volatile as before.
    Refused { drive: usize },
    /// A drive's history begins anew: it was wiped and taken in, or came back.
    Joined { drive: usize },
}

/// The record that a world and the user of its array share.
pub(crate) type Trace = Rc<RefCell<Vec<Fact>>>;

pub(crate) fn note(trace: &Trace, fact: Fact) {
    trace.borrow_mut().push(fact);
}

impl Fact {
    /// The array may have lost a member by it.
    pub(crate) fn is_loss(&self) -> bool {
        matches!(self, Self::Died { .. } | Self::Refused { .. })
    }

    /// The fact without the bytes.
    pub(crate) fn short(&self) -> String {
        match self {
            Self::Write { number, drive, offset, bytes } => {
                format!("write {number} to drive {drive} at {offset:#x}, {} bytes", bytes.len())
            }
            other => format!("{other:?}"),
        }
    }
}
