//! Plans: what an operation on one slice (or one mirrored piece) reads, computes and writes.
//!
//! A plan is a pure function of the stripe, of who can be read and written there now, and of the
//! buffers at hand. It always runs as all reads, then the steps one by one, then the log, then all
//! writes. If a read fails, nothing has been written yet: the operation waits for its other reads
//! and is planned anew with what is known then. If what is wanted cannot be had, planning ends in a
//! [`Shortfall`].

mod log;
mod mirror;
mod recover;
mod table;
mod write;

use alloc::vec::Vec;
use core::ops::Range;

use super::{member::Members, requests::Active, slab::Key};
use crate::{Compute, PartialParity, Role, Span, Stripe};

pub(super) use log::{Rectangle, rectangles};
pub(super) use mirror::{Mirror, plan_mirror_race, plan_mirror_read, plan_mirror_rebuild, plan_mirror_scrub};
pub(super) use recover::{plan_read, plan_rebuild, plan_scrub, solve};
pub(super) use write::{hull_of, plan_write};

/// A range of columns: bytes from the start of a chunk, the same on every member of the stripe; for
/// mirrors, bytes from the start of the piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cols {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Cols {
    pub(super) fn length(self) -> u32 {
        self.end - self.start
    }

    /// What both have, if anything.
    pub(super) fn common(self, other: Self) -> Option<Self> {
        let common = Self { start: self.start.max(other.start), end: self.end.min(other.end) };
        (common.start < common.end).then_some(common)
    }

    pub(super) fn hull(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Whether no column lies between the two.
    pub(super) fn touches(self, other: Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    /// `span` holds the bytes of `self`; the part of it that holds those of `inner`.
    pub(super) fn part(self, span: Span, inner: Self) -> Span {
        span.part(inner.start - self.start, inner.length())
    }
}

/// What a request wants of one block of a stripe (or of one mirrored piece).
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) request: Key<Active>,
    /// Which data block; 0 for mirrors.
    pub(super) index: usize,
    pub(super) cols: Cols,
    /// First array byte.
    pub(super) offset: u64,
    /// The request's bytes.
    pub(super) span: Span,
}

impl Part {
    /// The part within these columns.
    pub(super) fn clip(&self, cols: Cols) -> Option<Self> {
        let common = self.cols.common(cols)?;
        let skipped = common.start - self.cols.start;
        Some(Self {
            cols: common,
            offset: self.offset + u64::from(skipped),
            span: self.span.part(skipped, common.length()),
            ..*self
        })
    }
}

/// One read or write of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transfer {
    pub(super) role: Role,
    /// Byte of the member's data area.
    pub(super) offset: u64,
    pub(super) span: Span,
    /// Writes: puts back what could not be read.
    pub(super) heals: bool,
}

impl Transfer {
    /// A part of it.
    pub(super) fn part(self, range: &Range<u32>) -> Self {
        let span = self.span.part(range.start, range.end - range.start);
        Self { offset: self.offset + u64::from(range.start), span, ..self }
    }
}

/// One step of the computing phase.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Compute(Compute),
    /// Scrub: what was read of this member, against what it should be.
    Check {
        role: Role,
        offset: u64,
        read: Span,
        right: Span,
    },
    /// Scrub: two runs of bytes, to find out more.
    Compare {
        left: Span,
        right: Span,
    },
}

/// Who can bear witness to what a scrub finds wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Witnesses {
    /// One parity, or two copies; or what is not known to be in sync, as a member has missed a
    /// write or a resync is due.
    #[default]
    Few,
    /// A whole stripe: its data, read first, and both parities, which are checked.
    Parities,
    /// Three copies or more: the first, and those that are checked.
    Copies,
}

/// What to read, then to compute, then to log, then to write.
#[derive(Clone, Debug, Default)]
pub(super) struct IoPlan {
    pub(super) reads: Vec<Transfer>,
    pub(super) steps: Vec<Step>,
    /// For a scrub: who it is that is read and checked.
    pub(super) witnesses: Witnesses,
    /// For the partial parity log, before the writes.
    pub(super) log: Vec<PartialParity>,
    pub(super) writes: Vec<Transfer>,
    /// For a scrub: puts back what could not be read, once it is known whether the others agree.
    pub(super) heals: Vec<Transfer>,
}

/// What is wanted cannot be had: too few blocks can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shortfall;

/// Some columns of a stripe, and who can be read and written there.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub(super) stripe: &'a Stripe,
    pub(super) cols: Cols,
    pub(super) members: &'a Members,
    /// Members that answered [`crate::Fault::Unreadable`] within these columns.
    pub(super) bad: &'a [Role],
    /// A member that is not to be read, as it takes long.
    pub(super) around: Option<Role>,
}

impl View<'_> {
    /// The columns, as bytes of each member's data area.
    fn member_range(&self) -> Range<u64> {
        let start = self.stripe.member_offset;
        start + u64::from(self.cols.start)..start + u64::from(self.cols.end)
    }

    pub(super) fn can_write(&self, role: Role) -> bool {
        self.members.holds(role, self.member_range())
    }

    /// Whether parity is known to agree with the data.
    pub(super) fn is_synced(&self) -> bool {
        self.members.is_synced(self.member_range())
    }

    pub(super) fn can_read(&self, role: Role) -> bool {
        self.can_write(role) && !self.bad.contains(&role) && self.around != Some(role)
    }

    /// The member works, but its block cannot be read.
    fn needs_healing(&self, role: Role) -> bool {
        self.can_write(role) && self.bad.contains(&role)
    }

    /// P and Q, as far as the level has them.
    fn parities(&self) -> impl Iterator<Item = Role> + use<> {
        core::iter::once(self.stripe.p).chain(self.stripe.q)
    }

    fn transfer(&self, role: Role, cols: Cols, span: Span) -> Transfer {
        Transfer { role, offset: self.stripe.member_offset + u64::from(cols.start), span, heals: false }
    }

    fn healing(&self, role: Role, span: Span) -> Transfer {
        Transfer { heals: true, ..self.transfer(role, self.cols, span) }
    }
}
