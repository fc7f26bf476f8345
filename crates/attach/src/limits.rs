//! What this machine's programs, or a server, can make a front keep or do: each limit once, and how
//! they go together.

use shoal_serve::{PAYLOAD_BYTES_MAX, STRING_BYTES_MAX};

/// The longest read or write: NBD's own bound.
pub const TRANSFER_BYTES_MAX: u32 = PAYLOAD_BYTES_MAX;
/// The longest part of a range that is zeroed or trimmed.
pub(crate) const PART_BYTES_MAX: u32 = 32 << 20;
/// Operations under way at a time.
pub(crate) const OPERATIONS_MAX: usize = 256;
/// Bytes of content that they hold; one alone may have more.
pub(crate) const OPERATION_BYTES_MAX: usize = 64 << 20;
/// More connections than this help nobody.
pub(crate) const CONNECTIONS_MAX: u32 = 8;

/// The longest answer to an option: a string and what stands around it.
pub(crate) const ANSWER_BYTES_MAX: usize = STRING_BYTES_MAX + 1024;
/// Answers that a server may give before it comes to the point.
pub(crate) const ANSWERS_MAX: u32 = 64;
/// The longest error: its number, a string, an offset.
pub(crate) const ERROR_BYTES_MAX: usize = STRING_BYTES_MAX + 32;

/// The longest write of one request of FUSE, which is also the longest that Linux makes unless its
/// administrator says otherwise (`fs.fuse.max_pages_limit`, 256 pages).
pub(crate) const FUSE_WRITE_BYTES_MAX: u32 = 1 << 20;
/// Direct I/O of several at once that the kernel hands to FUSE before it makes others wait; a loop
/// device has 128 under way.
pub(crate) const FUSE_BACKGROUND_MAX: u16 = 128;

// What FUSE and the cutting of ranges hand on is taken in one piece.
const _: () = assert!(FUSE_WRITE_BYTES_MAX <= TRANSFER_BYTES_MAX && PART_BYTES_MAX <= TRANSFER_BYTES_MAX);
// Two of the longest transfers fit beside each other: one is on its way while the other is
// answered.
const _: () = assert!(2 * TRANSFER_BYTES_MAX as usize <= OPERATION_BYTES_MAX);
// All that FUSE has under way is under way.
const _: () = assert!(FUSE_BACKGROUND_MAX as usize <= OPERATIONS_MAX);
