//! Resync: making parity and copies agree with the data again, after a crash or on a new array.
//!
//! After a crash every block of data is what it was before the writes that were under way, or what
//! it was to be: old or new. Which of the two may differ between copies, and parity may be that of
//! neither. A resync goes over the array and makes it true again that parity and copies follow from
//! the data; its *position* is how far that has come, and what is below, or outside its regions if
//! it has any, is in sync. A new array is the same case, with everything in doubt.
//!
//! *What may be trusted beyond the position.*
//!
//! | what | trusted? | so |
//! | --- | --- | --- |
//! | a data block that its own member can read | yes: old or new | parity levels serve reads as ever |
//! | one of several copies | yes; but another may hold something else | reads always go to the first copy that can be read, in md's order, until its range is in sync: what was read once stays. The resync, healing, and rebuilds take that copy as well |
//! | parity, while it is not needed | no | a write does not change it by a difference, which would keep its error, but computes it anew from all data of its columns (reconstruct-write, as md does): these columns are in sync with it |
//! | parity, where it is needed for a block that cannot be read | only so far: right, unless a write to its columns was under way in the crash | see below |
//!
//! *A block that cannot be had without such parity.* It is solved for, though nobody can say
//! whether a write was under way there. To refuse would turn each unreadable sector of a resync,
//! and all of a member that fails in one, into a certain loss, where in all but a few stripes of an
//! array the parity is right. Where the write hole must be closed, a partial parity log closes it,
//! and then there is no resync. But it is told: [`Event::Healed`] says whether the content is
//! proven, a resync that has lost its redundancy tells [`Event::ResyncStopped`] with the position
//! beyond which what the failed member held is unproven, and an array that is dirty and degraded
//! when it is assembled is refused by the driver unless somebody takes that risk. Once such a block
//! is written back, or computed into parity by a write to its columns, it is the data that
//! everything follows from.
//!
//! *Order.* The resync runs before rebuilds, as those copy what it makes trustworthy. If it has not
//! the redundancy for it (a RAID5 with a member missing) it waits; rebuilds go first, and when one
//! has brought redundancy the resync goes on by itself. What is rebuilt meanwhile follows from the
//! other members as they are, and is in sync with them by construction; still all is compared once
//! more, as the member that was rebuilt may have held its data below a position of its own. Mirrors
//! of which one copy is left are in sync by definition: there the resync is over.
//!
//! *Steps need no turn.* A step that is done gives its slice or range up at once, although the
//! position may not have passed it: whatever writes there keeps it in sync, and to be treated as
//! out of sync a little longer does no harm. A step counts only if it could compare: one that found
//! too few members makes the resync go back to its position.
//!
//! *What nobody has.* If too many blocks of the same columns cannot be read, they are told as
//! [`Event::Lost`], and the position passes them: there is nothing to agree with.
//!
//! The position is the driver's to remember. It may be recorded whenever no write is under way;
//! what has been in flight at a crash is in doubt again wherever the position was, unless a partial
//! parity log mends it.
//!
//! [`Event::Healed`]: super::Event::Healed
//! [`Event::ResyncStopped`]: super::Event::ResyncStopped
//! [`Event::Lost`]: super::Event::Lost

use core::ops::Range;

use super::Regions;

/// What is not known to be in sync, in sync bytes (see [`crate::Geometry::sync_bytes`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resync {
    /// Everything below is in sync.
    pub position: u64,
    /// Everything outside is in sync, too.
    pub only: Option<Regions>,
}

impl Resync {
    /// What either says is not in sync.
    pub(super) fn merge(self, other: Self) -> Self {
        let only = self.only.zip(other.only).map(|(mut only, other)| {
            only.insert_all(&other);
            only
        });
        Self { position: self.position.min(other.position), only }
    }

    /// Whether everything in a range of sync bytes is in sync.
    pub(super) fn is_synced(&self, range: Range<u64>) -> bool {
        let beyond = range.start.max(self.position)..range.end;
        beyond.is_empty() || self.only.as_ref().is_some_and(|only| !only.touches(beyond))
    }

    /// The first bytes at or after `cursor`, and below `total`, that are not in sync.
    pub(super) fn next(&self, cursor: u64, total: u64) -> Option<Range<u64>> {
        let all = (cursor < total).then_some(cursor..total);
        self.only.as_ref().map_or(all, |only| only.next_set(cursor))
    }
}
