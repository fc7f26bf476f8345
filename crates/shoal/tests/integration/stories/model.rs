//! What each block of the content may hold.

use std::collections::BTreeSet;

/// Bytes of a block.
pub(crate) const BLOCK_BYTES: usize = 4096;

/// A version is a number that is written all over a block.
pub(crate) type Version = u64;

/// Blocks from the start of the content, with the versions that each may hold.
pub(crate) struct Model {
    allowed: Vec<BTreeSet<Version>>,
    /// The last version of a block that a server has answered for in this life, if it is not
    /// flushed.
    answered: Vec<Option<Version>>,
    last: Version,
    /// Blocks that were being written when a server was killed: first, and how many.
    interrupted: Vec<(usize, usize)>,
    /// Blocks that may hold anything until they are written and flushed.
    holes: BTreeSet<usize>,
}

impl Model {
    /// All blocks hold zeros.
    pub(crate) fn new(blocks: usize) -> Self {
        Self {
            allowed: vec![BTreeSet::from([0]); blocks],
            answered: vec![None; blocks],
            last: 0,
            interrupted: Vec::new(),
            holes: BTreeSet::new(),
        }
    }

    /// The version written last.
    pub(crate) fn last(&self) -> Version {
        self.last
    }

    /// Content for `count` blocks from `first`, about to be written: each may hold the new version
    /// from now on.
    pub(crate) fn write(&mut self, first: usize, count: usize) -> Vec<u8> {
        self.last += 1;
        for block in first..first + count {
            self.allowed[block].insert(self.last);
        }
        content(self.last, count)
    }

    /// A write of that content was answered.
    pub(crate) fn answered(&mut self, first: usize, content: &[u8]) {
        let version = version(&content[..BLOCK_BYTES]).expect("it is ours");
        for block in first..first + content.len() / BLOCK_BYTES {
            self.answered[block] = Some(version);
        }
    }

    /// A flush that was asked for after the last answer was done: what was answered is durable.
    pub(crate) fn flushed(&mut self) {
        for (block, answered) in self.answered.iter_mut().enumerate() {
            if let Some(version) = answered.take() {
                self.allowed[block] = BTreeSet::from([version]);
                self.holes.remove(&block);
            }
        }
    }

    /// The server was killed before it answered this write.
    pub(crate) fn interrupted(&mut self, first: usize, count: usize) {
        self.interrupted.push((first, count));
    }

    /// In the rows of so many blocks that were being written, any block may be lost: that is the
    /// write hole.
    pub(crate) fn holed(&mut self, row_blocks: usize) {
        for (first, count) in std::mem::take(&mut self.interrupted) {
            let start = first / row_blocks * row_blocks;
            let end = (first + count).next_multiple_of(row_blocks).min(self.allowed.len());
            self.holes.extend(start..end);
        }
    }

    /// The server is gone, and with it what it has answered for and not flushed.
    pub(crate) fn ended(&mut self) {
        self.answered.fill(None);
    }

    /// What is wrong with this content of the blocks from `first` on.
    pub(crate) fn fault(&self, first: usize, content: &[u8]) -> Option<String> {
        content.chunks(BLOCK_BYTES).zip(first..).find_map(|(bytes, block)| {
            let allowed = &self.allowed[block];
            match version(bytes) {
                _ if self.holes.contains(&block) => None,
                None => Some(format!("block {block} is torn or rotten: {allowed:?} may be there")),
                Some(version) if allowed.contains(&version) => None,
                Some(version) => Some(format!("block {block} holds version {version}: {allowed:?} may be there")),
            }
        })
    }
}

fn content(version: Version, count: usize) -> Vec<u8> {
    version.to_le_bytes().repeat(count * BLOCK_BYTES / 8)
}

/// The version of a block; none if it is not the same all over.
fn version(bytes: &[u8]) -> Option<Version> {
    let first: [u8; 8] = bytes[..8].try_into().ok()?;
    bytes.chunks(8).all(|word| word == first).then_some(Version::from_le_bytes(first))
}
