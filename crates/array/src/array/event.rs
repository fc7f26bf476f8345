//! What the engine tells its driver, and how it answers commands.

use core::{fmt, ops::Range};

use super::MemberState;
use crate::{Completion, EffectId, Role};

/// What a scrub does about what it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubMode {
    /// Counts and reports. As any read, it heals what cannot be read, where the others agree and
    /// the members may be written.
    Check,
    /// Makes parity and copies agree as well: parity with the data, copies with what most of them
    /// hold, or with the first where no majority holds the same. Heals from that.
    Repair,
}

/// How it is known whose block is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// One block stands against those that agree without it. A rebuild from a member that had
    /// rotted, or a write over a rotten block, looks the same: two blocks or more are wrong then,
    /// and agree. So it is never proven.
    Likely,
    /// It is not: the block does not agree with the data, which may be what is wrong. Always so
    /// where a resync is due.
    Unknown,
}

/// What a block is that a scrub compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matter {
    /// Data of a stripe: never changed by a scrub.
    Data,
    /// P or Q.
    Parity,
    /// A copy of mirrored data.
    Copy,
}

/// What a scrub found in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The member whose block is wrong; or, as far as that is not known, whose copy, P or Q does
    /// not agree with the data.
    pub role: Role,
    /// How that is known.
    pub blame: Blame,
    /// What that block is.
    pub matter: Matter,
    /// Where on it, in bytes of the data area.
    pub member_range: Range<u64>,
    /// First array byte of the stripe or mirror concerned.
    pub offset: u64,
    /// Whether it was repaired: all that was to be written is. Where it is data, both parities were
    /// written to agree with them.
    pub repaired: bool,
}

/// Something that happened, for the driver to pass on.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request is answered.
    Completed(Completion),
    /// A member failed (by I/O or by command); it is [`MemberState::Missing`] now and gets no more
    /// I/O.
    MemberFailed(Role),
    /// This member did not take a flush, and is the last that has some mirrored data: writes that
    /// were answered may be lost. It stays, and what it may lose is written to it again. If nobody
    /// had asked for the flush, the next one of the array fails.
    FlushFailed(Role),
    /// What a member may have lost when it refused a flush was written to it again, except for
    /// blocks that cannot be read.
    Renewed(Role),
    /// A range of a member could not be read and was written anew from redundancy.
    Healed {
        /// Which member.
        role: Role,
        /// Bytes of its data area.
        member_range: Range<u64>,
        /// False if the redundancy was not known to be in sync: the content is right unless a write
        /// to its stripe or mirror was under way in the crash that the resync is for. False, too,
        /// where a scrub found that what could be read does not agree.
        proven: bool,
    },
    /// A scrub could not read a range of a member, and has not written it anew though others have
    /// it: they do not agree there, or the members are open for reading only.
    Unhealed {
        /// Which member.
        role: Role,
        /// Where on it, in bytes of the data area.
        member_range: Range<u64>,
    },
    /// A rebuild, a resync or a scrub met content that can be had from nobody.
    Lost {
        /// The member that should hold it.
        role: Role,
        /// Where on it, in bytes of the data area.
        member_range: Range<u64>,
        /// First array byte that is lost; as many as in the member's range.
        offset: u64,
    },
    /// What [`super::Array::bad_blocks`] says of this member has changed. To be in its log before a
    /// record is made that relies on it.
    BadBlocksChanged(Role),
    /// Parity and copies agree everywhere.
    ResyncFinished,
    /// The resync cannot go on for want of redundancy. It is remembered, and goes on by itself when
    /// there is some again.
    ResyncStopped {
        /// Everything below is in sync, in sync bytes.
        position: u64,
    },
    /// The writes that an [`crate::Effect::Log`] was for have ended. Its entries may be forgotten
    /// once they are flushed.
    LogReleased(EffectId),
    /// A member is fully rebuilt and in sync; the driver records it in the superblocks.
    RebuildFinished(Role),
    /// A rebuild cannot go on: its member failed, or the data to rebuild from is gone from
    /// `member_offset` on.
    RebuildStopped {
        /// Which member.
        role: Role,
        /// Byte of its data area that could not be rebuilt.
        member_offset: u64,
    },
    /// A replacement failed while a member was copied to it: the member goes on by itself. Drivers
    /// tell this, as they make the copies.
    ReplacementFailed {
        /// Which member.
        role: Role,
        /// Bytes of its data area that were copied.
        member_offset: u64,
    },
    /// A scrub found something.
    Mismatch(Mismatch),
    /// A scrub is over.
    ScrubFinished {
        /// Bytes of parity or copies that did not agree with the data.
        mismatched_bytes: u64,
        /// It went through the whole array; otherwise it was stopped, or too many members failed.
        completed: bool,
    },
}

/// Why a command is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandError {
    /// There is no such role.
    NoSuchRole,
    /// The member is not in a state for this.
    State(MemberState),
    /// The array has no redundancy to do this with: nothing to rebuild from or to compare, or the
    /// member is the last that has some mirrored data.
    NoRedundancy,
    /// A scrub is under way, or this member's rebuild; or I/O that was given out before the member
    /// failed is not answered yet.
    Busy,
    /// The members are open for reading only.
    ReadOnly,
}

impl fmt::Display for CommandError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NoSuchRole => "the array has no such member",
            Self::State(MemberState::InSync) => "the member is in sync already",
            Self::State(MemberState::Rebuilding { .. }) => "the member is being rebuilt",
            Self::State(MemberState::Missing) => "the member is missing already",
            Self::NoRedundancy => "the array has no redundancy left to do this with",
            Self::Busy => "a scrub or a rebuild is under way; wait until it is over, or stop it",
            Self::ReadOnly => "the members are open for reading only",
        })
    }
}

impl core::error::Error for CommandError {}

/// A background job's progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobProgress {
    /// Bytes of each member done.
    pub done_bytes: u64,
    /// Bytes of each member in all.
    pub total_bytes: u64,
}
