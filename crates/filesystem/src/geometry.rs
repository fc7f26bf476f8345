//! What a file system has to know of the array below it.

/// How an array's content is dealt out to its members: the unit that goes to one of them before the
/// next one's turn, and how many units make a stripe, which parity arrays write whole without
/// reading anything first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripes {
    /// The chunk.
    pub chunk_bytes: u64,
    /// Chunks of data in a stripe.
    pub data_members: u64,
    /// Whether writing less than a stripe costs reading, for parity.
    pub has_parity: bool,
}

/// A level, as far as stripes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Members one after the other.
    Linear,
    /// Levels 4, 5 and 6, with one or two chunks of parity in a stripe, and level 0 without.
    Striped {
        /// How many.
        parity_members: u64,
    },
    /// Every member holds everything.
    Mirror,
    /// Level 10.
    StripedMirrors {
        /// Copies side by side. Far copies and offset ones lie in other rows, and take no part in
        /// this one.
        near_copies: u64,
    },
}

impl Stripes {
    /// The stripes of an array of `members`; none if content goes to one member until that is full,
    /// or to all alike.
    pub fn of(level: Level, chunk_bytes: u64, members: u64) -> Option<Self> {
        let data_members = match level {
            Level::Linear | Level::Mirror => return None,
            Level::Striped { parity_members } => members.checked_sub(parity_members)?,
            // As md tells it to the block layer (raid10.c, raid10_set_io_opt): where copies do not
            // divide the members a pattern begins anew only after all of them.
            Level::StripedMirrors { near_copies } if near_copies > 0 && members.is_multiple_of(near_copies) => {
                members / near_copies
            }
            Level::StripedMirrors { .. } => members,
        };
        let has_parity = matches!(level, Level::Striped { parity_members: 1.. });
        (chunk_bytes > 0 && data_members > 0).then_some(Self { chunk_bytes, data_members, has_parity })
    }

    /// The stripes of an array whose members are arrays themselves: groups that the outer level
    /// deals content out to.
    ///
    /// A turn of the outer level gives each group one outer chunk, which need not be a stripe of
    /// the group's; a stripe of the whole ends where both begin anew.
    pub fn nested(outer: Option<Self>, inner: Option<Self>) -> Option<Self> {
        let (Some(outer), Some(inner)) = (outer, inner) else { return outer.or(inner) };
        let chunk_bytes = outer.chunk_bytes.min(inner.chunk_bytes);
        let in_group_bytes = least_common_multiple(outer.chunk_bytes, inner.width_bytes())?;
        let width_bytes = in_group_bytes.checked_mul(outer.data_members)?;
        let data_members = width_bytes / chunk_bytes;
        Some(Self { chunk_bytes, data_members, has_parity: outer.has_parity || inner.has_parity })
    }

    /// All data of a stripe.
    pub fn width_bytes(&self) -> u64 {
        self.chunk_bytes.saturating_mul(self.data_members)
    }
}

/// An array whose members are arrays: where the outer one's data begin in the inner ones.
///
/// What is aligned in the outer array is aligned in the inner ones only if that is the beginning of
/// a stripe of theirs. Nothing that a file system is told can mend it: it is the same for every
/// place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nesting {
    /// Where the outer array's data begin.
    pub outer_offset_bytes: u64,
    /// Stripes of the inner arrays.
    pub inner: Option<Stripes>,
}

impl Nesting {
    /// Where content begins on the drives, if the inner arrays' data begin there at
    /// `inner_offset_bytes`; none if it begins at different places, in the midst of a stripe.
    pub fn data_offset_bytes(&self, inner_offset_bytes: u64) -> Option<u64> {
        let Some(inner) = self.inner else { return inner_offset_bytes.checked_add(self.outer_offset_bytes) };
        if self.cut_stripe_bytes().is_some() {
            return None;
        }
        let rows = self.outer_offset_bytes / inner.width_bytes();
        inner_offset_bytes.checked_add(rows.checked_mul(inner.chunk_bytes)?)
    }

    /// The inner stripe within which content begins.
    fn cut_stripe_bytes(&self) -> Option<u64> {
        let width_bytes = self.inner?.width_bytes();
        (!self.outer_offset_bytes.is_multiple_of(width_bytes)).then_some(width_bytes)
    }
}

/// An array as a file system's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// None for levels that have no stripes: linear and 1.
    pub stripes: Option<Stripes>,
    /// None if the members are drives, or if nobody knows.
    pub nesting: Option<Nesting>,
    /// What a member's flash erases at a time, the largest of the members'; none if nobody knows,
    /// and for disks.
    pub erase_unit_bytes: Option<u64>,
    /// Where content begins on the drives; what is aligned above is aligned on the drives only if
    /// this is. None if it is not known, or not one place.
    pub data_offset_bytes: Option<u64>,
    /// The smallest unit of I/O.
    pub logical_block_bytes: u32,
    /// All content.
    pub size_bytes: u64,
}

impl Geometry {
    /// Content that fills whole erase units on every member that it touches; none if no erase unit
    /// is known, or if the members' data do not begin at one, so that nothing above could be
    /// aligned.
    pub fn erase_stripe_bytes(&self) -> Option<u64> {
        let unit_bytes = self.erase_unit_bytes.filter(|&bytes| bytes > 0)?;
        if !self.data_offset_bytes?.is_multiple_of(unit_bytes) {
            return None;
        }
        let Some(stripes) = self.stripes else { return Some(unit_bytes) };
        let on_member = least_common_multiple(unit_bytes, stripes.chunk_bytes)?;
        on_member.checked_mul(stripes.data_members)
    }

    /// What large structures had best begin at, the best first: erase units of all members,
    /// stripes, chunks.
    pub fn alignments(&self) -> Vec<Alignment> {
        let erase = self.erase_stripe_bytes().map(|bytes| Alignment { bytes, of: AlignedTo::EraseUnits });
        let is_cut = self.nesting.is_some_and(|nesting| nesting.cut_stripe_bytes().is_some());
        let stripe =
            self.stripes.filter(|_| !is_cut).map(|it| Alignment { bytes: it.width_bytes(), of: AlignedTo::Stripes });
        let chunk = self.stripes.map(|it| Alignment { bytes: it.chunk_bytes, of: AlignedTo::Chunks });
        erase.into_iter().chain(stripe).chain(chunk).collect()
    }

    /// What is told of stripes that cannot be met.
    pub fn misnested(&self) -> Option<String> {
        let nesting = self.nesting?;
        let (offset, stripe) =
            (shoal_text::format_size(nesting.outer_offset_bytes), shoal_text::format_size(nesting.cut_stripe_bytes()?));
        Some(format!(
            "the outer array's data begin at {offset} in each inner array, within a stripe of {stripe}: what is written in whole stripes \
             is not whole on those; inner arrays with 2, 4 or 8 members of data would be met"
        ))
    }

    /// What is told of an erase unit that cannot be met.
    pub fn misaligned(&self) -> Option<String> {
        let unit_bytes = self.erase_unit_bytes.filter(|&bytes| bytes > 0)?;
        let unit = shoal_text::format_size(unit_bytes);
        match self.data_offset_bytes {
            Some(offset) if offset.is_multiple_of(unit_bytes) => None,
            None if self.misnested().is_some() => {
                Some(format!("so nothing is aligned to the drives' erase units of {unit} either"))
            }
            Some(offset) => Some(format!(
                "the members' data begin at {}, within an erase unit of {unit}: no file system on them can be aligned to those",
                shoal_text::format_size(offset),
            )),
            None => Some(format!(
                "where the members' data begin is not known, so nothing is aligned to their erase units of {unit}"
            )),
        }
    }
}

/// A distance at which large structures had best begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// The distance.
    pub bytes: u64,
    /// What lies that far apart.
    pub of: AlignedTo,
}

/// What an alignment follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlignedTo {
    /// Erase units of all members.
    EraseUnits,
    /// Stripes.
    Stripes,
    /// Chunks.
    Chunks,
}

impl std::fmt::Display for AlignedTo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::EraseUnits => "the erase units of all data members",
            Self::Stripes => "whole stripes",
            Self::Chunks => "chunks",
        })
    }
}

/// None if it does not fit.
pub(crate) fn least_common_multiple(left: u64, right: u64) -> Option<u64> {
    let (mut larger, mut smaller) = (left.max(right), left.min(right));
    if smaller == 0 {
        return None;
    }
    while smaller > 0 {
        (larger, smaller) = (smaller, larger % smaller);
    }
    (left / larger).checked_mul(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    const K: u64 = 1 << 10;

    #[test]
    fn data_members_are_counted_as_md_does() {
        let cases = [
            (Level::Striped { parity_members: 0 }, 4, Some(4)),
            (Level::Striped { parity_members: 1 }, 4, Some(3)),
            (Level::Striped { parity_members: 2 }, 6, Some(4)),
            (Level::StripedMirrors { near_copies: 2 }, 4, Some(2)),
            (Level::StripedMirrors { near_copies: 2 }, 5, Some(5)),
            (Level::StripedMirrors { near_copies: 1 }, 4, Some(4)),
            (Level::Mirror, 3, None),
            (Level::Linear, 3, None),
            (Level::Striped { parity_members: 2 }, 2, None),
            (Level::Striped { parity_members: 2 }, 1, None),
        ];
        for (level, members, expected) in cases {
            let stripes = Stripes::of(level, 64 * K, members);
            assert_eq!(stripes.map(|it| it.data_members), expected, "{level:?} of {members}");
        }
    }

    #[test]
    fn a_stripe_of_stripes_ends_where_both_begin_anew() {
        let raid0 = |chunk| Stripes::of(Level::Striped { parity_members: 0 }, chunk, 2);
        let raid5 = |chunk| Stripes::of(Level::Striped { parity_members: 1 }, chunk, 4);
        let equal = Stripes::nested(raid0(64 * K), raid5(64 * K)).expect("both have stripes");
        assert_eq!((equal.chunk_bytes, equal.width_bytes(), equal.has_parity), (64 * K, 384 * K, true));
        let whole = Stripes::nested(raid0(192 * K), raid5(64 * K)).expect("both have stripes");
        assert_eq!((whole.chunk_bytes, whole.width_bytes()), (64 * K, 384 * K));
        assert_eq!(Stripes::nested(None, raid5(64 * K)), raid5(64 * K), "mirrored groups");
    }

    #[test]
    fn erase_units_count_for_all_data_members_or_not_at_all() {
        let stripes = Stripes::of(Level::Striped { parity_members: 1 }, 64 * K, 4);
        let geometry = |data_offset_bytes| Geometry {
            stripes,
            nesting: None,
            erase_unit_bytes: Some(4096 * K),
            data_offset_bytes: Some(data_offset_bytes),
            logical_block_bytes: 512,
            size_bytes: 1 << 30,
        };
        assert_eq!(geometry(8192 * K).erase_stripe_bytes(), Some(3 * 4096 * K));
        assert_eq!(geometry(1024 * K).erase_stripe_bytes(), None);
        assert!(geometry(1024 * K).misaligned().expect("told").contains("1 MiB"));
        assert_eq!(geometry(8192 * K).misaligned(), None);
    }

    #[test]
    fn an_outer_array_begins_at_a_stripe_of_the_inner_ones_or_within_one() {
        let inner = |members| Stripes::of(Level::Striped { parity_members: 1 }, 64 * K, members);
        let nesting = |members| Nesting { outer_offset_bytes: 1024 * K, inner: inner(members) };
        assert_eq!(nesting(3).data_offset_bytes(2048 * K), Some((2048 + 512) * K));
        assert_eq!(nesting(5).data_offset_bytes(2048 * K), Some((2048 + 256) * K));
        assert_eq!(nesting(4).data_offset_bytes(2048 * K), None, "three chunks of data do not divide it");
        let geometry = |members: u64| Geometry {
            stripes: Stripes::nested(Stripes::of(Level::Striped { parity_members: 0 }, 64 * K, 2), inner(members)),
            nesting: Some(nesting(members)),
            erase_unit_bytes: Some(512 * K),
            data_offset_bytes: nesting(members).data_offset_bytes(1024 * K),
            logical_block_bytes: 512,
            size_bytes: 1 << 30,
        };
        assert_eq!((geometry(3).misnested(), geometry(3).misaligned()), (None, None));
        assert_eq!(geometry(3).alignments()[0].of, AlignedTo::EraseUnits);
        let told = geometry(4).misnested().expect("told");
        assert!(told.contains("begin at 1 MiB") && told.contains("stripe of 192 KiB"), "{told}");
        assert!(geometry(4).misaligned().expect("told too").contains("either"));
        assert_eq!(geometry(4).alignments().iter().map(|it| it.of).collect::<Vec<_>>(), [AlignedTo::Chunks]);
        let mirrors = Nesting { outer_offset_bytes: 1024 * K, inner: None };
        assert_eq!(mirrors.data_offset_bytes(2048 * K), Some(3072 * K));
    }

    #[test]
    fn multiples_that_do_not_fit_are_none() {
        assert_eq!(least_common_multiple(6, 4), Some(12));
        assert_eq!(least_common_multiple(0, 4), None);
        assert_eq!(least_common_multiple(u64::MAX, u64::MAX - 1), None);
    }
}
