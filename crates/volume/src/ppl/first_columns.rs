//! Makes the first columns of an array agree while it is put together, so that no resync stands at
//! 0: see [`super`].
//!
//! Their parity is made of the data, as a step of a resync does. Where a block of them cannot be
//! had (its member is missing, or it cannot be read) nothing is done: it follows from the others as
//! they are, so they agree as it is.

use shoal_array::{Config, Geometry, Role};

use super::found::holds;
use super::place_of;
use crate::VolumeError;
use crate::buffers::NOTE_BYTES;
use crate::tree::{Slot, Tree};
use crate::world::World;

/// How many columns, in bytes. A chunk is no shorter where Linux makes it.
pub(crate) fn first_columns(geometry: &Geometry) -> u32 {
    geometry.shape().chunk_bytes.min(NOTE_BYTES)
}

/// See the module's documentation. A member that does not take what is written to it is met again
/// by the array, which then fails it.
pub(crate) fn sync_first_columns<W: World>(
    tree: &mut Tree<W>,
    slots: &[Slot],
    Config { shape, members, bad_blocks, .. }: &Config,
) -> Result<(), VolumeError> {
    let Ok(geometry) = Geometry::new(shape.clone()) else { return Ok(()) };
    let Some(stripe) = geometry.stripe(0) else { return Ok(()) };
    let length = first_columns(&geometry);
    let columns = stripe.member_offset..stripe.member_offset + u64::from(length);
    let has_all = |role: Role| holds(members, role, &columns) && !bad_blocks[role.index()].touches(&columns);
    let mut sum = vec![0; length as usize];
    let mut bytes = vec![0; length as usize];
    for role in stripe.data {
        let Some(place) = place_of(slots, role).filter(|_| has_all(role)) else { return Ok(()) };
        if tree.read_small(place.target, place.data_offset_bytes + columns.start, &mut bytes)?.is_err() {
            return Ok(());
        }
        sum.iter_mut().zip(&bytes).for_each(|(sum, byte)| *sum ^= byte);
    }
    if let Some(place) = place_of(slots, stripe.p).filter(|_| has_all(stripe.p)) {
        let _ = tree.write_small(place.target, place.data_offset_bytes + columns.start, &sum)?;
    }
    Ok(())
}
