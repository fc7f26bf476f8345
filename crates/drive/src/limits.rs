//! What this crate keeps of drives, and looks at on them, at most: each limit once, and how they go
//! together.

/// Entries of a GPT that are looked at; 128 are usual.
pub(crate) const GPT_ENTRIES_MAX: u32 = 1024;
/// Logical partitions that are looked at.
pub(crate) const LOGICAL_PARTITIONS_MAX: u32 = 256;
/// Loop devices over loop devices, at most.
pub(crate) const LOOP_DEPTH_MAX: usize = 8;
/// The kernel's table has no more places.
pub(crate) const REGISTERED_PIECES_MAX: usize = 1 << 14;
/// To copy so much takes 5 to 15 us, as long as to hand it to another thread and to hear of its
/// end.
pub(crate) const AT_ONCE_BYTES_MAX: u32 = 64 << 10;
/// The deepest queue, which is the largest ring that the kernel makes.
pub(crate) const QUEUE_DEPTH_MAX: u32 = 32_768;
/// More threads than this wait for each other rather than for drives.
pub(crate) const THREADS_MAX: u32 = 128;
/// Of these, the most for one drive: if that does not answer, the others have the rest.
pub(crate) const THREADS_ON_ONE_MAX: usize = 96;

// A drive that does not answer leaves threads to the others.
const _: () = assert!(THREADS_ON_ONE_MAX < THREADS_MAX as usize && THREADS_MAX < QUEUE_DEPTH_MAX);
