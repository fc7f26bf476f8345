//! Keeps slots and superblocks in step with what an engine tells, and gives spares their roles.

use std::time::Duration;

use shoal_array::{Background, CommandError, Event, Instant, MemberState, Role};

use crate::VolumeError;
use crate::world::World;

use super::mirror::Mirror;
use super::record::Waiter;
use super::{Duty, News, NodeId, RestDelay, Tree};

/// So often a member that may lose its last update is given it. If it never takes it for good the
/// others get it all the same: a drive that takes nothing is as good as gone.
const UNSURE_TRIES: u32 = 8;

impl<W: World> Tree<W> {
    /// An engine has told something: what changes by it goes into the superblocks. It becomes news
    /// at once, but for the end of a rebuild, which is news once it is recorded.
    pub(super) fn heed(&mut self, now: Instant, node: NodeId, event: Event) {
        self.heed_for_bitmap(now, node, &event);
        match event {
            Event::MemberFailed(role) => {
                let it = &mut self.nodes[node.0];
                it.filled.retain(|filled| *filled != role);
                it.recorder.forget_filled(role);
                self.name_successor(now, node, role);
            }
            Event::RebuildFinished(role) => return self.member_filled(now, node, role),
            Event::ScrubFinished { .. } => self.nodes[node.0].scrub = None,
            Event::BadBlocksChanged(_) => self.keep_logs(now, node),
            Event::ResyncFinished => self.record(now, node, Waiter::Nobody),
            _ => {}
        }
        self.news.push_back(News { node, event });
    }

    fn member_filled(&mut self, now: Instant, node: NodeId, role: Role) {
        let it = &mut self.nodes[node.0];
        if let Some(slot) = it.slot_of(role) {
            let known = it.membership.finish_rebuild(it.slots[slot].number.get());
            known.expect("a rebuilt member is in the superblocks");
        }
        it.filled.push(role);
        self.record(now, node, Waiter::Filled(role));
    }

    /// The superblocks say that a member that has been filled is in sync.
    pub(super) fn filled_recorded(&mut self, node: NodeId, role: Role) {
        self.nodes[node.0].filled.retain(|filled| *filled != role);
        self.news.push_back(News { node, event: Event::RebuildFinished(role) });
    }

    /// Brings members that are one update behind up to the others, after those that may lose the
    /// last one, which are given it several times. One that does not take it may have refused the
    /// flush, and with it lost what it was given before: by a resync that has begun, say.
    pub(crate) fn level_members(&mut self, node: NodeId) -> Result<(), VolumeError> {
        // No update of the others is begun before all are where these are.
        for (target, superblock) in self.nodes[node.0].behind.clone() {
            let it = &self.nodes[node.0];
            let Some(slot) = it.slots.iter().position(|slot| slot.place.target == target) else { continue };
            if !it.writable {
                continue;
            }
            let tries = if it.recorder.is_unsure(slot) { UNSURE_TRIES } else { 1 };
            let (offset, encoded) = (superblock.super_offset_bytes(), superblock.encode());
            let mut is_taken = false;
            for _ in 0..tries {
                is_taken = is_taken || self.write_small(target, offset, encoded.as_slice())?.is_ok();
            }
            if !is_taken {
                let now = self.world.now();
                self.flush_refused(now, node, slot);
            }
        }
        self.nodes[node.0].behind.clear();
        Ok(())
    }

    /// Writes bad-block logs that have changed, if no record has done so yet.
    pub(super) fn keep_logs(&mut self, now: Instant, node: NodeId) {
        let it = &mut self.nodes[node.0];
        it.renew_membership();
        if it.slots.iter().any(|slot| slot.duty != Duty::Out && slot.bad_blocks.is_stale()) {
            self.record(now, node, Waiter::Nobody);
        }
    }

    /// Changes the rate of background work in all arrays.
    pub(crate) fn set_background(&mut self, background: Background) {
        let now = self.world.now();
        for node in &mut self.nodes {
            node.background = background;
            node.engines_mut().for_each(|engine| engine.set_background(now, background));
        }
    }

    /// Changes how long after their last write arrays are marked clean.
    pub(crate) fn set_rest_delay(&mut self, delay: Option<Duration>) {
        self.nodes.iter_mut().for_each(|node| node.rest_delay = delay.map(RestDelay::new));
    }

    /// Gives spares to members that are missing, as soon as these have no I/O in flight, and if
    /// rebuilds may begin. Says whether one got any.
    pub(super) fn tend_spares(&mut self, now: Instant) -> bool {
        let mut moved = false;
        for index in 0..self.nodes.len() {
            let it = &self.nodes[index];
            if it.writable && it.background.depth > 0 && it.slots.iter().any(|slot| slot.duty == Duty::Spare) {
                moved |= self.employ_spare(now, NodeId(index));
            }
        }
        moved
    }

    fn employ_spare(&mut self, now: Instant, node: NodeId) -> bool {
        let it = &mut self.nodes[node.0];
        let missing = (0..).map(Role).zip(it.array.member_states()).find_map(|(role, state)| {
            let is_waiting = it.returning(role).is_some() || it.mirror(role).is_some_and(Mirror::has_successor);
            (*state == MemberState::Missing && !is_waiting).then_some(role)
        });
        let Some(role) = missing else { return false };
        // Whoever had the role is out before somebody else gets it.
        it.renew_membership();
        let Some(spare) = it.slots.iter_mut().find(|slot| slot.duty == Duty::Spare) else { return false };
        let superblock = it.membership.superblock(spare.number.get()).expect("spares are in the superblocks");
        let started = it.array.set_bad_blocks(role, spare.bad_blocks.for_engine(superblock));
        let started = started.and_then(|()| it.array.rebuild_member(now, role, 0, None));
        if started.is_err() {
            // Too little is left, or the failed member's I/O is not over; or a scrub is under way.
            // It gives way: it can be done again, and another member may fail meanwhile.
            if started == Err(CommandError::Busy) {
                it.array.stop_scrub(now);
            }
            return false;
        }
        spare.duty = Duty::Member(role);
        it.membership.start_rebuild(spare.number.get(), role).expect("spares are in the superblocks");
        self.record(now, node, Waiter::Nobody);
        true
    }

    /// The superblocks say that a former member is being filled, its own too: the engine gets it,
    /// unless it has failed by then. False if that has to be tried again: a scrub is under way, or
    /// I/O of the member that failed.
    pub(super) fn seat_returning(&mut self, now: Instant, node: NodeId, role: Role) -> bool {
        let it = &mut self.nodes[node.0];
        let Some(slot) = it.slots.iter().position(|slot| slot.duty == Duty::Returning(role)) else { return true };
        // What is written from here on goes to it, too: all that it lacks is marked by now.
        let only = it.intent.as_ref().map(|intent| intent.set_regions());
        match it.array.rebuild_member(now, role, 0, only) {
            Ok(()) => it.slots[slot].duty = Duty::Member(role),
            Err(CommandError::Busy) => {
                it.array.stop_scrub(now);
                return false;
            }
            Err(_) => self.drop_slot(now, node, slot),
        }
        true
    }
}
