//! What has been written where, and what may therefore be found.

use std::ops::Range;

use crate::support::pattern;
use crate::support::stage::Stage;

pub(crate) const BLOCK_BYTES: usize = 4096;
/// The blocks that are written to, from the start of the content: many stripes, so that writes meet
/// in them now and then.
pub(crate) const BLOCKS: usize = 1024;

/// Numbers from a seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

/// Which versions each block may hold. Version 0 is zeroes; version `v` of all blocks is the file
/// `v<v>` of the stage.
pub(crate) struct History {
    allowed: Vec<Vec<usize>>,
    versions: Vec<Vec<u8>>,
}

impl History {
    /// Makes the versions, and puts them on the stage. They hold bytes that are all different.
    pub(crate) fn new(stage: &Stage, versions: usize) -> Self {
        let zeroes = vec![0; BLOCKS * BLOCK_BYTES];
        let written = (1..=versions).map(|version| pattern(BLOCKS * BLOCK_BYTES, version as u64));
        let versions: Vec<_> = std::iter::once(zeroes).chain(written).collect();
        for (version, bytes) in versions.iter().enumerate() {
            std::fs::write(stage.path(&format!("v{version}")), bytes).unwrap();
        }
        Self { allowed: vec![vec![0]; BLOCKS], versions }
    }

    /// A write of a version begins.
    pub(crate) fn submitted(&mut self, version: usize, blocks: Range<usize>) {
        self.allowed[blocks].iter_mut().for_each(|allowed| allowed.push(version));
    }

    /// It is acknowledged, and flushed.
    pub(crate) fn acknowledged(&mut self, version: usize, blocks: Range<usize>) {
        self.allowed[blocks].iter_mut().for_each(|allowed| allowed.retain(|&it| it >= version));
    }

    /// Every block of `content` holds one of the versions that it may hold. Where a drive was lost
    /// as well, blocks that were being written may hold anything.
    pub(crate) fn assert_holds(&self, content: &[u8], lost: bool) {
        assert!(content.len() >= BLOCKS * BLOCK_BYTES, "all blocks are there");
        for (number, found) in content.chunks(BLOCK_BYTES).take(BLOCKS).enumerate() {
            if lost && self.allowed[number].len() > 1 {
                continue;
            }
            let range = number * BLOCK_BYTES..(number + 1) * BLOCK_BYTES;
            let is = |version: usize| self.versions[version][range.clone()] == *found;
            let allowed = &self.allowed[number];
            let found = (0..self.versions.len()).find(|&version| is(version));
            assert!(
                found.is_some_and(|version| allowed.contains(&version)),
                "block {number} holds version {found:?}, and may hold {allowed:?}"
            );
        }
    }
}
