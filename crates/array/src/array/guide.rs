//! Guides: which parts of a member that came back are out of date.
//!
//! A member that was away for a while missed only what was written meanwhile. Whoever kept account
//! of that, in a write-intent bitmap, brings it back with the regions concerned, and only these are
//! filled. Such a member *holds* everything below the rebuild's position, and beyond it everything
//! outside the regions: there it is read, written and reckoned with as if it were in sync.
//!
//! *Why no write is lost on it.* Let a write come while the rebuild is under way.
//! * Outside the regions, or below the position: the member holds these bytes, so the write goes to
//!   it as to any other. If it fails there, the member is taken out.
//! * Within the regions, beyond the position, on mirrors: the write goes to every copy that works,
//!   wherever the rebuild stands. The step that fills this place later copies what a mirror has,
//!   which is the same or newer; the request order keeps the two apart.
//! * The same on parity levels: the member does not take part; its content follows from the others,
//!   and is brought to it by the step that fills this slice. The slice is out of date *as a whole*,
//!   because regions are widened to whole slices first: otherwise a write to a slice on the edge
//!   would have to change what the member holds beside what it does not. The step cannot have come
//!   before the write and yet count: it has the slice for itself until the position has passed it,
//!   so a write is either before the step, which sees what it wrote, or after it, below the
//!   position.
//! * Begun before the member came back, and not answered yet: it was planned without the member,
//!   and what the driver knows of it is not known here. So the ranges of all such requests are
//!   added to the regions when the rebuild starts, and nothing below the position is relied on
//!   while there are any.
//! * Not known to be in sync (see [`super::resync`]): a resync that went on without the member may
//!   have changed parity there. These ranges are added as well.
//!
//! The regions never grow after that, and need not: what is in them stays in them until the
//! position has passed it. They are the driver's to remember over a crash: what is out of date here
//! are bits that stay set in the bitmap until the rebuild has finished.

use core::ops::Range;

use super::{Array, Regions, member::Protection};
use crate::{Geometry, Home, Level, MemberState, Role};

/// Chunks of a RAID10's member that are looked at in one go.
const CHUNKS_AT_ONCE: u64 = 4096;

/// What a member that came back does not hold.
#[derive(Debug)]
pub(super) struct Guide {
    /// In sync bytes.
    stale: Regions,
    /// Where sync bytes are no member bytes: what turns one into the other.
    content: Option<Geometry>,
}

impl Guide {
    /// Of regions in sync bytes, each widened to a multiple of `unit_bytes`.
    fn new(only: &Regions, unit_bytes: u64, content: Option<Geometry>) -> Self {
        let region_bytes = only.region_bytes().div_ceil(unit_bytes) * unit_bytes;
        let mut stale = Regions::new(region_bytes, only.total_bytes());
        stale.insert_all(only);
        Self { stale, content }
    }

    /// The first run of bytes in a range of the member that are out of date.
    pub(super) fn next_stale(&self, role: Role, range: Range<u64>) -> Option<Range<u64>> {
        let Some(geometry) = &self.content else {
            let run = self.stale.next_set(range.start)?;
            return (run.start < range.end).then(|| run.start..run.end.min(range.end));
        };
        let mut at = range.start;
        while at < range.end {
            let (home, length) = geometry.homes(role, at, range.end - at);
            if let Home::Data { offset, .. } = home
                && let Some(run) = self.stale.next_set(offset).filter(|run| run.start < offset + length)
            {
                return Some(at + (run.start - offset)..at + (run.end.min(offset + length) - offset));
            }
            at += length;
        }
        None
    }
}

impl Array {
    /// The guide of a member that starts to be filled, and from where on; `only` is what the driver
    /// knows.
    pub(super) fn guide(&mut self, role: Role, position: u64, only: Option<Regions>) -> (u64, Option<Guide>) {
        let before = self.members.take_guide(role);
        match self.members.state(role) {
            // What it was filled with so far and what was written since is known best here.
            MemberState::Rebuilding { position: held } => {
                let guide = before.zip(only).map(|(before, only)| self.widened(&only, Some(&before)));
                (position.min(held), guide)
            }
            MemberState::InSync | MemberState::Missing => {
                let position = if self.is_being_written() { 0 } else { position };
                (position, only.map(|only| self.widened(&only, None)))
            }
        }
    }

    fn widened(&self, only: &Regions, before: Option<&Guide>) -> Guide {
        let sync_bytes = self.geometry.sync_bytes();
        assert_eq!(only.total_bytes(), sync_bytes, "the regions are those of another array");
        let (unit_bytes, content) = match self.members.protection() {
            Protection::Parity => (self.profile.slice_unit_bytes(), None),
            _ if matches!(self.geometry.shape().level, Level::Raid10(_)) => (1, Some(self.geometry.clone())),
            _ => (1, None),
        };
        let mut guide = Guide::new(only, unit_bytes, content);
        if let Some(before) = before {
            guide.stale.insert_all(&before.stale);
        }
        for request in self.requests.values() {
            let (start, end) = request.range();
            if request.changes_content() {
                guide.stale.insert(self.geometry.sync_range(start, end - start));
            }
        }
        match self.members.resync() {
            Some(resync) if resync.only.is_none() => guide.stale.insert(resync.position..sync_bytes),
            Some(resync) => resync.only.iter().for_each(|only| guide.stale.insert_all(only)),
            None => {}
        }
        guide
    }

    fn is_being_written(&self) -> bool {
        self.requests.values().any(|request| request.changes_content())
    }

    /// How many bytes of a rebuild may be left out at the cursor, because the member holds them; or
    /// else how many from there on it does not.
    pub(super) fn look_ahead(&self, role: Role, cursor: u64, total: u64) -> Ahead {
        let Some(guide) = self.members.guide(role) else { return Ahead::Stale(total - cursor) };
        let end = match guide.content {
            Some(_) => total.min(cursor.saturating_add(CHUNKS_AT_ONCE * u64::from(self.profile.chunk_bytes))),
            None => total,
        };
        Ahead::of(guide.next_stale(role, cursor..end), cursor..end)
    }
}

/// What lies ahead of a rebuild.
pub(super) enum Ahead {
    Held(u64),
    Stale(u64),
}

impl Ahead {
    /// In a range whose first part that is to be written is `run`, if any is.
    pub(super) fn of(run: Option<Range<u64>>, range: Range<u64>) -> Self {
        match run {
            None => Self::Held(range.end - range.start),
            Some(run) if run.start > range.start => Self::Held(run.start - range.start),
            Some(run) => Self::Stale(run.end - range.start),
        }
    }
}
