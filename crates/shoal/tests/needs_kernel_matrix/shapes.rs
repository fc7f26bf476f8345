//! The shapes of the matrix.

use std::fmt;

/// An array's shape, in mdadm's words.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) level: &'static str,
    /// Empty: the level's default, or none.
    pub(crate) layout: &'static str,
    /// Sizes of the members in MiB, in role order.
    pub(crate) members_mib: &'static [u64],
    /// 0: the level has none.
    pub(crate) chunk_kib: u32,
    pub(crate) metadata: &'static str,
    /// Of the drives, as the kernel sees them.
    pub(crate) block_bytes: u32,
}

const fn shape(level: &'static str, layout: &'static str, members_mib: &'static [u64], chunk_kib: u32) -> Shape {
    Shape { level, layout, members_mib, chunk_kib, metadata: "1.2", block_bytes: 512 }
}

pub(crate) const SHAPES: &[Shape] = &[
    shape("linear", "", &[9, 12, 10], 64),
    shape("0", "", &[12, 12, 12], 64),
    shape("1", "", &[12, 12], 0),
    shape("5", "left-symmetric", &[12, 12, 12], 64),
];

impl Shape {
    pub(crate) fn sizes_bytes(&self) -> Vec<u64> {
        self.members_mib.iter().map(|mib| mib << 20).collect()
    }

    /// Whether there is anything that could disagree.
    pub(crate) fn has_redundancy(&self) -> bool {
        !["linear", "0"].contains(&self.level)
    }

    /// The options that make it, which shoal and mdadm share.
    pub(crate) fn options(&self) -> String {
        let mut options = format!("--level {}", self.level);
        if !self.layout.is_empty() {
            options += &format!(" --layout {}", self.layout);
        }
        if self.chunk_kib != 0 {
            options += &format!(" --chunk {}K", self.chunk_kib);
        }
        options
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { level, layout, members_mib, chunk_kib, metadata, block_bytes } = self;
        write!(f, "level {level} {layout} x{} {chunk_kib}K {metadata} block {block_bytes}", members_mib.len())
    }
}
