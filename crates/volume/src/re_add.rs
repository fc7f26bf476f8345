//! A member that left comes back, and is filled only where the array has changed meanwhile.
//!
//! The array's write-intent bitmap has a set bit for every chunk that was written while the member
//! was away. The member's own copy may know of more: of writes that it was the only one to see
//! before it left, or, if somebody ran it alone in some way that its superblock does not tell, of
//! all that it has seen since. So its set bits are added to the array's, and announced, before
//! anything else. Then the superblocks, its own among them, say that it is being filled. Only when
//! that is durable it takes its role again, and is rebuilt where bits are set. Were anything
//! written to its data area before, a power cut could leave it with an old superblock that says
//! "in sync", and content of two times: beside another member that left at the same update it
//! would be believed. A rebuild that was cut short goes on by the bitmap (see
//! [`crate::bitmap::guided_engine`]). No bit is cleared before it is done.

use shoal_array::CommandError;
use shoal_drive::DriveId;
use shoal_md::{Candidate, Membership, Readmission, SinceItLeft, Superblock};

use crate::array_volume::ArrayVolume;
use crate::assemble::probe;
use crate::bad_blocks::{BadBlockNotes, read_bad_blocks};
use crate::bitmap::read_copy;
use crate::manage_error::ManageError;
use crate::tree::{BitmapCopy, Duty, Node, NodeId, Place, Slot, Target, Waiter};
use crate::world::World;

impl<W: World> ArrayVolume<W> {
    /// Takes a drive back that was a member of the array, or of one inside it, and left or failed.
    /// Only what was written since is copied to it. Refused if the write-intent bitmap does not
    /// know all of that: then it can be added as new.
    ///
    /// A drive of an array inside that is whole enough, and is not used, stands for that array: the
    /// array around it takes it back. Where no bitmap knows what it missed, all of it is copied.
    pub fn re_add_drive(&mut self, drive: DriveId) -> Result<(), ManageError> {
        if let Some(inside) = self.unused_array_of(drive) {
            return self.re_add_array(inside);
        }
        if self.tree.flights.are_left_on(drive) {
            return Err(ManageError::Silent { drive: self.tree.world.facts(drive).name });
        }
        self.former_superblock(Target::Drive(drive))?;
        self.ask_namesake(drive)?;
        self.re_add(Target::Drive(drive))
    }

    /// Whether a drive is at work in an array inside that no other one uses.
    pub fn is_of_unused_array(&self, drive: DriveId) -> bool {
        self.unused_array_of(drive).is_some()
    }

    /// That array.
    pub(crate) fn unused_array_of(&self, drive: DriveId) -> Option<NodeId> {
        let has_it = |node: &Node| {
            let is_it = |slot: &Slot| slot.place.target == Target::Drive(drive) && slot.duty != Duty::Out;
            node.slots.iter().any(is_it)
        };
        let inside = NodeId(self.tree.nodes.iter().position(has_it)?);
        (inside != self.root && !self.tree.is_used(Target::Node(inside))).then_some(inside)
    }

    fn re_add_array(&mut self, inside: NodeId) -> Result<(), ManageError> {
        let target = Target::Node(inside);
        match self.re_add(target) {
            Err(ManageError::ReAdd(refused)) if refused.why.asks_for_a_copy() => self.add_array(inside),
            done => done,
        }
    }

    /// Makes an array inside, which carries the superblock of one around it, a spare of that one.
    pub(crate) fn add_array(&mut self, inside: NodeId) -> Result<(), ManageError> {
        let superblock = self.former_superblock(Target::Node(inside))?;
        self.make_spare(self.former_node(&superblock), Target::Node(inside))?;
        Ok(self.settle_if_they_answer()?)
    }

    fn former_superblock(&mut self, target: Target) -> Result<Superblock, ManageError> {
        let probed = probe(&mut self.tree, target);
        probed.map_err(|problem| ManageError::NoFormerMember {
            drive: self.tree.name(target),
            problem: problem.to_string(),
        })
    }

    fn re_add(&mut self, target: Target) -> Result<(), ManageError> {
        let name = self.tree.name(target);
        let superblock = self.former_superblock(target)?;
        let node = self.former_node(&superblock);
        let back = Candidate { drive: name.clone(), superblock };
        self.refuse_copy(target, &back)?;
        self.refuse_lossy(&back)?;
        self.settle()?;
        self.readmission(node, &back)?;
        self.adopt_bits(node, target, &back.superblock)?;
        let bad_blocks = read_bad_blocks(&mut self.tree, target, &back.superblock)
            .map_err(|problem| ManageError::NoFormerMember { drive: name, problem: problem.to_string() })?;
        // From here on nothing is waited for: what is recorded meanwhile would be undone.
        self.settle()?;
        let (membership, readmission) = self.readmission(node, &back)?;
        self.seat_again(node, target, (membership, readmission), bad_blocks, &back)?;
        let now = self.tree.world.now();
        self.tree.record(now, node, Waiter::Returning(readmission.role));
        Ok(self.settle_if_they_answer()?)
    }

    /// Refuses a drive that may be a copy of a former member: no bitmap knows what that lacks.
    fn refuse_copy(&mut self, target: Target, back: &Candidate) -> Result<(), ManageError> {
        let hardware = self.tree.hardware(target);
        let known =
            self.tree.memory.as_mut().and_then(|memory| memory.moved_from(&back.superblock, hardware.as_deref()));
        let Some(was) = known else { return Ok(()) };
        Err(ManageError::NoFormerMember {
            drive: back.drive.clone(),
            problem: format!(
                "it is on other hardware than the member that it says it is (last seen as {was}), perhaps a copy"
            ),
        })
    }

    /// Refuses a drive that has lost content, or updates which it had flushed as a member: with
    /// them it may have lost blocks whose bits are cleared. One that has lost blocks alone shows
    /// nothing of it.
    fn refuse_lossy(&mut self, back: &Candidate) -> Result<(), ManageError> {
        if self.tree.memory.as_mut().is_some_and(|memory| memory.has_lost_content(&back.superblock)) {
            let problem =
                "its file was cut short or deleted while the array ran, and what was there is lost".to_owned();
            return Err(ManageError::NoFormerMember { drive: back.drive.clone(), problem });
        }
        let lost = self.tree.memory.as_mut().and_then(|memory| memory.lost_update(&back.superblock));
        let Some(left_at) = lost else { return Ok(()) };
        let events = back.superblock.events;
        Err(ManageError::NoFormerMember {
            drive: back.drive.clone(),
            problem: format!(
                "it is at update {events}, and had flushed update {} when it left: it does not keep what it said was flushed",
                left_at - 1
            ),
        })
    }

    /// The array that a superblock names; if none, the outermost one, whose membership will say so.
    fn former_node(&self, superblock: &Superblock) -> NodeId {
        let names = |node: &crate::tree::Node| node.facts.array_uuid == superblock.array_uuid;
        self.tree.nodes.iter().position(names).map_or(self.root, NodeId)
    }

    /// What the superblocks are to say once the member is back; or why it cannot come back.
    fn readmission(&mut self, node: NodeId, back: &Candidate) -> Result<(Membership, Readmission), ManageError> {
        let memory = self.tree.memory.as_mut();
        let since = memory.map_or(SinceItLeft::Unknown, |memory| memory.since_it_left(&back.superblock));
        let it = &self.tree.nodes[node.0];
        let mut membership = it.membership.clone();
        let events_cleared = match &it.intent {
            Some(intent) => Some(intent.events_cleared()),
            None if it.writable => None,
            None => self.events_cleared_by_members(node)?,
        };
        let readmission = membership.re_add(back, events_cleared, since)?;
        // Last, so that an array that is open for reading tells of whatever else is in the way.
        if !self.tree.nodes[node.0].writable {
            return Err(self.not_taken_back(&back.drive, CommandError::ReadOnly));
        }
        Ok((membership, readmission))
    }

    /// What the bitmap of an array that is only read says of the updates whose bits were cleared;
    /// none without one.
    fn events_cleared_by_members(&mut self, node: NodeId) -> Result<Option<u64>, ManageError> {
        let it = &self.tree.nodes[node.0];
        let sync_bytes = it.array.geometry().sync_bytes();
        let members = it.slots.iter().filter(|slot| matches!(slot.duty, Duty::Member(_)));
        let members = members
            .filter_map(|slot| Some((slot.place.target, it.membership.superblock(slot.number.get()).ok()?.clone())));
        let members: Vec<_> = members.collect();
        let mut events = None;
        for (target, superblock) in members {
            let copy = read_copy(&mut self.tree, target, &superblock, sync_bytes)?;
            events = events.max(copy.ok().map(|copy| copy.header.events_cleared));
        }
        Ok(events)
    }

    /// Adds the set bits of a member's own copy to the array's, and makes that durable.
    fn adopt_bits(&mut self, node: NodeId, target: Target, superblock: &Superblock) -> Result<(), ManageError> {
        let sync_bytes = self.tree.nodes[node.0].array.geometry().sync_bytes();
        let copy = read_copy(&mut self.tree, target, superblock, sync_bytes)?;
        let copy = copy.map_err(|_| ManageError::NoFormerMember {
            drive: self.tree.name(target),
            problem:
                "its copy of the write-intent bitmap, which may know of writes that it alone has seen, cannot be used"
                    .to_owned(),
        })?;
        if let Some(intent) = &mut self.tree.nodes[node.0].intent {
            intent.adopt(&copy);
        }
        Ok(self.settle()?)
    }

    /// Makes it a member that is about to be filled: see the module's documentation.
    fn seat_again(
        &mut self,
        node: NodeId,
        target: Target,
        (membership, Readmission { dev_number, role }): (Membership, Readmission),
        bad_blocks: BadBlockNotes,
        back: &Candidate,
    ) -> Result<(), ManageError> {
        let name = back.drive.as_str();
        let was_here = |slot: &Slot| slot.place.target == target && slot.duty == Duty::Out;
        while let Some(slot) = self.tree.nodes[node.0].slots.iter().position(was_here) {
            self.tree.nodes[node.0].remove_slot(slot);
        }
        let buffer = self.tree.free_notes().ok_or_else(|| ManageError::NoRoom { drive: name.to_owned() })?;
        let it = &mut self.tree.nodes[node.0];
        let can_be_filled = it.array.can_rebuild_member(role);
        let known = bad_blocks.for_engine(&back.superblock);
        if let Err(why) = can_be_filled.and_then(|()| it.array.set_bad_blocks(role, known)) {
            return Err(self.not_taken_back(name, why));
        }
        let superblock = membership.superblock(dev_number).expect("it was taken back just now");
        let number = membership.number_of(superblock).expect("it was taken back just now");
        let place = Place::of(target, superblock);
        it.membership = membership;
        let (duty, bitmap) = (Duty::Returning(role), BitmapCopy::Due);
        it.slots.push(Slot { place, number, duty, buffer, bad_blocks, bitmap });
        it.left_out.retain(|left_out| left_out.name != name);
        Ok(())
    }

    fn not_taken_back(&self, name: &str, why: CommandError) -> ManageError {
        ManageError::Refused { what: format!("{name} cannot be re-added"), why }
    }
}
