//! Drives leave an array that runs, or are replaced in it.

use shoal_array::{CommandError, Health, MemberState, Role};
use shoal_drive::DriveId;

use crate::array_volume::ArrayVolume;
use crate::create::{CreateError, clear_superblocks};
use crate::manage_error::ManageError;
use crate::tree::{Duty, JournalLog, NodeId, Slot, Target, Waiter};
use crate::world::World;

/// How long a drive that is taken out may take over what it has.
const GRACE_NS: u64 = 200_000_000;

/// A drive's place in one of the arrays.
#[derive(Clone, Copy)]
struct Seat {
    node: NodeId,
    slot: usize,
    duty: Duty,
}

impl<W: World> ArrayVolume<W> {
    /// Takes a member out, for good; a replacement that was being filled for it becomes the member.
    /// Or stops the filling of a replacement, or goes on without the write journal. Refused where
    /// data would be lost by it.
    pub fn fail_drive(&mut self, drive: DriveId) -> Result<(), ManageError> {
        let Seat { node, slot, duty } = self.seat(drive)?;
        let now = self.tree.world.now();
        let it = &mut self.tree.nodes[node.0];
        let failed = match duty {
            Duty::Member(role) if it.cannot_spare(role) || it.awaits_record_without(role) => {
                Err(CommandError::NoRedundancy)
            }
            Duty::Member(role) => it.array.fail_member(now, role),
            Duty::Replacement(role) => it.fail_replacement(now, role),
            Duty::Journal(JournalLog::Unreplayed) => Err(CommandError::NoRedundancy),
            Duty::Journal(JournalLog::Empty) | Duty::Returning(_) => {
                self.tree.drop_slot(now, node, slot);
                Ok(())
            }
            Duty::Spare | Duty::Out => return Err(self.not_a_member(drive)),
        };
        failed.map_err(|why| self.refused(Target::Drive(drive), "cannot be taken out", why))?;
        self.part_with(drive)?;
        Ok(self.settle_if_they_answer()?)
    }

    /// Lets a drive end what it has, but not for long: who takes it out knows that it may never
    /// answer.
    fn part_with(&mut self, drive: DriveId) -> Result<(), ManageError> {
        let now = self.tree.world.now();
        self.tree.run_until(Some(now.after_ns(GRACE_NS)), |tree| !tree.flights.awaits(drive))?;
        let now = self.tree.world.now();
        self.tree.leave(now, drive);
        Ok(())
    }

    /// Forgets a drive that failed, or a spare: the array does not name it any more, and it can be
    /// taken away. What a failed one holds stays as it is. A spare, which holds nothing, loses its
    /// superblock: md takes a spare that is found again for one, and would fill it some day.
    pub fn remove_drive(&mut self, drive: DriveId) -> Result<(), ManageError> {
        let name = self.tree.world.facts(drive).name;
        let Ok(seat) = self.seat(drive) else { return self.forget_left_out(drive, &name) };
        let node = self.removable(drive, seat)?.node;
        // A mirror that the drive was part of may still have I/O in flight.
        self.tree.wait_for(|tree| !tree.nodes[node.0].has_draining_mirrors())?;
        self.settle()?;
        // A spare may have been given a role meanwhile.
        let Seat { slot, duty, .. } = self.removable(drive, self.seat(drive)?)?;
        let it = &mut self.tree.nodes[node.0];
        let Slot { number, buffer, .. } = it.remove_slot(slot);
        self.tree.keep_notes(drive, buffer);
        let it = &mut self.tree.nodes[node.0];
        // One that was out when the array was put together has no number in its superblocks.
        let _ = it.membership.remove(number.get());
        let now = self.tree.world.now();
        self.tree.record(now, node, Waiter::Nobody);
        self.settle_if_they_answer()?;
        match duty {
            // The others name it until that is recorded.
            Duty::Spare if self.tree.nodes[node.0].is_settled() => self.unmark(drive),
            _ => Ok(()),
        }
    }

    /// Takes its superblock from a drive. One that does not take that stays what it was.
    fn unmark(&mut self, drive: DriveId) -> Result<(), ManageError> {
        match clear_superblocks(&mut self.tree, Target::Drive(drive)) {
            Err(CreateError::Volume(broken)) => Err(broken.into()),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Refuses a seat whose drive is at work.
    fn removable(&self, drive: DriveId, seat: Seat) -> Result<Seat, ManageError> {
        match seat.duty {
            Duty::Spare | Duty::Out => Ok(seat),
            Duty::Member(_) | Duty::Replacement(_) | Duty::Returning(_) | Duty::Journal(_) => {
                Err(ManageError::InUse { drive: self.tree.world.facts(drive).name })
            }
        }
    }

    /// Copies a member that still works to another drive, which takes its place when that is done;
    /// the old one is out then. The new one is a spare of the same array, or a drive that no array
    /// uses: what that one holds is lost.
    pub fn replace_drive(&mut self, old: DriveId, new: DriveId) -> Result<(), ManageError> {
        self.replaceable(old)?;
        self.ask_namesake_but(new, Some(old))?;
        let (node, _) = self.replaceable(old)?;
        self.make_spare_of(node, new)?;
        self.settle()?;
        // While the spare was written down the member may have failed, and the spare may have been
        // given its role.
        let (node, role) = self.replaceable(old)?;
        let Seat { slot, duty, .. } = self.seat(new)?;
        if duty != Duty::Spare {
            let drive = self.tree.world.facts(new).name;
            let failed = CreateError::Write { drive: drive.clone() };
            return Err(if duty == Duty::Out { failed.into() } else { ManageError::InUse { drive } });
        }
        self.start_replacement(node, role, slot, new)?;
        Ok(self.settle_if_they_answer()?)
    }

    /// The array and role of a member that can be replaced now. Nothing has been written to any
    /// drive if it cannot.
    fn replaceable(&self, drive: DriveId) -> Result<(NodeId, Role), ManageError> {
        let Seat { node, duty, .. } = self.seat(drive)?;
        let Duty::Member(role) = duty else { return Err(self.not_a_member(drive)) };
        let it = &self.tree.nodes[node.0];
        let refused = |why| Err(self.refused(Target::Drive(drive), "cannot be replaced", why));
        match it.array.member_states()[role.index()] {
            MemberState::InSync if it.array.health() == Health::Failed => refused(CommandError::NoRedundancy),
            MemberState::InSync if it.mirror(role).is_some() => refused(CommandError::Busy),
            MemberState::InSync if it.array.member_states().contains(&MemberState::Missing) => {
                let drive = self.tree.world.facts(drive).name;
                Err(ManageError::Degraded { drive, array: it.facts.name() })
            }
            MemberState::InSync => Ok((node, role)),
            state => refused(CommandError::State(state)),
        }
    }

    /// Makes a drive that belongs to nothing a spare of this array; one that is a spare already
    /// stays what it is. Refused at last if the array is open for reading only.
    fn make_spare_of(&mut self, node: NodeId, drive: DriveId) -> Result<(), ManageError> {
        match self.seat(drive) {
            Ok(seat) if seat.node == node && seat.duty == Duty::Spare => match self.tree.nodes[node.0].writable {
                true => Ok(()),
                false => Err(self.refused(Target::Drive(drive), "cannot replace a member", CommandError::ReadOnly)),
            },
            Ok(_) => Err(ManageError::InUse { drive: self.tree.world.facts(drive).name }),
            Err(_) => self.make_spare(node, Target::Drive(drive)),
        }
    }

    fn start_replacement(&mut self, node: NodeId, role: Role, slot: usize, drive: DriveId) -> Result<(), ManageError> {
        let now = self.tree.world.now();
        let started = self.tree.start_replacement(now, node, role, slot, None);
        started.ok_or_else(|| ManageError::NoRoom { drive: self.tree.world.facts(drive).name })
    }

    /// A drive that carries the array's superblock and was not used is not shown any more.
    fn forget_left_out(&mut self, drive: DriveId, name: &str) -> Result<(), ManageError> {
        for node in &mut self.tree.nodes {
            if let Some(place) = node.left_out.iter().position(|left_out| left_out.name == name) {
                node.left_out.remove(place);
                return Ok(());
            }
        }
        Err(self.not_a_member(drive))
    }

    /// The array of a drive, and what it does there. One that was out, and was added again, has two
    /// slots: it is what it is in the one that counts.
    fn seat(&self, drive: DriveId) -> Result<Seat, ManageError> {
        for (index, node) in self.tree.nodes.iter().enumerate() {
            let is_here = |slot: &Slot| slot.place.target == Target::Drive(drive);
            let in_use = node.slots.iter().position(|slot| is_here(slot) && slot.duty != Duty::Out);
            if let Some(slot) = in_use.or_else(|| node.slots.iter().position(is_here)) {
                return Ok(Seat { node: NodeId(index), slot, duty: node.slots[slot].duty });
            }
        }
        Err(self.not_a_member(drive))
    }

    fn not_a_member(&self, drive: DriveId) -> ManageError {
        ManageError::NotAMember { drive: self.tree.world.facts(drive).name }
    }
}
