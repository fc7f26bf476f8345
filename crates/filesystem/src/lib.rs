//! File systems on arrays: how each is made to fit the array below it, made, mounted, and
//! unmounted.
//!
//! * [`Geometry`] is what a file system has to know of an array: stripes, erase units of the flash
//!   below, blocks, size.
//! * [`plan()`] is pure: the command that makes a file system of a [`Kind`], each argument with its
//!   reason and where that is written, or a refusal, before anything is touched.
//! * [`make()`] carries a plan out: old signatures go, mkfs runs, the result is flushed and
//!   identified.
//! * [`mount()`] and [`unmount()`] are mount(8) and umount(2), with options that suit and a word on
//!   who is in the way.
//!
//! ```
//! use shoal_filesystem::{Geometry, Kind, Level, Stripes, plan};
//!
//! let geometry = Geometry {
//!     stripes: Stripes::of(Level::Striped { parity_members: 1 }, 64 << 10, 4),
//!     nesting: None,
//!     erase_unit_bytes: None,
//!     data_offset_bytes: Some(1 << 20),
//!     logical_block_bytes: 512,
//!     size_bytes: 1 << 30,
//! };
//! let plan = plan(Kind::Ext4, &geometry, Some("pond"))?;
//! let words = plan.command(std::path::Path::new("/dev/nbd0")).join(" ");
//! assert!(words.contains("stride=16,stripe_width=48"), "{words}");
//! # Ok::<(), shoal_filesystem::PlanError>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))] // a test may

mod erase_unit;
mod geometry;
mod holders;
mod kind;
mod make;
mod mounting;
mod plan;

pub use erase_unit::erase_unit_of_device;
pub use geometry::{AlignedTo, Alignment, Geometry, Level, Nesting, Stripes};
pub use holders::{Holder, Through, holders};
pub use kind::Kind;
pub use make::{Identity, MakeError, check_tools, identify, make};
pub use mounting::{
    MountError, MountOption, UnmountError, check_place, mount, mount_options, mounted_on, unmount, unmount_dead,
};
pub use plan::{Argument, MkfsPlan, PlanError, plan};
