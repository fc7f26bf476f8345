//! Where every byte of an array lives: pure maps between array bytes and member bytes, for md's levels and layouts.
//!
//! Member offsets are bytes from the start of the member's data area (md's `data_offset`).

use crate::Role;
use alloc::vec::Vec;

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
    /// Far copies rotate within sets of `near * far` members (md's bit 17 value 2), not among all members.
    pub far_sets: bool,
}

/// What defines an array's geometry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Level and layout.
    pub level: Level,
    /// Chunk in bytes: a power of two of at least 4 KiB; ignored by RAID1; for linear 0 or the rounding of member sizes.
    pub chunk_bytes: u32,
    /// Bytes of each member's data area, in role order. Levels other than linear and RAID0 use the smallest of all
    /// (rounded down to the chunk).
    pub member_bytes: Vec<u64>,
}

/// Why a shape is no array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShapeError {
    /// The level needs at least this many members.
    TooFewMembers { needed: usize, given: usize },
    /// More members than md's format can name.
    TooManyMembers { limit: usize, given: usize },
    /// The chunk is no power of two of 4 KiB or more.
    Chunk { chunk_bytes: u32 },
    /// This member has no room for a chunk.
    MemberTooSmall { role: Role, member_bytes: u64 },
    /// The layout does not exist for this level, or not for this number of members.
    Layout,
}

/// A piece of an array range that lies contiguously on one member (or on each of several mirrors).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First array byte of the piece.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// Where it is: every place holds the same bytes.
    pub copies: Copies,
}

/// The places of a piece: (role, member offset), at least one.
pub type Copies = Vec<(Role, u64)>;

/// Who does what in one row of a parity level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stripe {
    /// Roles of the data chunks in array order.
    pub data: Vec<Role>,
    /// Q exponent of each data chunk, in array order (all distinct).
    pub exponents: Vec<u16>,
    /// P's role.
    pub p: Role,
    /// Q's role (RAID6).
    pub q: Option<Role>,
    /// First byte of the row on every member.
    pub member_offset: u64,
    /// First array byte of the row.
    pub offset: u64,
}

/// What a member byte is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// It holds this array byte; `copy` numbers the mirrors from 0.
    Data { offset: u64, copy: u16 },
    /// It holds P of this row.
    P { row: u64 },
    /// It holds Q of this row.
    Q { row: u64 },
    /// Nothing: rounding, or the tail of a larger member.
    Unused,
}

/// The geometry of one array. See the methods.
#[derive(Clone, Debug)]
pub struct Geometry {
    shape: Shape,
}

impl Geometry {
    /// Checks the shape and works out the maps.
    pub fn new(shape: Shape) -> Result<Self, ShapeError> {
        Ok(Self { shape })
    }
    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
    /// Bytes of content.
    pub fn capacity_bytes(&self) -> u64 {
        todo!()
    }
    /// How many members may be lost in any combination without losing data (RAID0, linear 0; RAID5 1; RAID6 2;
    /// RAID1 n-1; RAID10 copies-1).
    pub fn redundancy(&self) -> usize {
        todo!()
    }
    /// The first piece of the array range `offset..offset+length` (levels without parity: all copies; parity levels:
    /// the data chunk).
    pub fn piece(&self, _offset: u64, _length: u64) -> Piece {
        todo!()
    }
    /// Parity levels: the row of this number.
    pub fn stripe(&self, _row: u64) -> Option<Stripe> {
        todo!()
    }
    /// Parity levels: the number of rows.
    pub fn rows(&self) -> u64 {
        todo!()
    }
    /// What the byte at `member_offset` of a member is for.
    pub fn home(&self, _role: Role, _member_offset: u64) -> Home {
        todo!()
    }
    /// Bytes of a member's data area that the array uses.
    pub fn used_bytes(&self, _role: Role) -> u64 {
        todo!()
    }
}
