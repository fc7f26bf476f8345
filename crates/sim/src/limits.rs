//! What a description of drives or of a fleet may say at most: each limit once, and how they go
//! together.

/// Text of a description, which is a page, or of a fleet, which is a command line.
pub(crate) const TEXT_BYTES_MAX: usize = 64 << 10;
/// Parts of a list, at most: stalls and zones.
pub(crate) const LIST_PARTS_MAX: usize = 64;
/// Drives of a fleet, at most; and buses.
pub(crate) const FLEET_MAX: u32 = 1000;
/// Slower, longer or larger than this nothing is: so no sum of times overflows within a simulated
/// century.
pub(crate) const RATE_MIN_BYTES_PER_S: u64 = 1000;
pub(crate) const DURATION_MAX_NS: u64 = 3_600_000_000_000;
pub(crate) const PAGE_MAX_BYTES: u32 = 16 << 20;
pub(crate) const BUFFER_MAX_BYTES: u64 = 64 << 30;
pub(crate) const OPEN_UNITS_MAX: u32 = 4096;
pub(crate) const STALLS_MAX: usize = 64;
pub(crate) const SIZE_MAX_BYTES: u64 = 1 << 60;

// A description names all stalls that a drive can have.
const _: () = assert!(STALLS_MAX <= LIST_PARTS_MAX);
// All that a drive does at once, one after the other, fits into 64 bits of nanoseconds.
const _: () = assert!(DURATION_MAX_NS < u64::MAX / (OPEN_UNITS_MAX as u64 * FLEET_MAX as u64));
