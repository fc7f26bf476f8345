//! Arrays that run: engine, members and event loop put together, behind one interface.
//!
//! * [`Volume`] is the interface upward: content that is read and written by requests.
//! * [`DriveVolume`] is a plain drive, [`DriveSet`] several at the same time, [`ArrayVolume`] an
//!   array in md's format, of drives or of arrays.
//! * [`World`] is the seam downward: drives, memory and a clock, real ([`RealWorld`]) or simulated
//!   ([`SimulatedWorld`]).
//! * [`transfer`] moves ranges of content to and from byte streams.
//!
//! A RAID5 array of three image files, written, closed, and read again without one of them:
//!
//! ```
//! use shoal_drive::{Access, Arena, Drive, IoLoop};
//! use shoal_volume::transfer::{read_to, write_from};
//! use shoal_volume::{
//!     ArrayLevel, ArrayVolume, BufferPlan, ConsistencyPolicy, CreateOptions, MinorVersion, OpenOptions, RealWorld,
//! };
//!
//! let directory = tempfile::tempdir()?;
//! let mut paths = Vec::new();
//! for name in ["one", "two", "three"] {
//!     let path = directory.path().join(name);
//!     std::fs::File::create(&path)?.set_len(8 << 20)?;
//!     paths.push(path);
//! }
//! let open = |paths: &[std::path::PathBuf], access| {
//!     let plan = BufferPlan::for_drives(paths.len(), 8, 1 << 20);
//!     let arena = plan.arena()?;
//!     let mut world = RealWorld::new(IoLoop::new(None, arena.clone(), 64)?, arena);
//!     let mut drives = Vec::new();
//!     for path in paths {
//!         drives.push(world.add_drive(Drive::open(path, access)?)?);
//!     }
//!     Ok::<_, Box<dyn std::error::Error>>((world, plan, drives))
//! };
//!
//! let create = CreateOptions {
//!     level: ArrayLevel::parse("5", None, 2)?,
//!     chunk_bytes: 64 << 10,
//!     spare_count: 0,
//!     name: "pond".to_owned(),
//!     homehost: None,
//!     drive_bytes_limit: None,
//!     assume_clean: true, // the files hold zeros
//!     metadata: MinorVersion::Start4K,
//!     consistency: ConsistencyPolicy::Resync,
//! };
//! let (world, plan, drives) = open(&paths, Access::Write)?;
//! let mut array = ArrayVolume::create(world, plan, &drives, &create, &OpenOptions::writable())?;
//! write_from(&mut array, 1_000_000, &mut &b"many small drives"[..])?;
//! array.close()?;
//!
//! let (world, plan, drives) = open(&paths[1..], Access::Read)?;
//! let mut array = ArrayVolume::open(world, plan, &drives, &OpenOptions::read_only())?;
//! let mut content = Vec::new();
//! read_to(&mut array, 1_000_000, 17, &mut content)?;
//! assert_eq!(content, b"many small drives");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may fail by panic"))]

mod array_volume;
mod assemble;
mod bad_blocks;
mod bitmap;
mod buffers;
mod compute;
mod content_map;
mod create;
mod drive_set;
mod drive_volume;
mod elevator;
mod fault;
mod frame;
mod grow;
mod homes;
mod inspect;
mod interface;
mod journal;
mod level;
mod limits;
mod manage;
mod manage_error;
mod memory;
mod namesake;
mod overlay;
mod ppl;
mod re_add;
mod rename;
mod rest;
mod simulated;
mod slab;
mod spare;
mod status;
mod superblocks;
mod survival;
pub mod transfer;
mod tree;
mod unflushed;
mod world;
mod write_back;

pub use array_volume::{ArrayVolume, Incomplete, News, OpenOptions};
pub use assemble::{Cause, LeftOut, OpenError, WayOut};
pub use bitmap::BitmapProblem;
pub use buffers::{BufferPlan, Stretches};
pub use content_map::ContentMap;
pub use create::{ArrayLevel, CreateError, CreateOptions, check_creation};
pub use drive_set::{DriveOfSet, DriveSet};
pub use drive_volume::DriveVolume;
pub use frame::{CountedOn, Frame};
pub use grow::{
    Absent, BitmapChange, DriveRequest, GrowError, GrowOptions, GrowProgress, GrowRefusal, Grown, check_growth,
    continue_reshape, grow,
};
pub use inspect::{Believed, Inspected, believe, inspect, inspect_remembered, superblock_in_content};
pub use interface::{LiveVolume, MemberTraffic, Volume, VolumeError};
pub use level::{LevelError, layout_name};
pub use manage_error::ManageError;
pub use memory::{HostMemory, Trust};
pub use overlay::{OverlayWorld, Window};
pub use shoal_array::{
    Background, Blame, Command, CommandError, Completion, Event, Health, Instant, JobProgress, Level, Matter,
    MemberState, Mismatch, ParityLayout, Raid0Layout, Raid10Layout, Request, RequestError, RequestId, Role, ScrubMode,
    Span, Submitter,
};
pub use shoal_drive::{Arena, DriveId, Memory, SendPiece, WriteOrder};
pub use shoal_md::{
    AssembleError, ConsistencyPolicy, DiskLevel, Features, MemberUse, MinorVersion, Superblock, SuperblockError,
    Verdict,
};
pub use shoal_parity::{Kernel, Parity};
pub use simulated::{Contents, SimulatedWorld, SimulatedWorldError};
pub use status::{ArrayStatus, Consistency, MemberOn, MemberStatus, ReplacementStatus};
pub use superblocks::{ProbeError, read_superblock};
pub use survival::Survival;
pub use tree::{SILENCE, WriteBackState};
pub use unflushed::{Incarnation, Mark, NEWEST, NOTHING_TO_LOSE, Unflushed};
pub use world::{DriveFacts, RealWorld, World};
