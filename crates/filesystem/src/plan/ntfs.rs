//! NTFS: only the cluster can be chosen.

use shoal_text::format_size;

use super::MkfsPlan;
use crate::geometry::Geometry;

/// Clusters are counted in 32 bits.
const CLUSTERS_MAX: u64 = u32::MAX as u64;
const CLUSTER_BYTES: u64 = 4 << 10;

pub(super) fn fit(plan: &mut MkfsPlan, geometry: &Geometry) {
    plan.add(["-q", "-F", "-Q"], "no questions, and nothing is filled with zeros", "mkntfs(8)");
    plan.add(["-s", &geometry.logical_block_bytes.to_string()], "the array's logical block", "mkntfs(8), sector size");
    let mut cluster = CLUSTER_BYTES;
    while geometry.size_bytes / cluster > CLUSTERS_MAX {
        cluster *= 2;
    }
    let reason = match cluster {
        CLUSTER_BYTES => "as Windows chooses, and the most with which files can be compressed",
        _ => "the least of which 2^32 reach the array's end",
    };
    plan.add(["-c", &cluster.to_string()], format!("clusters of {}: {reason}", format_size(cluster)), "mkntfs(8), -c");
    plan.add(
        ["-p", "0", "-H", "255", "-S", "63"],
        "hidden sectors, heads and sectors of a track, which it warns of otherwise: there is no partition table",
        "mkntfs(8)",
    );
    if let Some(stripes) = geometry.stripes {
        plan.note(format!("NTFS cannot be told of stripes (here {} of data)", format_size(stripes.width_bytes())));
    }
}
