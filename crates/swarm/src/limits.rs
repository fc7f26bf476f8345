//! What a scenario has at most, and how long it is tried: each limit once, and how they go
//! together.

/// A hunt ends when so many seeds have failed: the first ones are what one looks at.
pub const FAILURES_MAX: usize = 8;
/// Drives of the largest scenario, for which every thread has memory.
pub(crate) const DRIVES_MAX: usize = 28;
/// Blocks that a request has at most.
pub(crate) const REQUEST_BLOCKS_MAX: u32 = 64;
/// The largest write-back window.
pub(crate) const WRITE_BACK_BYTES_MAX: u32 = 1 << 20;
/// So many waits in a row without any time passing are no progress.
pub(crate) const IDLE_WAITS_MAX: u32 = 1_000_000;
/// So often, at most, a smaller scenario is tried.
pub(crate) const SHRINK_TRIES_MAX: u32 = 1500;
/// A drive is given to the array so often at most: each time a member is missing, and all drives
/// may have been tried.
pub(crate) const ROUNDS_MAX: usize = 2 * DRIVES_MAX;
/// Growing is tried so often: a drive refuses once for each fault that is armed in it.
pub(crate) const GROWTH_TRIES_MAX: usize = 16;

// The largest request fits into the largest window.
const _: () = assert!(REQUEST_BLOCKS_MAX * 512 <= WRITE_BACK_BYTES_MAX);
