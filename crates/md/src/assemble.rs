//! Assembly: which of the drives that were given make the array, and in what state.
//!
//! Every superblock holds a table of all members' roles, and a count of the updates it has seen. The freshest member's
//! table is believed; what becomes of each other member is decided by [`table::decide`] from how far it is behind, what
//! the freshest table says of it, what its own table says, and its feature bits.

mod table;

use shoal_array::{Level, MemberState, Raid0Layout, Role, Shape};

use crate::superblock::{MAX_DEV_LIMIT, MemberUse};
use crate::{Features, Superblock, Uuid};

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
    /// It was being made a replacement for the member of this role.
    Replacement(Role),
    /// It has this role, and lists blocks that it could not store: what it gives back there would be wrong.
    BadBlocks(Role),
    /// The table gives it a role that the array does not have.
    Unusable,
}

/// One role of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The candidate that has it.
    pub candidate: Option<usize>,
    /// Its state.
    pub state: MemberState,
}

/// Why the array must not be written. Its content can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum ReadOnlyReason {
    /// A bitmap would not hear of the writes.
    #[error("it has a write-intent bitmap, which would become stale")]
    Bitmap,
    /// A partial-parity log would not hear of the writes.
    #[error("it has a partial-parity log (PPL), which would become stale")]
    Ppl,
    /// Members list blocks that they could not store.
    #[error("a member has a bad-block log that is not empty")]
    BadBlocks,
    /// A replacement would not hear of the writes.
    #[error("a member is being replaced")]
    Replacement,
    /// A member's rebuild follows the bitmap.
    #[error("a member is being rebuilt by the write-intent bitmap")]
    RecoveryBitmap,
    /// A field that older kernels want to be 0.
    #[error("it records a logical block size, which only newer kernels do")]
    LogicalBlockSize,
    /// A field that nobody used when this was written.
    #[error("its superblock uses a field that is not known")]
    UnknownField,
}

/// Why the array can be shown, and neither read nor written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum RefusalReason {
    /// Data lie in two geometries.
    #[error("a reshape is under way: let Linux finish it")]
    Reshape,
    /// Other hosts may write.
    #[error("it is clustered: other hosts may be writing")]
    Clustered,
    /// The newest data may be in the journal.
    #[error("it has a write journal: let Linux replay it and remove it")]
    Journal,
}

/// Why an assembly has no shape to run with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeUnknown {
    /// Its data cannot be found, or not relied on.
    #[error("array {name} cannot be used: {reason}")]
    Refused {
        /// The array.
        name: String,
        /// Why.
        reason: RefusalReason,
    },
    /// Linear and RAID0 depend on every member's size.
    #[error("array {name}: member {} is missing, and this level needs all of them: give its drive too", role.0)]
    MemberMissing {
        /// The array.
        name: String,
        /// The first missing one.
        role: Role,
    },
    /// RAID0 with members of unequal size, made before it was recorded how it counts.
    #[error("array {name} does not say which RAID0 layout it has: set it by mdadm --assemble --update=layout-original")]
    Raid0Layout {
        /// The array.
        name: String,
    },
    /// The chunk is larger than any.
    #[error("array {name} claims a chunk of {chunk_bytes} bytes: its superblock is damaged")]
    Chunk {
        /// The array.
        name: String,
        /// What it says.
        chunk_bytes: u64,
    },
}

/// Why candidates do not make one array.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// Nothing was given.
    #[error("no members were given")]
    Nothing,
    /// Two arrays.
    #[error("{first} belongs to array {first_array}, {second} to array {second_array}: give the members of one")]
    DifferentArrays {
        /// One drive.
        first: String,
        /// Its array.
        first_array: Uuid,
        /// The other drive.
        second: String,
        /// Its array.
        second_array: Uuid,
    },
    /// One member, given under two names, or copied.
    #[error("{first} and {second} are the same member: give it once")]
    SameMemberTwice {
        /// One name.
        first: String,
        /// The other.
        second: String,
    },
    /// Superblocks of one array that cannot be true together.
    #[error("{first} and {second} disagree about their array's {what}: leave one of them out")]
    Disagree {
        /// The fresher one.
        first: String,
        /// The other.
        second: String,
        /// About what.
        what: &'static str,
    },
    /// No array has so many members, or none.
    #[error("{drive} claims an array of {raid_devices} members: its superblock is damaged")]
    RaidDevices {
        /// The drive.
        drive: String,
        /// What it says.
        raid_devices: u32,
    },
}

/// An array, put together from what was given. Members may be missing: whether it can run is the engine's to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembly {
    /// The index of the freshest candidate.
    pub freshest: usize,
    /// Its superblock: the array's name, UUID, level, layout, chunk, events, times, and resync offset are in it.
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

/// Sorts candidates by the array that they belong to, in the order of each array's first one. Gives their indices.
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
    let slots = seat(candidates, &mut verdicts, raid_devices as usize)?;
    let member_bytes = slots
        .iter()
        .map(|slot| match slot.candidate {
            Some(candidate) => Some(candidates[candidate].superblock.used_bytes()),
            None if has_one_size(level) => Some(superblock.used_bytes()),
            None => None,
        })
        .collect();
    let accepted: Vec<&Superblock> = candidates
        .iter()
        .zip(&verdicts)
        .filter(|(_, verdict)| !matches!(verdict, Verdict::Stale { .. } | Verdict::Faulty))
        .map(|(candidate, _)| &candidate.superblock)
        .collect();
    Ok(Assembly {
        freshest,
        level,
        slots,
        read_only: read_only_reasons(&accepted),
        refused: refusal_reasons(&accepted),
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

    /// The roles that nobody has.
    pub fn missing_roles(&self) -> Vec<Role> {
        (0..).map(Role).zip(&self.slots).filter(|(_, slot)| slot.candidate.is_none()).map(|(role, _)| role).collect()
    }

    /// The candidates that wait as spares.
    pub fn spares(&self) -> Vec<usize> {
        let verdicts = self.verdicts.iter().enumerate();
        verdicts.filter(|(_, verdict)| **verdict == Verdict::Spare).map(|(index, _)| index).collect()
    }

    /// Parity that may not agree with the data, and members missing: what is computed for them may be wrong where
    /// writes were under way. Linux does not start such an array unless forced.
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

    /// It is recorded, or all layouts are the same because all members have the same number of chunks.
    fn raid0_layout_is_known(&self, member_bytes: &[u64], chunk_bytes: u64) -> bool {
        let chunks = |bytes: &u64| bytes / chunk_bytes.max(1);
        self.superblock.features.any_of(Features::RAID0_LAYOUT)
            || member_bytes.windows(2).all(|pair| chunks(&pair[0]) == chunks(&pair[1]))
    }
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

/// The candidate with the most updates; among equals one with a role, then the first.
fn elect(candidates: &[Candidate]) -> Option<usize> {
    let rank = |index: &usize| {
        let superblock = &candidates[*index].superblock;
        (superblock.events, matches!(superblock.own_use(), MemberUse::Active(_)))
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
    let shape = |superblock: &Superblock| {
        (superblock.disk_level(), superblock.chunk_sectors, superblock.raid_devices, superblock.size_sectors)
    };
    if shape(fresh) != shape(own) && !matches!(verdict, Verdict::Stale { .. } | Verdict::Faulty) {
        return Err(disagree("shape"));
    }
    Ok(verdict)
}

/// Gives every role to the freshest candidate that has it.
fn seat(candidates: &[Candidate], verdicts: &mut [Verdict], raid_devices: usize) -> Result<Vec<Slot>, AssembleError> {
    let mut slots = vec![Slot { candidate: None, state: MemberState::Missing }; raid_devices];
    for index in 0..candidates.len() {
        let (role, state) = match verdicts[index] {
            Verdict::InSync(role) => (role, MemberState::InSync),
            Verdict::Rebuilding { role, position_bytes } => {
                (role, MemberState::Rebuilding { position: position_bytes })
            }
            _ => continue,
        };
        let slot = slots.get_mut(role.index()).expect("active roles are below raid_devices");
        if let Some(seated) = slot.candidate {
            let [first, second] = [&candidates[seated], &candidates[index]];
            match first.superblock.events.cmp(&second.superblock.events) {
                std::cmp::Ordering::Equal => {
                    let [first, second] = [first.drive.clone(), second.drive.clone()];
                    return Err(AssembleError::Disagree { first, second, what: "members (both claim one role)" });
                }
                std::cmp::Ordering::Greater => {
                    verdicts[index] = Verdict::RoleTaken(role);
                    continue;
                }
                std::cmp::Ordering::Less => verdicts[seated] = Verdict::RoleTaken(role),
            }
        }
        *slot = Slot { candidate: Some(index), state };
    }
    Ok(slots)
}

/// Features that are read over, and would be harmed by writing.
const READ_ONLY: [(Features, ReadOnlyReason); 6] = [
    (Features::BITMAP, ReadOnlyReason::Bitmap),
    (Features::PPL, ReadOnlyReason::Ppl),
    (Features::MULTIPLE_PPLS, ReadOnlyReason::Ppl),
    (Features::BAD_BLOCKS, ReadOnlyReason::BadBlocks),
    (Features::REPLACEMENT, ReadOnlyReason::Replacement),
    (Features::RECOVERY_BITMAP, ReadOnlyReason::RecoveryBitmap),
];

/// Features without which the data cannot be found, or not relied on.
const REFUSED: [(Features, RefusalReason); 5] = [
    (Features::RESHAPE_ACTIVE, RefusalReason::Reshape),
    (Features::RESHAPE_BACKWARDS, RefusalReason::Reshape),
    (Features::NEW_OFFSET, RefusalReason::Reshape),
    (Features::CLUSTERED, RefusalReason::Clustered),
    (Features::JOURNAL, RefusalReason::Journal),
];

fn read_only_reasons(superblocks: &[&Superblock]) -> Vec<ReadOnlyReason> {
    let mut reasons = reasons(superblocks, &READ_ONLY);
    if superblocks.iter().any(|superblock| superblock.logical_block_bytes != 0) {
        reasons.push(ReadOnlyReason::LogicalBlockSize);
    }
    if superblocks.iter().any(|superblock| superblock.padding.iter().any(|byte| *byte != 0)) {
        reasons.push(ReadOnlyReason::UnknownField);
    }
    reasons
}

fn refusal_reasons(superblocks: &[&Superblock]) -> Vec<RefusalReason> {
    reasons(superblocks, &REFUSED)
}

fn reasons<Reason: Copy + PartialEq>(superblocks: &[&Superblock], table: &[(Features, Reason)]) -> Vec<Reason> {
    let features = superblocks.iter().fold(Features(0), |all, superblock| all | superblock.features);
    let mut reasons: Vec<Reason> =
        table.iter().filter(|(feature, _)| features.any_of(*feature)).map(|(_, reason)| *reason).collect();
    reasons.dedup();
    reasons
}

#[cfg(test)]
mod tests;
