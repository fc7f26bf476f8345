//! Races: a read that its member takes long over is begun at the others as well, and the first
//! answer wins.
//!
//! When, is for the driver to say, who knows how long reads take ([`Array::overtake`]). What is
//! read is the piece that went straight to the member; of parity levels it is solved for, of
//! mirrors it is had from another copy. The others' blocks are read into scratch buffers, and the
//! request's own span is touched only by the computation at the end of it. So a race can end at any
//! time:
//!
//! | what happens | where the redundant read stands | the piece is done | the redundant read | the member's read |
//! | --- | --- | --- | --- | --- |
//! | the member answers | not at its computation | now | ends without one | is over |
//! | the member answers | at its computation | when that is over | | is over |
//! | the member cannot | reading | by the redundant read | goes on | is over |
//! | the redundant read is done | | now | is over | is *overtaken* |
//! | the redundant read cannot | | by the member, or as any read that fails | is over | goes on |
//!
//! A member that has been overtaken and has not answered since is *stalled*: reads go round it from
//! the beginning, where they can, until it answers. What was overtaken stays the driver's, as any
//! effect, until it is answered. Nothing is healed, and nobody is failed, for being slow.
//!
//! No race begins where the others are not known to have the same: below a resync's position, and
//! with enough members in sync, they do.

use alloc::vec::Vec;

use super::{
    Array,
    effects::Purpose,
    member::Protection,
    op::{Kind, Op, Site},
    plan::{Cols, Part},
    requests::{Action, Active},
    slab::Key,
    slices::Waiter,
};
use crate::{EffectId, Fault, MemberIo, Outcome, Role};

/// How far the member's own read is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Original {
    UnderWay(EffectId),
    Done,
    Failed(Fault),
}

/// A read that two sources answer: the member that was asked first, and an operation that has the
/// same bytes from the others.
#[derive(Debug)]
pub(super) struct Race {
    request: Key<Active>,
    /// What is read: array bytes.
    offset: u64,
    length: u64,
    role: Role,
    original: Original,
    /// Redundant reads that are not over.
    parts: u32,
    /// Of these, at their computation.
    computing: u32,
    /// One of them could not be done.
    has_failed: bool,
}

impl Array {
    /// Begins a race for a member's read that takes long, if it is a piece of a request that the
    /// others have as well and that is known to be the same there. Returns whether it did. From
    /// then on the read's span is no longer this effect's alone: the driver sees to it that an
    /// answer which comes after the race is over ([`Array::is_overtaken`]) reaches no buffer.
    pub fn overtake(&mut self, now: crate::Instant, id: EffectId) -> bool {
        self.hear(now);
        let begun = self.begin_race(id);
        self.settle();
        begun
    }

    /// Whether an effect in flight has been overtaken: nobody wants to know any more what it reads.
    pub fn is_overtaken(&self, id: EffectId) -> bool {
        matches!(self.effects.purpose(id), Some((Purpose::Overtaken, _)))
    }

    fn begin_race(&mut self, id: EffectId) -> bool {
        let Some((Purpose::Piece { request, offset, length }, Some((role, io)))) = self.effects.purpose(id) else {
            return false;
        };
        let (MemberIo::Read { offset: at, .. }, Action::Read) = (io, self.requests[request].action) else {
            return false;
        };
        if !self.can_go_round(role, at, offset, length) || !self.others_are_brisk(role, offset, length) {
            return false;
        }
        let original = Original::UnderWay(id);
        let parts = self.race_parts(request, offset, length);
        let count = u32::try_from(parts.len()).expect("a piece has few parts");
        let race = Race { request, offset, length, role, original, parts: count, computing: 0, has_failed: false };
        let race = self.races.insert(race);
        self.effects.set_purpose(id, Purpose::Raced(race));
        for (slice, part) in parts {
            match slice {
                Some(slice) => self.queue_at_slice(slice, Waiter::Race(part, race)),
                None => {
                    let copies = self.geometry.piece(part.offset, u64::from(part.cols.length())).copies;
                    let site = Site::Mirror { copies, offset: part.offset, ticket: None };
                    let op = self.ops.insert(Op::new(Kind::Race { part, race }, site, part.cols));
                    self.begin(op);
                }
            }
        }
        true
    }

    /// Whether what a member holds there can be had without it.
    pub(super) fn can_go_round(&self, role: Role, at: u64, offset: u64, length: u64) -> bool {
        let sync_start = if self.members.protection() == Protection::Parity { at } else { offset };
        self.members.can_rebuild(role) && self.members.is_synced(sync_start..sync_start + length)
    }

    /// Whether those who would race with a member have not stalled themselves.
    fn others_are_brisk(&self, role: Role, offset: u64, length: u64) -> bool {
        let is_brisk = |other: Role| other != role && !self.members.is_stalled(other);
        match self.members.protection() {
            Protection::Parity => self.members.roles().all(|other| other == role || is_brisk(other)),
            _ => self.geometry.piece(offset, length).copies.iter().any(|(other, _)| is_brisk(*other)),
        }
    }

    /// A piece in parts that one operation can have, and their slices if the level has any.
    fn race_parts(&self, request: Key<Active>, offset: u64, length: u64) -> Vec<(Option<u64>, Part)> {
        let mut parts = Vec::new();
        let mut start = offset;
        while start < offset + length {
            let (slice, part) = if self.members.protection() == Protection::Parity {
                let (slice, part) = self.part_at(request, start, offset + length);
                (Some(slice), part)
            } else {
                let bytes = (offset + length - start).min(u64::from(self.profile.step_bytes));
                let span = self.requests[request].span_of(start, bytes);
                let cols = Cols { start: 0, end: span.length };
                (None, Part { request, index: 0, cols, offset: start, span })
            };
            start += u64::from(part.cols.length());
            parts.push((slice, part));
        }
        parts
    }

    /// The member that a redundant read goes round; none if its race is over.
    pub(super) fn raced_member(&self, race: Key<Race>) -> Option<Role> {
        self.races.find(race).map(|race| race.role)
    }

    /// A redundant read has all that it needs: whether it may compute, as the race is not over.
    pub(super) fn race_computes(&mut self, race: Key<Race>) -> bool {
        if self.races.find(race).is_none() {
            return false;
        }
        self.races[race].computing += 1;
        true
    }

    /// A redundant read is over; done if it computed, and if not, it could not be done or the race
    /// was over.
    pub(super) fn race_part_ended(&mut self, key: Key<Race>, has_computed: bool) {
        if self.races.find(key).is_none() {
            return;
        }
        let race = &mut self.races[key];
        race.parts -= 1;
        race.computing -= u32::from(has_computed);
        race.has_failed |= !has_computed;
        let is_read = race.original == Original::Done && race.computing == 0;
        if !is_read && race.parts > 0 {
            return;
        }
        let Race { request, offset, length, role, original, has_failed, .. } = self.races.remove(key);
        match original {
            Original::Done => self.piece_done(request),
            Original::UnderWay(id) if has_failed => {
                self.effects.set_purpose(id, Purpose::Piece { request, offset, length });
            }
            Original::UnderWay(id) => {
                self.effects.set_purpose(id, Purpose::Overtaken);
                self.members.has_stalled(role);
                self.piece_done(request);
            }
            // What a read leaves in its span when it fails may have covered what the others had
            // answered: all is had anew.
            Original::Failed(fault) => self.read_failed(request, offset, length, role, fault),
        }
    }

    /// The member has answered a read that is raced.
    pub(super) fn raced_read_ended(&mut self, key: Key<Race>, outcome: &Outcome) {
        let race = &mut self.races[key];
        let (request, role) = (race.request, race.role);
        match outcome {
            Outcome::Done if race.computing == 0 => {
                self.races.remove(key);
                self.piece_done(request);
            }
            Outcome::Done => race.original = Original::Done,
            Outcome::Failed(fault) => {
                race.original = Original::Failed(*fault);
                if *fault != Fault::Unreadable {
                    self.member_gave_up(role);
                }
            }
            Outcome::Differs(_) => panic!("member I/O was answered like a comparison"),
        }
    }

    /// A member has answered a read that was overtaken.
    pub(super) fn overtaken_ended(&mut self, role: Role, outcome: &Outcome) {
        self.members.has_answered(role);
        if matches!(outcome, Outcome::Failed(fault) if *fault != Fault::Unreadable) {
            self.member_gave_up(role);
        }
    }
}
