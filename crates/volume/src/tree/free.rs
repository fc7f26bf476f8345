//! Buffers that nobody has, for what comes to be while arrays run.

use shoal_array::{BufferId, Scratch};

use crate::VolumeError;
use crate::world::World;

use super::{Node, NodeId, Pending, Tree};

impl<W> Tree<W> {
    /// The number of a slot's notes that nobody has.
    pub(crate) fn free_notes(&self) -> Option<u32> {
        self.all_free_notes().next()
    }

    fn all_free_notes(&self) -> impl Iterator<Item = u32> {
        let is_stuck = |number: &u32| self.stuck_notes.iter().any(|(_, stuck)| stuck == number);
        let has_slot = |number: &u32| self.nodes.iter().flat_map(|node| &node.slots).any(|slot| slot.buffer == *number);
        let has_log = |number: &u32| self.nodes.iter().any(|node| node.logs.are_at_work(*number));
        let is_promised = |number: &u32| self.promised_notes.contains(number);
        let taken = move |number: &u32| {
            let is_kept = self.small == Some(*number) || is_stuck(number) || is_promised(number);
            is_kept || has_slot(number) || has_log(number)
        };
        (0..self.plan.slot_count).filter(move |number| !taken(number))
    }

    /// Numbers of notes for the slots of an array that is being put together. Nobody else gets
    /// them: a drive that hangs meanwhile keeps the notes for small reads and writes, and others
    /// take their part. None if there are not as many.
    pub(crate) fn promise_notes(&mut self, count: usize) -> Option<Vec<u32>> {
        self.promised_notes.clear();
        let notes: Vec<_> = self.all_free_notes().take(count).collect();
        self.promised_notes.clone_from(&notes);
        (notes.len() == count).then_some(notes)
    }

    /// An array is put together: its slots have the notes that were promised to it.
    pub(crate) fn seat(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        self.promised_notes.clear();
        NodeId(self.nodes.len() - 1)
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
    /// Forgets all arrays, for others to be made of the drives. What drives have been given ends
    /// first, unheard: it is on its way to and from buffers that the others will get.
    pub(crate) fn forget_nodes(&mut self) -> Result<(), VolumeError> {
        self.clear_nodes();
        self.wait_for(Self::has_landed)
    }

    /// The same without waiting for that. What drives have not been given is never done, as if
    /// power were cut.
    pub(crate) fn clear_nodes(&mut self) {
        self.nodes.clear();
        self.write_back = None;
        self.promised_notes.clear();
        self.ready.clear();
        self.news.clear();
        self.awaited = None;
        self.flushes.forget();
        self.pending.values_mut().for_each(|pending| *pending = Pending::Forgotten);
        self.take_back_all();
    }

    /// All notes are free again: nothing is under way.
    pub(crate) fn renew_notes(&mut self) {
        self.stuck_notes.clear();
        self.small = Some(0);
    }
}

/// The first gap among the scratch buffers in use that has `least` of them; as many as are `wanted`
/// if it is wide enough.
fn free_scratch(in_use: &[Scratch], whole: Scratch, least: u32, wanted: u32) -> Option<Scratch> {
    let mut in_use: Vec<_> = in_use.iter().map(|scratch| (scratch.first.0, scratch.first.0 + scratch.count)).collect();
    in_use.sort_unstable();
    in_use.push((whole.first.0 + whole.count, 0));
    let mut first = whole.first.0;
    for (start, end) in in_use {
        if start.saturating_sub(first) >= least {
            return Some(Scratch { first: BufferId(first), count: wanted.min(start - first), ..whole });
        }
        first = first.max(end);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratch_is_taken_from_the_first_gap_that_will_do() {
        let scratch = |first, count| Scratch { first: BufferId(first), count, bytes_each: 4096 };
        let taken = |in_use: &[Scratch], least, wanted| {
            free_scratch(in_use, scratch(10, 20), least, wanted).map(|found| (found.first.0, found.count))
        };
        assert_eq!(taken(&[], 4, 8), Some((10, 8)));
        assert_eq!(taken(&[scratch(18, 4), scratch(10, 5)], 4, 8), Some((22, 8)));
        assert_eq!(taken(&[scratch(18, 4), scratch(10, 5)], 3, 8), Some((15, 3)));
        assert_eq!(taken(&[scratch(10, 17)], 4, 8), None);
        assert_eq!(taken(&[scratch(10, 16)], 4, 8), Some((26, 4)));
    }
}
