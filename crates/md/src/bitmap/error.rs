//! What may be wrong with a bitmap, and why it may be right and yet not believed.

use crate::Uuid;

/// Why bytes are no bitmap, or none that can be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BitmapError {
    /// There is none.
    #[error(
        "no write-intent bitmap where the superblock says it is: it was overwritten; `mdadm --assemble --update=no-bitmap` removes it"
    )]
    NoMagic,
    /// Several hosts keep it.
    #[error("the write-intent bitmap is clustered (version 5): shoal does not share arrays between hosts")]
    Clustered,
    /// The kernel's newer kind, which has other bits.
    #[error(
        "the write-intent bitmap is lockless (version 6), which shoal does not know: only a newer Linux can write to the array"
    )]
    Lockless,
    /// A version that nobody knew when this was written.
    #[error("the write-intent bitmap has version {version}: a newer shoal or Linux is needed for it")]
    Version {
        /// What it says.
        version: u32,
    },
    /// Not a power of two, or too small.
    #[error("damaged write-intent bitmap: it claims chunks of {chunk_bytes} bytes")]
    ChunkBytes {
        /// What it says.
        chunk_bytes: u32,
    },
    /// Bits would be cleared without pause.
    #[error("damaged write-intent bitmap: it claims a sleep of 0 seconds")]
    DaemonSleep,
    /// More than counters hold.
    #[error("damaged write-intent bitmap: it claims {write_behind} writes behind, {limit} are the limit")]
    WriteBehind {
        /// What it says.
        write_behind: u32,
        /// The most.
        limit: u32,
    },
    /// The bits do not fit where they should be.
    #[error(
        "the write-intent bitmap needs {needed_bytes} bytes, and has room for {room_bytes}: use a larger bitmap chunk"
    )]
    NoRoom {
        /// Header and bits.
        needed_bytes: u64,
        /// Room for them, and never more than [`crate::BITMAP_LIMIT_BYTES`].
        room_bytes: u64,
    },
}

/// Why the clear bits of a readable bitmap mean nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Distrust {
    /// It was written for another array.
    #[error("it belongs to array {found}")]
    OtherArray {
        /// That array.
        found: Uuid,
    },
    /// The array went on without it.
    #[error("it is at update {bitmap}, the array at {superblock}")]
    Behind {
        /// Events of the bitmap.
        bitmap: u64,
        /// Events of the freshest superblock.
        superblock: u64,
    },
    /// Whoever kept it gave up.
    #[error("it is marked as out of date")]
    MarkedStale,
    /// Version 3: nothing tells whether its writer was a little-endian machine.
    #[error("it is of version 3, which does not say in which order its bits are")]
    HostEndian,
}
