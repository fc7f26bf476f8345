//! The computer above the array, as far as it decides how fast the array seems to be.
//!
//! The studies measured through Linux's page cache, and what they saw is the drives seen through
//! it. Three of its habits matter, and each is a small state machine over a [`Timed`] volume, in
//! virtual time:
//!
//! * **Reads ahead** ([`ReadAhead`]): a program that reads in order never asks the drives itself.
//!   The kernel reads a window ahead, 128 KiB for a drive and two stripes for an array of md's
//!   (`drivers/md/raid0.c`: "readahead at least twice a whole stripe"). On a block device of 2.6 a
//!   window goes out page by page (`fs/block_dev.c`: `def_blk_aops` has no `readpages`), is merged
//!   in a plugged queue, and starts when the reader waits for it: so one window is in flight at a
//!   time, and between two of them the host's own work stands still for the drives. That loss per
//!   window, [`HostModel::turn_ns`], is the one parameter here that is fitted.
//! * **Write-back** ([`WriteBack`]): a program that writes fills memory until so much of it is
//!   dirty that it has to wait (`vm_dirty_ratio`, 10 % in kernels of 2007). What it leaves dirty
//!   when it ends was never written as far as `dd` knows.
//! * **Waiting for each page** ([`write_pages_in_step`]): a file system that is mounted `sync`.
//!
//! Requests reach the engine as large as buffers allow; below it the block layer of the simulated
//! host (`shoal_sim`) cuts what goes to each drive into pages and merges neighbours, up to what the
//! bus's driver takes.
//!
//! [`HostModel::turn_ns`]: shoal_sim::HostModel::turn_ns

mod read_ahead;
mod requests;
mod write_back;

pub(crate) use read_ahead::ReadAhead;
pub(crate) use requests::Requests;
pub(crate) use write_back::{WriteBack, write_pages_in_step};

use shoal_sim::{HostModel, Scheduler};

/// A page of memory.
pub(crate) const PAGE_BYTES: u32 = 4096;

/// Linux 2.6 of 2007 and 2008, whose buffered I/O on block devices goes page by page; `turn_ns` is
/// lost between two windows. Its requests go out in the order of write-back: of the elevators of
/// that time only merging is played.
pub(crate) fn linux_2_6(turn_ns: u64) -> HostModel {
    HostModel { piece_bytes: PAGE_BYTES, turn_ns, scheduler: Scheduler::None, ..HostModel::default() }
}

/// The read-ahead of an array of md's: two stripes, and no less than a drive's.
pub(crate) fn md_read_ahead_bytes(host: &HostModel, data_members: u32, chunk_bytes: u32) -> u32 {
    host.read_ahead_bytes.max(2 * data_members * chunk_bytes)
}

/// What Linux 2.6 loses between two read-ahead windows on a block device: fitted, on one figure
/// (`rally2`, hdparm -t with read-ahead of 512 sectors). It is the time from the end of one window
/// to the start of the next: the reader wakes, takes what is left of the window from memory, finds
/// the next page missing, and a new window goes out page by page.
pub(crate) const TURN_NS: u64 = 711_000;
