//! How the arrays inside one stand to what is remembered of each, and why they should not be
//! joined.

use std::collections::BTreeSet;

use shoal_md::Uuid;

use crate::book::Book;
use crate::table::{Acquaintance, History};

use super::{Basis, Doubt, Found, Known, Run};

/// How the members that were found stand to what is remembered. An array of arrays is as old as the
/// oldest of those inside, so these are held against each other ([`Standing::is_mixed`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// All are there, as they were seen last; or nothing is remembered.
    #[default]
    Whole,
    /// As they were seen last, and some with data are missing: members, or who had a place that is
    /// vacant since.
    Lacking {
        /// How many.
        missing: usize,
        /// Of how many.
        members: usize,
    },
    /// As they were seen last; and a former member is there that was changed apart from them.
    Apart {
        /// Its drive.
        drive: String,
    },
    /// Another host has run them since.
    GoneOn,
}

impl Standing {
    /// That of the members of one array.
    pub fn of(book: Option<&Book>, found: &[Found]) -> Self {
        book.map_or(Self::Whole, |book| Known { book, found }.standing())
    }

    /// Why arrays should not be joined of which one was run elsewhere, and one lacks members, or
    /// has one that went its own way: what that array became there may be on those.
    pub fn is_mixed(standings: &[(Uuid, Self)]) -> Option<(Uuid, Doubt)> {
        let has_gone_on = standings.iter().any(|(_, standing)| *standing == Self::GoneOn);
        standings.iter().filter(|_| has_gone_on).find_map(|(array, standing)| match standing.clone() {
            Self::Lacking { missing, members } => {
                Some((*array, Doubt::Degraded { missing, members, run: Run::ElsewhereSince }))
            }
            Self::Apart { drive } => Some((*array, Doubt::Apart { drive })),
            Self::Whole | Self::GoneOn => None,
        })
    }
}

impl Known<'_> {
    fn standing(&self) -> Standing {
        let all: Vec<_> = (0..self.found.len()).collect();
        let vacant = self.vacant_places();
        let missing = self.absent(&all).len() + vacant.len();
        let members = self.book.members().iter().filter(|member| member.role.is_some()).count();
        let apart = all.iter().find(|index| self.acquaintance(**index) == Acquaintance::Left);
        match (self.basis(&all), apart) {
            (Some(Basis { history: History::GoneOn, .. }), _) => Standing::GoneOn,
            (_, Some(&index)) => Standing::Apart { drive: self.drive(index) },
            _ if missing > 0 => Standing::Lacking { missing, members: members + vacant.len() },
            _ => Standing::Whole,
        }
    }

    /// Places that no member has, of which somebody who had one is not there: on another host the
    /// array may go on with that one.
    fn vacant_places(&self) -> BTreeSet<u16> {
        let is_taken = |role: &u16| self.book.members().iter().any(|member| member.role == Some(*role));
        let is_here = |uuid| (0..self.found.len()).any(|index| self.uuid(index) == uuid);
        let gone = self.book.left().iter().filter(|left| !is_here(left.member.uuid));
        gone.filter_map(|left| left.member.role).filter(|role| !is_taken(role)).collect()
    }
}
