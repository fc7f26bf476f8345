//! What the logs of an array hold. Nothing is written.

use std::ops::Range;

use shoal_array::{Fault, Geometry, MemberState, Role};
use shoal_md::{Area, Assembly, PPL_HEADER_BYTES, PplEntry, PplError, PplRun, PplWrite, Uuid, newest_ppl};

use super::{Io, LogPlace, pieces};
use crate::VolumeError;
use crate::tree::{Duty, Logs, Slot, Target, Tree};
use crate::world::World;

/// What was found in the logs of an array.
#[derive(Debug, Default)]
pub(super) struct FoundLogs {
    pub(super) replays: Vec<Replay>,
    /// By slot: the newest generation; none if the log was not believed.
    generations: Vec<Option<u64>>,
    pub(super) tally: Tally,
    /// Members being rebuilt whose logs were not believed.
    pub(super) rebuilt_anew: Vec<Role>,
    /// Members in sync that refused the flush behind the replay.
    pub(super) refused_flush: Vec<Role>,
}

/// How many entries can be replayed, and what stands against it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    entries: u64,
    /// Headers and entries that the crash tore.
    torn: u64,
    /// Logs that cannot be read, and entries that say what cannot be.
    pub(super) damaged: u64,
}

/// Some columns whose parity is to be made anew.
#[derive(Debug)]
pub(super) struct Replay {
    pub(super) run: PplRun,
    /// Where its partial parity starts, on the parity's target.
    pub(super) partial_parity: Option<u64>,
}

impl FoundLogs {
    /// From where on parity is in doubt after a replay, by the table in the module's documentation;
    /// none: nowhere. The superblocks say `position`, if they do not say clean.
    pub(super) fn in_doubt_from(&self, position: Option<u64>, end: u64, is_degraded: bool) -> Option<u64> {
        let Tally { entries, torn, damaged } = self.tally;
        match position? {
            _ if damaged > 0 => Some(0),
            0 if is_degraded || entries > 0 && torn == 0 => None,
            position => (position < end).then_some(position),
        }
    }

    /// A member has refused the flush behind the replay. A resync would not help: the drive may
    /// read what it will lose, and a resync writes only where something differs.
    pub(super) fn flush_refused(&mut self, states: &[MemberState], role: Role) {
        match states[role.index()] {
            MemberState::InSync => self.refused_flush.push(role),
            _ => self.failed(states, role),
        }
    }

    /// A member has failed in the replay: what it was to take, or to give, counts as damage, unless
    /// it is being rebuilt.
    pub(super) fn failed(&mut self, states: &[MemberState], role: Role) {
        if !matches!(states[role.index()], MemberState::Rebuilding { .. }) {
            self.tally.damaged += 1;
        } else if !self.rebuilt_anew.contains(&role) {
            self.rebuilt_anew.push(role);
        }
    }

    /// The logs of all slots, which are still to be made empty.
    pub(super) fn logs(&self, slots: &[Slot]) -> Logs {
        let mut logs = Logs::default();
        for (slot, &newest) in slots.iter().zip(&self.generations) {
            if let Some(log) = slot.place.log {
                logs.insert_found(slot.buffer, log, newest);
            }
        }
        logs
    }
}

impl<W: World> Tree<W> {
    /// Reads the logs of all members among `slots`; those of some say nothing of their rows.
    /// Nothing is written.
    pub(super) fn find_logs(
        &mut self,
        slots: &[Slot],
        geometry: &Geometry,
        assembly: &Assembly,
        without_log: &[Role],
    ) -> Result<FoundLogs, VolumeError> {
        let mut found = FoundLogs::default();
        let mut logs = Vec::new();
        let mut states = assembly.member_states();
        for slot in slots {
            let mut newest = match slot.place.log {
                Some(log) => {
                    let newest = self.newest(slot.place.target, log, assembly.superblock.array_uuid)?;
                    newest.map(|write| (log, write))
                }
                None => Err(PplError::Foreign),
            };
            found.generations.push(newest.as_ref().ok().map(|(_, write)| write.header.generation));
            let Duty::Member(role) = slot.duty else { continue };
            if without_log.contains(&role) {
                newest = Err(PplError::Foreign);
            }
            let state = &mut states[role.index()];
            match newest {
                Ok((log, write)) => logs.push((Parity { target: slot.place.target, area: log.area, role }, write)),
                Err(PplError::Torn) => found.tally.torn += 1,
                Err(_) if matches!(state, MemberState::Rebuilding { .. }) => {
                    *state = MemberState::Rebuilding { position: 0 };
                    found.rebuilt_anew.push(role);
                }
                Err(PplError::Foreign | PplError::Entries { .. }) => found.tally.damaged += 1,
            }
        }
        for (parity, write) in logs {
            self.take_entries(&parity, &write, geometry, &states, &mut found)?;
        }
        Ok(found)
    }

    /// The newest write of a log; one that cannot be read is no log.
    fn newest(&mut self, target: Target, log: LogPlace, uuid: Uuid) -> Result<Result<PplWrite, PplError>, VolumeError> {
        let block_bytes = self.logical_block_bytes(target);
        let mut broken = None;
        let found = newest_ppl(log.area.size_bytes, log.is_chain, block_bytes, uuid, |offset, bytes| {
            match self.read_small_again(target, log.area.offset_bytes + offset, bytes) {
                Ok(result) => result.map_err(|_: Fault| ()),
                Err(error) => {
                    broken = Some(error);
                    Err(())
                }
            }
        });
        match broken {
            Some(error) => Err(error),
            None => Ok(found.unwrap_or(Err(PplError::Foreign))),
        }
    }

    /// Checks the entries of a log write and lists what they ask for.
    fn take_entries(
        &mut self,
        parity: &Parity,
        write: &PplWrite,
        geometry: &Geometry,
        states: &[MemberState],
        found: &mut FoundLogs,
    ) -> Result<(), VolumeError> {
        let mut at = write.offset_bytes + PPL_HEADER_BYTES as u64;
        for entry in &write.header.entries {
            let start = parity.area.offset_bytes + at;
            at += u64::from(entry.partial_parity_bytes);
            let fits = at <= parity.area.size_bytes && entry.parity_role == u32::from(parity.role.0);
            let Some(runs) = entry.runs(geometry).ok().filter(|_| fits) else {
                found.tally.damaged += 1;
                continue;
            };
            let sum = self.checksum(parity.target, start, entry.partial_parity_bytes)?;
            if sum != Ok(entry.checksum) {
                let bad = if sum.is_ok() { &mut found.tally.torn } else { &mut found.tally.damaged };
                *bad += 1;
                continue;
            }
            found.tally.entries += 1;
            let can_be = |run: &PplRun| {
                let columns = run.member_offset..run.member_offset + u64::from(run.length);
                run.data.iter().chain([&run.parity]).all(|role| holds(states, *role, &columns))
            };
            let replay = |run: PplRun| {
                let partial_parity = run.partial_parity_offset.map(|offset| start + u64::from(offset));
                Replay { run, partial_parity }
            };
            found.replays.extend(runs.into_iter().filter(can_be).map(replay));
        }
        Ok(())
    }

    fn checksum(&mut self, target: Target, start: u64, length: u32) -> Io<u32> {
        let mut sum = PplEntry::checksum_of(&[]);
        for (offset, bytes) in pieces(length) {
            let mut piece = vec![0; bytes];
            if let Err(fault) = self.read_small_again(target, start + u64::from(offset), &mut piece)? {
                return Ok(Err(fault));
            }
            sum = PplEntry::checksum_on(sum, &piece);
        }
        Ok(Ok(sum))
    }
}

/// The member whose log it is.
struct Parity {
    target: Target,
    area: Area,
    role: Role,
}

/// Whether a member has what it should in these columns.
pub(super) fn holds(states: &[MemberState], role: Role, columns: &Range<u64>) -> bool {
    match states[role.index()] {
        MemberState::InSync => true,
        MemberState::Rebuilding { position } => columns.end <= position,
        MemberState::Missing => false,
    }
}
