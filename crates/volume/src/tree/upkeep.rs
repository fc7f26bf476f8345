//! Keeps slots and superblocks in step with what an engine tells, and gives spares their roles.

use shoal_array::{Event, Instant, MemberState, Role, ScrubMode};

use crate::world::World;

use super::record::Waiter;
use super::{Duty, NodeId, Tree};

impl<W: World> Tree<W> {
    /// An engine has told something: what changes by it goes into the superblocks.
    pub(super) fn heed(&mut self, now: Instant, node: NodeId, event: &Event) {
        self.heed_for_bitmap(now, node, event);
        match *event {
            Event::MemberFailed(_) => self.employ_spare(now, node),
            Event::RebuildFinished(role) => {
                let it = &mut self.nodes[node.0];
                if let Some(slot) = it.slot_of(role) {
                    let known = it.membership.finish_rebuild(it.slots[slot].dev_number);
                    known.expect("a rebuilt member is in the superblocks");
                }
                self.record(now, node, Waiter::Nobody);
                self.employ_spare(now, node);
            }
            Event::ScrubFinished { completed, .. } => {
                let it = &mut self.nodes[node.0];
                it.needs_resync &= !(completed && it.scrub == Some(ScrubMode::Repair));
                it.scrub = None;
            }
            _ => {}
        }
    }

    /// Gives a spare to a member that is missing, as md does, one at a time.
    pub(crate) fn employ_spare(&mut self, now: Instant, node: NodeId) {
        let it = &mut self.nodes[node.0];
        it.renew_membership();
        let missing = it.array.member_states().iter().position(|&state| state == MemberState::Missing);
        let spare = it.slots.iter_mut().find(|slot| slot.duty == Duty::Spare);
        let (Some(missing), Some(spare)) = (missing, spare) else { return };
        let role = Role(u16::try_from(missing).expect("roles fit 16 bits"));
        if it.writable && it.array.rebuild_member(now, role, 0, None).is_ok() {
            spare.duty = Duty::Member(role);
            let known = it.membership.start_rebuild(spare.dev_number, role);
            known.expect("spares are in the superblocks");
            self.record(now, node, Waiter::Nobody);
        }
    }
}
