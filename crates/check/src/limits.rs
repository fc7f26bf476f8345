//! How large a drive a check can have, and how much of what it finds is kept: each limit once, and
//! how they go together.

/// The smallest drive that can be checked.
pub(crate) const SIZE_MIN: u64 = 1 << 20;
/// The largest: what a place can be in one.
pub(crate) const SIZE_MAX: u64 = 1 << 60;
/// The bytes at the start of a world's arena that a check uses: its longest I/O.
pub const STEP_BYTES_MAX: u32 = 1 << 20;
/// Random places, at most.
pub(crate) const RANDOM_MAX: u64 = 512;

/// Failures of a drive that are waited for; one that fails more is damaged, and each may take it
/// half a minute.
pub(crate) const FAILURES_MAX: usize = 32;
/// Wrong places that are kept to be shown.
pub(crate) const KEPT_MAX: usize = 64;
/// Places that are shown.
pub(crate) const EVIDENCE_MAX: usize = 16;

// The smallest drive has room for the longest step.
const _: () = assert!(STEP_BYTES_MAX as u64 <= SIZE_MIN);
// What is shown is chosen from what is kept.
const _: () = assert!(EVIDENCE_MAX <= KEPT_MAX);
