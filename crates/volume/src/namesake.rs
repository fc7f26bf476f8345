//! A drive comes to an array that has another one of its name.
//!
//! A member that was away for a moment while nothing was asked of it is back as another drive of
//! the world, and the array still counts on the one that it had, whose handle is dead. So before a
//! newcomer is judged, the one that is seated under its device UUID is asked for its superblock. If
//! its answer is an error, it has failed, by the usual path, and what becomes of the newcomer is
//! judged by what the array is then. If it answers with its superblock, the newcomer is a copy of
//! it. If it says nothing, it may be the member all the same, a stick that stalls, and the newcomer
//! its copy: that one waits until the member has answered, or has been silent for so long that it
//! is given up.
//!
//! One that cannot be spared stays: what the newcomer holds may be all that there is.

use shoal_drive::DriveId;
use shoal_md::SUPERBLOCK_BYTES;

use crate::array_volume::ArrayVolume;
use crate::assemble::{OpenError, probe};
use crate::manage_error::ManageError;
use crate::tree::{Duty, NodeId, Slot, Target, Waiter};
use crate::world::World;

impl<W: World> ArrayVolume<W> {
    /// Lets the one that has a newcomer's seat fail if it is dead. Refused if it is and cannot be
    /// spared.
    pub(crate) fn ask_namesake(&mut self, newcomer: DriveId) -> Result<(), ManageError> {
        self.ask_namesake_but(newcomer, None)
    }

    /// The same, but for one that is to be replaced by the newcomer, which may be a copy of it: it
    /// works as long as it does.
    pub(crate) fn ask_namesake_but(&mut self, newcomer: DriveId, but: Option<DriveId>) -> Result<(), ManageError> {
        let Some((node, slot)) = self.namesake(newcomer)? else { return Ok(()) };
        if but.is_some_and(|but| self.tree.nodes[node.0].slots[slot].place.target == Target::Drive(but)) {
            return Ok(());
        }
        let Slot { place, number, duty, .. } = self.tree.nodes[node.0].slots[slot];
        let mut superblock = [0; SUPERBLOCK_BYTES];
        if self.tree.keeps_waiting(place.target) {
            // It was asked before.
            return Err(self.silent_namesake(newcomer, place.target));
        }
        match self.tree.read_if_it_answers(place.target, place.super_offset_bytes, &mut superblock)? {
            Some(Ok(())) => return Ok(()),
            Some(Err(_)) => {}
            None => return Err(self.silent_namesake(newcomer, place.target)),
        }
        let it = &self.tree.nodes[node.0];
        // It may have failed by this read, or while it was waited for.
        let Some(slot) = it.slots.iter().position(|slot| slot.number == number && slot.duty == duty) else {
            return Ok(());
        };
        let is_needed = match duty {
            Duty::Member(role) => it.cannot_spare(role) || it.array.is_last_copy(role),
            Duty::Replacement(_) | Duty::Returning(_) | Duty::Spare | Duty::Journal(_) | Duty::Out => false,
        };
        if is_needed {
            let drive = self.tree.world.facts(newcomer).name;
            return Err(ManageError::ActiveMember { drive, array: it.facts.name() });
        }
        let now = self.tree.world.now();
        self.tree.drop_slot(now, node, slot);
        self.tree.record(now, node, Waiter::Nobody);
        Ok(self.settle_if_they_answer()?)
    }

    fn silent_namesake(&self, newcomer: DriveId, namesake: Target) -> ManageError {
        let drive = self.tree.world.facts(newcomer).name;
        ManageError::SilentNamesake { drive, namesake: self.tree.name(namesake) }
    }

    /// The slot of the drive in use that has the device UUID of this other one.
    fn namesake(&mut self, newcomer: DriveId) -> Result<Option<(NodeId, usize)>, ManageError> {
        let superblock = match probe(&mut self.tree, Target::Drive(newcomer)) {
            Ok(superblock) => superblock,
            Err(OpenError::Volume(broken)) => return Err(broken.into()),
            Err(_) => return Ok(None),
        };
        let mut nodes = (0..).map(NodeId).zip(&self.tree.nodes);
        let Some((id, node)) = nodes.find(|(_, node)| node.facts.array_uuid == superblock.array_uuid) else {
            return Ok(None);
        };
        let is_namesake = |slot: &Slot| {
            let own = node.membership.superblock(slot.number.get());
            let is_other = slot.duty != Duty::Out && slot.place.target != Target::Drive(newcomer);
            is_other && own.is_ok_and(|own| own.device_uuid == superblock.device_uuid)
        };
        Ok(node.slots.iter().position(is_namesake).map(|slot| (id, slot)))
    }
}
