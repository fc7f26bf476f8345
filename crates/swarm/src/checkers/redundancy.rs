//! Checks that an array that was closed in order needs no member in particular.
//!
//! Once with all drives, and once without each single one where the level allows that: it opens for
//! reading, wants no resync, and has the same content. What the content has to be is
//! [`super::Promises`]' matter.
//!
//! Not checked: two members left out at a time (RAID6), for time. Rebuilds with one missing member
//! go through that.

use shoal_volume::{ArrayVolume, OpenError, World};

use super::Failure;

const CHECKER: &str = "redundancy";

/// Holds an array that was opened after it was closed in order, without the drive `left_out`,
/// against what it should be.
pub(crate) fn check_redundancy<W: World>(
    left_out: Option<usize>,
    opened: Result<ArrayVolume<W>, OpenError>,
) -> Result<ArrayVolume<W>, Failure> {
    let without = left_out.map_or("with all drives".to_owned(), |drive| format!("without drive {drive}"));
    let array = opened.map_err(|error| Failure::new(CHECKER, format!("{without} it does not open: {error}")))?;
    if array.needs_resync() {
        return Err(Failure::new(CHECKER, format!("{without} it wants a resync after it was closed in order")));
    }
    Ok(array)
}
