//! Linux md's on-disk format, version 1.x: bytes to types and back.
//!
//! An array that the kernel could run carries the bytes that mdadm would have written, both ways. The crate performs no
//! I/O and knows no clock and no randomness: bytes, times and UUIDs come in as arguments, superblocks go out.
//!
//! * [`MinorVersion`] says where on a drive a superblock lies; [`Unverified::parse`], then [`Unverified::verify`] make
//!   a [`Superblock`] of the bytes found there, and [`Superblock::encode`] makes bytes of it again;
//! * [`plan_creation`] makes the superblocks of a new array;
//! * [`assemble`] puts the members of an array together, in whatever order they come;
//! * [`Membership`] brings the superblocks of a running array up to date: members fail, are added and rebuilt.
//!
//! Nothing that a drive says is trusted: sizes are checked before they are multiplied, and no field decides how much
//! memory is taken.
#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may fail by panic"))]

mod assemble;
mod create;
mod features;
mod field;
mod level;
mod membership;
mod place;
mod superblock;
mod timestamp;
mod uuid;

pub use assemble::{
    AssembleError, Assembly, Candidate, ReadOnlyReason, RefusalReason, ShapeUnknown, Slot, Verdict, assemble,
    group_by_array,
};
pub use create::{CreateError, CreateRequest, Creation, NewMember, plan_creation};
pub use features::Features;
pub use level::{DiskLevel, LevelError, level_name};
pub use membership::{AddError, Membership, NotAMember};
pub use place::{MinorVersion, SECTOR_BYTES};
pub use superblock::{BadBlockLog, MemberUse, Reshape, SUPERBLOCK_BYTES, Superblock, SuperblockError, Unverified};
pub use timestamp::Timestamp;
pub use uuid::{ParseUuidError, Uuid};
