//! Assembly: which of the drives that were given make the array, and in what state.
//!
//! Every superblock holds a table of all members' roles, and a count of the updates it has seen.
//! The freshest member's table is believed; what becomes of each other member is decided by
//! [`table::decide`] from how far it is behind, what the freshest table says of it, what its own
//! table says, and its feature bits.

mod claim;
mod error;
mod reasons;
mod seats;
mod table;

use shoal_array::{Array, BufferId, Config, Health, Level, MemberState, Raid0Layout, Role, Scratch, Shape};

use crate::limits::MAX_DEV_LIMIT;
use crate::place::SECTOR_BYTES;
use crate::superblock::MemberUse;
use crate::{Features, Superblock};

pub use claim::counts_on;
pub use error::{AssembleError, ShapeUnknown};
pub use reasons::{ReadOnlyReason, RefusalReason};
pub use seats::{Replacement, Slot};

/// A drive with a superblock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What people call the drive; for errors.
    pub drive: String,
    /// What was found on it.
    pub superblock: Superblock,
}

/// What became of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds all its data.
    InSync(Role),
    /// It has a role, and its data below this position.
    Rebuilding {
        /// Its role.
        role: Role,
        /// Bytes of its data area that are rebuilt.
        position_bytes: u64,
        /// Beyond that it needs only what the write-intent bitmap says.
        by_bitmap: bool,
    },
    /// It waits.
    Spare,
    /// The array knows that it failed.
    Faulty,
    /// It missed updates: what it holds is old.
    Stale {
        /// How many.
        updates_missed: u64,
    },
    /// Another candidate of the same role is fresher.
    RoleTaken(Role),
    /// It is the array's write journal.
    Journal,
    /// It is being made a replacement for the member of this role.
    Replacement {
        /// The role.
        role: Role,
        /// Bytes of its data area that are copied.
        position_bytes: u64,
    },
    /// The table gives it a role that the array does not have.
    Unusable,
    /// It carries a number that no member can have, or that another candidate has: a copy that
    /// somebody changed.
    Stray,
}

impl Verdict {
    /// Whether the array counts on what the candidate holds.
    pub fn holds_data(&self) -> bool {
        match self {
            Self::InSync(_) | Self::Rebuilding { .. } | Self::Replacement { .. } | Self::Journal => true,
            Self::Spare | Self::Stale { .. } | Self::Faulty => false,
            Self::RoleTaken(_) | Self::Unusable | Self::Stray => false,
        }
    }
}

/// An array, put together from what was given. Members may be missing: whether it can run is the
/// engine's to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembly {
    /// The index of the freshest candidate.
    pub freshest: usize,
    /// Its superblock: the array's name, UUID, level, layout, chunk, events, times, and resync
    /// offset are in it.
    pub superblock: Superblock,
    /// Level and layout.
    pub level: Level,
    /// The roles, from 0 on.
    pub slots: Vec<Slot>,
    /// What became of each candidate, in the order given.
    pub verdicts: Vec<Verdict>,
    /// Why it must not be written; empty if it may.
    pub read_only: Vec<ReadOnlyReason>,
    /// Why it cannot be used; empty if it can.
    pub refused: Vec<RefusalReason>,
    /// Bytes of the data area of each slot's member that the array uses, if they are known.
    member_bytes: Vec<Option<u64>>,
}

/// Sorts candidates by the array that they belong to, in the order of each array's first one. Gives
/// their indices.
pub fn group_by_array(candidates: &[Candidate]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, candidate) in candidates.iter().enumerate() {
        let uuid = candidate.superblock.array_uuid;
        match groups.iter_mut().find(|group| candidates[group[0]].superblock.array_uuid == uuid) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

/// Puts an array together. The order and the names of the candidates do not matter.
pub fn assemble(candidates: &[Candidate]) -> Result<Assembly, AssembleError> {
    check_identities(candidates)?;
    let freshest = elect(candidates).ok_or(AssembleError::Nothing)?;
    let superblock = &candidates[freshest].superblock;
    let raid_devices = superblock.raid_devices;
    let damaged = || AssembleError::RaidDevices { drive: candidates[freshest].drive.clone(), raid_devices };
    if !(1..=MAX_DEV_LIMIT as u64).contains(&u64::from(raid_devices)) {
        return Err(damaged());
    }
    let level = superblock.level().expect("verified superblocks have a known level");

    let mut verdicts = Vec::with_capacity(candidates.len());
    for index in 0..candidates.len() {
        verdicts.push(judge(candidates, freshest, index)?);
    }
    let used_bytes = |index: usize| match has_one_size(level) {
        true => superblock.used_bytes(),
        false => candidates[index].superblock.used_bytes(),
    };
    let mut slots = seats::seat(candidates, &mut verdicts, raid_devices as usize, used_bytes)?;
    seats::send_strays_away(candidates, &mut verdicts, &mut slots);
    let member_bytes = slots
        .iter()
        .map(|slot| slot.candidate.map(used_bytes).or_else(|| has_one_size(level).then(|| superblock.used_bytes())))
        .collect();
    let accepted = accepted(candidates, &verdicts, superblock);
    Ok(Assembly {
        freshest,
        level,
        slots,
        read_only: reasons::read_only_reasons(&accepted),
        refused: reasons::refusal_reasons(&accepted, verdicts.contains(&Verdict::Journal)),
        member_bytes,
        superblock: superblock.clone(),
        verdicts,
    })
}

impl Assembly {
    /// The array's name, or its UUID if it has none.
    pub fn name(&self) -> String {
        let name = self.superblock.name();
        if name.is_empty() { self.superblock.array_uuid.to_string() } else { name }
    }

    /// The states of the members, in the order of their roles.
    pub fn member_states(&self) -> Vec<MemberState> {
        self.slots.iter().map(|slot| slot.state).collect()
    }

    /// The health of an array that runs over it: [`Health::Failed`] if more is missing than its
    /// level survives.
    pub fn health(&self) -> Health {
        let Ok(shape) = self.shape() else { return Health::Failed };
        let count = Scratch::least_count(shape.member_bytes.len());
        let scratch = Scratch { first: BufferId(0), count, bytes_each: 4096 };
        Array::new(Config::new(shape, self.member_states(), scratch)).map_or(Health::Failed, |array| array.health())
    }

    /// The roles that nobody has.
    pub fn missing_roles(&self) -> Vec<Role> {
        (0..).map(Role).zip(&self.slots).filter(|(_, slot)| slot.candidate.is_none()).map(|(role, _)| role).collect()
    }

    /// The candidates that wait as spares.
    pub fn spares(&self) -> Vec<usize> {
        let verdicts = self.verdicts.iter().enumerate();
        verdicts.filter(|(_, verdict)| **verdict == Verdict::Spare).map(|(index, _)| index).collect()
    }

    /// The candidate that is the array's write journal.
    pub fn journal(&self) -> Option<usize> {
        self.verdicts.iter().position(|verdict| *verdict == Verdict::Journal)
    }

    /// Below this the array is in sync: in bytes of each member's data area, or, for RAID10, of the
    /// array's content. None if all of it is.
    pub fn resync_position_bytes(&self) -> Option<u64> {
        let sectors = self.superblock.resync_offset_sectors;
        (!self.superblock.is_clean()).then(|| sectors.saturating_mul(SECTOR_BYTES))
    }

    /// Parity that may not agree with the data, and members missing: what is computed for them may
    /// be wrong where writes were under way. Linux does not start such an array unless forced.
    pub fn is_dirty_and_degraded(&self) -> bool {
        let has_parity = matches!(self.level, Level::Raid4 | Level::Raid5(_) | Level::Raid6(_));
        let degraded = self.slots.iter().any(|slot| slot.state != MemberState::InSync);
        has_parity && degraded && !self.superblock.is_clean()
    }

    /// The array's shape.
    pub fn shape(&self) -> Result<Shape, ShapeUnknown> {
        if let Some(reason) = self.refused.first() {
            return Err(ShapeUnknown::Refused { name: self.name(), reason: *reason });
        }
        let chunk = self.superblock.chunk_bytes();
        let chunk_bytes =
            u32::try_from(chunk).map_err(|_| ShapeUnknown::Chunk { name: self.name(), chunk_bytes: chunk })?;
        let mut member_bytes = Vec::with_capacity(self.member_bytes.len());
        for (role, bytes) in (0..).map(Role).zip(&self.member_bytes) {
            member_bytes.push(bytes.ok_or_else(|| ShapeUnknown::MemberMissing { name: self.name(), role })?);
        }
        if matches!(self.level, Level::Raid0(Raid0Layout::Original))
            && !self.raid0_layout_is_known(&member_bytes, chunk)
        {
            return Err(ShapeUnknown::Raid0Layout { name: self.name() });
        }
        Ok(Shape { level: self.level, chunk_bytes, member_bytes })
    }

    /// It is recorded, or all layouts are the same because all members have the same number of
    /// chunks.
    fn raid0_layout_is_known(&self, member_bytes: &[u64], chunk_bytes: u64) -> bool {
        let chunks = |bytes: &u64| bytes / chunk_bytes.max(1);
        self.superblock.features.any_of(Features::RAID0_LAYOUT)
            || member_bytes.windows(2).all(|pair| chunks(&pair[0]) == chunks(&pair[1]))
    }
}

/// The superblocks whose features count: the freshest, and those of drives that hold data of the
/// array.
fn accepted<'a>(candidates: &'a [Candidate], verdicts: &[Verdict], freshest: &'a Superblock) -> Vec<&'a Superblock> {
    let of_members = candidates.iter().zip(verdicts).filter(|(_, verdict)| verdict.holds_data());
    std::iter::once(freshest).chain(of_members.map(|(candidate, _)| &candidate.superblock)).collect()
}

fn has_one_size(level: Level) -> bool {
    !matches!(level, Level::Linear | Level::Raid0(_))
}

/// All belong to one array, and none is there twice.
fn check_identities(candidates: &[Candidate]) -> Result<(), AssembleError> {
    for (index, candidate) in candidates.iter().enumerate() {
        let [first, second] = [&candidates[0], candidate];
        let [first_array, second_array] = [first.superblock.array_uuid, second.superblock.array_uuid];
        if first_array != second_array {
            let [first, second] = [first.drive.clone(), second.drive.clone()];
            return Err(AssembleError::DifferentArrays { first, first_array, second, second_array });
        }
        let same = |other: &&Candidate| other.superblock.device_uuid == candidate.superblock.device_uuid;
        if let Some(other) = candidates[..index].iter().find(same) {
            let [first, second] = [other.drive.clone(), candidate.drive.clone()];
            return Err(AssembleError::SameMemberTwice { first, second });
        }
    }
    Ok(())
}

/// The candidate with the most updates that has a role, or is the journal, by its own table; among
/// equals one with a role, then the one that most of their tables count on: of two updates with one
/// number the later one leaves out who had the earlier, which counts on all that were there. Then
/// the first. Spares miss updates, and know nothing that the members do not: they count if there is
/// nobody else.
fn elect(candidates: &[Candidate]) -> Option<usize> {
    let has_duty = |own: &Superblock| matches!(own.own_use(), MemberUse::Active(_) | MemberUse::Journal);
    let is_active = |table: &Superblock, number| matches!(table.member_use(number), MemberUse::Active(_));
    let superblocks = || candidates.iter().map(|candidate| &candidate.superblock);
    let rank = |index: &usize| {
        let own = &candidates[*index].superblock;
        let peers = superblocks().filter(|other| has_duty(other) && other.events == own.events);
        let counting_on_it = peers.filter(|table| is_active(table, own.dev_number)).count();
        (has_duty(own), own.events, is_active(own, own.dev_number), counting_on_it)
    };
    (0..candidates.len()).rev().max_by_key(rank)
}

fn judge(candidates: &[Candidate], freshest: usize, index: usize) -> Result<Verdict, AssembleError> {
    let [fresh, own] = [&candidates[freshest].superblock, &candidates[index].superblock];
    let disagree = |what| AssembleError::Disagree {
        first: candidates[freshest].drive.clone(),
        second: candidates[index].drive.clone(),
        what,
    };
    let verdict = table::decide(fresh, own).ok_or_else(|| disagree("members"))?;
    let format = |superblock: &Superblock| (superblock.version(), superblock.disk_level(), superblock.chunk_sectors);
    let size = |superblock: &Superblock| (superblock.raid_devices, superblock.size_sectors);
    // A growing array may have been cut off between two superblocks; what holds enough is good all
    // the same.
    let fits = own.data_size_sectors >= fresh.size_sectors && (own.events < fresh.events || size(fresh) == size(own));
    if format(fresh) == format(own) && fits {
        return Ok(verdict);
    }
    match verdict {
        Verdict::Stale { .. } | Verdict::Faulty | Verdict::Unusable => Ok(verdict),
        Verdict::Spare if own.events < fresh.events => Ok(Verdict::Stale { updates_missed: fresh.events - own.events }),
        _ => Err(disagree("shape")),
    }
}

#[cfg(test)]
mod tests;
