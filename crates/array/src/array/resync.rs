//! Resync: making parity and copies agree with the data again, after a crash or on a new array.

use super::Regions;

/// What is not known to be in sync, in sync bytes (see [`crate::Geometry::sync_bytes`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resync {
    /// Everything below is in sync.
    pub position: u64,
    /// Everything outside is in sync, too.
    pub only: Option<Regions>,
}
