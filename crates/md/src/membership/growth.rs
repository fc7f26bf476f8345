//! More members, and another shape.
//!
//! A mirror gets another copy, and a linear array another piece, by one update: nothing that is
//! stored moves. Parity arrays are reshaped: all superblocks say, in md's fields for it, what the
//! new shape is, by how much the start of the data moves down on each member, and up to which
//! position of the content the new shape holds. Level, layout, chunk and the start of the data stay
//! those of the old shape until [`Membership::finish_reshape`]; the number of members and the table
//! of roles are those of the new one from the start.
//!
//! Power may be cut between the members' writes of one update. At the start nothing has moved yet,
//! and at the end everything has: so a member that is behind can be told what the others know
//! ([`in_one_voice`]).

use shoal_array::{Level, Role};

use super::{AddError, Membership, set_recovery};
use crate::create::NewMember;
use crate::place::SECTOR_BYTES;
use crate::superblock::MemberUse;
use crate::{Candidate, DiskLevel, Features, Reshape, Superblock};

/// The features of a reshape under way.
const RESHAPE_FEATURES: Features = Features(Features::RESHAPE_ACTIVE.0 | Features::NEW_OFFSET.0);

/// The last update of a reshape counts as so many: a member that did not hear of it is stale to
/// everybody else, Linux too, who would else look for its data where they were before.
const LAST_UPDATES: u64 = 2;

/// What a reshape is to make of an array, besides the number of its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReshapeTarget {
    /// The same level as before; the layout may be another.
    pub level: Level,
    /// The new chunk.
    pub chunk_bytes: u32,
    /// By how much the data move towards the start of each drive.
    pub shift_bytes: u32,
}

impl Membership {
    /// A drive joins an array of any level but RAID0, without a role yet. What it needs of bitmap
    /// or PPL is the caller's.
    pub fn add_newcomer(&mut self, drive: &NewMember) -> Result<u32, AddError> {
        let own = self.newcomer(drive)?;
        let dev_number = own.dev_number;
        self.members.push(own);
        self.record(dev_number, MemberUse::Spare);
        Ok(dev_number)
    }

    /// The array has so many members more: these, in this order, behind all others. Those of a
    /// mirror are to be rebuilt from the start; those of other levels hold nothing that counts yet.
    pub fn widen(&mut self, newcomers: &[u32]) -> Result<(), super::NotAMember> {
        for &dev_number in newcomers {
            self.superblock(dev_number)?;
        }
        for &dev_number in newcomers {
            let role = self.members[0].raid_devices;
            for member in &mut self.members {
                member.raid_devices = role + 1;
            }
            self.record(dev_number, MemberUse::Active(Role(u16::try_from(role).expect("members are few"))));
            let own = self.superblock_mut(dev_number)?;
            // A spare says that none of it is rebuilt. What a reshape writes needs no rebuild.
            let is_mirror = own.level_number == 1;
            set_recovery(own, is_mirror.then_some(0));
        }
        Ok(())
    }

    /// A reshape starts: [`Membership::widen`] with these newcomers, and the target's shape behind
    /// position 0.
    pub fn start_reshape(&mut self, target: ReshapeTarget, newcomers: &[u32]) -> Result<(), super::NotAMember> {
        self.widen(newcomers)?;
        let DiskLevel { level, layout } = DiskLevel::new(target.level);
        for member in &mut self.members {
            member.features = member.features | Features::RESHAPE_ACTIVE;
            member.reshape = Reshape {
                new_level: level,
                position_sectors: 0,
                delta_devices: i32::try_from(newcomers.len()).expect("members are few"),
                new_layout: if level == 4 { member.layout_number } else { layout },
                new_chunk_sectors: target.chunk_bytes / SECTOR_BYTES as u32,
                new_offset_sectors: 0,
            };
            if matches!(member.own_use(), MemberUse::Active(_)) {
                member.features = member.features | Features::NEW_OFFSET;
                member.reshape.new_offset_sectors =
                    -i32::try_from(u64::from(target.shift_bytes) / SECTOR_BYTES).expect("bytes fit 32 bits");
            }
        }
        Ok(())
    }

    /// Content below this position is in the new shape.
    pub fn record_reshape_position(&mut self, position_bytes: u64) {
        for member in &mut self.members {
            member.reshape.position_sectors = position_bytes / SECTOR_BYTES;
        }
    }

    /// All content is in the new shape. [`Membership::advance`] is still to be called, as always.
    pub fn finish_reshape(&mut self) {
        for member in &mut self.members {
            member.finish_reshape();
            member.events = member.events.saturating_add(LAST_UPDATES - 1);
        }
    }
}

impl Superblock {
    fn finish_reshape(&mut self) {
        let Reshape { new_level, new_layout, new_chunk_sectors, new_offset_sectors, .. } = self.reshape;
        self.level_number = new_level;
        self.layout_number = new_layout;
        self.chunk_sectors = new_chunk_sectors;
        let moved = i64::from(new_offset_sectors);
        if let (true, Some(offset), Some(size)) = (
            self.features.any_of(Features::NEW_OFFSET),
            self.data_offset_sectors.checked_add_signed(moved),
            self.data_size_sectors.checked_add_signed(-moved),
        ) {
            self.data_offset_sectors = offset;
            self.data_size_sectors = size;
        }
        self.reshape = Reshape::default();
        self.features = self.features.with(RESHAPE_FEATURES, false);
    }

    /// Sectors before the data in which nothing lies: a reshape may move the data into them. As
    /// Linux has it, 36 KiB from the start of the superblock are left alone, and what lies beside
    /// the data. None if the superblock lies behind the data.
    pub fn free_sectors_before_data(&self) -> u64 {
        /// What Linux leaves alone from the start of the superblock on.
        const KEPT_SECTORS: u64 = 72;
        let areas = [self.bitmap_area(), self.ppl_area(), self.bad_block_log_area()];
        let ends = areas.into_iter().flatten().map(|area| (area.offset_bytes + area.size_bytes) / SECTOR_BYTES);
        let end = ends.chain([self.super_offset_sectors + KEPT_SECTORS]).max().unwrap_or(0);
        self.data_offset_sectors.saturating_sub(end)
    }
}

/// Power was cut while a reshape's first or last update was written: members that are behind are
/// made to say what the freshest does. At the start nothing has moved, so it does not matter that
/// they had not heard; at the end all has. Others are given back as they are.
pub fn in_one_voice(candidates: &[Candidate]) -> Vec<Candidate> {
    let mut settled = candidates.to_vec();
    // A member: a spare's data do not move, so it cannot say where to, and one that has heard alone
    // proves nothing.
    let is_member = |superblock: &&Superblock| matches!(superblock.own_use(), MemberUse::Active(_));
    let fresh = settled.iter().map(|candidate| &candidate.superblock);
    let fresh = fresh.filter(is_member).max_by_key(|superblock| superblock.events);
    let Some(fresh) = fresh.cloned() else { return settled };
    let is_active = |superblock: &Superblock| superblock.features.any_of(Features::RESHAPE_ACTIVE);
    for Candidate { superblock, .. } in &mut settled {
        match (is_active(&fresh), is_active(superblock), fresh.events.saturating_sub(superblock.events)) {
            (true, false, 1) if fresh.reshape.position_sectors == 0 => {
                superblock.features = superblock.features | Features(fresh.features.0 & RESHAPE_FEATURES.0);
                superblock.reshape = fresh.reshape;
                if !matches!(fresh.member_use(superblock.dev_number), MemberUse::Active(_)) {
                    superblock.features = superblock.features.with(Features::NEW_OFFSET, false);
                    superblock.reshape.new_offset_sectors = 0;
                }
            }
            (false, true, 1..=LAST_UPDATES) => {
                superblock.finish_reshape();
                superblock.events = fresh.events - 1;
            }
            _ => {}
        }
    }
    settled
}

#[cfg(test)]
mod tests;
