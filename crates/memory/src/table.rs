//! Who may take part: the table of the crate's documentation, as it is followed.

/// Who a drive is to this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acquaintance {
    /// It took part in the last update.
    Member,
    /// The same, and lacks an update that it had flushed.
    Lossy,
    /// It took part in the last update, and is a file that was cut short or deleted meanwhile.
    CutShort,
    /// It took part in the last update, and is on hardware that is not the member's; its superblock
    /// says that the array was closed in order.
    MovedAtRest,
    /// The same of one whose superblock does not say so.
    MovedInUse,
    /// It took part once, and has no more updates than it left with.
    Former,
    /// It took part once, and has updates that this host has not seen it get.
    Left,
    /// It was never seen, or is ahead of all that was seen on hardware that is not the member's.
    Stranger,
}

impl Acquaintance {
    /// Whether it is a member that may have lost what it held.
    pub(crate) fn is_spoilt(self) -> bool {
        matches!(self, Self::Lossy | Self::CutShort)
    }
}

/// What has become of the array since it was last seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum History {
    /// Nothing, as far as known members tell.
    AsSeen,
    /// A known member has updates that this host has not seen.
    GoneOn,
}

/// A drive's count of updates, held against that of the freshest known member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    Behind,
    Level,
    Ahead,
}

impl Count {
    /// Where an array has been run elsewhere a cut there may have left one member an update behind
    /// another.
    pub(crate) fn of(events: u64, freshest_known: u64, history: History) -> Self {
        let level = match history {
            History::AsSeen => freshest_known..=freshest_known,
            History::GoneOn => freshest_known..=freshest_known.saturating_add(1),
        };
        match events {
            _ if level.contains(&events) => Self::Level,
            _ if events < freshest_known => Self::Behind,
            _ => Self::Ahead,
        }
    }
}

/// What is done with a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// md judges it by its superblock.
    Take,
    LeaveOut,
    /// It may be a copy that lacks what was written after it was made.
    Doubt,
    /// It would win the election against what is known.
    Rival,
}

/// A row matches if every list contains the case's value; an empty list contains all.
struct Row {
    who: &'static [Acquaintance],
    history: &'static [History],
    count: &'static [Count],
    decision: Decision,
}

#[rustfmt::skip]
const TABLE: &[Row] = {
    use Acquaintance as A;
    use Count::{Ahead, Behind, Level};
    use Decision::{Doubt, LeaveOut, Rival, Take};
    use History::{AsSeen, GoneOn};
    &[
        Row { who: &[A::Member], history: &[], count: &[], decision: Take },
        // What else it has lost, nobody knows.
        Row { who: &[A::Lossy, A::CutShort], history: &[], count: &[], decision: LeaveOut },
        // A copy that was made at rest, or the member itself in another enclosure.
        Row { who: &[A::MovedAtRest], history: &[AsSeen], count: &[Level], decision: Take },
        Row { who: &[A::MovedAtRest], history: &[AsSeen], count: &[Behind, Ahead], decision: Doubt },
        Row { who: &[A::MovedAtRest], history: &[GoneOn], count: &[], decision: Doubt },
        // What was written since is on the member, and not on a copy of it.
        Row { who: &[A::MovedInUse], history: &[], count: &[], decision: Doubt },
        // The others have gone on without it: md finds it old, and its bitmap may bring it back. Or
        // they have not: that it left was announced and never written, so nothing was answered that
        // it lacks.
        Row { who: &[A::Former], history: &[], count: &[Behind, Level], decision: Take },
        Row { who: &[A::Left], history: &[AsSeen], count: &[Behind], decision: Take },
        // It left, so it cannot have got the last update: it was run alone.
        Row { who: &[A::Left], history: &[AsSeen], count: &[Level], decision: LeaveOut },
        // Nobody can have let it in without an update of the members that are known.
        Row { who: &[A::Stranger], history: &[AsSeen], count: &[Behind, Level], decision: LeaveOut },
        // Known members were run elsewhere, and their table says who belongs to them now.
        Row { who: &[A::Left, A::Stranger], history: &[GoneOn], count: &[Behind, Level], decision: Take },
        // The last update of the array, which was announced without it, has reached nobody who is
        // there; its own has the same count, and was given up: nothing was answered that relies on
        // it.
        Row { who: &[A::Former], history: &[AsSeen], count: &[Ahead], decision: LeaveOut },
        Row { who: &[A::Former], history: &[GoneOn], count: &[Ahead], decision: Rival },
        Row { who: &[A::Left, A::Stranger], history: &[], count: &[Ahead], decision: Rival },
    ]
};

impl Row {
    fn matches(&self, who: Acquaintance, history: History, count: Count) -> bool {
        fn contains<T: PartialEq>(list: &[T], value: &T) -> bool {
            list.is_empty() || list.contains(value)
        }
        contains(self.who, &who) && contains(self.history, &history) && contains(self.count, &count)
    }
}

/// What the table says.
pub(crate) fn decide(who: Acquaintance, history: History, count: Count) -> Decision {
    let row = TABLE.iter().find(|row| row.matches(who, history, count));
    row.expect("the table has a row for every case").decision
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases() -> impl Iterator<Item = (Acquaintance, History, Count)> {
        use Acquaintance::{CutShort, Former, Left, Lossy, Member, MovedAtRest, MovedInUse, Stranger};
        let who = [Member, Lossy, CutShort, MovedAtRest, MovedInUse, Former, Left, Stranger];
        who.into_iter().flat_map(|who| {
            [History::AsSeen, History::GoneOn].into_iter().flat_map(move |history| {
                [Count::Behind, Count::Level, Count::Ahead].into_iter().map(move |count| (who, history, count))
            })
        })
    }

    #[test]
    fn exactly_one_row_matches_every_case() {
        for (who, history, count) in cases() {
            let matching = TABLE.iter().filter(|row| row.matches(who, history, count)).count();
            assert_eq!(matching, 1, "{who:?} {history:?} {count:?}");
        }
    }

    #[test]
    fn every_row_is_needed() {
        for (number, row) in TABLE.iter().enumerate() {
            assert!(cases().any(|(who, history, count)| row.matches(who, history, count)), "row {number}");
        }
    }

    #[test]
    fn nobody_but_members_wins_and_no_stranger_joins_what_was_seen() {
        for (who, history, count) in
            cases().filter(|(who, ..)| matches!(who, Acquaintance::Left | Acquaintance::Stranger))
        {
            let decision = decide(who, history, count);
            assert!(count != Count::Ahead || decision == Decision::Rival, "{who:?} {history:?}");
            let joins = who == Acquaintance::Stranger && history == History::AsSeen && decision == Decision::Take;
            assert!(!joins, "{count:?}");
        }
    }

    #[test]
    fn other_hardware_is_taken_in_one_case() {
        let is_moved = |who| matches!(who, Acquaintance::MovedAtRest | Acquaintance::MovedInUse);
        for (who, history, count) in cases().filter(|(who, ..)| is_moved(*who)) {
            let is_good = (who, history, count) == (Acquaintance::MovedAtRest, History::AsSeen, Count::Level);
            let wanted = if is_good { Decision::Take } else { Decision::Doubt };
            assert_eq!(decide(who, history, count), wanted, "{who:?} {history:?} {count:?}");
        }
    }

    #[test]
    fn a_cut_elsewhere_leaves_members_one_update_apart() {
        assert_eq!(Count::of(8, 7, History::GoneOn), Count::Level);
        assert_eq!(Count::of(9, 7, History::GoneOn), Count::Ahead);
        assert_eq!(Count::of(8, 7, History::AsSeen), Count::Ahead);
        assert_eq!(Count::of(6, 7, History::AsSeen), Count::Behind);
        assert_eq!(Count::of(u64::MAX, u64::MAX, History::GoneOn), Count::Level);
    }
}
