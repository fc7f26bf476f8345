//! Drives come to an array that runs, and lose what they hold.

use shoal_array::{CommandError, Health, MemberState};
use shoal_drive::DriveId;
use shoal_md::{NewMember, Superblock, Uuid};

use crate::array_volume::ArrayVolume;
use crate::assemble::{OpenError, probe};
use crate::bad_blocks::BadBlockNotes;
use crate::create::{CreateError, clear_superblocks};
use crate::manage_error::ManageError;
use crate::ppl::LogPlace;
use crate::tree::{BitmapCopy, Duty, Node, NodeId, Place, Slot, Target, Tree, Waiter};
use crate::world::World;

impl<W: World> Tree<W> {
    /// Whether an array has a drive or another array at work, as a member, a replacement, a spare
    /// or its journal. One that failed, and was not removed yet, is not at work.
    pub(crate) fn is_used(&self, target: Target) -> bool {
        self.nodes.iter().any(|node| {
            let of_it = node.slots.iter().filter(|slot| slot.place.target == target);
            of_it.into_iter().any(|slot| node.membership.superblock(slot.number.get()).is_ok())
        })
    }
}

impl<W: World> ArrayVolume<W> {
    /// Makes a drive of the world, which no array uses, a spare; if a member is missing, in the
    /// array or in one inside it, its rebuild starts. What the drive holds is lost.
    ///
    /// A drive of an array inside that is not used stands for that array, as it does for
    /// [`Self::re_add_drive`]: the array around it gets a member whose content is lost.
    pub fn add_drive(&mut self, drive: DriveId) -> Result<(), ManageError> {
        if let Some(inside) = self.unused_array_of(drive) {
            return self.add_array(inside);
        }
        self.ask_namesake(drive)?;
        let node = self.node_in_need();
        self.make_spare(node, Target::Drive(drive))?;
        Ok(self.settle_if_they_answer()?)
    }

    /// Makes a drive, or an array inside that is at work nowhere, a spare of one array.
    pub(crate) fn make_spare(&mut self, node: NodeId, target: Target) -> Result<(), ManageError> {
        let name = self.tree.name(target);
        if self.tree.is_used(target) {
            return Err(ManageError::InUse { drive: name });
        }
        self.refuse_active_target(target)?;
        if self.tree.nodes[node.0].array.health() == Health::Failed {
            return Err(self.refused(target, "cannot be added", CommandError::NoRedundancy));
        }
        let no_room = || ManageError::NoRoom { drive: name.clone() };
        self.tree.free_notes().ok_or_else(no_room)?;
        let uuid = Uuid(self.tree.world.random_bytes());
        let member = NewMember { drive: name.clone(), size_bytes: self.tree.size_bytes(target), uuid };
        // Found out before the drive loses anything.
        let mut membership = self.tree.nodes[node.0].membership.clone();
        let dev_number = membership.add_spare(&member)?;
        if !self.tree.nodes[node.0].writable {
            return Err(self.refused(target, "cannot be added", CommandError::ReadOnly));
        }
        let superblock = membership.superblock(dev_number).expect("it was added just now");
        let (place, array_uuid) = (Place::of(target, superblock), superblock.array_uuid);
        clear_superblocks(&mut self.tree, target)?;
        let log = self.clear_log_of(&place, array_uuid)?;
        // From here on nothing is waited for: it is a spare when all that it needs is there, or not
        // at all.
        let buffer = self.tree.free_notes().ok_or_else(no_room)?;
        let it = &mut self.tree.nodes[node.0];
        let dev_number = it.membership.add_spare(&member)?;
        if let Some((log, generation)) = log {
            it.logs.insert(buffer, log, generation);
        }
        let superblock = it.membership.superblock(dev_number).expect("it was added just now");
        let bad_blocks = BadBlockNotes::empty(superblock);
        let number = it.membership.number_of(superblock).expect("it was added just now");
        it.slots.push(Slot { place, number, duty: Duty::Spare, buffer, bad_blocks, bitmap: BitmapCopy::Due });
        it.left_out.retain(|left_out| left_out.name != name);
        let now = self.tree.world.now();
        self.tree.record(now, node, Waiter::Nobody);
        Ok(())
    }

    /// Makes the log of a drive empty, if it is to have one: where it is, and its generation.
    fn clear_log_of(&mut self, place: &Place, array_uuid: Uuid) -> Result<Option<(LogPlace, u64)>, ManageError> {
        let Some(log) = place.log else { return Ok(None) };
        let cleared = self.tree.clear_log(place.target, log, None, array_uuid)?;
        let generation = cleared.map_err(|_| CreateError::Write { drive: self.tree.name(place.target) })?;
        Ok(Some((log, generation)))
    }

    /// Refuses a drive that carries this superblock, whatever is to become of it, if the array, or
    /// one inside it, counts on what it holds: by the freshest table of roles, it is an active
    /// member. One that this host was told to give up says so itself, and is none.
    pub fn refuse_active(&mut self, drive: &str, superblock: &Superblock) -> Result<(), ManageError> {
        if self.tree.memory.as_mut().is_some_and(|memory| memory.has_parted_with(superblock)) {
            return Ok(());
        }
        let own = self.tree.nodes.iter().find(|node| node.facts.array_uuid == superblock.array_uuid);
        match own.filter(|node| node.membership.counts_on(superblock)) {
            Some(node) => Err(ManageError::ActiveMember { drive: drive.to_owned(), array: node.facts.name() }),
            None => Ok(()),
        }
    }

    /// The same of a drive of the world, or of an array inside. One that cannot be read carries
    /// nothing that could be counted on.
    fn refuse_active_target(&mut self, target: Target) -> Result<(), ManageError> {
        match probe(&mut self.tree, target) {
            Ok(superblock) => {
                let name = self.tree.name(target);
                self.refuse_active(&name, &superblock)
            }
            Err(OpenError::Volume(broken)) => Err(broken.into()),
            Err(_) => Ok(()),
        }
    }

    /// The array that a new drive helps most: one of drives with a missing member, else the first.
    fn node_in_need(&self) -> NodeId {
        let of_drives = |node: &Node| node.slots.iter().any(|slot| matches!(slot.place.target, Target::Drive(_)));
        let missing = |node: &Node| node.array.member_states().contains(&MemberState::Missing) && of_drives(node);
        let needy = self.tree.nodes.iter().position(missing);
        NodeId(needy.or_else(|| self.tree.nodes.iter().position(of_drives)).unwrap_or(self.root.0))
    }
}
