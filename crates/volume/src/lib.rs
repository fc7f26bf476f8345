//! Arrays that run: engine, members and event loop put together, behind one interface.
//!
//! * [`Volume`] is the interface upward: content that is read and written by requests.
//! * [`DriveVolume`] is a plain drive, [`ArrayVolume`] an array in md's format, of drives or of arrays.
//! * [`World`] is the seam downward: drives, memory and a clock, real ([`RealWorld`]) or simulated.
//! * [`transfer`] moves ranges of content to and from byte streams.

mod array_volume;
mod assemble;
mod buffers;
mod compute;
mod create;
mod drive_volume;
mod fault;
mod inspect;
mod interface;
mod level;
mod slab;
mod status;
mod superblocks;
pub mod transfer;
mod tree;
mod world;

pub use array_volume::{ArrayVolume, ManageError, News, OpenOptions};
pub use assemble::{LeftOut, OpenError};
pub use buffers::BufferPlan;
pub use create::{ArrayLevel, CreateError, CreateOptions};
pub use drive_volume::DriveVolume;
pub use inspect::{inspect, superblock_in_content};
pub use interface::{Volume, VolumeError};
pub use level::{LevelError, layout_name};
pub use shoal_array::{
    Background, Command, Completion, Event, Health, Level, MemberState, Mismatch, ParityLayout, Progress, Raid0Layout,
    Raid10Layout, Request, RequestError, RequestId, Role, ScrubMode, Span,
};
pub use shoal_drive::{Arena, DriveId, Memory};
pub use shoal_md::{Superblock, SuperblockError, Verdict};
pub use shoal_parity::{Kernel, Parity};
pub use status::{ArrayStatus, MemberOn, MemberStatus};
pub use superblocks::{ProbeError, read_superblock};
pub use world::{DriveFacts, RealWorld, World};
