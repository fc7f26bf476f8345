//! The superblocks of an array that runs, kept up to date. Changes of members' states are gathered;
//! [`Membership::advance`] then closes the set, one update fresher, to be written to all members.
//!
//! Invariant: all superblocks in the set agree on everything but what is their own member's. A
//! member that is not in the set is not in the table of roles either: should it come back, it is
//! seen to be old.

mod assembled;
mod bitmap;
mod growth;
mod newcomer;
mod readmission;

use shoal_array::Role;

use crate::create::{NameError, NewMember, name_bytes};
use crate::limits::NUMBER_LIMIT;
use crate::place::SECTOR_BYTES;
use crate::superblock::MemberUse;
use crate::{Candidate, Creation, Features, Superblock, Timestamp, counts_on};

pub use growth::{ReshapeTarget, in_one_voice};
pub use readmission::{ReAddError, ReAddProblem, Readmission, SinceItLeft};

/// The members of a running array, with their superblocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    members: Vec<Superblock>,
}

/// The number of a member whose superblock is in a set: what a drive says of itself is not one
/// before it has been found there. It is not its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemberNumber(u32);

impl MemberNumber {
    /// As it is written in superblocks.
    pub fn get(self) -> u32 {
        self.0
    }
}

/// Features that are one member's, not the array's.
const OWN_FEATURES: Features = Features(
    Features::RECOVERY_OFFSET.0
        | Features::BAD_BLOCKS.0
        | Features::REPLACEMENT.0
        | Features::RECOVERY_BITMAP.0
        | Features::NEW_OFFSET.0,
);

/// Features of what the `bitmap_offset` field places.
const PLACED: Features = Features(Features::BITMAP.0 | Features::PPL.0 | Features::MULTIPLE_PPLS.0);

/// No member of the set has this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the array has no member of number {dev_number}")]
pub struct NotAMember {
    /// The number.
    pub dev_number: u32,
}

/// Why a drive cannot leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoveError {
    /// There is no such one.
    #[error(transparent)]
    NotAMember(#[from] NotAMember),
    /// It holds data of the array.
    #[error("member {} (number {dev_number}) is in use: let it fail first, or replace it", role.0)]
    InUse {
        /// Its number.
        dev_number: u32,
        /// Its role.
        role: Role,
    },
}

/// Why a drive cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddError {
    /// It does not hold what the array uses of each member.
    #[error("{}", crate::create::too_small(drive, *size_bytes, *needed_bytes))]
    DriveTooSmall {
        /// The drive.
        drive: String,
        /// Its size.
        size_bytes: u64,
        /// What would do.
        needed_bytes: u64,
    },
    /// The table of roles is full.
    #[error("{drive} cannot be added: the array's superblock has no place for another member")]
    TableFull {
        /// The drive.
        drive: String,
    },
    /// Linear and RAID0 have no use for it.
    #[error("{drive} cannot be added: {} arrays do not take spares", crate::level_name(*level))]
    Level {
        /// The drive.
        drive: String,
        /// md's number of the level.
        level: i32,
    },
}

impl Membership {
    /// All members and spares of a new array.
    pub fn of_creation(creation: &Creation) -> Self {
        Self { members: creation.superblocks.clone() }
    }

    /// The superblocks, each to be written at its [`Superblock::super_offset_bytes`] on the drive
    /// of its member.
    pub fn superblocks(&self) -> &[Superblock] {
        &self.members
    }

    /// The number of the member with this superblock; none if the set has no such member.
    pub fn number_of(&self, superblock: &Superblock) -> Option<MemberNumber> {
        let member = self.members.iter().find(|member| member.device_uuid == superblock.device_uuid)?;
        Some(MemberNumber(member.dev_number))
    }

    /// The update that they are at; 0 if nobody is left.
    pub fn events(&self) -> u64 {
        self.members.iter().map(|member| member.events).max().unwrap_or(0)
    }

    /// The superblock of one member.
    pub fn superblock(&self, dev_number: u32) -> Result<&Superblock, NotAMember> {
        self.members.iter().find(|member| member.dev_number == dev_number).ok_or(NotAMember { dev_number })
    }

    /// Whether the array counts on what a drive holds that is to come to it and carries this
    /// superblock.
    pub fn counts_on(&self, newcomer: &Superblock) -> bool {
        let candidate = |superblock: &Superblock| Candidate { drive: String::new(), superblock: superblock.clone() };
        let members: Vec<_> = self.members.iter().map(candidate).collect();
        counts_on(&members, &candidate(newcomer))
    }

    /// The array has another name, after that of the host if both fit, as `mdadm --update=name`
    /// writes it. One that is not in the set keeps the old name until it comes back. Gives the
    /// bytes of the name.
    pub fn rename(&mut self, name: &str, homehost: Option<&str>) -> Result<[u8; 32], NameError> {
        let bytes = name_bytes(name, homehost)?;
        self.members.iter_mut().for_each(|member| member.name_bytes = bytes);
        Ok(bytes)
    }

    /// A member failed: the others say so, and it is not written any more. A replacement that it
    /// had takes its role, as a member that is being rebuilt.
    pub fn fail(&mut self, dev_number: u32) -> Result<(), NotAMember> {
        let failed = self.superblock(dev_number)?.clone();
        self.members.retain(|member| member.dev_number != dev_number);
        self.record(dev_number, MemberUse::Faulty);
        if let (MemberUse::Active(role), false) = (failed.own_use(), is_replacement(&failed)) {
            for heir in self.members.iter_mut().filter(|heir| heir.own_use() == MemberUse::Active(role)) {
                heir.features = heir.features.with(Features::REPLACEMENT, false);
            }
        }
        Ok(())
    }

    /// A spare leaves, or a member that failed is forgotten: its number is free again.
    pub fn remove(&mut self, dev_number: u32) -> Result<(), RemoveError> {
        let listed = self.members.first().map_or(MemberUse::Spare, |any| any.member_use(dev_number));
        match (self.superblock(dev_number).is_ok(), listed) {
            (_, MemberUse::Active(role)) => return Err(RemoveError::InUse { dev_number, role }),
            (false, MemberUse::Spare | MemberUse::Journal | MemberUse::Unknown(_)) => {
                return Err(RemoveError::NotAMember(NotAMember { dev_number }));
            }
            (true, _) | (false, MemberUse::Faulty) => {}
        }
        self.members.retain(|member| member.dev_number != dev_number);
        if !self.members.is_empty() {
            self.record(dev_number, MemberUse::Spare);
        }
        Ok(())
    }

    /// A drive is added as a spare. Gives the number it has from now on. What bitmap or PPL its
    /// areas are to hold is the caller's to write.
    pub fn add_spare(&mut self, drive: &NewMember) -> Result<u32, AddError> {
        match self.members.first() {
            Some(any) if any.level_number <= 0 => {
                Err(AddError::Level { drive: drive.drive.clone(), level: any.level_number })
            }
            _ => {
                let dev_number = self.add_newcomer(drive)?;
                self.members
                    .iter_mut()
                    .filter(|member| member.dev_number == dev_number)
                    .for_each(Superblock::mark_as_empty);
                Ok(dev_number)
            }
        }
    }

    /// A spare takes a role, to be rebuilt from the start. Whoever had the role loses it.
    pub fn start_rebuild(&mut self, dev_number: u32, role: Role) -> Result<(), NotAMember> {
        self.superblock(dev_number)?;
        for number in 0..self.members.first().map_or(0, Superblock::max_dev) {
            if self.members[0].member_use(number) == MemberUse::Active(role) {
                self.record(number, MemberUse::Spare);
            }
        }
        self.record(dev_number, MemberUse::Active(role));
        let own = self.superblock_mut(dev_number)?;
        set_recovery(own, Some(0));
        own.features = own.features.with(Features::REPLACEMENT | Features::RECOVERY_BITMAP, false);
        Ok(())
    }

    /// A rebuild, or the copy to a replacement, has come so far.
    pub fn record_rebuild_position(&mut self, dev_number: u32, position_bytes: u64) -> Result<(), NotAMember> {
        set_recovery(self.superblock_mut(dev_number)?, Some(position_bytes));
        Ok(())
    }

    /// The log of the array's journal starts at this sector of its data area.
    pub fn record_journal_tail(&mut self, dev_number: u32, sector: u64) -> Result<(), NotAMember> {
        self.superblock_mut(dev_number)?.recovery_offset_sectors = sector;
        Ok(())
    }

    /// The write journal failed, and the members hold all that was in it: the array goes on as one
    /// that never had one. Otherwise nobody could start it without that drive.
    pub fn retire_journal(&mut self, dev_number: u32) -> Result<(), NotAMember> {
        self.fail(dev_number)?;
        for member in &mut self.members {
            member.features = member.features.with(Features::JOURNAL, false);
        }
        Ok(())
    }

    /// A rebuild is finished.
    pub fn finish_rebuild(&mut self, dev_number: u32) -> Result<(), NotAMember> {
        let own = self.superblock_mut(dev_number)?;
        set_recovery(own, None);
        own.features = own.features.with(Features::RECOVERY_BITMAP, false);
        Ok(())
    }

    /// A spare is to become the copy of the member with this role, from the start, and then to take
    /// its place.
    pub fn start_replacement(&mut self, dev_number: u32, role: Role) -> Result<(), NotAMember> {
        self.superblock(dev_number)?;
        self.record(dev_number, MemberUse::Active(role));
        let own = self.superblock_mut(dev_number)?;
        set_recovery(own, Some(0));
        own.features = own.features.with(Features::REPLACEMENT, true).with(Features::RECOVERY_BITMAP, false);
        Ok(())
    }

    /// Makes a replacement that holds everything the member; the one that it replaced counts as
    /// failed. Gives that one's number.
    pub fn finish_replacement(&mut self, dev_number: u32) -> Result<Option<u32>, NotAMember> {
        let role = self.superblock(dev_number)?.own_use();
        let replaced = self.members.iter().find(|other| other.dev_number != dev_number && other.own_use() == role);
        let replaced = replaced.map(|other| other.dev_number);
        let own = self.superblock_mut(dev_number)?;
        set_recovery(own, None);
        own.features = own.features.with(Features::REPLACEMENT, false);
        if let Some(replaced) = replaced {
            self.fail(replaced)?;
        }
        Ok(replaced)
    }

    /// The original of a replacement that holds everything is gone, with a partial parity log that
    /// is still needed: the replacement is the member, and goes on to say that it is a replacement.
    /// Gives the number of the one that is gone.
    pub fn stand_in(&mut self, dev_number: u32) -> Result<Option<u32>, NotAMember> {
        let replaced = self.finish_replacement(dev_number)?;
        let own = self.superblock_mut(dev_number)?;
        own.features = own.features.with(Features::REPLACEMENT, true);
        Ok(replaced)
    }

    /// Whether a member's bad-block log has entries: they count only while this says so.
    pub fn record_bad_blocks(&mut self, dev_number: u32, any: bool) -> Result<(), NotAMember> {
        let own = self.superblock_mut(dev_number)?;
        own.features = own.features.with(Features::BAD_BLOCKS, any);
        Ok(())
    }

    /// Writes may be under way: to be on disk before the first of them.
    pub fn mark_active(&mut self) {
        self.set_resync_offset(0);
    }

    /// No write is under way and everything is in sync.
    pub fn mark_clean(&mut self) {
        self.set_resync_offset(Superblock::CLEAN);
    }

    /// A resync has come so far: on each member, or, for RAID10, in the array's content.
    pub fn record_resync_position(&mut self, position_bytes: u64) {
        self.set_resync_offset(position_bytes / SECTOR_BYTES);
    }

    fn set_resync_offset(&mut self, sectors: u64) {
        for member in &mut self.members {
            member.resync_offset_sectors = sectors;
        }
    }

    fn superblock_mut(&mut self, dev_number: u32) -> Result<&mut Superblock, NotAMember> {
        let own = self.members.iter_mut().find(|member| member.dev_number == dev_number);
        own.ok_or(NotAMember { dev_number })
    }

    /// Closes the set: one update more on all members. To be called once before the set is written,
    /// however much has changed: a member that is one update behind is still taken for a fresh one,
    /// as power may be cut between the members' writes; one that is two behind is not.
    pub fn advance(&mut self, now: Timestamp) {
        for member in &mut self.members {
            member.events = member.events.saturating_add(1);
            member.update_time = now;
        }
    }

    fn record(&mut self, dev_number: u32, member_use: MemberUse) {
        for member in &mut self.members {
            let recorded = member.set_member_use(dev_number, member_use);
            assert!(recorded, "number {dev_number} was given out within the table's limit");
        }
    }

    /// The first number behind the members of the complete array that nobody has or had.
    fn free_number(&self, superblock: &Superblock) -> Option<u32> {
        let free = |number: &u32| {
            superblock.member_use(*number) == MemberUse::Spare
                && self.members.iter().all(|member| member.dev_number != *number)
        };
        (superblock.raid_devices..NUMBER_LIMIT).chain(0..superblock.raid_devices).find(free)
    }
}

/// A rebuild has come so far; none: there is no rebuild.
fn set_recovery(member: &mut Superblock, position_bytes: Option<u64>) {
    member.features = member.features.with(Features::RECOVERY_OFFSET, position_bytes.is_some());
    member.recovery_offset_sectors = position_bytes.unwrap_or(0) / SECTOR_BYTES;
}

fn is_replacement(member: &Superblock) -> bool {
    member.features.any_of(Features::REPLACEMENT)
}

/// What all members share, with what `own` says of its own member.
pub(crate) fn with_own_fields(shared: &Superblock, own: &Superblock) -> Superblock {
    let mut member = shared.clone();
    member.features = shared.features.with(OWN_FEATURES, false) | Features(own.features.0 & OWN_FEATURES.0);
    if own.features.0 & PLACED.0 == shared.features.0 & PLACED.0 {
        member.bitmap_offset = own.bitmap_offset; // else it has not heard of that yet
    }
    member.reshape.new_offset_sectors = own.reshape.new_offset_sectors;
    member.data_offset_sectors = own.data_offset_sectors;
    member.data_size_sectors = own.data_size_sectors;
    member.super_offset_sectors = own.super_offset_sectors;
    member.recovery_offset_sectors = own.recovery_offset_sectors;
    member.dev_number = own.dev_number;
    member.corrected_read_errors = own.corrected_read_errors;
    member.device_uuid = own.device_uuid;
    member.device_flags = own.device_flags;
    member.bad_block_log = own.bad_block_log;
    member
}

#[cfg(test)]
mod tests;
