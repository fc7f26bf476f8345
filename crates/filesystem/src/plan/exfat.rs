//! exFAT: its table and its clusters begin at multiples of a power of two.

use shoal_text::format_size;

use super::MkfsPlan;
use crate::geometry::{Alignment, Geometry};

/// From which size on which cluster, as Windows chooses: Microsoft KB 140365.
const CLUSTERS: [(u64, u64); 3] = [(0, 4 << 10), ((256 << 20) + 1, 32 << 10), ((32 << 30) + 1, 128 << 10)];
/// How large a part of the array may lie before the first cluster at the most: one in so many.
const ROOM_PARTS: u64 = 16;
/// Clusters are counted in 32 bits, of which some values mean something else.
const CLUSTERS_MAX: u64 = u32::MAX as u64 - 11;

pub(super) fn fit(plan: &mut MkfsPlan, geometry: &Geometry) {
    let cluster = cluster_bytes(geometry.size_bytes);
    plan.add(
        ["-c", &cluster.to_string()],
        format!("clusters of {}, as Windows chooses for this size", format_size(cluster)),
        "Microsoft KB 140365, default cluster sizes",
    );
    let wanted = geometry.alignments();
    let fits = |it: &u64| *it >= cluster && *it <= geometry.size_bytes / ROOM_PARTS;
    let fitting = wanted.iter().find_map(|it| Some((*it, power_of_two_in(it.bytes).filter(fits)?)));
    match (fitting, wanted.first()) {
        (Some((alignment, bytes)), _) => add_boundary(plan, alignment, bytes),
        (None, Some(best)) => plan.note(format!("exFAT cannot begin at {} on an array of this size", best.of)),
        (None, None) => {}
    }
}

fn add_boundary(plan: &mut MkfsPlan, alignment: Alignment, bytes: u64) {
    let (boundary, wanted, of) = (format_size(bytes), format_size(alignment.bytes), alignment.of);
    if alignment.bytes == bytes {
        let reason = format!("table and clusters begin at multiples of {boundary}, {of}");
        plan.add(["-b", &bytes.to_string()], reason, "mkfs.exfat(8), -b");
        return;
    }
    let reason = format!("table and clusters begin at multiples of {boundary}, the power of two in {wanted}");
    plan.add(["-b", &bytes.to_string()], reason, "mkfs.exfat(8), -b");
    plan.note(format!("exFAT begins at powers of two only: not at {of} ({wanted}), which are none"));
}

fn cluster_bytes(size_bytes: u64) -> u64 {
    let mut cluster = CLUSTERS.iter().rev().find(|&&(from, _)| size_bytes >= from).map_or(CLUSTERS[0].1, |it| it.1);
    while size_bytes / cluster > CLUSTERS_MAX {
        cluster *= 2;
    }
    cluster
}

/// The largest power of two that divides it.
fn power_of_two_in(bytes: u64) -> Option<u64> {
    (bytes > 0).then(|| 1 << bytes.trailing_zeros())
}
