//! What the engine asks of its driver, and what it hears back.

use alloc::vec::Vec;
use core::ops::Range;

use crate::{EffectId, Role, Span};

/// Something to be done outside the engine. Each is answered once, by
/// [`crate::Array::handle_outcome`], in any order. Spans named by an effect belong to the driver
/// until then.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// I/O on one member.
    Io {
        /// To be handed back with the outcome.
        id: EffectId,
        /// Which member.
        role: Role,
        /// What to do there.
        io: MemberIo,
    },
    /// Computation on buffers; the driver may do it at once or elsewhere.
    Compute {
        /// To be handed back with the outcome.
        id: EffectId,
        /// What to compute.
        compute: Compute,
    },
    /// Make the members' present states and bad blocks durable on every working member: flush what
    /// is written already, then write the bad-block logs that have changed, then the superblocks,
    /// flushing after each. The engine holds back the answers to writes that a newly failed member
    /// missed until this is done, so that a stale member is never taken for a fresh one (with a
    /// partial parity log it also begins no write of a stripe); and a rebuild's position does not
    /// pass a block that nobody has before it is in the log.
    Record {
        /// To be handed back with the outcome.
        id: EffectId,
    },
    /// Make these entries durable in the partial parity log of a member, before the stripe's data
    /// and parity are written: answered by [`Outcome::Done`] when they are. They are needed until
    /// [`crate::Event::LogReleased`] says that those writes have ended, and then until what was
    /// written is flushed. If it fails the member is taken out.
    Log {
        /// To be handed back with the outcome.
        id: EffectId,
        /// The member that holds the stripe's parity.
        role: Role,
        /// Within the bounds of [`crate::LogRoom`]; all of one stripe, no column in two of them.
        entries: Vec<PartialParity>,
    },
}

/// What a partial parity log says of a write: some columns of consecutive data chunks of one
/// stripe, and the XOR of the chunks that are not written there. With both, parity can be made anew
/// whichever of the writes got through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartialParity {
    /// First array byte that is written: the first column of the first chunk.
    pub offset: u64,
    /// So many chunks are written, from that one on.
    pub chunks: u32,
    /// Columns, in bytes.
    pub length: u32,
    /// XOR of the chunks that are not written, in these columns; none if all are written.
    pub parity: Option<Span>,
}

/// I/O on one member. Offsets are bytes from the start of the member's data area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberIo {
    /// Fill the span from the member.
    Read {
        /// First byte.
        offset: u64,
        /// Where the bytes go.
        span: Span,
    },
    /// Write the span to the member.
    Write {
        /// First byte.
        offset: u64,
        /// Where the bytes come from.
        span: Span,
    },
    /// Make completed writes durable.
    Flush,
    /// Tell the member that the range is no longer needed.
    Discard {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u64,
    },
}

/// One block of a parity stripe, as an input or an output of [`Compute::Solve`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// Known content.
    Known(Span),
    /// Lost content, to be computed into this span.
    Lost(Span),
    /// For data: a block of zeros (DDF layouts count P's and Q's places). For P or Q: not known and
    /// not wanted.
    Absent,
}

impl Block {
    /// Where the block is; nowhere if it is absent.
    pub fn span(&self) -> Option<Span> {
        match self {
            Self::Known(span) | Self::Lost(span) => Some(*span),
            Self::Absent => None,
        }
    }
}

/// A computation on buffers. All spans of one computation have one length; targets do not overlap
/// sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compute {
    /// Computes every [`Block::Lost`] of a stripe from the known ones: parity from data, lost data
    /// from the rest. At most two are lost, and never more than the known parity allows. `data[i]`
    /// has the Q coefficient `2^i`.
    Solve {
        /// The data blocks in the order of their exponents.
        data: Vec<Block>,
        /// P, the XOR of all data.
        p: Block,
        /// Q.
        q: Block,
    },
    /// Brings parity up to date after a data block changed: `p ^= old ^ new`,
    /// `q ^= 2^exponent * (old ^ new)`.
    Update {
        /// P to be changed in place.
        p: Option<Span>,
        /// Q to be changed in place.
        q: Option<Span>,
        /// The exponent of the block that changes.
        exponent: u16,
        /// The block's old content.
        old: Span,
        /// The block's new content.
        new: Span,
    },
    /// Copies bytes.
    Copy {
        /// Source.
        from: Span,
        /// Target.
        to: Span,
    },
    /// Compares two spans; answered by [`Outcome::Done`] if they are equal, else by
    /// [`Outcome::Differs`].
    Compare {
        /// One.
        left: Span,
        /// The other.
        right: Span,
    },
}

/// How an effect ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As asked; comparisons: equal.
    Done,
    /// Comparisons only: the byte ranges within the spans that differ, ascending, apart, at the
    /// driver's granularity (4 KiB or finer).
    Differs(Vec<Range<u32>>),
    /// Member I/O only: it failed.
    Failed(Fault),
}

/// How member I/O failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The member answers, but this range cannot be read (a latent sector error). Reads only.
    Unreadable,
    /// The member no longer answers or refuses to write: it is to be taken as failed.
    Gone,
    /// The member cannot do this at all (discard).
    Unsupported,
}
