//! Where every byte of an array lives: pure maps between array bytes and member bytes, for md's
//! levels and layouts.
//!
//! All positions and lengths are bytes. Member offsets count from the start of the member's data
//! area (md's `data_offset`), array offsets from the start of the content. The maps are facts of
//! md's format, from md(4) and the Linux drivers named in each level's module.
//!
//! What holds for every geometry, and is tested exhaustively for small ones:
//! * every array byte has as many places as the level keeps copies, each on another member;
//! * every member byte below [`Geometry::used_bytes`] has exactly one [`Home`], and
//!   [`Geometry::piece`] and [`Geometry::homes`] are each other's inverse;
//! * nothing lives at or above [`Geometry::used_bytes`].

mod copies;
mod linear;
mod mirror;
mod names;
mod parity;
mod raid0;
mod raid10;
mod shape;

use alloc::vec::Vec;
use core::ops::Range;

use crate::Role;
pub use copies::Copies;
use linear::Linear;
use mirror::Mirror;
pub use names::UnknownLayout;
use parity::Parity;
use raid0::Raid0;
use raid10::Raid10;
pub use shape::{Level, ParityLayout, Raid0Layout, Raid10Layout, Shape, ShapeError};

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

/// Where an array byte is among the rows of a parity level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The row.
    pub row: u64,
    /// Which of the row's data chunks, in array order: the index into [`Stripe::data`].
    pub index: usize,
    /// Bytes from the start of the chunk.
    pub within: u32,
}

/// Who does what in one row of a parity level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stripe {
    /// Roles of the data chunks in array order.
    pub data: Vec<Role>,
    /// Q exponent of each data chunk, in array order (all distinct); without Q, the chunk's index.
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

impl Stripe {
    /// A stripe without members, for [`Geometry::stripe_into`] to fill.
    pub fn empty() -> Self {
        Self { data: Vec::new(), exponents: Vec::new(), p: Role(0), q: None, member_offset: 0, offset: 0 }
    }
}

/// What a member byte is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// It holds this array byte; `copy` numbers the mirrors from 0, as [`Piece::copies`] does.
    Data {
        /// The array byte.
        offset: u64,
        /// Which of its copies.
        copy: u16,
    },
    /// It holds P of this row.
    P {
        /// The row.
        row: u64,
    },
    /// It holds Q of this row.
    Q {
        /// The row.
        row: u64,
    },
    /// Nothing: rounding, or the tail of a larger member.
    Unused,
}

/// The geometry of one array. See the methods.
///
/// Roles given to methods are below the member count; array offsets are below the capacity. Whoever
/// takes them from outside checks them first: the maps panic or answer nonsense for others.
#[derive(Clone, Debug)]
pub struct Geometry {
    shape: Shape,
    map: Map,
}

/// The maps of each level.
#[derive(Clone, Debug)]
enum Map {
    Linear(Linear),
    Raid0(Raid0),
    Mirror(Mirror),
    Parity(Parity),
    Raid10(Raid10),
}

impl Geometry {
    /// Checks the shape and works out the maps.
    pub fn new(shape: Shape) -> Result<Self, ShapeError> {
        shape.check()?;
        let map = match shape.level {
            Level::Linear => Map::Linear(Linear::new(&shape)),
            Level::Raid0(_) => Map::Raid0(Raid0::new(&shape)),
            Level::Raid1 => Map::Mirror(Mirror::new(&shape)),
            Level::Raid4 | Level::Raid5(_) | Level::Raid6(_) => Map::Parity(Parity::new(&shape)?),
            Level::Raid10(layout) => Map::Raid10(Raid10::new(&shape, layout)?),
        };
        Ok(Self { shape, map })
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// How many members the array has.
    pub fn member_count(&self) -> usize {
        self.shape.member_bytes.len()
    }

    /// Bytes of content.
    pub fn capacity_bytes(&self) -> u64 {
        match &self.map {
            Map::Linear(linear) => linear.capacity_bytes(),
            Map::Raid0(raid0) => raid0.capacity_bytes(),
            Map::Mirror(mirror) => mirror.capacity_bytes(),
            Map::Parity(parity) => parity.capacity_bytes(),
            Map::Raid10(raid10) => raid10.capacity_bytes(),
        }
    }

    /// How many members may be lost in any combination without losing data.
    pub fn redundancy(&self) -> usize {
        self.shape.level.redundancy(self.member_count())
    }

    /// The first piece of the array range `offset..offset+length` (levels without parity: all
    /// copies; parity levels: the data chunk). Pieces end at chunk boundaries, in linear at the end
    /// of a member, in RAID1 nowhere.
    pub fn piece(&self, offset: u64, length: u64) -> Piece {
        debug_assert!(offset < self.capacity_bytes(), "array offset {offset} is beyond the array");
        match &self.map {
            Map::Linear(linear) => linear.piece(offset, length),
            Map::Raid0(raid0) => raid0.piece(offset, length),
            Map::Mirror(mirror) => mirror.piece(offset, length),
            Map::Parity(parity) => parity.piece(offset, length),
            Map::Raid10(raid10) => raid10.piece(offset, length),
        }
    }

    /// All pieces of the array range `offset..offset+length`, ascending and without gaps.
    pub fn pieces(&self, offset: u64, length: u64) -> impl Iterator<Item = Piece> + '_ {
        let end = offset + length;
        let mut next = offset;
        core::iter::from_fn(move || {
            (next < end).then(|| {
                let piece = self.piece(next, end - next);
                next += piece.length;
                piece
            })
        })
    }

    /// Parity levels: the row of this number.
    pub fn stripe(&self, row: u64) -> Option<Stripe> {
        let mut stripe = Stripe::empty();
        self.stripe_into(row, &mut stripe).then_some(stripe)
    }

    /// As [`Geometry::stripe`], into a stripe that is used again and again. False if there is no
    /// such row.
    pub fn stripe_into(&self, row: u64, stripe: &mut Stripe) -> bool {
        let Map::Parity(parity) = &self.map else { return false };
        if row >= parity.rows() {
            return false;
        }
        parity.fill_stripe(row, stripe);
        true
    }

    /// Parity levels: the number of rows. Others: 0.
    pub fn rows(&self) -> u64 {
        match &self.map {
            Map::Parity(parity) => parity.rows(),
            _ => 0,
        }
    }

    /// Parity levels: how many chunks of a row hold data. Others: 0.
    pub fn data_count(&self) -> usize {
        match &self.map {
            Map::Parity(parity) => parity.data_count(),
            _ => 0,
        }
    }

    /// Parity levels: where an array byte is.
    pub fn position(&self, offset: u64) -> Option<Position> {
        match &self.map {
            Map::Parity(parity) => Some(parity.position(offset)),
            _ => None,
        }
    }

    /// What the byte at `member_offset` of a member is for.
    pub fn home(&self, role: Role, member_offset: u64) -> Home {
        self.homes(role, member_offset, 1).0
    }

    /// What the bytes from `member_offset` of a member on are for, and for how many bytes, at most
    /// `length`, that goes on: data then lies in ascending array bytes, parity in one row. Walks a
    /// member for rebuild and scrub.
    pub fn homes(&self, role: Role, member_offset: u64, length: u64) -> (Home, u64) {
        if member_offset >= self.used_bytes(role) {
            return (Home::Unused, length);
        }
        let (home, contiguous) = match &self.map {
            Map::Linear(linear) => linear.homes(role, member_offset),
            Map::Raid0(raid0) => raid0.homes(role, member_offset),
            Map::Mirror(mirror) => mirror.homes(role, member_offset),
            Map::Parity(parity) => parity.homes(role, member_offset),
            Map::Raid10(raid10) => raid10.homes(role, member_offset),
        };
        (home, contiguous.min(length))
    }

    /// Bytes of a member's data area that the array uses.
    pub fn used_bytes(&self, role: Role) -> u64 {
        match &self.map {
            Map::Linear(linear) => linear.used_bytes(role),
            Map::Raid0(_) => {
                let member_bytes = self.shape.member_bytes[role.index()];
                member_bytes - member_bytes % u64::from(self.shape.chunk_bytes)
            }
            Map::Mirror(mirror) => mirror.capacity_bytes(),
            Map::Parity(parity) => parity.used_bytes(),
            Map::Raid10(raid10) => raid10.used_bytes(),
        }
    }

    /// What a resync goes over, as md counts it in `resync_offset` and in bitmaps: bytes of a
    /// member's data area for RAID1 and the parity levels, array bytes for RAID10; nothing for
    /// levels without redundancy.
    pub fn sync_bytes(&self) -> u64 {
        match &self.map {
            Map::Linear(_) | Map::Raid0(_) => 0,
            Map::Mirror(_) | Map::Raid10(_) => self.capacity_bytes(),
            Map::Parity(parity) => parity.used_bytes(),
        }
    }

    /// The sync bytes whose parity or copies a write of this array range concerns; of a parity
    /// level's range that spans chunks, whole rows.
    pub fn sync_range(&self, offset: u64, length: u64) -> Range<u64> {
        match &self.map {
            Map::Linear(_) | Map::Raid0(_) => 0..0,
            Map::Mirror(_) | Map::Raid10(_) => offset..offset + length,
            Map::Parity(parity) => parity.sync_range(offset, length),
        }
    }
}
