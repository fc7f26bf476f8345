//! The superblocks of an array that runs, kept up to date. Changes of members' states are gathered; [`Membership::advance`]
//! then closes the set, one update fresher, to be written to all members.
//!
//! Invariant: all superblocks in the set agree on everything but what is their own member's. A member that is not in the
//! set is not in the table of roles either: should it come back, it is seen to be old.

mod newcomer;

use shoal_array::{MemberState, Role};

use crate::create::NewMember;
use crate::place::SECTOR_BYTES;
use crate::superblock::{MAX_DEV_LIMIT, MemberUse};
use crate::{Assembly, Candidate, Creation, Features, Superblock, Timestamp};

/// The members of a running array, with their superblocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    members: Vec<Superblock>,
}

/// Numbers of members lie below.
const NUMBER_LIMIT: u32 = MAX_DEV_LIMIT as u32;

/// No member of the set has this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the array has no member of number {dev_number}")]
pub struct NotAMember {
    /// The number.
    pub dev_number: u32,
}

/// Why a drive cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddError {
    /// It does not hold what the array uses of each member.
    #[error("{drive} is too small: it has {size_bytes} bytes, {needed_bytes} are needed")]
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

    /// The members that an assembly found good, and the spares that have a number of their own. `candidates` are those
    /// it was made of.
    pub fn of_assembly(assembly: &Assembly, candidates: &[Candidate]) -> Self {
        let mut table = assembly.superblock.clone();
        for number in 0..table.max_dev() {
            if matches!(table.member_use(number), MemberUse::Active(_)) {
                table.set_member_use(number, MemberUse::Spare);
            }
        }
        let mut membership = Self { members: Vec::new() };
        let mut seats = Vec::new();
        for (role, slot) in (0..).map(Role).zip(&assembly.slots) {
            let Some(index) = slot.candidate else { continue };
            let mut member = with_own_fields(&table, &candidates[index].superblock);
            if let MemberState::Rebuilding { position } = slot.state {
                member.features = member.features.with(Features::RECOVERY_OFFSET, true);
                member.recovery_offset_sectors = position / SECTOR_BYTES;
            }
            seats.push((member.dev_number, role));
            membership.members.push(member);
        }
        for index in assembly.spares() {
            let spare = with_own_fields(&table, &candidates[index].superblock);
            if spare.dev_number < NUMBER_LIMIT && membership.superblock(spare.dev_number).is_err() {
                membership.members.push(spare);
            }
        }
        for (dev_number, role) in seats {
            membership.record(dev_number, MemberUse::Active(role));
        }
        membership
    }

    /// What brings members that are one update behind up to the freshest one, by index of their candidates: to be
    /// written, and flushed, before the next update of all. Power may be cut during that one again, and a member must
    /// never be two behind because of it: it would be taken for stale.
    ///
    /// They get the freshest table as it is. Whatever has changed since belongs to the next update.
    pub fn levelled(assembly: &Assembly, candidates: &[Candidate]) -> Vec<(usize, Superblock)> {
        let seated = assembly.slots.iter().filter_map(|slot| Some((slot.candidate?, slot.state)));
        let spares = assembly.spares().into_iter().map(|spare| (spare, MemberState::InSync));
        let behind =
            seated.chain(spares).filter(|(index, _)| candidates[*index].superblock.events < assembly.superblock.events);
        let level = |(index, state): (usize, MemberState)| {
            let mut member = with_own_fields(&assembly.superblock, &candidates[index].superblock);
            if let MemberState::Rebuilding { position } = state {
                member.features = member.features.with(Features::RECOVERY_OFFSET, true);
                member.recovery_offset_sectors = position / SECTOR_BYTES;
            }
            (index, member)
        };
        behind.map(level).collect()
    }

    /// The superblocks, each to be written at its [`Superblock::super_offset_bytes`] on the drive of its member.
    pub fn superblocks(&self) -> &[Superblock] {
        &self.members
    }

    /// The superblock of one member.
    pub fn superblock(&self, dev_number: u32) -> Result<&Superblock, NotAMember> {
        self.members.iter().find(|member| member.dev_number == dev_number).ok_or(NotAMember { dev_number })
    }

    /// A member failed: the others say so, and it is not written any more.
    pub fn fail(&mut self, dev_number: u32) -> Result<(), NotAMember> {
        self.superblock(dev_number)?;
        self.members.retain(|member| member.dev_number != dev_number);
        self.record(dev_number, MemberUse::Faulty);
        Ok(())
    }

    /// A drive is added as a spare. Gives the number it has from now on.
    pub fn add_spare(&mut self, drive: &NewMember) -> Result<u32, AddError> {
        let own = self.newcomer(drive)?;
        let dev_number = own.dev_number;
        self.members.push(own);
        self.record(dev_number, MemberUse::Spare);
        Ok(dev_number)
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
        self.record_recovery(dev_number, Some(0))
    }

    /// A rebuild has come so far.
    pub fn record_rebuild_position(&mut self, dev_number: u32, position_bytes: u64) -> Result<(), NotAMember> {
        self.record_recovery(dev_number, Some(position_bytes / SECTOR_BYTES))
    }

    /// A rebuild is finished.
    pub fn finish_rebuild(&mut self, dev_number: u32) -> Result<(), NotAMember> {
        self.record_recovery(dev_number, None)
    }

    /// Writes may be under way: to be on disk before the first of them.
    pub fn mark_active(&mut self) {
        self.set_resync_offset(0);
    }

    /// No write is under way and everything is in sync.
    pub fn mark_clean(&mut self) {
        self.set_resync_offset(Superblock::CLEAN);
    }

    /// A resync has come so far on each member.
    pub fn record_resync_position(&mut self, position_bytes: u64) {
        self.set_resync_offset(position_bytes / SECTOR_BYTES);
    }

    fn set_resync_offset(&mut self, sectors: u64) {
        for member in &mut self.members {
            member.resync_offset_sectors = sectors;
        }
    }

    fn record_recovery(&mut self, dev_number: u32, recovered_sectors: Option<u64>) -> Result<(), NotAMember> {
        let member =
            self.members.iter_mut().find(|member| member.dev_number == dev_number).ok_or(NotAMember { dev_number })?;
        member.features = member.features.with(Features::RECOVERY_OFFSET, recovered_sectors.is_some());
        member.recovery_offset_sectors = recovered_sectors.unwrap_or(0);
        Ok(())
    }

    /// Closes the set: one update more on all members. To be called once before the set is written, however much has
    /// changed: a member that is one update behind is still taken for a fresh one, as power may be cut between the
    /// members' writes; one that is two behind is not.
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

/// What all members share, with what `own` says of its own member.
fn with_own_fields(shared: &Superblock, own: &Superblock) -> Superblock {
    const OWN_FEATURES: Features = Features(
        Features::RECOVERY_OFFSET.0 | Features::BAD_BLOCKS.0 | Features::REPLACEMENT.0 | Features::RECOVERY_BITMAP.0,
    );
    let mut member = shared.clone();
    member.features = shared.features.with(OWN_FEATURES, false) | Features(own.features.0 & OWN_FEATURES.0);
    member.bitmap_offset = own.bitmap_offset;
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
