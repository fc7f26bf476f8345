//! What this crate takes from a drive at most, and what it makes at most: each limit once.
//!
//! Widths of fields and places in a format are with the format.

/// No bitmap is longer than this, whatever room there is: what a hostile superblock can make us
/// keep in memory. It is 128 times what mdadm uses by itself.
pub const BITMAP_LIMIT_BYTES: u64 = 16 << 20;
/// So many blocks are remembered before complete rows are written: their places, not they
/// themselves.
pub const JOURNAL_PENDING_LIMIT: usize = 1 << 18;
/// Bytes of an array's name: the last byte of the field stays 0.
pub(crate) const NAME_BYTES_MAX: usize = 31;
/// Members of an array with partial parity logs: the kernel's log keeps a bit for each in 64 bits.
pub(crate) const PPL_MEMBERS_MAX: usize = 64;
/// The partial parity of one log write, at most, where there is room for several.
pub const PPL_WRITE_BYTES_MAX: u32 = 128 << 10;
/// Roles that a superblock names: as many as fit in, see `superblock.rs`.
pub(crate) const MAX_DEV_LIMIT: usize = 1920;
/// Numbers of members lie below.
pub(crate) const NUMBER_LIMIT: u32 = MAX_DEV_LIMIT as u32;
/// The longest log that md knows: a page.
pub const BAD_BLOCK_LOG_LIMIT_SECTORS: u16 = 8;
/// Counts of updates beyond leave no room for those that are to come.
pub(crate) const EVENTS_MAX: u64 = u64::MAX - (1 << 32);
/// Drives that a superblock of version 0.90 has places for.
pub(crate) const LEGACY_DRIVES_MAX: u32 = 27;
/// The largest size in a superblock of version 0.90, which counts KiB in 32 bits.
pub(crate) const LEGACY_SIZE_MAX_SECTORS: u64 = (1 << 33) - 2;

// The bits of the largest bitmap can be counted in 32 bits.
const _: () = assert!(BITMAP_LIMIT_BYTES * 8 <= u32::MAX as u64);
// Nobody in the old format has a number that no member can have.
const _: () = assert!(LEGACY_DRIVES_MAX < NUMBER_LIMIT && PPL_MEMBERS_MAX < NUMBER_LIMIT as usize);
