//! How far an array goes with what its drives can make it do: each limit once, and how they go
//! together.

/// The most drives that have places kept for them to which buffers move when they are given up:
/// each may keep the place of every buffer. A mirror may go on with the last of so many and one
/// more; no level with parity survives as many.
pub(crate) const GIVEN_UP_MAX: usize = 7;
/// How often a last copy that refuses flushes is waited for, before its array is left as it is.
pub(crate) const RENEWALS_MAX: usize = 2;

/// So many may join a sweep that has begun: of a stream of 64 KiB, 4 MiB, an erase unit.
pub(crate) const JOINS_MAX: u32 = 64;
/// The most writes in one request. The kernel takes 1024 pieces.
pub(crate) const PARTS_MAX: usize = 256;

/// Larger chunks make windows that are larger than what is kept before the data.
pub(crate) const CHUNK_BYTES_MAX: u32 = 64 << 20;

// All who have joined a sweep fit into one request.
const _: () = assert!(JOINS_MAX as usize <= PARTS_MAX);
