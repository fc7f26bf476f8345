//! What is said of an array that is paused.

use shoal_volume::{ArrayStatus, ArrayVolume, Volume};

use crate::world::HostWorld;

/// The array as it was last seen.
pub(super) struct Last {
    pub(super) status: ArrayStatus,
    pub(super) size_bytes: u64,
    pub(super) logical_block_bytes: u32,
}

impl Last {
    pub(super) fn of(array: &ArrayVolume<HostWorld>) -> Self {
        let (size_bytes, logical_block_bytes) = (array.size_bytes(), array.logical_block_bytes());
        Self { status: array.status(), size_bytes, logical_block_bytes }
    }
}
