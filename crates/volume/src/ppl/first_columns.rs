//! Makes the first columns of an array agree while it is put together, so that no resync stands at
//! 0: see [`super`].
//!
//! Their parity is made of the data, as a step of a resync does. Where a block of them cannot be
//! had (its member is missing, or it cannot be read) nothing is done: it follows from the others as
//! they are, so they agree as it is.

use std::ops::Range;

use shoal_array::{Geometry, Role};

use super::found::holds;
use super::has_logs;
use crate::VolumeError;
use crate::buffers::NOTE_BYTES;
use crate::tree::{Node, NodeId, Place, Tree};
use crate::world::World;

/// How many columns, in bytes. A chunk is no shorter where Linux makes it.
pub(crate) fn first_columns(geometry: &Geometry) -> u32 {
    geometry.shape().chunk_bytes.min(NOTE_BYTES)
}

/// Makes parity of the array's first columns agree with their data, on the members; nothing is done
/// where no resync is pending, or nothing is logged. The members have to
/// take writes. One that does not is met again by the array, which then fails it.
pub(crate) fn sync_first_columns<W: World>(tree: &mut Tree<W>, node: NodeId) -> Result<(), VolumeError> {
    let it = &tree.nodes[node.0];
    if !it.writable || !has_logs(&it.facts) || it.array.resync_position().is_none() {
        return Ok(());
    }
    let Some(stripe) = it.array.geometry().stripe(0) else { return Ok(()) };
    let length = first_columns(it.array.geometry());
    let columns = stripe.member_offset..stripe.member_offset + u64::from(length);
    let mut data = Vec::new();
    for role in stripe.data {
        let Some(place) = whole(it, role, &columns) else { return Ok(()) };
        data.push(place);
    }
    let has_parity = whole(it, stripe.p, &columns).is_some();
    let mut sum = vec![0; length as usize];
    let mut bytes = vec![0; length as usize];
    for place in data {
        if tree.read_small(place.target, place.data_offset_bytes + columns.start, &mut bytes)?.is_err() {
            return Ok(());
        }
        sum.iter_mut().zip(&bytes).for_each(|(sum, byte)| *sum ^= byte);
    }
    if has_parity {
        let _ = tree.write_to_member(node, stripe.p, columns.start, &sum)?;
    }
    Ok(())
}

/// Where the member with this role lies, if it has all of these columns.
fn whole(node: &Node, role: Role, columns: &Range<u64>) -> Option<Place> {
    let has_all = holds(node.array.member_states(), role, columns) && !node.array.bad_blocks(role).touches(columns);
    node.place(role).filter(|_| has_all)
}
