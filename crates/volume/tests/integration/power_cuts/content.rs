//! What is written, and what may be there after power was cut.

use std::ops::Range;

/// Bytes of a block of content: what a drive writes whole or not at all.
pub(crate) const BLOCK_BYTES: usize = 512;

/// What the user of an array may rely on, block by block.
///
/// A block holds the version of the last write that was answered before a flush that was answered
/// too, or one that was asked for after that: old or new, never a mix, never anything older.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    blocks: Vec<Block>,
    answered: Vec<u32>,
    /// The versions that a flush under way will make durable.
    flushing: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Block {
    durable: u32,
    /// In the order in which they were asked for.
    later: Vec<u32>,
}

impl Expected {
    pub(crate) fn new(blocks: usize) -> Self {
        Self { blocks: vec![Block::default(); blocks], answered: Vec::new(), flushing: Vec::new() }
    }

    pub(crate) fn asked(&mut self, blocks: Range<usize>, version: u32) {
        self.blocks[blocks].iter_mut().for_each(|block| block.later.push(version));
    }

    pub(crate) fn answered(&mut self, version: u32, good: bool) {
        if good {
            self.answered.push(version);
        }
    }

    pub(crate) fn flush_asked(&mut self) {
        self.flushing.clone_from(&self.answered);
    }

    pub(crate) fn flush_answered(&mut self, good: bool) {
        if !good {
            return;
        }
        for block in &mut self.blocks {
            if let Some(last) = block.later.iter().rposition(|version| self.flushing.contains(version)) {
                block.durable = block.later[last];
                block.later.drain(..=last);
            }
        }
        self.answered.retain(|version| !self.flushing.contains(version));
    }

    /// Blocks that a write under way, or one not flushed yet, concerns.
    pub(crate) fn unsettled(&self) -> impl Iterator<Item = usize> + '_ {
        self.blocks.iter().enumerate().filter(|(_, block)| !block.later.is_empty()).map(|(number, _)| number)
    }

    /// Whether a write to a block that was asked for before version `limit` is under way, or not
    /// flushed yet.
    pub(crate) fn is_unsettled_since(&self, block: usize, limit: u32) -> bool {
        self.blocks[block].later.iter().any(|version| *version < limit)
    }

    /// Holds `content` against this; `excused` blocks may be anything.
    pub(crate) fn check(&self, content: &[u8], excused: impl Fn(usize) -> bool) -> Result<(), String> {
        for (number, (bytes, block)) in content.chunks(BLOCK_BYTES).zip(&self.blocks).enumerate() {
            let may = || std::iter::once(block.durable).chain(block.later.iter().copied());
            if !excused(number) && !may().any(|version| bytes == stamped(number, version)) {
                let held = version_of(number, bytes).map_or("no version".to_owned(), |held| format!("version {held}"));
                let may: Vec<_> = may().collect();
                return Err(format!("block {number} holds {held}, not one of {may:?}"));
            }
        }
        Ok(())
    }
}

/// What version `version` of a block looks like; version 0 is zeros.
pub(crate) fn stamped(block: usize, version: u32) -> [u8; BLOCK_BYTES] {
    let mut bytes = [0; BLOCK_BYTES];
    if version > 0 {
        let stamp = (block as u64) << 32 | u64::from(version);
        for (word, place) in bytes.chunks_exact_mut(8).zip(0_u64..) {
            let scrambled = stamp.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(place as u32);
            word.copy_from_slice(&if place == 0 { stamp } else { scrambled }.to_le_bytes());
        }
    }
    bytes
}

fn version_of(block: usize, bytes: &[u8]) -> Option<u32> {
    let stamp = u64::from_le_bytes(bytes[..8].try_into().ok()?);
    let version = stamp as u32;
    (bytes == stamped(block, version)).then_some(version)
}
