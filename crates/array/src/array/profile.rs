//! The sizes that an array's engine reckons with, worked out once.

use core::ops::Range;

use super::{Config, LogRoom, plan::Cols};
use crate::Geometry;

/// Sizes of one array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Profile {
    pub(super) is_writable: bool,
    /// Bounds of the partial parity log, if there is one.
    pub(super) log_room: Option<LogRoom>,
    pub(super) capacity_bytes: u64,
    pub(super) block_bytes: u32,
    /// The widest piece that scratch buffers can hold.
    pub(super) step_bytes: u32,
    pub(super) chunk_bytes: u32,
    /// Parity levels: width of a slice, and slices in a row.
    slice_bytes: u32,
    slices_in_row: u64,
    /// Parity levels: data blocks in a row.
    data_count: u64,
}

/// Where an array byte of a parity level lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) slice: u64,
    /// Which data block of the row.
    pub(super) index: usize,
    pub(super) column: u32,
    /// First column that belongs to the next slice.
    pub(super) slice_end: u32,
}

impl Profile {
    pub(super) fn new(geometry: &Geometry, config: &Config) -> Self {
        let chunk_bytes = geometry.shape().chunk_bytes.max(1);
        let step_bytes = config.scratch.bytes_each;
        let slice_bytes = step_bytes.clamp(1, chunk_bytes);
        Self {
            is_writable: config.writable,
            log_room: config.partial_parity_log,
            capacity_bytes: geometry.capacity_bytes(),
            block_bytes: config.logical_block_bytes,
            step_bytes,
            chunk_bytes,
            slice_bytes,
            slices_in_row: u64::from(chunk_bytes.div_ceil(slice_bytes)),
            data_count: geometry.data_count().max(1) as u64,
        }
    }

    pub(super) fn row_bytes(&self) -> u64 {
        u64::from(self.chunk_bytes) * self.data_count
    }

    pub(super) fn place(&self, offset: u64) -> Place {
        let (row, within_row) = (offset / self.row_bytes(), offset % self.row_bytes());
        let chunk_bytes = u64::from(self.chunk_bytes);
        let column = (within_row % chunk_bytes) as u32;
        let slice_in_row = column / self.slice_bytes;
        Place {
            slice: row * self.slices_in_row + u64::from(slice_in_row),
            index: (within_row / chunk_bytes) as usize,
            column,
            slice_end: self.slice_cols(slice_in_row).end,
        }
    }

    fn slice_cols(&self, slice_in_row: u32) -> Cols {
        let start = slice_in_row * self.slice_bytes;
        Cols { start, end: self.chunk_bytes.min(start.saturating_add(self.slice_bytes)) }
    }

    /// The slice that holds a member's byte.
    pub(super) fn slice_at(&self, member_offset: u64) -> (u64, Cols) {
        let chunk_bytes = u64::from(self.chunk_bytes);
        let slice_in_row = (member_offset % chunk_bytes) as u32 / self.slice_bytes;
        let row = member_offset / chunk_bytes;
        (row * self.slices_in_row + u64::from(slice_in_row), self.slice_cols(slice_in_row))
    }

    /// What ranges are rounded to so that no slice lies in two of them.
    pub(super) fn slice_unit_bytes(&self) -> u64 {
        let is_even = self.chunk_bytes.is_multiple_of(self.slice_bytes);
        u64::from(if is_even { self.slice_bytes } else { self.chunk_bytes })
    }

    /// The slices of a row.
    pub(super) fn slices_of(&self, row: u64) -> Range<u64> {
        row * self.slices_in_row..(row + 1) * self.slices_in_row
    }

    /// The row of a slice.
    pub(super) fn row_of(&self, slice: u64) -> u64 {
        slice / self.slices_in_row
    }
}
