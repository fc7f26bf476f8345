//! Which part of an array is resynced once it runs.

use shoal_array::{Geometry, MemberState, Regions, Resync, Shape};
use shoal_md::Assembly;

use crate::OpenOptions;
use crate::bitmap::KeptBitmap;

/// What is to be resynced, if there is anything, of an array that is in doubt from `position` on:
/// what a bitmap says.
pub(super) fn resync(
    position: u64,
    assembly: &Assembly,
    shape: &Shape,
    bitmap: Option<&KeptBitmap>,
    options: &OpenOptions,
) -> Option<Resync> {
    let geometry = Geometry::new(shape.clone()).ok()?;
    let position = position.min(geometry.sync_bytes());
    let out_of_sync = assembly.slots.iter().filter(|slot| slot.state != MemberState::InSync).count();
    let is_forced = options.force && assembly.is_dirty_and_degraded() && out_of_sync >= geometry.redundancy();
    let resync = Resync { position, only: bitmap.and_then(KeptBitmap::out_of_sync) };
    match geometry.redundancy() {
        0 => None,
        redundancy if is_forced => forced_resync(resync, assembly, redundancy, geometry.sync_bytes()),
        _ => Some(resync),
    }
}

/// Regions that tell which part of an array a forced one resyncs.
const FORCED_REGIONS: u64 = 1 << 16;

/// Who forces an array of which nothing more may be lost takes its parity as it is, for there is
/// nothing that it could be made from. Only where members that are being rebuilt hold so much
/// already that some parity is not needed it is made from that; the rebuild does not come by there
/// any more, and would leave stripes whose parity does not agree with the data.
fn forced_resync(
    Resync { position, only }: Resync,
    assembly: &Assembly,
    redundancy: usize,
    sync_bytes: u64,
) -> Option<Resync> {
    let rebuilt = |slot: &shoal_md::Slot| match slot.state {
        MemberState::InSync => None,
        // One that is filled by the bitmap is filled in all regions that are out of sync.
        MemberState::Rebuilding { position } if !slot.by_bitmap => Some(position),
        MemberState::Rebuilding { .. } | MemberState::Missing => Some(0),
    };
    let mut rebuilt: Vec<_> = assembly.slots.iter().filter_map(rebuilt).collect();
    rebuilt.sort_unstable_by(|left, right| right.cmp(left));
    let rebuilt = *rebuilt.get(rebuilt.len().checked_sub(redundancy)?)?;
    let region_bytes = sync_bytes.div_ceil(FORCED_REGIONS).next_multiple_of(4096);
    let mut only = only.unwrap_or_else(|| {
        let mut all = Regions::new(region_bytes, sync_bytes);
        all.set_all();
        all
    });
    only.remove(rebuilt..sync_bytes);
    (position < rebuilt && only.touches(position..rebuilt)).then_some(Resync { position, only: Some(only) })
}
