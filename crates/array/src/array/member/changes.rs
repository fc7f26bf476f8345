//! The one table by which members' states change.

use crate::MemberState;

/// What makes a member's state change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::array) enum Change {
    /// It failed or was taken out.
    Fail,
    /// A fresh drive stands in its place, or a rebuild that had stopped starts again.
    Rebuild { position: u64 },
    /// The rebuild got on.
    Advance { position: u64 },
    /// The rebuild reached the end.
    Finish,
}

/// A state without its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    InSync,
    Rebuilding,
    Missing,
}

/// A change without its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Fail,
    Rebuild,
    Advance,
    Finish,
}

/// Every change there is. What is not listed does not happen.
const CHANGES: [(Kind, Cause, Kind); 6] = [
    (Kind::InSync, Cause::Fail, Kind::Missing),
    (Kind::Rebuilding, Cause::Fail, Kind::Missing),
    (Kind::Missing, Cause::Rebuild, Kind::Rebuilding),
    (Kind::Rebuilding, Cause::Rebuild, Kind::Rebuilding),
    (Kind::Rebuilding, Cause::Advance, Kind::Rebuilding),
    (Kind::Rebuilding, Cause::Finish, Kind::InSync),
];

pub(super) fn next(state: MemberState, change: Change) -> Option<MemberState> {
    let kind = match state {
        MemberState::InSync => Kind::InSync,
        MemberState::Rebuilding { .. } => Kind::Rebuilding,
        MemberState::Missing => Kind::Missing,
    };
    let (cause, position) = match change {
        Change::Fail => (Cause::Fail, 0),
        Change::Rebuild { position } => (Cause::Rebuild, position),
        Change::Advance { position } => (Cause::Advance, position),
        Change::Finish => (Cause::Finish, 0),
    };
    let (_, _, to) = CHANGES.iter().find(|(from, by, _)| (*from, *by) == (kind, cause))?;
    Some(match to {
        Kind::InSync => MemberState::InSync,
        Kind::Rebuilding => MemberState::Rebuilding { position },
        Kind::Missing => MemberState::Missing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_in_the_table_happens_and_no_other() {
        let states = [MemberState::InSync, MemberState::Rebuilding { position: 7 }, MemberState::Missing];
        let changes = [Change::Fail, Change::Rebuild { position: 1 }, Change::Advance { position: 9 }, Change::Finish];
        let allowed = states.iter().flat_map(|state| changes.map(|change| next(*state, change))).flatten().count();
        assert_eq!(allowed, CHANGES.len());
        assert_eq!(next(MemberState::InSync, Change::Finish), None);
        assert_eq!(next(MemberState::Missing, Change::Fail), None);
        assert_eq!(
            next(MemberState::Rebuilding { position: 7 }, Change::Advance { position: 9 }),
            Some(MemberState::Rebuilding { position: 9 })
        );
    }
}
