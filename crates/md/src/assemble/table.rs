//! What becomes of a candidate: one table, read by [`decide`] and by its test, which wants exactly
//! one row for everything that can be.

use shoal_array::Role;

use super::Verdict;
use crate::place::SECTOR_BYTES;
use crate::superblock::MemberUse;
use crate::{Features, Superblock};

/// How many updates a candidate is behind the freshest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freshness {
    /// None.
    Current,
    /// One: power was cut while the superblocks were written, after those of others. No write was
    /// acknowledged since.
    OneBehind,
    /// More.
    Stale,
}

impl Freshness {
    /// By the numbers of updates that both have seen.
    fn of(freshest_events: u64, events: u64) -> Self {
        match freshest_events.saturating_sub(events) {
            0 => Self::Current,
            1 => Self::OneBehind,
            _ => Self::Stale,
        }
    }
}

/// What the freshest table says of the candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed {
    Active,
    Spare,
    Faulty,
    Journal,
    Unknown,
}

/// What its own table says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Own {
    Same,
    Spare,
    /// Something else, and the freshest one is a member.
    Earlier,
    /// Something else, and the freshest one is no member.
    Apart,
}

/// What its feature bits say of its data; the first that applies. (A bad-block log with entries
/// changes nothing here: it is the member's, and its other blocks are good.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// It is to replace another member, and holds that one's data up to its recovery offset.
    Replacing,
    /// It is to replace another member, and holds all of that one's data.
    Replaced,
    /// It was away, and what it missed is being copied as the bitmap says.
    RecoveryBitmap,
    /// It is being rebuilt.
    Recovering,
    None,
}

/// What is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    InSync,
    /// From its recovery offset on.
    RebuildOn,
    /// From its recovery offset on, what the bitmap says.
    RebuildByBitmap,
    /// From the start.
    RebuildAnew,
    Spare,
    Faulty,
    Stale,
    Journal,
    /// From its recovery offset on.
    ReplaceOn,
    /// All is copied; the other one is to leave.
    ReplaceDone,
    Unusable,
    /// Both tables are as fresh and cannot both be true: the array was run in two halves.
    Conflict,
}

/// A row matches if every list contains the case's value; an empty list contains all.
struct Row {
    listed: &'static [Listed],
    freshness: &'static [Freshness],
    own: &'static [Own],
    mark: &'static [Mark],
    decision: Decision,
}

const ANY_MARK: &[Mark] = &[];

#[rustfmt::skip]
const TABLE: &[Row] = {
    use Decision as D;
    use Freshness::{Current, OneBehind, Stale};
    use Listed as L;
    use Mark as M;
    use Own as O;
    const RECENT: &[Freshness] = &[Current, OneBehind];
    const OTHER: &[Own] = &[O::Earlier, O::Apart];
    &[
        // It has a role, and both tables say so.
        Row { listed: &[L::Active], freshness: RECENT, own: &[O::Same], mark: &[M::None], decision: D::InSync },
        Row { listed: &[L::Active], freshness: RECENT, own: &[O::Same], mark: &[M::Recovering], decision: D::RebuildOn },
        Row { listed: &[L::Active], freshness: RECENT, own: &[O::Same], mark: &[M::RecoveryBitmap], decision: D::RebuildByBitmap },
        Row { listed: &[L::Active], freshness: RECENT, own: &[O::Same], mark: &[M::Replacing], decision: D::ReplaceOn },
        Row { listed: &[L::Active], freshness: RECENT, own: &[O::Same], mark: &[M::Replaced], decision: D::ReplaceDone },
        // It was a spare, and its superblock was not written any more when it got its role. One
        // that was made a spare in an update that was cut short is as fresh as the next one, as
        // spares elect nobody. It holds nothing in either case.
        Row { listed: &[L::Active], freshness: RECENT, own: &[O::Spare], mark: ANY_MARK, decision: D::RebuildAnew },
        // Its number was given to another one.
        Row { listed: &[L::Active], freshness: &[OneBehind], own: OTHER, mark: ANY_MARK, decision: D::Stale },
        Row { listed: &[L::Active], freshness: &[Current], own: OTHER, mark: ANY_MARK, decision: D::Conflict },
        // Old data.
        Row { listed: &[L::Active], freshness: &[Stale], own: &[], mark: ANY_MARK, decision: D::Stale },
        // Spares hold no data that could be old.
        Row { listed: &[L::Spare], freshness: &[], own: &[O::Same, O::Spare], mark: ANY_MARK, decision: D::Spare },
        // It had a role when it was last seen, and the array has gone on without it.
        Row { listed: &[L::Spare], freshness: &[OneBehind, Stale], own: OTHER, mark: ANY_MARK, decision: D::Stale },
        Row { listed: &[L::Spare], freshness: &[Current], own: &[O::Earlier], mark: ANY_MARK, decision: D::Stale },
        Row { listed: &[L::Spare], freshness: &[Current], own: &[O::Apart], mark: ANY_MARK, decision: D::Conflict },
        // The others saw it fail. It is as fresh if it had the update before theirs, which was cut
        // short on its way to them, and they were started without it then.
        Row { listed: &[L::Faulty], freshness: &[OneBehind, Stale], own: &[], mark: ANY_MARK, decision: D::Faulty },
        Row { listed: &[L::Faulty], freshness: &[Current], own: &[O::Same, O::Earlier], mark: ANY_MARK, decision: D::Faulty },
        Row { listed: &[L::Faulty], freshness: &[Current], own: &[O::Spare, O::Apart], mark: ANY_MARK, decision: D::Conflict },
        // A journal counts only if it has seen every update that a member would need to have seen.
        Row { listed: &[L::Journal], freshness: RECENT, own: &[O::Same], mark: ANY_MARK, decision: D::Journal },
        Row { listed: &[L::Journal], freshness: &[Stale], own: &[], mark: ANY_MARK, decision: D::Stale },
        Row { listed: &[L::Journal], freshness: &[OneBehind], own: &[O::Spare, O::Earlier, O::Apart], mark: ANY_MARK, decision: D::Stale },
        // A spare that was not there when its number was given to the journal; spares elect nobody,
        // so it may be as fresh.
        Row { listed: &[L::Journal], freshness: &[Current], own: &[O::Spare], mark: ANY_MARK, decision: D::Stale },
        Row { listed: &[L::Journal], freshness: &[Current], own: OTHER, mark: ANY_MARK, decision: D::Conflict },
        // A role that the array does not have, or a number that means nothing.
        Row { listed: &[L::Unknown], freshness: &[], own: &[], mark: ANY_MARK, decision: D::Unusable },
    ]
};

impl Row {
    fn matches(&self, case: Case) -> bool {
        fn contains<T: PartialEq>(list: &[T], value: &T) -> bool {
            list.is_empty() || list.contains(value)
        }
        contains(self.listed, &case.listed)
            && contains(self.freshness, &case.freshness)
            && contains(self.own, &case.own)
            && contains(self.mark, &case.mark)
    }
}

#[derive(Clone, Copy, Debug)]
struct Case {
    listed: Listed,
    freshness: Freshness,
    own: Own,
    mark: Mark,
}

impl Case {
    fn decision(self) -> Decision {
        TABLE.iter().find(|row| row.matches(self)).expect("the table has a row for every case").decision
    }
}

/// Decides about the candidate with the superblock `own`; none if it cannot be true together with
/// the freshest one.
pub(super) fn decide(freshest: &Superblock, own: &Superblock) -> Option<Verdict> {
    let listed = freshest.member_use(own.dev_number);
    let case = Case {
        listed: match listed {
            MemberUse::Active(_) => Listed::Active,
            MemberUse::Spare => Listed::Spare,
            MemberUse::Faulty => Listed::Faulty,
            MemberUse::Journal => Listed::Journal,
            MemberUse::Unknown(_) => Listed::Unknown,
        },
        freshness: Freshness::of(freshest.events, own.events),
        own: match own.own_use() {
            same if same == listed => Own::Same,
            MemberUse::Spare => Own::Spare,
            _ if matches!(own.member_use(freshest.dev_number), MemberUse::Active(_)) => Own::Earlier,
            _ => Own::Apart,
        },
        mark: mark(own.features),
    };
    let role = if let MemberUse::Active(role) = listed { role } else { Role(0) };
    let position_bytes = own.recovery_offset_sectors.min(own.data_size_sectors) * SECTOR_BYTES;
    let rebuilding = |position_bytes, by_bitmap| Verdict::Rebuilding { role, position_bytes, by_bitmap };
    Some(match case.decision() {
        Decision::InSync => Verdict::InSync(role),
        Decision::RebuildOn => rebuilding(position_bytes, false),
        Decision::RebuildByBitmap => rebuilding(position_bytes, true),
        Decision::RebuildAnew => rebuilding(0, false),
        Decision::Spare => Verdict::Spare,
        Decision::Faulty => Verdict::Faulty,
        Decision::Stale => Verdict::Stale { updates_missed: freshest.events.saturating_sub(own.events) },
        Decision::Journal => Verdict::Journal,
        Decision::ReplaceOn => Verdict::Replacement { role, position_bytes },
        Decision::ReplaceDone => Verdict::Replacement { role, position_bytes: own.data_size_sectors * SECTOR_BYTES },
        Decision::Unusable => Verdict::Unusable,
        Decision::Conflict => return None,
    })
}

fn mark(features: Features) -> Mark {
    let has = |feature| features.any_of(feature);
    match (has(Features::REPLACEMENT), has(Features::RECOVERY_OFFSET)) {
        (true, true) => Mark::Replacing,
        (true, false) => Mark::Replaced,
        (false, true) if has(Features::RECOVERY_BITMAP) => Mark::RecoveryBitmap,
        (false, true) => Mark::Recovering,
        (false, false) => Mark::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: [Listed; 5] = [Listed::Active, Listed::Spare, Listed::Faulty, Listed::Journal, Listed::Unknown];
    const FRESHNESS: [Freshness; 3] = [Freshness::Current, Freshness::OneBehind, Freshness::Stale];
    const OWN: [Own; 4] = [Own::Same, Own::Spare, Own::Earlier, Own::Apart];
    const MARK: [Mark; 5] = [Mark::Replacing, Mark::Replaced, Mark::RecoveryBitmap, Mark::Recovering, Mark::None];

    fn cases() -> impl Iterator<Item = Case> {
        LISTED.into_iter().flat_map(|listed| {
            FRESHNESS.into_iter().flat_map(move |freshness| {
                OWN.into_iter()
                    .flat_map(move |own| MARK.into_iter().map(move |mark| Case { listed, freshness, own, mark }))
            })
        })
    }

    #[test]
    fn exactly_one_row_matches_every_case() {
        for case in cases() {
            let matching = TABLE.iter().filter(|row| row.matches(case)).count();
            assert_eq!(matching, 1, "{case:?}");
        }
    }

    #[test]
    fn every_row_is_needed() {
        for (number, row) in TABLE.iter().enumerate() {
            assert!(cases().any(|case| row.matches(case)), "row {number} matches nothing");
        }
    }

    #[test]
    fn nobody_with_old_data_is_taken_for_in_sync() {
        for case in cases().filter(|case| case.decision() == Decision::InSync) {
            assert_ne!(case.freshness, Freshness::Stale, "{case:?}");
            assert_eq!((case.listed, case.own, case.mark), (Listed::Active, Own::Same, Mark::None), "{case:?}");
        }
    }
}
