//! What the members of a mirror have taken since they last took a flush.
//!
//! A drive that refuses a flush may lose, with its power, all that it took since its last good
//! flush, and nothing else. A last copy stays in service after that, and is *renewed*: what it may
//! lose is written to it again, see [`super::jobs`]. With the account kept here that is what was
//! written in the last seconds, and not all of the drive; so a flush that comes meanwhile can wait
//! for the renewal, and says then what it should: all that was answered is durable.
//!
//! | event | account of the member |
//! | --- | --- |
//! | the array starts | everything: what was written before is not known here |
//! | a write is given to it, and again when that ends | its range is *written* |
//! | a flush is given to it | what is written is *being flushed* |
//! | that flush ends well | what was being flushed since then or longer is durable |
//! | a flush is refused | all that is written, under way or being flushed is *to be renewed*, and the member *as a whole* if that is everything |
//! | it has refused one before the array started | it is to be renewed as a whole |
//! | it fails | everything, as at the start |
//! | what is to be renewed has been written again | nothing is to be renewed, but the member as a whole if it was |
//!
//! Flushes wait for what is to be renewed, also while the member is renewed as a whole beside that:
//! so they are worth what they say from the member's first good flush on.
//!
//! A write counts again at its end, because a flush that was given out between the two need not
//! cover it. One that is under way when a flush is refused may have been with the drive, and be
//! lost, before the drive answers it.

use alloc::{collections::VecDeque, vec::Vec};
use core::ops::Range;

use super::regions::Regions;
use crate::{EffectId, Geometry, MemberIo, Outcome, Role};

/// Regions of a member, at most. A set takes a bit for each, 8 KiB: it is made anew for every
/// flush.
const REGIONS_MAX: u64 = 1 << 16;
/// The least bytes of a region.
const REGION_BYTES_MIN: u64 = 64 << 10;
/// Flushes of a member that are told apart. More are in flight only where clients flush without
/// pause; the last ones are one then, and what they cover is durable a flush later.
const FLUSHES_MAX: usize = 4;

/// A part of a member.
#[derive(Clone, Debug)]
enum Extent {
    Everything,
    Only(Regions),
}

fn no_regions(member_bytes: u64) -> Regions {
    let region_bytes = member_bytes.div_ceil(REGIONS_MAX).next_power_of_two().max(REGION_BYTES_MIN);
    Regions::new(region_bytes, member_bytes)
}

impl Extent {
    /// Nothing of a member of so many bytes.
    fn nothing(member_bytes: u64) -> Self {
        Self::Only(no_regions(member_bytes))
    }

    fn insert(&mut self, range: Range<u64>) {
        if let Self::Only(regions) = self {
            regions.insert(range);
        }
    }

    fn join(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Only(regions), Self::Only(others)) => regions.insert_all(&others),
            (Self::Only(_), Self::Everything) => *self = Self::Everything,
            (Self::Everything, _) => {}
        }
    }
}

/// The account of one member.
#[derive(Debug)]
struct Account {
    member_bytes: u64,
    /// Writes that have not ended.
    under_way: Vec<(EffectId, Range<u64>)>,
    written: Extent,
    /// In the order in which the flushes were given out.
    being_flushed: VecDeque<(EffectId, Extent)>,
    to_renew: Regions,
    whole: Option<Whole>,
}

/// Why a member is to be renewed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
    /// It refused a flush before the array started.
    RefusedBefore,
    /// It refused one before any flush of it had ended well.
    NeverFlushed,
}

impl Account {
    fn new(member_bytes: u64) -> Self {
        Self {
            member_bytes,
            under_way: Vec::new(),
            written: Extent::Everything,
            being_flushed: VecDeque::new(),
            to_renew: no_regions(member_bytes),
            whole: None,
        }
    }

    fn write_begins(&mut self, id: EffectId, range: Range<u64>) {
        self.written.insert(range.clone());
        self.under_way.push((id, range));
    }

    fn write_ended(&mut self, id: EffectId, range: Range<u64>) {
        self.written.insert(range);
        self.under_way.retain(|(other, _)| *other != id);
    }

    fn flush_begins(&mut self, id: EffectId) {
        let is_full = self.being_flushed.len() == FLUSHES_MAX;
        let written = core::mem::replace(&mut self.written, Extent::nothing(self.member_bytes));
        match self.being_flushed.back_mut() {
            Some((last, extent)) if is_full => {
                *last = id;
                extent.join(written);
            }
            _ => self.being_flushed.push_back((id, written)),
        }
    }

    fn flush_is_done(&mut self, id: EffectId) {
        if let Some(index) = self.being_flushed.iter().position(|(flush, _)| *flush == id) {
            self.being_flushed.drain(..=index);
        }
    }

    fn flush_is_refused(&mut self) {
        self.under_way.iter().for_each(|(_, range)| self.to_renew.insert(range.clone()));
        let written = core::mem::replace(&mut self.written, Extent::nothing(self.member_bytes));
        for extent in self.being_flushed.drain(..).map(|(_, extent)| extent).chain([written]) {
            match extent {
                Extent::Everything => self.whole = Some(Whole::NeverFlushed),
                Extent::Only(regions) => self.to_renew.insert_all(&regions),
            }
        }
    }
}

/// The accounts of all members; none where no copies are kept.
#[derive(Debug, Default)]
pub(super) struct Unflushed(Vec<Account>);

impl Unflushed {
    /// Those of an array whose members hold copies.
    pub(super) fn of_copies(geometry: &Geometry) -> Self {
        let roles = 0..geometry.shape().member_bytes.len() as u16;
        Self(roles.map(|role| Account::new(geometry.used_bytes(Role(role)))).collect())
    }

    fn of(&mut self, role: Role) -> Option<&mut Account> {
        self.0.get_mut(role.index())
    }

    /// A member has been given this.
    pub(super) fn begins(&mut self, role: Role, io: MemberIo, id: EffectId) {
        match (self.of(role), io) {
            (Some(account), MemberIo::Flush) => account.flush_begins(id),
            (Some(account), io) => written_by(io).into_iter().for_each(|range| account.write_begins(id, range)),
            (None, _) => {}
        }
    }

    /// That has ended.
    pub(super) fn ended(&mut self, role: Role, io: MemberIo, id: EffectId, outcome: &Outcome) {
        match (self.of(role), io) {
            (Some(account), MemberIo::Flush) if *outcome == Outcome::Done => account.flush_is_done(id),
            (Some(_), MemberIo::Flush) | (None, _) => {}
            (Some(account), io) => written_by(io).into_iter().for_each(|range| account.write_ended(id, range)),
        }
    }

    /// The member stays though it refused a flush.
    pub(super) fn refused(&mut self, role: Role) {
        self.of(role).into_iter().for_each(Account::flush_is_refused);
    }

    /// All that the member holds is to be renewed: it refused a flush of whatever wrote to it
    /// before.
    pub(super) fn doubt(&mut self, role: Role) {
        self.of(role).into_iter().for_each(|account| account.whole = Some(Whole::RefusedBefore));
    }

    /// Another drive has the member's place, or none: of what it has flushed nothing is known.
    pub(super) fn forget(&mut self, role: Role) {
        self.of(role).into_iter().for_each(|account| *account = Account::new(account.member_bytes));
    }

    /// What is to be renewed has been written to the member again.
    pub(super) fn renewed(&mut self, role: Role) {
        self.of(role).into_iter().for_each(|account| account.to_renew = no_regions(account.member_bytes));
    }

    /// So has all of the member.
    pub(super) fn whole_is_renewed(&mut self, role: Role) {
        self.of(role).into_iter().for_each(|account| account.whole = None);
    }

    /// The first part of a range of the member that is to be renewed, for which flushes wait.
    pub(super) fn next_to_renew(&self, role: Role, range: Range<u64>) -> Option<Range<u64>> {
        let run = self.0.get(role.index())?.to_renew.next_set(range.start)?;
        Some(run.start..run.end.min(range.end)).filter(|run| run.start < run.end)
    }

    /// Whether there is any such part.
    pub(super) fn has_to_renew(&self, role: Role) -> bool {
        self.0.get(role.index()).is_some_and(|account| !account.to_renew.is_empty())
    }

    /// Whether the member is to be renewed as a whole.
    pub(super) fn is_whole(&self, role: Role) -> bool {
        self.0.get(role.index()).is_some_and(|account| account.whole.is_some())
    }

    /// Whether it is, and a part of what it took since the start is among that: it had flushed
    /// nothing by then.
    pub(super) fn is_never_flushed(&self, role: Role) -> bool {
        self.0.get(role.index()).is_some_and(|account| account.whole == Some(Whole::NeverFlushed))
    }
}

fn written_by(io: MemberIo) -> Option<Range<u64>> {
    match io {
        MemberIo::Write { offset, span } => Some(offset..offset + u64::from(span.length)),
        MemberIo::Discard { offset, length } => Some(offset..offset + length),
        MemberIo::Read { .. } | MemberIo::Flush => None,
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;

    const MEMBER: u64 = 64 << 20;
    const REGION: u64 = REGION_BYTES_MIN;

    fn flushed() -> Account {
        let mut account = Account::new(MEMBER);
        account.flush_begins(EffectId(0));
        account.flush_is_done(EffectId(0));
        account
    }

    fn to_renew(account: &Account) -> Vec<Range<u64>> {
        let mut from = 0;
        core::iter::from_fn(|| {
            let run = account.to_renew.next_set(from)?;
            from = run.end;
            Some(run)
        })
        .collect()
    }

    #[test]
    fn what_is_written_or_being_flushed_is_to_be_renewed_and_what_was_flushed_is_not() {
        let mut account = flushed();
        account.written.insert(0..1);
        account.flush_begins(EffectId(1));
        account.written.insert(REGION..REGION + 1);
        account.flush_begins(EffectId(2));
        account.written.insert(5 * REGION..6 * REGION);
        account.flush_is_done(EffectId(1));
        account.flush_is_refused();
        assert_eq!(to_renew(&account), [REGION..2 * REGION, 5 * REGION..6 * REGION]);
        account.written.insert(9 * REGION..9 * REGION + 1);
        account.flush_is_refused();
        assert_eq!(to_renew(&account).len(), 3, "a second refusal adds to the first");
    }

    /// It was given to the drive before a flush that did not cover it, and the drive may have it
    /// when it refuses the next one.
    #[test]
    fn what_is_under_way_is_to_be_renewed() {
        let mut account = flushed();
        account.write_begins(EffectId(7), 3 * REGION..3 * REGION + 1);
        account.flush_begins(EffectId(8));
        account.flush_is_done(EffectId(8));
        account.flush_is_refused();
        assert_eq!(to_renew(&account), [3 * REGION..4 * REGION]);
        account.write_ended(EffectId(7), 3 * REGION..3 * REGION + 1);
        account.to_renew = no_regions(MEMBER);
        account.flush_is_refused();
        assert_eq!(to_renew(&account), [3 * REGION..4 * REGION], "it is written, and not flushed");
        account.to_renew = no_regions(MEMBER);
        account.flush_is_refused();
        assert_eq!(to_renew(&account), [], "it has ended");
    }

    #[test]
    fn a_flush_covers_those_before_it() {
        let mut account = flushed();
        for flush in 1..=2 * FLUSHES_MAX as u64 {
            account.written.insert(flush * REGION..flush * REGION + 1);
            account.flush_begins(EffectId(flush));
        }
        assert_eq!(account.being_flushed.len(), FLUSHES_MAX);
        account.flush_is_done(EffectId(FLUSHES_MAX as u64 - 1));
        account.flush_is_done(EffectId(2 * FLUSHES_MAX as u64 - 1));
        assert_eq!(account.being_flushed.len(), 1, "the last one is for all after it");
        account.flush_is_done(EffectId(2 * FLUSHES_MAX as u64));
        account.flush_is_refused();
        assert_eq!(to_renew(&account), []);
    }

    #[test]
    fn before_the_first_good_flush_nothing_is_known_to_be_durable() {
        let mut account = Account::new(MEMBER);
        account.flush_is_refused();
        assert_eq!((to_renew(&account), account.whole), (Vec::new(), Some(Whole::NeverFlushed)));
        account.written.insert(0..1);
        account.flush_is_refused();
        assert_eq!(to_renew(&account), [0..REGION], "what came later is known");
    }

    #[test]
    fn a_large_member_has_no_more_regions_than_a_small_one() {
        let Extent::Only(regions) = Extent::nothing(16 << 40) else { panic!("nothing is a set") };
        assert!(regions.region_count() <= REGIONS_MAX, "{}", regions.region_count());
    }
}
