//! Real drives: files and block devices, opened safely and driven through io_uring or threads.
//!
//! * [`Drive`] is one open drive: what it is, how large, which blocks; [`Identity`] says who made it and where it is
//!   plugged in, [`DriveKey`] whether two paths lead to the same one.
//! * [`survey`] looks at a path without changing anything: what is on it, is it in use.
//! * [`Arena`] is the memory that I/O goes to and from.
//! * [`IoLoop`] submits I/O and reaps completions; one owner, one thread.

#![cfg_attr(test, allow(clippy::unwrap_used))] // a test may

mod arena;
mod drive;
mod identity;
mod io_loop;
mod survey;
#[cfg(test)]
mod tests;

pub use arena::{Arena, Memory};
pub use drive::{Access, Drive, DriveKey, DriveKind, OpenError};
pub use identity::{Identity, UsbPort};
pub use io_loop::{DriveId, Finished, Io, IoEngine, IoKind, IoLoop, LoopError};
pub use survey::{Finding, Survey, survey, survey_content};
