//! Tells mismatches that nobody could have prevented from those that somebody should have.
//!
//! Linux's format has no checksums of content. A bit that flips, a write that is acknowledged and
//! lost, torn or put somewhere else: where only one copy is read, and where parity is used to
//! compute another block, wrong content comes out, by design. Such blocks are *tainted*: the ones
//! that a damaged sector holds, and all in its columns, as parity carries the damage there. A
//! mismatch in a tainted block is counted; anywhere else it is a failure like any other. So each
//! one is proved to be such a case, by its place.
//!
//! A taint is never lifted: a block that was written anew may be computed from damaged parity
//! later. That makes the check of tainted blocks weaker than it could be, in the worlds that have
//! silent faults.

use std::collections::BTreeSet;

/// Blocks that silent faults bear on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Silent {
    tainted: BTreeSet<usize>,
    is_any: bool,
    /// Tainted blocks that were seen to be wrong.
    wrong: BTreeSet<usize>,
}

impl Silent {
    /// A fault happened, that bears on these blocks.
    pub(crate) fn happened(&mut self, blocks: impl IntoIterator<Item = usize>) {
        self.is_any = true;
        self.tainted.extend(blocks);
    }

    pub(crate) fn is_tainted(&self, block: usize) -> bool {
        self.tainted.contains(&block)
    }

    /// Whether any fault happened.
    pub(crate) fn is_any(&self) -> bool {
        self.is_any
    }

    pub(crate) fn seen_wrong(&mut self, blocks: Vec<usize>) {
        self.wrong.extend(blocks);
    }

    pub(crate) fn wrong_count(&self) -> usize {
        self.wrong.len()
    }
}
