//! FAT: what can be chosen is the cluster, and the reserved sectors before the tables, which decide
//! where clusters begin.
//!
//! The first cluster lies behind the reserved sectors and two tables, whose length follows from the
//! number of clusters. It is computed here as mkfs.fat 4.2 does, and the reserved sectors are made
//! as many as bring it to the place that is wanted.

use shoal_text::format_size;

use super::MkfsPlan;
use crate::geometry::Geometry;

const TABLES: u64 = 2;
/// The field has 16 bits.
const RESERVED_SECTORS_MAX: u64 = u16::MAX as u64;
/// Of FAT16: 512 entries of 32 bytes.
const ROOT_BYTES: u64 = 512 * 32;
/// Below, FAT16 is the usual choice, and FAT32 has too few clusters: mkfs.fat(8).
const FAT32_FROM_BYTES: u64 = 512 << 20;
/// Clusters for sizes from the first on, which keep their number in bounds: FAT16 ends at 65524 of
/// them, and FAT32 begins there. From 512 MiB on as Windows chooses, KB 140365.
const CLUSTERS: [(u64, u64); 7] = [
    (0, 2 << 10),
    (120 << 20, 4 << 10),
    (240 << 20, 8 << 10),
    (FAT32_FROM_BYTES, 4 << 10),
    (8 << 30, 8 << 10),
    (16 << 30, 16 << 10),
    (32 << 30, 32 << 10),
];

/// A FAT file system as mkfs.fat would lay it out.
struct Layout {
    fat32: bool,
    sector_bytes: u64,
    cluster_bytes: u64,
    size_bytes: u64,
}

pub(super) fn fit(plan: &mut MkfsPlan, geometry: &Geometry) {
    let layout = Layout::of(geometry);
    let (width, cluster) = (if layout.fat32 { "32" } else { "16" }, layout.cluster_bytes);
    plan.add(["-I"], "a whole device without partitions is meant", "mkfs.fat(8)");
    plan.add(["--mbr=no"], "no partition table is to be feigned on an array", "mkfs.fat(8), --mbr");
    plan.add(["-S", &layout.sector_bytes.to_string()], "the array's logical block", "mkfs.fat(8), -S");
    plan.add(["-F", width], format!("suits {} in such clusters", format_size(layout.size_bytes)), "mkfs.fat(8), -F");
    plan.add(
        ["-s", &(cluster / layout.sector_bytes).to_string()],
        format!("clusters of {}, the usual ones for this size", format_size(cluster)),
        "Microsoft KB 140365, default cluster sizes",
    );
    add_reserved_sectors(plan, geometry, &layout);
}

fn add_reserved_sectors(plan: &mut MkfsPlan, geometry: &Geometry, layout: &Layout) {
    let wanted = geometry.alignments();
    let fitting = wanted.iter().find_map(|it| Some((*it, layout.reserved_sectors(it.bytes)?)));
    if let Some((alignment, sectors)) = fitting {
        let (bytes, of) = (format_size(alignment.bytes), alignment.of);
        plan.add(
            ["-R", &sectors.to_string()],
            format!("reserved sectors that bring the first cluster to a multiple of {bytes}, {of}"),
            "mkfs.fat(8), -R; Microsoft's FAT specification, FirstDataSector",
        );
    }
    if let Some(best) = wanted.first().filter(|&&best| fitting.is_none_or(|(reached, _)| reached != best)) {
        let (bytes, of) = (format_size(best.bytes), best.of);
        plan.note(format!(
            "clusters cannot begin at a multiple of {bytes} ({of}): the field has 65535 reserved sectors"
        ));
    }
}

impl Layout {
    fn of(geometry: &Geometry) -> Self {
        let (sector_bytes, size_bytes) = (u64::from(geometry.logical_block_bytes), geometry.size_bytes);
        let usual = CLUSTERS.iter().rev().find(|&&(from, _)| size_bytes >= from).map_or(CLUSTERS[0].1, |it| it.1);
        Self { fat32: size_bytes >= FAT32_FROM_BYTES, sector_bytes, cluster_bytes: usual.max(sector_bytes), size_bytes }
    }

    /// The number of reserved sectors with which clusters begin at a multiple of `alignment_bytes`,
    /// if there is one.
    fn reserved_sectors(&self, alignment_bytes: u64) -> Option<u64> {
        let cluster = self.cluster_bytes / self.sector_bytes;
        let alignment = alignment_bytes / self.sector_bytes;
        if alignment == 0 || !alignment.is_multiple_of(cluster) {
            return None;
        }
        // More reserved sectors can make the tables shorter, so what comes out is looked at again.
        let mut reserved = if self.fat32 { 32_u64 } else { 1 }.next_multiple_of(cluster);
        for _ in 0..16 {
            let first = self.first_cluster_sector(reserved)?;
            let missing = first.checked_next_multiple_of(alignment)? - first;
            if missing == 0 {
                return Some(reserved);
            }
            reserved += missing;
            if reserved > RESERVED_SECTORS_MAX {
                return None;
            }
        }
        None
    }

    /// Where the first cluster begins. Tables and root are rounded up to clusters, as mkfs.fat does
    /// unless told not to.
    fn first_cluster_sector(&self, reserved: u64) -> Option<u64> {
        let cluster = self.cluster_bytes / self.sector_bytes;
        let sectors = self.size_bytes / self.sector_bytes;
        let (entry_bytes, root) = if self.fat32 { (4, 0) } else { (2, ROOT_BYTES.div_ceil(self.sector_bytes)) };
        let root = root.next_multiple_of(cluster);
        let rest = sectors.checked_sub(reserved + root)?;
        let spare_entries_bytes = TABLES * 2 * entry_bytes;
        let clusters = (rest * self.sector_bytes + spare_entries_bytes) / (self.cluster_bytes + TABLES * entry_bytes);
        let table = ((clusters + 2) * entry_bytes).div_ceil(self.sector_bytes).next_multiple_of(cluster);
        let first = reserved + TABLES * table + root;
        // Half of a small array is too much for a good beginning.
        (first <= sectors / 2).then_some(first)
    }
}

/// Why a label is none for FAT; nothing if it is one.
pub(super) fn label_problem(label: &str) -> Option<String> {
    const RESERVED: &str = "*?.,;:/\\|+=<>[]\"";
    if label.len() > 11 {
        return Some(format!("it has {} bytes, and 11 is the most", label.len()));
    }
    if let Some(c) = label.chars().find(|&c| !c.is_ascii() || RESERVED.contains(c)) {
        return Some(format!("`{c}` cannot be in it: take letters, digits, blanks, - and _"));
    }
    let has_lower_case = label.chars().any(|c| c.is_ascii_lowercase());
    has_lower_case.then(|| format!("lower case is not read everywhere: take `{}`", label.to_ascii_uppercase()))
}
