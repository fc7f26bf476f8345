//! A real Linux kernel with md, as an ordinary process: what shoal's arrays are proved against.
//!
//! Reading md's documents shows what an array should be; only md itself shows what it is. [`Lab`]
//! finds a User-Mode Linux, [`Lab::boot`] starts it in about a second, without root, and the
//! [`Guest`] runs shell scripts one after the other. Whatever goes on in it goes on in one process
//! group, so killing that is a power cut.
//!
//! - The guest's root is the host's own, read-only: every program of the host (`mdadm`,
//!   `mkfs.ext4`) is at hand, and nothing outside the one shared directory can be harmed. There it
//!   is [`SHARED`], and scripts start in it.
//! - Drives are image files in the shared directory, as loop devices (`attach`, `detach` in
//!   `prelude.sh`): any number, any size, logical blocks of 512 or 4096 bytes. They have no cache
//!   of their own: a power cut falls between two writes, or within one, and what was written before
//!   stays.
//! - One side at a time may hold an image. `detach` writes everything back and forgets it, so that
//!   the host may look and write; after a power cut nobody has to do anything.
//!
//! [`usb`] has the same kernel in a machine of its own, with USB sticks on several buses; [`ublk`]
//! a newer one, which has ublk.
//!
//! This crate is used by tests alone, and never shipped.

mod console;
mod guest;
mod kernel;
mod places;
mod processor;
mod registers;
mod share;
pub mod ublk;
pub mod usb;

pub use guest::{Guest, GuestError, Ran};
pub use kernel::Lab;
pub use places::Missing;
pub use share::Share;

/// Where the shared directory is, inside.
pub const SHARED: &str = "/run/shared";
