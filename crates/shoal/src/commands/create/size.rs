//! What is told of `--size`.

use shoal_text::format_size;
use shoal_volume::CreateOptions;

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
