//! Real drives: files and block devices, opened safely and driven through io_uring or threads.
//!
//! * [`Drive`] is one open drive: what it is, how large, which blocks; [`Identity`] says who made
//!   it and where it is plugged in, [`DriveKey`] whether two paths lead to the same one.
//!   [`Drive::erase_marks`] ends what it was.
//! * [`survey()`] looks at a path without changing anything: what is on it, is it in use.
//! * [`mounts()`] is what is mounted where; [`disk_sequence()`] tells a disk from the next of its
//!   name.
//! * [`Arena`] is the memory that I/O goes to and from.
//! * [`IoLoop`] submits I/O and reaps completions; one owner, one thread.
//!
//! ```
//! use shoal_drive::{Access, Arena, Drive, Io, IoKind, IoLoop, Memory, survey};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("stick");
//! std::fs::File::create(&path)?.set_len(1 << 20)?;
//! assert_eq!(survey(&path)?.findings, []); // nothing speaks against writing to it
//!
//! let arena = Arena::new(4096)?;
//! let memory = Memory { offset: 0, length: 4096 };
//! arena.write(memory, &[7; 4096]);
//! let mut io_loop = IoLoop::new(None, arena, 8)?; // io_uring if the kernel permits it, else threads
//! let drive = io_loop.add_drive(Drive::open(&path, Access::Write)?)?;
//! io_loop.submit(Io { token: 1, drive, kind: IoKind::Write(memory), offset: 8192 });
//! let mut finished = Vec::new();
//! io_loop.wait(1, None, &mut finished)?;
//! assert!(finished[0].result.is_ok());
//! assert_eq!(std::fs::read(&path)?[8191..8193], [0, 7]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))] // a test may

mod arena;
mod disk_sequence;
mod drive;
mod erase;
mod identity;
mod io_loop;
mod limits;
mod mounts;
mod partitions;
mod survey;
#[cfg(test)]
mod tests;

pub use arena::{Arena, Memory, SendPiece};
pub use disk_sequence::{disk_sequence, newest_disk_sequence};
pub use drive::{Access, Drive, DriveKey, DriveKind, OpenError, WriteOrder};
pub use erase::ERASED_END_BYTES;
pub use identity::{Identity, UsbPort};
pub use io_loop::{DriveId, Finished, Io, IoEngine, IoKind, IoLoop, LoopError};
pub use mounts::{Mount, mounts};
pub use partitions::{Partition, partitions};
pub use survey::{
    FileContent, Finding, Survey, survey, survey_content, survey_data, survey_file, survey_signatures, uses,
};
