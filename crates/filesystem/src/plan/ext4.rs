//! ext4: `stride` is a chunk and `stripe_width` a stripe, in blocks.

use shoal_text::format_size;

use super::MkfsPlan;
use crate::geometry::{Geometry, Stripes};

const BLOCK_BYTES: u64 = 4096;
/// `s_raid_stride` has 16 bits, `s_raid_stripe_width` 32: kernel,
/// Documentation/filesystems/ext4/super.rst.
const STRIDE_BLOCKS_MAX: u64 = u16::MAX as u64;
const WIDTH_BLOCKS_MAX: u64 = u32::MAX as u64;

pub(super) fn fit(plan: &mut MkfsPlan, geometry: &Geometry) {
    plan.add_manners(["-q", "-F"], "mkfs.ext4(8)");
    plan.add(
        ["-b", "4096"],
        "a page, whatever the array's size: mke2fs takes 1 KiB for small ones, and stride counts in blocks",
        "mkfs.ext4(8), mke2fs.conf(5)",
    );
    match geometry.stripes {
        None => plan.note("the array's level has no stripes: neither stride nor stripe width is given".to_owned()),
        Some(stripes) => add_stripes(plan, &stripes, geometry.misnested().is_none()),
    }
}

fn add_stripes(plan: &mut MkfsPlan, stripes: &Stripes, is_aligned: bool) {
    let (chunk, width) = (format_size(stripes.chunk_bytes), format_size(stripes.width_bytes()));
    let (stride, blocks) = (stripes.chunk_bytes / BLOCK_BYTES, stripes.width_bytes() / BLOCK_BYTES);
    let fits = (1..=STRIDE_BLOCKS_MAX).contains(&stride) && blocks <= WIDTH_BLOCKS_MAX;
    if !fits || !stripes.chunk_bytes.is_multiple_of(BLOCK_BYTES) {
        plan.note(format!("chunks of {chunk} do not fit ext4's fields: neither stride nor stripe width is given"));
        return;
    }
    let why = if stripes.has_parity && is_aligned { ", so that parity needs no reading" } else { "" };
    plan.add(
        ["-E", &format!("stride={stride},stripe_width={blocks}")],
        format!(
            "a chunk of {chunk}: bitmaps are spread over the members; a stripe of {width}: it is written whole{why}"
        ),
        "mkfs.ext4(8), stride and stripe_width; the mount takes stripe= from there, ext4(5)",
    );
}
