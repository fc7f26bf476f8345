//! What is told of `--size`.

use shoal_text::format_size;
use shoal_volume::{ArrayLevel, CreateOptions, Level};

use crate::output;

/// What becomes of a size that was asked for.
pub(super) fn size_text(create: &CreateOptions, content_bytes: Option<u64>) -> String {
    match (create.drive_bytes_limit, content_bytes) {
        (Some(limit), Some(content)) if content < limit => format!(
            "  --size {}: of that, {} of each drive hold content; {} are for the superblock, what lies beside it, and the rest of a chunk\n",
            format_size(limit),
            format_size(content),
            format_size(limit - content)
        ),
        _ => String::new(),
    }
}

/// Tells which drives have much more room than the smallest, that the array does not use.
pub(super) fn tell_unused(sizes: &[(String, u64)], create: &CreateOptions) {
    let is_meant = create.drive_bytes_limit.is_some();
    let is_all_used = is_meant || matches!(create.level, ArrayLevel::Plain(Level::Linear | Level::Raid0(_)));
    let Some(smallest) = sizes.iter().map(|(_, size)| *size).min().filter(|_| !is_all_used) else { return };
    let larger = sizes.iter().filter(|(_, size)| size - smallest > smallest / UNUSED_SHARE);
    let larger: Vec<_> = larger.map(|(drive, size)| format!("{} of {drive}", format_size(size - smallest))).collect();
    if !larger.is_empty() {
        output::warn(&format!(
            "not used by the array, as the smallest drive has no more than {}: {}",
            format_size(smallest),
            larger.join(", ")
        ));
    }
}

/// What is less than this part of the smallest drive is not worth a word: sticks of one name differ
/// by some percent.
const UNUSED_SHARE: u64 = 10;
