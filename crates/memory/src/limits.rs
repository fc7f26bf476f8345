//! What a book can hold: each limit once, and how they go together.

/// More bytes than this no book has.
pub(crate) const BOOK_BYTES_MAX: u64 = 4 << 20;
/// md numbers no more members than this.
pub(crate) const MEMBERS_MAX: usize = 2048;
/// Who left longest ago is forgotten beyond so many.
pub(crate) const LEFT_MAX: usize = 256;
/// Updates that were given up longest ago are forgotten beyond so many.
pub(crate) const GIVEN_UP_MAX: usize = 64;

/// More than the digits of a process, and that it lets go.
pub(crate) const HOLDER_BYTES_MAX: usize = 64;

// A book of all of them fits, with a kilobyte for each.
const _: () = assert!(((MEMBERS_MAX + LEFT_MAX + GIVEN_UP_MAX) as u64) << 10 <= BOOK_BYTES_MAX);
