//! What an array is to become, and what became of it.

use shoal_array::ParityLayout;

/// What an array is to become; what is not given stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GrowOptions {
    /// Members of the complete array.
    pub raid_devices: Option<usize>,
    /// The chunk.
    pub chunk_bytes: Option<u32>,
    /// Where parity goes.
    pub layout: Option<ParityLayout>,
    /// What becomes of its bitmap. Where that is given, nothing else is.
    pub bitmap: Option<BitmapChange>,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grown {
    /// The array has its new shape.
    Done,
    /// The mirror has its new members, which are still to be filled.
    ToBeFilled,
    /// It was stopped; it can go on from this position of so many bytes of content.
    Stopped {
        /// Content in the new shape.
        position_bytes: u64,
        /// All content.
        total_bytes: u64,
    },
}

/// What becomes of a reshape whose members are not all there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// It is refused.
    Refused,
    /// It goes on without them, if parity stands for them. They are out of the array from then on.
    LeftBehind,
}

/// What becomes of an array's write-intent bitmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitmapChange {
    /// It gets one on its members.
    Add {
        /// What a bit stands for; by the array's size if left out.
        chunk_bytes: Option<u64>,
    },
    /// It has none any more.
    Remove,
}
