//! Takes [mirrors](super::mirror) from phase to phase.

use std::ops::Range;

use shoal_array::{
    Array, BadBlocks, CommandError, Event, Fault, Home, Instant, Level, MemberState, Outcome, Regions, Resync, Role,
    Scratch,
};

use crate::world::World;

use super::mirror::{Mirror, MirrorParts, ORIGINAL, Phase, REPLACEMENT, Successor, no_regions};
use super::node::{Duty, Slot};
use super::record::Waiter;
use super::{EngineId, News, Node, NodeId, Pending, Tree};

impl<W: World> Tree<W> {
    /// Moves on what waits for something to end. Says whether anything did.
    pub(super) fn tend_mirrors(&mut self, now: Instant) -> bool {
        let mut moved = false;
        for index in 0..self.nodes.len() {
            for place in (0..self.nodes[index].mirrors.len()).rev() {
                let node = NodeId(index);
                let mirror = &self.nodes[index].mirrors[place];
                moved |= match mirror.phase {
                    Phase::Opening => self.start_copying(now, node, place),
                    Phase::Copying | Phase::Vouching | Phase::Vouched if !mirror.lost.is_empty() => {
                        self.mend(now, node, place)
                    }
                    Phase::Copying if mirror.stopped_at.is_some() => self.copy_on(now, node, place),
                    Phase::Vouched if !self.nodes[index].logs.has_unit(mirror.notes(ORIGINAL)) => {
                        self.change_over(now, node, place)
                    }
                    Phase::Draining if mirror.array.is_idle() => self.close_mirror(now, node, place),
                    _ => false,
                };
            }
        }
        moved
    }

    /// Puts a mirror in the place of a member: its drive is copied to a spare, or goes on being
    /// copied to a replacement that has it up to a position. None if there are no buffers for that.
    pub(crate) fn start_replacement(
        &mut self,
        now: Instant,
        node: NodeId,
        role: Role,
        slot: usize,
        position: Option<u64>,
    ) -> Option<()> {
        let scratch = self.free_scratch(Scratch::least_count(2), 8)?;
        let it = &mut self.nodes[node.0];
        let original = it.slot_of(role).expect("a member that is replaced has a slot");
        let Slot { number, ref bad_blocks, .. } = it.slots[slot];
        let dev_number = number.get();
        let superblock = it.membership.superblock(dev_number).expect("the slot is in use");
        let bad_blocks = [it.array.bad_blocks(role).clone(), bad_blocks.for_engine(superblock)];
        let parts = MirrorParts { role, slots: [original, slot], position, bad_blocks, scratch };
        let mut mirror = Mirror::new(it, parts).expect("a member's size is a mirror's");
        if let Some(position) = it.array.resync_position() {
            // Beyond it the original's own content is not to be trusted: the resync may change it,
            // or end with it.
            mirror.touched.insert(position..it.array.geometry().sync_bytes());
        }
        it.mirrors.push(mirror);
        it.slots[slot].duty = Duty::Replacement(role);
        // What is bad on the original may be good on the mirror: that one minds it.
        it.array.set_bad_blocks(role, BadBlocks::default()).expect("the member is in sync");
        if position.is_none() {
            it.membership.start_replacement(dev_number, role).expect("the spare is in the superblocks");
            self.record(now, node, Waiter::Nobody);
        }
        Some(())
    }

    /// I/O of a mirror has ended. If its original is gone before all was copied, the member fails,
    /// and the replacement succeeds it. This must be known before the mirror's engine hears of it:
    /// that one would take out what was copied from a drive that has missed a write.
    pub(super) fn watch_original(&mut self, now: Instant, engine: EngineId, role: Role, outcome: &Outcome) {
        let (Some(mirrored), ORIGINAL, Outcome::Failed(Fault::Gone)) = (engine.mirror, role, outcome) else { return };
        let it = &mut self.nodes[engine.node.0];
        if it.mirror(mirrored).is_some_and(Mirror::needs_original) {
            // Refused for the last copy of something (errors are passed on then), and if it has
            // failed already.
            let _ = it.array.fail_member(now, mirrored);
            if it.array.member_states()[mirrored.index()] == MemberState::Missing {
                self.name_successor(now, engine.node, mirrored);
            }
        }
    }

    /// Copies as soon as nothing that was begun without the mirror can change the original behind
    /// its back.
    fn start_copying(&mut self, now: Instant, node: NodeId, place: usize) -> bool {
        let role = self.nodes[node.0].mirrors[place].role;
        let alone = |pending: &Pending| {
            matches!(pending, Pending::Effect { engine, role: of, mirrored: false, .. }
                if *engine == EngineId::from(node) && *of == role)
        };
        if self.pending.values().any(alone) {
            return false;
        }
        let mirror = &mut self.nodes[node.0].mirrors[place];
        let started = mirror.array.rebuild_member(now, REPLACEMENT, 0, None);
        started.expect("the replacement is missing, and the original is not");
        mirror.phase = Phase::Copying;
        true
    }

    /// The replacement becomes the member.
    fn change_over(&mut self, now: Instant, node: NodeId, place: usize) -> bool {
        let mirror = &mut self.nodes[node.0].mirrors[place];
        mirror.phase = Phase::Changing;
        let waiter = Waiter::Mirror(mirror.role);
        self.record(now, node, waiter);
        true
    }

    /// The engine of a mirror has told something.
    pub(super) fn heed_mirror(&mut self, now: Instant, node: NodeId, role: Role, event: Event) {
        let Some(mirror) = self.nodes[node.0].mirror_mut(role) else { return };
        match event {
            Event::RebuildFinished(_) if mirror.phase == Phase::Copying => {
                mirror.phase = Phase::Vouching;
                self.record(now, node, Waiter::Mirror(role));
            }
            Event::RebuildStopped { member_offset, .. } => self.copying_stopped(now, node, role, member_offset),
            Event::Lost { member_range, .. } => mirror.lost.push(member_range),
            Event::Healed { member_range, proven, .. } => {
                self.news.push_back(News { node, event: Event::Healed { role, member_range, proven } });
            }
            Event::MemberFailed(REPLACEMENT) if mirror.takes_io() => {
                let member_offset = mirror.position();
                self.news.push_back(News { node, event: Event::ReplacementFailed { role, member_offset } });
                self.go_on_without_replacement(now, node, role);
                self.record(now, node, Waiter::Nobody);
            }
            Event::BadBlocksChanged(_) => self.keep_logs(now, node),
            _ => {}
        }
    }

    /// A replacement has missed a write: the original goes on alone. Once slots and superblocks
    /// have the replacement as the member, the original has no way back, and the member fails.
    fn go_on_without_replacement(&mut self, now: Instant, node: NodeId, role: Role) {
        let it = &mut self.nodes[node.0];
        let Some(replacement) = it.mirror(role).map(|mirror| mirror.replacement) else { return };
        let is_it = |slot: &Slot| slot.number.get() == replacement && slot.duty == Duty::Member(role);
        let is_member = it.slots.iter().any(is_it);
        if is_member && it.array.fail_member(now, role).is_ok() {
            return self.name_successor(now, node, role);
        }
        // A last copy stays a member.
        self.drain(node, role, if is_member { REPLACEMENT } else { ORIGINAL });
    }

    /// The copying cannot go on: because the replacement failed, which shows elsewhere; or at a
    /// block that the original cannot read, and for which the replacement has no room in its log.
    /// Once such a block has been mended it goes on.
    fn copying_stopped(&mut self, now: Instant, node: NodeId, role: Role, member_offset: u64) {
        let block_bytes = u64::from(self.nodes[node.0].logical_block_bytes);
        let Some(mirror) = self.nodes[node.0].mirror_mut(role) else { return };
        if mirror.phase != Phase::Copying || mirror.state(REPLACEMENT) == MemberState::Missing {
            return;
        }
        if mirror.stopped_at.replace(member_offset) == Some(member_offset) {
            let _ = mirror.array.fail_member(now, REPLACEMENT);
        } else {
            mirror.lost.push(member_offset..member_offset + block_bytes);
        }
    }

    /// Goes on where the copying stopped.
    fn copy_on(&mut self, now: Instant, node: NodeId, place: usize) -> bool {
        let it = &mut self.nodes[node.0];
        let awaits_resync = it.is_resyncing();
        let mirror = &mut it.mirrors[place];
        let position = mirror.position();
        !awaits_resync
            && mirror.array.progress().is_none()
            && mirror.array.rebuild_member(now, REPLACEMENT, position, None).is_ok()
    }

    /// Lets the array make good what the original could not read, by a resync of no more than that:
    /// it solves for the blocks, and writes them to the mirror. If it cannot, they are lost; if a
    /// scrub is under way, it does so afterwards.
    fn mend(&mut self, now: Instant, node: NodeId, place: usize) -> bool {
        let it = &mut self.nodes[node.0];
        if it.is_resyncing() {
            return false; // it has its turn afterwards
        }
        let role = it.mirrors[place].role;
        let lost = std::mem::take(&mut it.mirrors[place].lost);
        let only = sync_regions(&it.array, role, &lost);
        let begun = match it.can_spare_another() {
            true => it.array.resync(now, Resync { position: 0, only: Some(only) }),
            false => Err(CommandError::NoRedundancy),
        };
        if begun == Err(CommandError::Busy) {
            it.mirrors[place].lost = lost;
            return false;
        }
        if begun.is_err() {
            for member_range in lost {
                let Home::Data { offset, .. } = it.array.geometry().home(role, member_range.start) else { continue };
                self.news.push_back(News { node, event: Event::Lost { role, member_range, offset } });
            }
        }
        true
    }

    /// What a record run was asked for by a mirror is on the drives.
    pub(super) fn mirror_recorded(&mut self, node: NodeId, role: Role) {
        let Some(mirror) = self.nodes[node.0].mirror_mut(role) else { return };
        match mirror.phase {
            Phase::Vouching => mirror.phase = Phase::Vouched,
            Phase::Changing => {
                let [from, to] = [ORIGINAL, REPLACEMENT].map(|of| mirror.notes(of));
                self.nodes[node.0].logs.move_waiting(from, to);
                self.drain(node, role, REPLACEMENT);
                self.news.push_back(News { node, event: Event::RebuildFinished(role) });
            }
            Phase::Opening | Phase::Copying | Phase::Vouched | Phase::Draining => {}
        }
    }

    /// Sends the member's further I/O to the drive that remains.
    fn drain(&mut self, node: NodeId, role: Role, remains: Role) {
        let it = &mut self.nodes[node.0];
        let Some(mirror) = it.mirrors.iter_mut().find(|mirror| mirror.role == role) else { return };
        mirror.phase = Phase::Draining;
        let bad_blocks = mirror.array.bad_blocks(remains).clone();
        let settled = match remains {
            ORIGINAL => it.array.set_bad_blocks(role, bad_blocks),
            _ => it.array.move_member(role, bad_blocks),
        };
        match settled {
            // A member that has failed meanwhile has no blocks of its own: whoever takes its place
            // says which of his are bad.
            Ok(()) | Err(CommandError::Busy) => {}
            Err(error) => unreachable!("the member is there, and is not filled while it is a mirror: {error:?}"),
        }
    }

    /// The member has failed, as a whole or because somebody said so: if it has a replacement, that
    /// is to take its place.
    pub(super) fn name_successor(&mut self, now: Instant, node: NodeId, role: Role) {
        let it = &mut self.nodes[node.0];
        let is_filled = it.slots.iter().any(|slot| slot.duty == Duty::Replacement(role));
        let Some(mirror) = it.mirror_mut(role) else { return };
        let works = mirror.phase == Phase::Opening || mirror.state(REPLACEMENT) != MemberState::Missing;
        if mirror.takes_io() && is_filled && works {
            let bad_blocks = mirror.array.bad_blocks(REPLACEMENT).clone();
            mirror.successor = Some(Successor { position: mirror.position(), bad_blocks });
        }
        mirror.phase = Phase::Draining;
        // The copying ends. Refused if the original is gone already, and has ended it.
        let _ = mirror.array.fail_member(now, REPLACEMENT);
    }

    /// Nothing is in flight in a mirror any more that takes no I/O.
    fn close_mirror(&mut self, now: Instant, node: NodeId, place: usize) -> bool {
        let it = &mut self.nodes[node.0];
        let Mirror { role, replacement, .. } = it.mirrors[place];
        // The original is out before the replacement gets its role: else it would be the one that
        // is found by it, and filled.
        it.renew_membership();
        let succeeded = it.mirrors[place].successor.clone().map(|successor| it.succeed(now, place, &successor));
        if succeeded == Some(Err(CommandError::Busy)) {
            return false;
        }
        it.mirrors.remove(place);
        let slot = it.slots.iter_mut().find(|slot| slot.duty == Duty::Replacement(role));
        if let (Some(slot), Some(succeeded)) = (slot, succeeded) {
            // If it cannot be rebuilt it stays as it is, for whoever puts together what is left of
            // the array.
            slot.duty = if succeeded.is_ok() { Duty::Member(role) } else { Duty::Out };
            if succeeded.is_ok() {
                it.membership.start_rebuild(replacement, role).expect("replacements are in the superblocks");
                self.record(now, node, Waiter::Nobody);
            }
        }
        true
    }
}

impl Node {
    /// Starts the rebuild of a member that its replacement has taken over, of what is not known to
    /// be copied.
    fn succeed(&mut self, now: Instant, place: usize, successor: &Successor) -> Result<(), CommandError> {
        let mirror = &self.mirrors[place];
        let role = mirror.role;
        let is_by_member = !matches!(self.array.geometry().shape().level, Level::Raid10(_));
        let mut only = mirror.touched.clone();
        only.insert(successor.position..mirror.total_bytes());
        // The same for a resync that began later.
        let only = Some(only).filter(|_| is_by_member && self.array.resync_position().is_none());
        self.array.set_bad_blocks(role, successor.bad_blocks.clone())?;
        self.array.rebuild_member(now, role, 0, only)
    }

    /// Whether a resync is under way, and does not wait for a spare.
    fn is_resyncing(&self) -> bool {
        self.array.resync_position().is_some() && self.can_spare_another()
    }

    /// Whether any member may fail, and everything can still be had.
    fn can_spare_another(&self) -> bool {
        let states = self.array.member_states().iter();
        states.filter(|state| **state != MemberState::InSync).count() < self.array.geometry().redundancy()
    }
}

/// The sync bytes that belong to ranges of a member.
fn sync_regions(array: &Array, role: Role, ranges: &[Range<u64>]) -> Regions {
    let mut regions = no_regions(array);
    for range in ranges {
        if !matches!(array.geometry().shape().level, Level::Raid10(_)) {
            regions.insert(range.clone());
            continue;
        }
        let mut start = range.start;
        while start < range.end {
            let (home, length) = array.geometry().homes(role, start, range.end - start);
            if let Home::Data { offset, .. } = home {
                regions.insert(offset..offset + length);
            }
            start += length.max(1);
        }
    }
    regions
}
