//! What a search for lost arrays keeps at most: each limit once.

/// I/Os of a search under way at most.
pub(crate) const IOS_MAX: u32 = 1024;
/// How many pieces of what is saved may wait to be written.
pub(crate) const PIECES_WAITING_MAX: usize = 8;
/// What is looked at of a ddrescue mapfile: those of very bad drives have a million lines.
pub(crate) const MAPFILE_BYTES_MAX: u64 = 64 << 20;
