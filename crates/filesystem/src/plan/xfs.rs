//! XFS: `su` is a chunk and `sw` the chunks of a stripe; the log has a unit of its own.

use shoal_text::format_size;

use super::MkfsPlan;
use crate::geometry::{Geometry, Stripes};

const BLOCK_BYTES: u64 = 4096;
/// mkfs.xfs refuses a log unit beyond 256 KiB, and takes this instead.
const LOG_UNIT_BYTES_MAX: u64 = 32 << 10;
/// With stripes, mkfs.xfs 6.1 makes eight groups of a small file system, in which its log of 64 MB
/// has no room.
const FEW_GROUPS_BELOW_BYTES: u64 = 640 << 20;
/// mkfs.xfs counts 512-byte units in a signed number of 32 bits.
const CHUNK_BYTES_MAX: u64 = 1 << 30;
/// How many stripes an array has at least, for a group to be longer than a stripe.
const STRIPES_MIN: u64 = 16;

pub(super) fn fit(plan: &mut MkfsPlan, geometry: &Geometry) {
    plan.add_manners(["-q", "-f"], "mkfs.xfs(8)");
    plan.add(
        ["-s", &format!("size={}", geometry.logical_block_bytes)],
        "the array's logical block",
        "mkfs.xfs(8), sector size",
    );
    let Some(stripes) = geometry.stripes else {
        plan.note("the array's level has no stripes: neither su nor sw is given".to_owned());
        return add_no_alignment(plan);
    };
    if !can_be_told(&stripes, geometry) {
        let (chunk, width) = (format_size(stripes.chunk_bytes), format_size(stripes.width_bytes()));
        plan.note(format!("XFS cannot be told of stripes of {width} in chunks of {chunk} on an array of this size"));
        return add_no_alignment(plan);
    }
    add_stripes(plan, &stripes, geometry);
    add_log(plan, stripes.chunk_bytes);
}

fn add_no_alignment(plan: &mut MkfsPlan) {
    plan.add(["-d", "noalign"], "nor are stripes to be guessed from the device", "mkfs.xfs(8), noalign");
}

/// A chunk is a multiple of a block, and a group has more than a stripe.
fn can_be_told(stripes: &Stripes, geometry: &Geometry) -> bool {
    stripes.chunk_bytes.is_multiple_of(BLOCK_BYTES)
        && stripes.chunk_bytes <= CHUNK_BYTES_MAX
        && stripes.width_bytes() <= geometry.size_bytes / STRIPES_MIN
}

fn add_stripes(plan: &mut MkfsPlan, stripes: &Stripes, geometry: &Geometry) {
    let (su, sw) = (stripes.chunk_bytes, stripes.data_members);
    let (groups, why_so_few) = match geometry.size_bytes < FEW_GROUPS_BELOW_BYTES {
        true => (",agcount=4", "; four groups, as in more of them the log of 64 MB has no room"),
        false => ("", ""),
    };
    plan.add(
        ["-d", &format!("su={su},sw={sw}{groups}")],
        format!(
            "a chunk of {} and {sw} of them in a stripe: files begin at chunks, large ones at stripes, groups on other members{why_so_few}",
            format_size(su)
        ),
        "mkfs.xfs(8), su and sw",
    );
}

fn add_log(plan: &mut MkfsPlan, chunk_bytes: u64) {
    let unit = log_unit_bytes(chunk_bytes);
    plan.add(
        ["-l", &format!("su={unit}")],
        format!(
            "each write of the log is filled up to {}: no more, so that a flush writes little; beyond 256 KiB it is refused",
            format_size(unit)
        ),
        "mkfs.xfs(8), -l su",
    );
}

/// The largest even part of a chunk that is not too much for each flush.
fn log_unit_bytes(chunk_bytes: u64) -> u64 {
    let parts = (0..31).map(|doublings| 1_u64 << doublings).filter(|&parts| chunk_bytes.is_multiple_of(parts));
    let fits = |&unit: &u64| unit <= LOG_UNIT_BYTES_MAX && unit.is_multiple_of(BLOCK_BYTES);
    parts.map(|parts| chunk_bytes / parts).find(fits).unwrap_or(BLOCK_BYTES)
}
