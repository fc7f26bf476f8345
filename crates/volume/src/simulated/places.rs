//! Where drives are plugged in, and what they are called there.

use shoal_drive::DriveId;

use super::SimulatedWorld;

/// What is known of a drive by its model.
#[derive(Debug)]
pub(super) struct ModelFacts {
    pub(super) name: String,
    pub(super) size_bytes: u64,
    pub(super) logical_block_bytes: u32,
}

/// Where a drive is, or was, plugged in.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) drive: usize,
    pub(super) is_present: bool,
    pub(super) name: String,
}

impl Place {
    /// A drive is plugged in as number `id`.
    pub(super) fn new(models: &[ModelFacts], drive: usize, id: usize, is_present: bool) -> Self {
        Self { drive, is_present, name: format!("sim:{}#{id}", models[drive].name) }
    }
}

impl SimulatedWorld {
    /// What people call the drive behind an id, whether it is there or not.
    pub fn name(&self, id: DriveId) -> &str {
        &self.places[id.0 as usize].name
    }

    /// Capacity of the drive behind an id, whether it is there or not.
    pub fn size_bytes(&self, id: DriveId) -> u64 {
        self.models[self.drive_of(id)].size_bytes
    }
}
