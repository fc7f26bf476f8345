//! What a record run writes on each slot: the superblock, and before it the logs that the
//! superblock relies on.
//!
//! A note's bytes are put into its buffer when a run begins, and stay as they are until that run is
//! over: what changes meanwhile goes into the next run.

use shoal_array::Span;
use shoal_md::Membership;

use crate::buffers::Note;
use crate::world::World;

use super::node::Slot;
use super::{NodeId, Tree};

/// A note that is ready in its buffer, and where it goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoteWrite {
    pub(super) slot: usize,
    /// Absolute, on the slot's target.
    pub(super) offset: u64,
    pub(super) span: Span,
}

impl<W: World> Tree<W> {
    /// Makes the superblock that `membership` has for a slot ready.
    pub(super) fn prepare_superblock(&mut self, node: NodeId, slot: usize, membership: &Membership) -> NoteWrite {
        let Slot { place, number, buffer, .. } = self.nodes[node.0].slots[slot];
        let superblock = membership.superblock(number.get()).expect("slots in use are in the superblocks");
        let span = self.plan.note_span(buffer, Note::Superblock);
        self.world.arena().write(self.homes.memory(span), superblock.encode().as_slice());
        NoteWrite { slot, offset: place.super_offset_bytes, span }
    }

    /// Makes ready what must be durable on a slot before the superblock that is written in the same
    /// run.
    pub(super) fn prepare_logs(&mut self, node: NodeId, slot: usize, membership: &Membership) -> Vec<NoteWrite> {
        let bad_blocks = self.prepare_bad_blocks(node, slot);
        bad_blocks.into_iter().chain(self.prepare_bitmap_header(node, slot, membership.events())).collect()
    }

    /// The bad-block log, if it has changed.
    fn prepare_bad_blocks(&mut self, node: NodeId, slot: usize) -> Option<NoteWrite> {
        let it = &mut self.nodes[node.0].slots[slot];
        let (offset, bytes) = it.bad_blocks.change()?;
        let span = self.plan.note_span(it.buffer, Note::BadBlocks);
        let span = span.part(0, u32::try_from(bytes.len()).expect("a log is no longer than a note"));
        self.world.arena().write(self.homes.memory(span), &bytes);
        Some(NoteWrite { slot, offset, span })
    }
}
