//! Linux md's on-disk format, version 1.x: bytes to types and back.
//!
//! An array that the kernel could run carries the bytes that mdadm would have written, both ways.
//! The crate performs no I/O and knows no clock and no randomness: bytes, times and UUIDs come in
//! as arguments, superblocks go out.
//!
//! * [`MinorVersion`] says where on a drive a superblock lies; [`Unverified::parse`], then
//!   [`Unverified::verify`] make a [`Superblock`] of the bytes found there, and
//!   [`Superblock::encode`] makes bytes of it again;
//! * [`BitmapHeader`] and [`Bitmap`] do the same for the write-intent bitmap beside it,
//!   [`BadBlockList`] for the list of sectors that hold no data;
//! * [`plan_creation`] makes the superblocks of a new array;
//! * [`assemble()`] puts the members of an array together, in whatever order they come;
//! * [`Membership`] brings the superblocks of a running array up to date: members fail, are added
//!   and rebuilt.
//!
//! Nothing that a drive says is trusted: sizes are checked before they are multiplied, and no field
//! decides how much memory is taken.
//!
//! ```
//! use shoal_array::{Level, Role};
//! use shoal_md::{Candidate, ConsistencyPolicy, CreateRequest, MinorVersion, NewMember, Timestamp, Unverified, Uuid, Verdict};
//!
//! const DRIVE_BYTES: u64 = 64 << 20;
//! let member = |number: u8| NewMember {
//!     drive: format!("stick {number}"),
//!     size_bytes: DRIVE_BYTES,
//!     uuid: Uuid([number; 16]),
//! };
//! let creation = shoal_md::plan_creation(&CreateRequest {
//!     minor: MinorVersion::Start4K,
//!     level: Level::Raid1,
//!     chunk_bytes: None,
//!     members: vec![member(1), member(2)],
//!     spares: Vec::new(),
//!     name: "pond".to_owned(),
//!     homehost: None,
//!     array_uuid: Uuid([9; 16]),
//!     creation_time: Timestamp::from_seconds(1_700_000_000),
//!     clean: true,
//!     consistency: ConsistencyPolicy::Resync,
//! })?;
//!
//! // What would be written to the drives, and read back from them, in another order.
//! let mut candidates = Vec::new();
//! for superblock in creation.superblocks.iter().rev() {
//!     let bytes = superblock.encode();
//!     let superblock = Unverified::parse(&bytes)?.verify(MinorVersion::Start4K, DRIVE_BYTES)?;
//!     candidates.push(Candidate { drive: format!("drive {}", candidates.len()), superblock });
//! }
//! let assembly = shoal_md::assemble(&candidates)?;
//! assert_eq!(assembly.verdicts, [Verdict::InSync(Role(1)), Verdict::InSync(Role(0))]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may fail by panic"))]

mod area;
mod assemble;
mod bad_blocks;
mod bitmap;
mod create;
mod features;
mod field;
mod journal;
mod level;
mod limits;
mod membership;
mod place;
mod ppl;
mod recovery;
mod superblock;
mod timestamp;
mod uuid;

pub use area::Area;
pub use assemble::{
    AssembleError, Assembly, Candidate, ReadOnlyReason, RefusalReason, Replacement, ShapeUnknown, Slot, Verdict,
    assemble, counts_on, group_by_array,
};
pub use bad_blocks::{BadBlockList, BadBlocksError};
pub use bitmap::{BITMAP_HEADER_BYTES, BITMAP_PAGE_BYTES, Bitmap, BitmapError, BitmapHeader, BitmapRefusal, Distrust};
pub use create::{ConsistencyPolicy, CreateError, CreateRequest, Creation, NameError, NewMember, plan_creation};
pub use features::Features;
pub use journal::{
    DataBlock, JOURNAL_BLOCK_BYTES, Journal, JournalBlock, JournalEnd, JournalError, JournalIo, RowBlock,
    replay_journal,
};
pub use level::{DiskLevel, LevelError, level_name};
pub use limits::{BAD_BLOCK_LOG_LIMIT_SECTORS, BITMAP_LIMIT_BYTES, JOURNAL_PENDING_LIMIT, PPL_WRITE_BYTES_MAX};
pub use membership::{
    AddError, MemberNumber, Membership, NotAMember, ReAddError, ReAddProblem, Readmission, RemoveError, ReshapeTarget,
    SinceItLeft, in_one_voice,
};
pub use place::{MetadataVersion, MinorVersion, SECTOR_BYTES};
pub use ppl::{
    PPL_ENTRIES_MAX, PPL_HEADER_BYTES, PplEntry, PplEntryError, PplError, PplHeader, PplRun, PplWrite, newest_ppl,
};
pub use recovery::{Choice, Proposal, propose};
pub use superblock::{BadBlockLog, MemberUse, Reshape, SUPERBLOCK_BYTES, Superblock, SuperblockError, Unverified};
pub use timestamp::Timestamp;
pub use uuid::{ParseUuidError, Uuid};
