//! Buffers that nobody has, for what comes to be while arrays run.

use shoal_array::{BufferId, Scratch};

use super::mirror::free_scratch;
use super::{Node, Tree};

impl<W> Tree<W> {
    /// The number of a slot's notes that no slot has.
    pub(crate) fn free_notes(&self) -> Option<u32> {
        let taken = |number: &u32| self.nodes.iter().flat_map(|node| &node.slots).any(|slot| slot.buffer == *number);
        // The first ones are for small reads and writes outside record runs.
        (1..self.plan.slot_count).find(|number| !taken(number))
    }

    /// Scratch buffers that no engine has.
    pub(crate) fn free_scratch(&self, least: u32, wanted: u32) -> Option<Scratch> {
        let of_node = |node: &Node| {
            std::iter::once(node.scratch).chain(node.mirrors.iter().map(|mirror| mirror.scratch)).collect::<Vec<_>>()
        };
        let in_use: Vec<_> = self.nodes.iter().flat_map(of_node).collect();
        let plan = &self.plan;
        let first = BufferId(plan.first_scratch());
        let whole = Scratch { first, count: plan.scratch_count, bytes_each: plan.scratch_bytes };
        free_scratch(&in_use, whole, least, wanted)
    }
}
