//! F2FS: a section is what it writes one after the other and cleans as a whole, so a section is
//! made of whole erase units.

use shoal_text::format_size;

use super::MkfsPlan;
use crate::geometry::{Alignment, Geometry, least_common_multiple};

/// Kernel, Documentation/filesystems/f2fs.rst: a segment is 2 MiB.
const SEGMENT_BYTES: u64 = 2 << 20;
/// Six logs are open at a time, and some sections are kept free for cleaning: of fewer too large a
/// part would be lost.
const SECTIONS_MIN: u64 = 128;

pub(super) fn fit(plan: &mut MkfsPlan, geometry: &Geometry) {
    plan.add_manners(["-q", "-f"], "mkfs.f2fs(8)");
    plan.add(["-w", &geometry.logical_block_bytes.to_string()], "the array's logical block", "mkfs.f2fs(8), -w");
    let wanted = geometry.alignments();
    let fitting = wanted.iter().find_map(|it| Some((*it, section_bytes(it, geometry)?)));
    match fitting {
        Some((alignment, bytes)) => add_section(plan, alignment, bytes),
        None => {
            plan.add(["-s", "1", "-z", "1"], "a section is one segment of 2 MiB, its own choice", "mkfs.f2fs(8), -s")
        }
    }
    if let Some(best) = wanted.first().filter(|&&best| fitting.is_none_or(|(reached, _)| reached != best)) {
        plan.note(format!(
            "the array is too small for {SECTIONS_MIN} sections that hold {} ({}): they are smaller",
            best.of,
            format_size(best.bytes)
        ));
    }
    if geometry.erase_unit_bytes.is_none() {
        plan.note(
            "the drives' erase unit is not known: if you know it, say --erase-unit, and sections hold it".to_owned(),
        );
    }
}

fn add_section(plan: &mut MkfsPlan, alignment: Alignment, bytes: u64) {
    plan.add(
        ["-s", &(bytes / SEGMENT_BYTES).to_string(), "-z", "1"],
        format!(
            "a section, which is cleaned at once, has {}: segments of 2 MiB that hold {} ({})",
            format_size(bytes),
            alignment.of,
            format_size(alignment.bytes)
        ),
        "mkfs.f2fs(8), -s and -z; kernel, Documentation/filesystems/f2fs.rst",
    );
}

/// What holds whole segments and what is to be aligned to; none if the array has too few of it.
fn section_bytes(alignment: &Alignment, geometry: &Geometry) -> Option<u64> {
    let bytes = least_common_multiple(SEGMENT_BYTES, alignment.bytes)?;
    (geometry.size_bytes / bytes >= SECTIONS_MIN).then_some(bytes)
}
