//! Write-intent bitmaps at rest: written when an array is made.

use shoal_array::{Fault, MemberIo};
use shoal_md::{Area, Bitmap, BitmapHeader, Superblock};

use crate::VolumeError;
use crate::tree::{Target, Tree};
use crate::world::World;

/// Writes the bitmap of a new array beside a member's superblock, all bits set, as mdadm does, and makes it durable.
pub(crate) fn write_new_bitmap<W: World>(
    tree: &mut Tree<W>,
    target: Target,
    superblock: &Superblock,
    header: &BitmapHeader,
) -> Result<Result<(), Fault>, VolumeError> {
    let Area { offset_bytes, size_bytes } = superblock.bitmap_area().expect("the array was planned with a bitmap");
    let bitmap = Bitmap::all_set(header.clone(), header.sync_sectors, size_bytes);
    let bitmap = bitmap.expect("the room was planned for the bitmap");
    let block_bytes = u64::from(tree.logical_block_bytes(target));
    for page in 0..bitmap.pages() {
        let range = bitmap.page_range(page, block_bytes);
        let length = usize::try_from(range.end - range.start).expect("no longer than a page");
        let span = tree.small_span(length);
        tree.world.arena().write(tree.plan.memory(span), &bitmap.encode_page(page)[..length]);
        if let Err(fault) = tree.call(target, MemberIo::Write { offset: offset_bytes + range.start, span })? {
            return Ok(Err(fault));
        }
    }
    tree.call(target, MemberIo::Flush)
}
