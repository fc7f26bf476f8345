//! The shapes of the matrix. Each level and layout has a row; so has each metadata version, chunk
//! size, block size and mixture of members, with levels taking turns.

use std::fmt;

/// An array's shape, in mdadm's words.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) level: &'static str,
    /// Empty: the level's default, or none.
    pub(crate) layout: &'static str,
    /// Sizes of the members in role order.
    pub(crate) members_mib: &'static [u64],
    /// 0: the level has none.
    pub(crate) chunk_kib: u32,
    /// The superblock's version.
    pub(crate) metadata: &'static str,
    /// Logical blocks of the drives.
    pub(crate) block_bytes: u32,
}

const fn shape(level: &'static str, layout: &'static str, members_mib: &'static [u64], chunk_kib: u32) -> Shape {
    Shape { level, layout, members_mib, chunk_kib, metadata: "1.2", block_bytes: 512 }
}

impl Shape {
    const fn metadata(self, metadata: &'static str) -> Self {
        Self { metadata, ..self }
    }

    const fn large_blocks(self) -> Self {
        Self { block_bytes: 4096, ..self }
    }
}

const TWO: &[u64] = &[12; 2];
const THREE: &[u64] = &[12; 3];
const FOUR: &[u64] = &[12; 4];
const FIVE: &[u64] = &[12; 5];
const SIX: &[u64] = &[12; 6];
/// With room for several rows of the largest chunks.
const LARGE_FOUR: &[u64] = &[32; 4];
const UNEQUAL: &[u64] = &[12, 15, 11, 19];
/// Three zones.
const ZONES: &[u64] = &[9, 16, 12, 16, 12];
/// More than 2^32 sectors, even where a single member counts.
const HUGE: &[u64] = &[(5 << 20) / 2; 3];
const HUGE_FOUR: &[u64] = &[(5 << 20) / 2; 4];

pub(crate) const SHAPES: &[Shape] = &[
    shape("linear", "", THREE, 64),
    shape("linear", "", UNEQUAL, 64),
    shape("linear", "", UNEQUAL, 64).large_blocks(),
    shape("linear", "", THREE, 64).metadata("1.0"),
    shape("linear", "", THREE, 64).metadata("1.1"),
    shape("linear", "", THREE, 64).metadata("0.90"),
    shape("linear", "", HUGE, 64),
    shape("0", "", TWO, 64),
    shape("0", "", FIVE, 64),
    shape("0", "original", ZONES, 64),
    shape("0", "alternate", ZONES, 64),
    shape("0", "original", ZONES, 512).large_blocks(),
    shape("0", "", THREE, 4),
    shape("0", "", THREE, 32),
    shape("0", "", LARGE_FOUR, 4096),
    shape("0", "", THREE, 64).metadata("1.0"),
    shape("0", "", THREE, 64).metadata("1.1"),
    shape("0", "", HUGE, 512),
    shape("1", "", TWO, 0),
    shape("1", "", THREE, 0),
    shape("1", "", UNEQUAL, 0),
    shape("1", "", TWO, 0).large_blocks(),
    shape("1", "", TWO, 0).metadata("1.0"),
    shape("1", "", TWO, 0).metadata("1.1"),
    shape("1", "", TWO, 0).metadata("0.90"),
    shape("1", "", HUGE, 0),
    shape("4", "", THREE, 64),
    shape("4", "", FIVE, 128),
    shape("4", "", FOUR, 64).large_blocks(),
    shape("4", "", FOUR, 64).metadata("1.0"),
    shape("4", "", FOUR, 64).metadata("0.90"),
    shape("5", "left-asymmetric", FOUR, 64),
    shape("5", "right-asymmetric", FOUR, 64),
    shape("5", "left-symmetric", FOUR, 64),
    shape("5", "right-symmetric", FOUR, 64),
    shape("5", "parity-first", FOUR, 64),
    shape("5", "parity-last", FOUR, 64),
    shape("5", "left-symmetric", THREE, 512),
    shape("5", "left-symmetric", SIX, 64),
    shape("5", "left-symmetric", UNEQUAL, 64),
    shape("5", "left-symmetric", FOUR, 4),
    shape("5", "left-symmetric", FOUR, 8),
    shape("5", "left-symmetric", FOUR, 128),
    shape("5", "left-symmetric", LARGE_FOUR, 1024),
    shape("5", "left-symmetric", LARGE_FOUR, 4096),
    shape("5", "left-symmetric", FOUR, 64).large_blocks(),
    shape("5", "right-asymmetric", FOUR, 4).large_blocks(),
    shape("5", "left-symmetric", THREE, 64).metadata("1.0"),
    shape("5", "left-symmetric", THREE, 64).metadata("1.1"),
    shape("5", "left-symmetric", THREE, 64).metadata("0.90"),
    shape("5", "left-symmetric", HUGE, 512),
    shape("6", "left-asymmetric", FIVE, 64),
    shape("6", "right-asymmetric", FIVE, 64),
    shape("6", "left-symmetric", FIVE, 64),
    shape("6", "right-symmetric", FIVE, 64),
    shape("6", "parity-first", FIVE, 64),
    shape("6", "parity-last", FIVE, 64),
    shape("6", "ddf-zero-restart", FIVE, 64),
    shape("6", "ddf-N-restart", FIVE, 64),
    shape("6", "ddf-N-continue", FIVE, 64),
    shape("6", "left-asymmetric-6", FIVE, 64),
    shape("6", "right-asymmetric-6", FIVE, 64),
    shape("6", "left-symmetric-6", FIVE, 64),
    shape("6", "right-symmetric-6", FIVE, 64),
    shape("6", "parity-first-6", FIVE, 64),
    shape("6", "left-symmetric", FOUR, 16),
    shape("6", "left-symmetric", SIX, 256),
    shape("6", "left-symmetric", UNEQUAL, 64),
    shape("6", "left-symmetric", FIVE, 4),
    shape("6", "left-symmetric", LARGE_FOUR, 2048),
    shape("6", "left-symmetric", LARGE_FOUR, 4096),
    shape("6", "ddf-N-continue", SIX, 64).large_blocks(),
    shape("6", "left-symmetric", FIVE, 64).metadata("1.0"),
    shape("6", "left-symmetric", FIVE, 64).metadata("1.1"),
    shape("6", "left-symmetric", FIVE, 64).metadata("0.90"),
    shape("6", "left-symmetric", HUGE_FOUR, 512),
    shape("10", "n2", TWO, 64),
    shape("10", "n2", THREE, 64),
    shape("10", "n2", FOUR, 64),
    shape("10", "n2", FIVE, 64),
    shape("10", "n3", THREE, 64),
    shape("10", "n3", FOUR, 64),
    shape("10", "n3", FIVE, 64),
    shape("10", "f2", TWO, 64),
    shape("10", "f2", THREE, 64),
    shape("10", "f2", FOUR, 64),
    shape("10", "o2", TWO, 64),
    shape("10", "o2", THREE, 64),
    shape("10", "o2", FOUR, 64),
    shape("10", "n2", UNEQUAL, 64),
    shape("10", "f2", UNEQUAL, 64),
    shape("10", "n2", FOUR, 4),
    shape("10", "f2", FOUR, 8),
    shape("10", "o2", FOUR, 32),
    shape("10", "n2", LARGE_FOUR, 4096),
    shape("10", "f2", THREE, 64).large_blocks(),
    shape("10", "n2", FOUR, 64).metadata("1.0"),
    shape("10", "o2", THREE, 64).metadata("1.1"),
    shape("10", "n2", FOUR, 64).metadata("0.90"),
    shape("10", "n2", HUGE_FOUR, 512),
    shape("10", "f2", HUGE, 512),
    shape("10", "o2", HUGE, 512),
];

impl Shape {
    pub(crate) fn sizes_bytes(&self) -> Vec<u64> {
        self.members_mib.iter().map(|mib| mib << 20).collect()
    }

    /// Whether there is anything that could disagree.
    pub(crate) fn has_redundancy(&self) -> bool {
        !["linear", "0"].contains(&self.level)
    }

    /// Whether the content is too much to be looked at as a whole.
    pub(crate) fn is_huge(&self) -> bool {
        self.members_mib[0] > 1 << 20
    }

    /// Whether shoal can write to it: superblocks of version 0.90 are read only.
    pub(crate) fn can_be_written(&self) -> bool {
        self.metadata != "0.90"
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
        if self.is_huge() && self.has_redundancy() {
            options += " --assume-clean";
        }
        if self.metadata != "1.2" {
            options += &format!(" --metadata {}", self.metadata);
        }
        options
    }

    /// Its cells in the table: level, layout, members, chunk, metadata, logical blocks.
    pub(crate) fn columns(&self) -> [String; 6] {
        [
            self.level.to_owned(),
            self.layout.to_owned(),
            self.members(),
            if self.chunk_kib == 0 { String::new() } else { format!("{} KiB", self.chunk_kib) },
            self.metadata.to_owned(),
            format!("{} B", self.block_bytes),
        ]
    }

    fn members(&self) -> String {
        let first = self.members_mib[0];
        let count = self.members_mib.len();
        if self.is_huge() {
            format!("{count} of {} GiB", first >> 10)
        } else if self.members_mib.iter().all(|&mib| mib == first) {
            format!("{count} of {first} MiB")
        } else {
            let sizes: Vec<_> = self.members_mib.iter().map(u64::to_string).collect();
            format!("{} MiB", sizes.join(", "))
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.columns();
        let words: Vec<_> = columns.iter().filter(|column| !column.is_empty()).map(String::as_str).collect();
        write!(f, "{}", words.join(" "))
    }
}
