//! Buffers that nobody has, for what comes to be while arrays run.

use shoal_array::{BufferId, Scratch};

use crate::VolumeError;
use crate::world::World;

use super::mirror::free_scratch;
use super::{Node, Pending, Tree};

impl<W> Tree<W> {
    /// The number of a slot's notes that no slot has.
    pub(crate) fn free_notes(&self) -> Option<u32> {
        let is_stuck = |number: &u32| self.stuck_notes.iter().any(|(_, stuck)| stuck == number);
        let has_slot = |number: &u32| self.nodes.iter().flat_map(|node| &node.slots).any(|slot| slot.buffer == *number);
        let taken = |number: &u32| self.small == Some(*number) || is_stuck(number) || has_slot(number);
        (0..self.plan.slot_count).find(|number| !taken(number))
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

impl<W: World> Tree<W> {
    /// Forgets all arrays, for others to be made of the drives. What their engines have begun ends first, unheard: it is
    /// on its way to and from buffers that the others will get.
    pub(crate) fn forget_nodes(&mut self) -> Result<(), VolumeError> {
        self.clear_nodes();
        self.wait_for(|tree| tree.world.pending() == 0)
    }

    /// The same without waiting for that.
    pub(crate) fn clear_nodes(&mut self) {
        self.nodes.clear();
        self.ready.clear();
        self.news.clear();
        self.awaited = None;
        self.pending.values_mut().for_each(|pending| *pending = Pending::Forgotten);
    }

    /// All notes are free again: nothing is under way.
    pub(crate) fn renew_notes(&mut self) {
        self.stuck_notes.clear();
        self.small = Some(0);
    }
}
