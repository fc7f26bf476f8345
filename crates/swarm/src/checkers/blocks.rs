//! What each block of the content may hold, as far as anybody has touched it.

use std::collections::BTreeMap;

use super::content::Version;

/// What a block may hold: any of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct May {
    /// Something that is no version.
    pub(super) other: Option<Other>,
    pub(super) versions: Versions,
}

/// Some versions; most blocks have one or none, and there are many blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Versions {
    #[default]
    None,
    One(Version),
    /// Two at least.
    More(Vec<Version>),
}

impl Versions {
    pub(super) fn as_slice(&self) -> &[Version] {
        match self {
            Self::None => &[],
            Self::One(version) => std::slice::from_ref(version),
            Self::More(versions) => versions,
        }
    }

    pub(super) fn push(&mut self, version: Version) {
        match self {
            Self::None => *self = Self::One(version),
            Self::One(first) => *self = Self::More(vec![*first, version]),
            Self::More(versions) => versions.push(version),
        }
    }
}

impl FromIterator<Version> for Versions {
    fn from_iter<I: IntoIterator<Item = Version>>(versions: I) -> Self {
        let mut all = Self::None;
        versions.into_iter().for_each(|version| all.push(version));
        all
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Other {
    Anything,
    /// What it was seen to hold, by its digest.
    Digest(u64),
}

impl May {
    pub(super) const ANYTHING: Self = Self { other: Some(Other::Anything), versions: Versions::None };

    pub(super) fn is_settled(&self) -> bool {
        match self.other {
            None => matches!(self.versions, Versions::One(_)),
            Some(Other::Digest(_)) => self.versions == Versions::None,
            Some(Other::Anything) => false,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Block {
    /// What may be durable.
    pub(super) durable: May,
    /// Asked for, and not covered by a flush.
    pub(super) later: Vec<Version>,
    /// What was answered before this was asked for may be lost: it supersedes nothing. Zero where
    /// nothing is.
    pub(super) lost_before: Version,
}

impl Block {
    pub(super) fn untouched(are_zeros: bool) -> Self {
        let zeros = May { other: None, versions: Versions::One(0) };
        Self { durable: if are_zeros { zeros } else { May::ANYTHING }, later: Vec::new(), lost_before: 0 }
    }
}

/// All blocks, by number. There is room for more than anybody could touch.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    /// Those of which more is known than of all others.
    known: BTreeMap<usize, Block>,
    /// What all others are: up to such a number, from where the one before ends.
    others: Vec<(usize, Block)>,
}

impl Blocks {
    /// So many, of zeros or of anything.
    pub(super) fn new(count: usize, are_zeros: bool) -> Self {
        Self { known: BTreeMap::new(), others: vec![(count, Block::untouched(are_zeros))] }
    }

    /// There are so many by now, the new ones of zeros or of anything.
    pub(super) fn extend(&mut self, count: usize, by_zeros: bool) {
        self.others.push((count, Block::untouched(by_zeros)));
    }

    pub(super) fn count(&self) -> usize {
        self.others.last().map_or(0, |(end, _)| *end)
    }

    pub(super) fn at(&self, number: usize) -> &Block {
        self.known.get(&number).unwrap_or_else(|| self.other(number))
    }

    pub(super) fn at_mut(&mut self, number: usize) -> &mut Block {
        let other = self.other(number).clone();
        self.known.entry(number).or_insert(other)
    }

    fn other(&self, number: usize) -> &Block {
        let (_, other) = self.others.iter().find(|(end, _)| number < *end).expect("it is one of the content's");
        other
    }
}
