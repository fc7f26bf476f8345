//! The members, their superblocks, and which drive is whose.

use shoal_array::{Level, MemberState, Shape};
use shoal_drive::DriveId;
use shoal_md::{
    Assembly, Candidate, DiskLevel, Features, MemberUse, Membership, SECTOR_BYTES, Superblock, Timestamp, assemble,
    in_one_voice,
};
use shoal_memory::Found;

use super::drives::Drives;
use super::error::{DriveRequest, GrowError, GrowRefusal};
use crate::assemble::UPDATES_APART;
use crate::world::World;

/// The members of the array that is to grow.
pub(super) struct Roll {
    pub(super) assembly: Assembly,
    pub(super) membership: Membership,
    candidates: Vec<Candidate>,
    /// The drives of all candidates, in their order.
    given: Vec<DriveId>,
    /// Numbers of members, and their drives.
    numbers: Vec<(u32, DriveId)>,
}

/// The first update of a growth.
pub(super) struct Step {
    pub(super) membership: Membership,
    /// Drives that were added, with their numbers.
    pub(super) newcomers: Vec<(DriveId, u32)>,
}

/// A member: its drive, and where its data start, before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seat {
    pub(super) drive: DriveId,
    pub(super) old_offset_bytes: u64,
    pub(super) new_offset_bytes: u64,
}

impl Roll {
    /// Reads what the drives say, and makes an array of it.
    pub(super) fn call<W: World>(drives: &mut Drives<W>, members: &[DriveId]) -> Result<Self, GrowError> {
        let mut candidates = Vec::new();
        for &drive in members {
            candidates.push(Candidate { drive: drives.name(drive), superblock: drives.superblock(drive)? });
        }
        let candidates = in_one_voice(&candidates);
        let assembly = assemble(&candidates)?;
        let membership = Membership::of_assembly(&assembly, &candidates);
        let number = |(candidate, &drive): (&Candidate, &DriveId)| {
            let dev_number = candidate.superblock.dev_number;
            let own = membership.superblock(dev_number).ok()?;
            (own.device_uuid == candidate.superblock.device_uuid).then_some((dev_number, drive))
        };
        let numbers = candidates.iter().zip(members).filter_map(number).collect();
        Ok(Self { assembly, membership, candidates, given: members.to_vec(), numbers })
    }

    /// The members with their superblocks as they are now.
    pub(super) fn found<W: World>(&self, drives: &Drives<W>) -> Vec<Found> {
        let found = |&(number, drive): &(u32, DriveId)| {
            let superblock = self.membership.superblock(number).ok()?.clone();
            let candidate = Candidate { drive: drives.name(drive), superblock };
            Some(Found { candidate, hardware: drives.hardware(drive) })
        };
        self.numbers.iter().filter_map(found).collect()
    }

    /// What all members agree on.
    pub(super) fn superblock(&self) -> &Superblock {
        self.membership.superblocks().first().unwrap_or(&self.assembly.superblock)
    }

    pub(super) fn name(&self) -> String {
        self.assembly.name()
    }

    pub(super) fn refused(&self, why: GrowRefusal) -> GrowError {
        GrowError::Refused { name: self.name(), why }
    }

    pub(super) fn is_reshaping(&self) -> bool {
        self.superblock().features.any_of(Features::RESHAPE_ACTIVE)
    }

    /// Members one update behind.
    pub(super) fn is_behind(&self) -> bool {
        !Membership::levelled(&self.assembly, &self.candidates).is_empty()
    }

    /// Whether every role has its member, in sync, and nobody is being replaced.
    pub(super) fn is_complete(&self) -> bool {
        self.missing() == Some(0)
    }

    /// How many roles have no member; `None` if a member is only partly in sync, or being replaced.
    pub(super) fn missing(&self) -> Option<usize> {
        let count = |slot: &shoal_md::Slot| match (slot.state, slot.replacement) {
            (MemberState::InSync, None) => Some(0),
            (MemberState::Missing, None) => Some(1),
            _ => None,
        };
        self.assembly.slots.iter().map(count).sum()
    }

    /// Members of the reshape that were given and have no seat, as they missed updates.
    pub(super) fn stale(&self) -> Vec<String> {
        let is_seated = |index: usize| self.assembly.slots.iter().any(|slot| slot.candidate == Some(index));
        let is_member = |candidate: &Candidate| {
            let own = &candidate.superblock;
            matches!(own.own_use(), MemberUse::Active(_)) && own.features.any_of(Features::RESHAPE_ACTIVE)
        };
        let candidates = self.candidates.iter().enumerate();
        let stale = candidates.filter(|(index, candidate)| is_member(candidate) && !is_seated(*index));
        stale.map(|(_, candidate)| candidate.drive.clone()).collect()
    }

    pub(super) fn is_linear(&self) -> bool {
        self.assembly.level == Level::Linear
    }

    /// Brings superblocks that are behind up to the others, and writes the others again: what was
    /// read of them may not be durable, as their drive may have refused a flush. By the next update
    /// a member that loses it with its power would be two behind.
    pub(super) fn level<W: World>(&self, drives: &mut Drives<W>) -> Result<(), GrowError> {
        let levelled = Membership::levelled(&self.assembly, &self.candidates);
        let is_level = |index: &usize| !levelled.iter().any(|(behind, _)| behind == index);
        let seated = self.assembly.slots.iter().filter_map(|slot| slot.candidate);
        let again = seated.filter(is_level).map(|index| (self.given[index], self.candidates[index].superblock.clone()));
        let again: Vec<_> = again.collect();
        let behind = levelled.into_iter().map(|(index, superblock)| (self.given[index], superblock));
        drives.write_superblocks(&behind.chain(again).collect::<Vec<_>>())
    }

    /// Members that parity stands for, of the levels that are reshaped.
    pub(super) fn redundancy(&self) -> usize {
        if matches!(self.assembly.level, Level::Raid6(_)) { 2 } else { 1 }
    }

    /// Makes durable who is missing, if the superblocks do not say so yet. Two updates: see
    /// `UPDATES_APART` in [`assemble`](crate::assemble).
    pub(super) fn record_missing<W: World>(&mut self, drives: &mut Drives<W>) -> Result<(), GrowError> {
        if self.membership.says_more(&self.assembly, &self.candidates) {
            for _ in 0..UPDATES_APART {
                self.write(drives)?;
            }
        }
        Ok(())
    }

    /// Leaves a member behind that did not take what was written to it: the others say so, durably,
    /// before anything else is written.
    ///
    /// # Errors
    /// `error`, if it is not about such a member, or parity does not stand for it.
    pub(super) fn go_on_after<W: World>(&mut self, drives: &mut Drives<W>, error: GrowError) -> Result<(), GrowError> {
        let mut error = error;
        loop {
            let Some(lost) = self.expendable(&error) else { return Err(error) };
            self.membership.fail(lost).expect("it is a member until now");
            match self.write(drives) {
                Ok(()) => return Ok(()),
                Err(another) => error = another,
            }
        }
    }

    /// The number of the member that an error is about, if the reshape can go on without it.
    fn expendable(&self, error: &GrowError) -> Option<u32> {
        let GrowError::Drive { id, what: DriveRequest::Write | DriveRequest::Flush, .. } = error else { return None };
        let mut members = self.membership.superblocks().iter();
        let number = members.find(|own| self.drive(own.dev_number) == *id)?.dev_number;
        let seats = self.seats();
        let missing = seats.iter().filter(|seat| seat.is_none()).count();
        let is_seated = seats.iter().flatten().any(|seat| seat.drive == *id);
        (!is_seated || missing < self.redundancy()).then_some(number)
    }

    /// New members, and what the superblocks say with them.
    pub(super) fn take(&mut self, step: Step) {
        self.numbers.extend(step.newcomers.iter().map(|&(drive, dev_number)| (dev_number, drive)));
        self.membership = step.membership;
    }

    /// One update more on all members, durable.
    pub(super) fn write<W: World>(&mut self, drives: &mut Drives<W>) -> Result<(), GrowError> {
        self.write_after(drives, &[])
    }

    /// One update more on all members, durable; on new members before all others. So if power is
    /// cut in between, either the array is what it was, or all members that it needs know of it.
    pub(super) fn write_after<W: World>(
        &mut self,
        drives: &mut Drives<W>,
        newcomers: &[DriveId],
    ) -> Result<(), GrowError> {
        self.membership.advance(Timestamp::from_seconds(drives.world().unix_time_s()));
        let all: Vec<_> =
            self.membership.superblocks().iter().map(|own| (self.drive(own.dev_number), own.clone())).collect();
        let (first, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|(drive, _)| newcomers.contains(drive));
        for superblocks in [first, rest] {
            drives.write_superblocks(&superblocks)?;
        }
        Ok(())
    }

    /// The drives of all members, spares too.
    pub(super) fn drives(&self) -> impl Iterator<Item = DriveId> + Clone {
        self.membership.superblocks().iter().map(|superblock| self.drive(superblock.dev_number))
    }

    pub(super) fn drive(&self, dev_number: u32) -> DriveId {
        let known = self.numbers.iter().find(|(number, _)| *number == dev_number);
        known.expect("every member's superblock was read from its drive").1
    }

    /// Content that is in the new shape.
    pub(super) fn position_bytes(&self) -> u64 {
        self.superblock().reshape.position_sectors.saturating_mul(SECTOR_BYTES)
    }

    /// The old shape and the new one of a reshape that was found to be one of ours.
    pub(super) fn shapes(&self) -> [Shape; 2] {
        let superblock = self.superblock();
        let reshape = superblock.reshape;
        let count = superblock.raid_devices as usize;
        let delta = usize::try_from(reshape.delta_devices).expect("members are added");
        let new = DiskLevel { level: reshape.new_level, layout: reshape.new_layout };
        let shape = |level: DiskLevel, chunk_sectors: u32, count: usize| Shape {
            level: level.level().expect("both levels were checked"),
            chunk_bytes: u32::try_from(u64::from(chunk_sectors) * SECTOR_BYTES).expect("both chunks were checked"),
            member_bytes: vec![superblock.used_bytes(); count],
        };
        [
            shape(superblock.disk_level(), superblock.chunk_sectors, count - delta),
            shape(new, reshape.new_chunk_sectors, count),
        ]
    }

    /// The members by role; `None` for one that is missing.
    pub(super) fn seats(&self) -> Vec<Option<Seat>> {
        let mut seats = vec![None; self.superblock().raid_devices as usize];
        for superblock in self.membership.superblocks() {
            let MemberUse::Active(role) = superblock.own_use() else { continue };
            let old_offset_bytes = superblock.data_offset_bytes();
            let moved = i64::from(superblock.reshape.new_offset_sectors) * SECTOR_BYTES as i64;
            let new_offset_bytes = old_offset_bytes.checked_add_signed(moved).expect("the shift was checked");
            let seat = Seat { drive: self.drive(superblock.dev_number), old_offset_bytes, new_offset_bytes };
            if let Some(place) = seats.get_mut(role.index()) {
                *place = Some(seat);
            }
        }
        seats
    }
}
