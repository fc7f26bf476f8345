//! What becomes of a slot that does not take what it is given.

use shoal_array::Instant;

use super::super::{Duty, JournalLog, NodeId, Tree};
use super::Waiter;
use crate::world::World;

impl<W: World> Tree<W> {
    /// A slot has not taken a flush: what it answered before may be lost.
    pub(crate) fn flush_refused(&mut self, now: Instant, node: NodeId, slot: usize) {
        self.note_refusal(node, slot);
        let it = &mut self.nodes[node.0];
        match it.slots[slot].duty {
            Duty::Member(role) => it.array.flush_failed(now, role),
            Duty::Replacement(_) | Duty::Returning(_) | Duty::Spare | Duty::Journal(_) | Duty::Out => {
                self.drop_slot(now, node, slot)
            }
        }
    }

    /// A slot has not taken a flush, whoever asked for it. This host remembers that of every
    /// member: one that the others can do without is out by the next update, but that may not come
    /// to be.
    pub(in super::super) fn note_refusal(&mut self, node: NodeId, slot: usize) {
        self.nodes[node.0].recorder.note_refusal(slot);
        self.remember_refusal(node, slot);
    }

    /// A slot does not take its notes: a spare is out at once, as is a member that returns; a
    /// member fails by the engine's rules.
    pub(crate) fn drop_slot(&mut self, now: Instant, node: NodeId, slot: usize) {
        let it = &mut self.nodes[node.0];
        match it.slots[slot].duty {
            Duty::Member(role) => {
                // Refused for the last copy of a mirror, which stays in service: reads may still
                // work.
                let _ = it.array.fail_member(now, role);
            }
            Duty::Replacement(role) => {
                let _ = it.fail_replacement(now, role);
            }
            // It stays: the run fails, see `stays`.
            Duty::Journal(JournalLog::Unreplayed) => {}
            Duty::Journal(JournalLog::Empty) => {
                let number = it.slots[slot].number.get();
                it.slots[slot].duty = Duty::Out;
                it.membership.retire_journal(number).expect("a journal in use is in the superblocks");
                it.recorder.next.push(Waiter::Nobody);
            }
            Duty::Returning(_) => {
                let number = it.slots[slot].number.get();
                it.slots[slot].duty = Duty::Out;
                it.membership.fail(number).expect("a member that returns is in the superblocks");
                it.recorder.next.push(Waiter::Nobody);
            }
            Duty::Spare | Duty::Out => it.slots[slot].duty = Duty::Out,
        }
    }
}
