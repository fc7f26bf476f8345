//! Arrays as block devices of this machine: who attached what, and how it is undone.
//!
//! ```text
//!  shoal attach ──starts──► shoal serve   owns the array; may be killed and started again
//!       │                        ▲ unix socket, NBD
//!       └──────starts──► shoal front  ─► ublk │ kernel nbd │ FUSE file ◄─ loop device
//!       └──────writes──► UUID.attached, in the directory of running arrays
//! ```
//!
//! The two processes live apart from each other and from the command: the front waits for a server
//! that is gone, and comes to an agreement with the next one; a front that is killed is followed by
//! its successor (`successor`). What is attached is written down, so that any later command can
//! undo it, even after one of the processes was killed; a record whose front is gone, and the
//! front's successor too, is *stale*, and is cleared away by the next `attach` or `detach`. What a
//! record names is looked at before each use (`shoal_attach::records`): a device that is not the
//! array's any more is left alone. One `attach` or `detach` works at a time.

#![forbid(unsafe_code)]

mod attach;
mod error;
mod found;
mod front;
mod launch;
mod method;
mod occupied;
mod options;
mod server;
mod successor;
mod usage;

pub use attach::{attach, detach};
pub use error::AttachError;
pub use found::{attachment_of, attachments};
pub use front::{Front, refuse_stopped as refuse_stopped_front, run as run_front};
pub use launch::Launcher;
pub use occupied::{
    Occupied, check_erasable, check_overwritable, refuse_members_in_use, refuse_occupied, refuse_served,
};
pub use options::{AttachOptions, DEADLINE};
pub use successor::wait_to_follow;
