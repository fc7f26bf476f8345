//! What defines a geometry, and why a shape is refused.

use alloc::vec::Vec;
use core::fmt;

use crate::Role;

/// md's levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Members one after the other.
    Linear,
    /// Striping; members of unequal size in zones.
    Raid0(Raid0Layout),
    /// Mirroring on all members.
    Raid1,
    /// Parity on the last member.
    Raid4,
    /// One rotating parity.
    Raid5(ParityLayout),
    /// Two rotating parities.
    Raid6(ParityLayout),
    /// Striped mirrors.
    Raid10(Raid10Layout),
}

impl Level {
    /// How many of `member_count` members may be lost in any combination without losing data
    /// (RAID0, linear 0; RAID4, RAID5 1; RAID6 2; RAID1 n-1; RAID10 copies-1).
    pub fn redundancy(self, member_count: usize) -> usize {
        match self {
            Self::Linear | Self::Raid0(_) => 0,
            Self::Raid1 => member_count.saturating_sub(1),
            Self::Raid4 | Self::Raid5(_) => 1,
            Self::Raid6(_) => 2,
            Self::Raid10(layout) => layout.copies() - 1,
        }
    }
}

/// How RAID0 counts chunks in its second and later zones (md layout field 1 and 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Raid0Layout {
    /// From the start of the array (Linux before 3.14 and since 5.4 by default).
    Original,
    /// From the start of the zone (Linux 3.14 to 5.3).
    Alternate,
}

/// Where RAID5 and RAID6 put parity and data; numbers as md's layout field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ParityLayout {
    /// 0
    LeftAsymmetric,
    /// 1
    RightAsymmetric,
    /// 2, md's default
    LeftSymmetric,
    /// 3
    RightSymmetric,
    /// 4
    ParityFirst,
    /// 5
    ParityLast,
    /// 8, RAID6 only: DDF
    DdfZeroRestart,
    /// 9, RAID6 only: DDF
    DdfNRestart,
    /// 10, RAID6 only: DDF
    DdfNContinue,
    /// 16, RAID6 only: RAID5's layout on all but the last member, Q on the last
    LeftAsymmetric6,
    /// 17
    RightAsymmetric6,
    /// 18
    LeftSymmetric6,
    /// 19
    RightSymmetric6,
    /// 20
    ParityFirst6,
}

/// RAID10's layout: `near` and `far` copies, far ones by `offset` or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Raid10Layout {
    /// Copies next to each other.
    pub near: u8,
    /// Copies far from each other (or in the next row, with `offset`).
    pub far: u8,
    /// Far copies lie one row on, not in the member's next section.
    pub offset: bool,
    /// Far copies rotate within sets of `near * far` members (md's bit 17 value 2), not among all
    /// members.
    pub far_sets: bool,
}

impl Raid10Layout {
    /// How often each byte is kept.
    pub fn copies(self) -> usize {
        usize::from(self.near) * usize::from(self.far)
    }
}

/// What defines an array's geometry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Level and layout.
    pub level: Level,
    /// Chunk in bytes: a power of two of at least 4 KiB; ignored by RAID1; for linear 0 or the
    /// rounding of member sizes.
    pub chunk_bytes: u32,
    /// Bytes of each member's data area, in role order. Levels other than linear and RAID0 use the
    /// smallest of all (rounded down to the chunk).
    pub member_bytes: Vec<u64>,
}

/// Most members that md's superblock has room to name.
pub(super) const MEMBERS_MAX: usize = 1920;

/// Most members of a RAID6: 2 generates 255 different coefficients, and the DDF layouts count every
/// role.
pub(super) const RAID6_MEMBERS_MAX: usize = 255;

/// Largest data area of a member, 8 PiB: sums over all members still fit 64 bits.
pub(super) const MEMBER_BYTES_MAX: u64 = 1 << 53;

/// Smallest chunk, and the unit of every chunk.
const CHUNK_BYTES_MIN: u32 = 4096;

/// md's unit: sizes of data areas are rounded down to it where no chunk does.
const SECTOR_BYTES: u64 = 512;

impl Shape {
    /// Checks what all levels have in common: numbers of members, their sizes, the chunk.
    pub(super) fn check(&self) -> Result<(), ShapeError> {
        let given = self.member_bytes.len();
        let needed = match self.level {
            Level::Linear | Level::Raid0(_) | Level::Raid1 => 1,
            Level::Raid4 | Level::Raid5(_) => 2,
            Level::Raid6(_) => 4,
            Level::Raid10(layout) => layout.copies().max(2),
        };
        if given < needed {
            return Err(ShapeError::TooFewMembers { needed, given });
        }
        let limit = if matches!(self.level, Level::Raid6(_)) { RAID6_MEMBERS_MAX } else { MEMBERS_MAX };
        if given > limit {
            return Err(ShapeError::TooManyMembers { limit, given });
        }
        let chunk_ignored = self.level == Level::Raid1 || (self.level == Level::Linear && self.chunk_bytes == 0);
        let chunk_is_good = self.chunk_bytes.is_power_of_two() && self.chunk_bytes >= CHUNK_BYTES_MIN;
        if !chunk_ignored && !chunk_is_good {
            return Err(ShapeError::Chunk { chunk_bytes: self.chunk_bytes });
        }
        for (role, &member_bytes) in (0..).map(Role).zip(&self.member_bytes) {
            if member_bytes < self.rounding_bytes() {
                return Err(ShapeError::MemberTooSmall { role, member_bytes });
            }
            if member_bytes > MEMBER_BYTES_MAX {
                return Err(ShapeError::MemberTooLarge { role, member_bytes });
            }
        }
        Ok(())
    }

    /// What sizes of data areas are rounded down to.
    fn rounding_bytes(&self) -> u64 {
        match self.level {
            Level::Raid1 => SECTOR_BYTES,
            Level::Linear if self.chunk_bytes == 0 => SECTOR_BYTES,
            _ => u64::from(self.chunk_bytes),
        }
    }

    /// Bytes of each member, rounded down, in role order.
    pub(super) fn rounded_member_bytes(&self) -> impl Iterator<Item = u64> {
        let rounding_bytes = self.rounding_bytes();
        self.member_bytes.iter().map(move |bytes| bytes - bytes % rounding_bytes)
    }

    /// Bytes of the smallest member, rounded down: what levels with members of one size use of
    /// each.
    pub(super) fn smallest_member_bytes(&self) -> u64 {
        self.rounded_member_bytes().min().unwrap_or(0)
    }

    /// The chunk as a power of two.
    pub(super) fn chunk_shift(&self) -> u32 {
        self.chunk_bytes.trailing_zeros()
    }
}

/// Why a shape is no array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShapeError {
    /// The level needs at least this many members.
    TooFewMembers {
        /// What it needs.
        needed: usize,
        /// What there is.
        given: usize,
    },
    /// More members than md's format can name.
    TooManyMembers {
        /// What the level can have.
        limit: usize,
        /// What there is.
        given: usize,
    },
    /// The chunk is no power of two of 4 KiB or more.
    Chunk {
        /// The chunk that was asked for.
        chunk_bytes: u32,
    },
    /// This member has no room for a chunk.
    MemberTooSmall {
        /// The first such member.
        role: Role,
        /// Its data area.
        member_bytes: u64,
    },
    /// This member is larger than 8 PiB.
    MemberTooLarge {
        /// The first such member.
        role: Role,
        /// Its data area.
        member_bytes: u64,
    },
    /// The layout does not exist for this level, or not for this number of members.
    Layout,
}

impl fmt::Display for ShapeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewMembers { needed, given } => {
                let are = if *given == 1 { "member is" } else { "members are" };
                write!(formatter, "{given} {are} too few: the level needs at least {needed}")
            }
            Self::TooManyMembers { limit, given } => {
                write!(formatter, "{given} members are too many: the level takes at most {limit}")
            }
            Self::Chunk { chunk_bytes } => {
                write!(formatter, "a chunk of {chunk_bytes} bytes does not work: give a power of two of 4 KiB or more")
            }
            Self::MemberTooSmall { role, member_bytes } => {
                write!(formatter, "member {} is too small: {member_bytes} bytes hold not even one chunk", role.0)
            }
            Self::MemberTooLarge { role, member_bytes } => {
                write!(formatter, "member {} is too large: {member_bytes} bytes are more than 8 PiB", role.0)
            }
            Self::Layout => {
                write!(formatter, "the layout does not exist for this level and number of members: choose another")
            }
        }
    }
}

impl core::error::Error for ShapeError {}
