//! btrfs: nothing about stripes can be told to it.

use shoal_text::format_size;

use super::MkfsPlan;
use crate::geometry::Geometry;

const NODE_BYTES: u64 = 16 << 10;

pub(super) fn fit(plan: &mut MkfsPlan, geometry: &Geometry) {
    plan.add_manners(["-q", "-f"], "mkfs.btrfs(8)");
    plan.add(
        ["--sectorsize", "4096"],
        "the page of most machines, so that the array can be taken to another",
        "mkfs.btrfs(8), sectorsize",
    );
    plan.add(
        ["--nodesize", "16384"],
        "its own choice, said so that it does not change with the machine's page",
        "mkfs.btrfs(8), nodesize",
    );
    plan.add(
        ["--data", "single", "--metadata", "dup"],
        "two copies of metadata: its checksums tell which one is wrong, and an array's own redundancy cannot",
        "mkfs.btrfs(8), profiles",
    );
    let Some(stripes) = geometry.stripes else { return };
    plan.note(format!(
        "btrfs cannot be told of stripes (here {} of data): it has no such options, and writes where it has room",
        format_size(stripes.width_bytes())
    ));
    if stripes.chunk_bytes < NODE_BYTES {
        let chunk = format_size(stripes.chunk_bytes);
        plan.note(format!("a node of 16 KiB lies in several chunks of {chunk}: larger chunks would suit btrfs better"));
    }
}
