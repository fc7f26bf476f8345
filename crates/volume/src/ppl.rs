//! Partial parity logs of an array at rest: read and replayed when the array is put together, made empty for a new start.
//!
//! # After a crash
//!
//! First every member's log is read, and nothing is written. Then, if the array was active, every entry is replayed: what
//! the chunks that were being written hold now, together with the partial parity, is the parity. An entry of which a chunk
//! is on a missing member is left out, as there is no telling. Parity is flushed, and the
//! superblocks say who is missing, before the logs are made empty; until then everything can be done again, with the same
//! result.
//!
//! What the superblocks and the logs say decides what has to follow. The superblocks say *0*: in sync, and active; *a
//! position*: a resync has come so far; or *the end*, which a resync has come to.
//!
//! | superblocks | logs | complete array | degraded array |
//! | --- | --- | --- | --- |
//! | 0 | whole, and something was replayed | in sync, as for Linux | in sync |
//! | 0 | whole, all of them empty | resync, as for Linux: nobody says that it ever was in sync | in sync |
//! | 0 | one was torn by the crash | resync, as for Linux | in sync: of its stripes nothing was written yet |
//! | a position | whole or torn | the resync goes on from there, as for Linux | refused without `--force` |
//! | the end | whole or torn | in sync | in sync |
//! | any | one cannot be read, or says what cannot be | resync of all | refused without `--force` |
//!
//! Degraded, "in sync" says: what is computed for the missing member is right, but for blocks that were being written when
//! it was lost.
//!
//! # While a resync is under way
//!
//! Beyond its position parity is in doubt, and what is computed of it for a missing member may be anything, flushed or not.
//! So whoever starts the array without a member has to know that there was a resync. From 0 nobody can tell: it is what
//! the superblocks of every array say that was being written, and logs that are empty are those of an array in sync that had
//! just been marked active. Without logs that does no harm, as no array is started then that is dirty and degraded.
//!
//! With logs the position counts while the array is written, too. All is logged, from the first write on, so a crash leaves
//! parity below the position as good as it was; the superblocks go on to say how far it reaches, and neither shoal nor Linux
//! takes a position that is not 0 for "in sync". Beyond the position, parity is computed from all data, and agrees with what was
//! written; but it is not known of which stripes that holds. It is left in this order, so that a crash in between changes nothing:
//!
//! | step | if power is cut behind it |
//! | --- | --- |
//! | logs are replayed | the superblocks and the logs are as they were: all is done again |
//! | if all is to be resynced, the [first columns](first_columns) are made to agree | the same |
//! | the superblocks say from where on parity is in doubt; that is not 0 any more | the logs are replayed again, with the same result |
//! | the logs are made empty, and writes begin | the resync goes on from its position |
//! | the resync has come to its end: the superblocks say 0, or clean | |
//!
//! Linux says 0 while it resyncs and writes, and cannot tell such an array from one in sync either.

mod first_columns;

use std::ops::Range;

use shoal_array::{Fault, Geometry, LogRoom, MemberIo, MemberState, Role, Shape};
use shoal_md::{
    Area, Assembly, Features, PPL_HEADER_BYTES, PplEntry, PplError, PplHeader, PplRun, PplWrite, Superblock, Uuid,
    newest_ppl,
};

use crate::assemble::OpenError;
use crate::buffers::{LOG_BYTES, NOTE_BYTES};
use crate::tree::{Duty, Logs, NodeId, Place, Slot, Target, Tree};
use crate::world::World;
use crate::{OpenOptions, VolumeError};

pub(crate) use first_columns::{first_columns, sync_first_columns};

/// A member's log, as its superblock places it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogPlace {
    pub(crate) area: Area,
    /// Each write lies behind the one before it; otherwise each at the start.
    pub(crate) is_chain: bool,
}

impl LogPlace {
    /// Where a member's log lies, if there is one with room for anything.
    pub(crate) fn of(superblock: &Superblock) -> Option<Self> {
        let area = superblock.ppl_area()?;
        let least = 2 * PPL_HEADER_BYTES as u64;
        let is_chain = superblock.features.any_of(Features::MULTIPLE_PPLS);
        (area.size_bytes >= least).then_some(Self { area, is_chain })
    }
}

/// What was found in the logs of an array.
#[derive(Debug, Default)]
struct FoundLogs {
    replays: Vec<Replay>,
    /// By slot: the newest generation; none if the log was not believed.
    generations: Vec<Option<u64>>,
    tally: Tally,
}

/// How many entries can be replayed, and what stands against it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    entries: u64,
    /// Headers and entries that the crash tore.
    torn: u64,
    /// Logs that cannot be read, and entries that say what cannot be.
    damaged: u64,
}

/// Some columns whose parity is to be made anew.
#[derive(Debug)]
struct Replay {
    run: PplRun,
    /// Where its partial parity starts, on the parity's target.
    partial_parity: Option<u64>,
}

impl FoundLogs {
    /// From where on parity is in doubt after a replay, by the table in the module's documentation; none: nowhere. The
    /// superblocks say `position`, if they do not say clean.
    fn in_doubt_from(&self, position: Option<u64>, end: u64, is_degraded: bool) -> Option<u64> {
        let Tally { entries, torn, damaged } = self.tally;
        match position? {
            _ if damaged > 0 => Some(0),
            0 if is_degraded || entries > 0 && torn == 0 => None,
            position => (position < end).then_some(position),
        }
    }
}

/// The logs of an array that is being put together.
#[derive(Debug, Default)]
pub(crate) struct OpenLogs {
    /// What the engine may ask for in one go; none if nothing is logged.
    pub(crate) room: Option<LogRoom>,
    /// The logs, to be made empty once the superblocks say who is there.
    pub(crate) logs: Logs,
    /// From where on the array is in doubt, in sync bytes; none: nowhere.
    pub(crate) in_doubt_from: Option<u64>,
}

/// What is read through a small buffer fails in two ways.
type Io<T> = Result<Result<T, Fault>, VolumeError>;

/// Whether the array with this superblock has partial parity logs.
pub(crate) fn has_logs(superblock: &Superblock) -> bool {
    superblock.features.any_of(Features::PPL | Features::MULTIPLE_PPLS)
}

/// Replays the logs of an array that is opened for writing, if it has any. They stay as they are: while superblocks may
/// still name one that is absent now, its stripes' entries, which were left out, are needed.
pub(crate) fn open_logs<W: World>(
    tree: &mut Tree<W>,
    slots: &[Slot],
    assembly: &Assembly,
    shape: &Shape,
    options: &OpenOptions,
) -> Result<OpenLogs, OpenError> {
    let recorded = assembly.resync_position_bytes();
    if !has_logs(&assembly.superblock) || !options.writable {
        return Ok(OpenLogs { in_doubt_from: recorded, ..OpenLogs::default() });
    }
    let cause = |cause| OpenError::Geometry { name: assembly.name(), cause };
    let geometry = Geometry::new(shape.clone()).map_err(cause)?;
    let in_use = slots.iter().filter(|slot| slot.duty != Duty::Out);
    if let Some(slot) = in_use.clone().find(|slot| slot.place.log.is_none()) {
        return Err(OpenError::LogRoom { drive: tree.name(slot.place.target) });
    }
    let array_uuid = assembly.superblock.array_uuid;
    let mut found = tree.find_logs(slots, &geometry, &assembly.member_states(), array_uuid)?;
    let is_degraded = assembly.is_dirty_and_degraded();
    let judge = |found: &FoundLogs| match found.in_doubt_from(recorded, geometry.sync_bytes(), is_degraded) {
        Some(_) if is_degraded && !options.force => Err(OpenError::DirtyDegraded { name: assembly.name() }),
        in_doubt_from => Ok(in_doubt_from),
    };
    judge(&found)?;
    if recorded.is_some() {
        tree.replay_logs(slots, &mut found)?;
    }
    let in_doubt_from = judge(&found)?;
    let room = Logs::room(in_use.filter_map(|slot| slot.place.log.as_ref()));
    Ok(OpenLogs { room, logs: found_logs(slots, &found), in_doubt_from })
}

impl<W: World> Tree<W> {
    /// Reads the logs of all members among `slots`. Nothing is written.
    fn find_logs(
        &mut self,
        slots: &[Slot],
        geometry: &Geometry,
        states: &[MemberState],
        array_uuid: Uuid,
    ) -> Result<FoundLogs, VolumeError> {
        let mut found = FoundLogs::default();
        for slot in slots {
            let newest = match slot.place.log {
                Some(log) => self.newest(slot.place.target, log, array_uuid)?.map(|write| (log, write)),
                None => Err(PplError::Foreign),
            };
            found.generations.push(newest.as_ref().ok().map(|(_, write)| write.header.generation));
            let Duty::Member(role) = slot.duty else { continue };
            match newest {
                Ok((log, write)) => {
                    let parity = Parity { target: slot.place.target, area: log.area, role };
                    self.take_entries(&parity, &write, geometry, states, &mut found)?;
                }
                Err(PplError::Torn) => found.tally.torn += 1,
                Err(PplError::Foreign | PplError::Entries { .. }) => found.tally.damaged += 1,
            }
        }
        Ok(found)
    }

    /// The newest write of a log; one that cannot be read is no log.
    fn newest(&mut self, target: Target, log: LogPlace, uuid: Uuid) -> Result<Result<PplWrite, PplError>, VolumeError> {
        let block_bytes = self.logical_block_bytes(target);
        let mut broken = None;
        let found = newest_ppl(log.area.size_bytes, log.is_chain, block_bytes, uuid, |offset, bytes| {
            match self.read_small(target, log.area.offset_bytes + offset, bytes) {
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
            match self.checksum(parity.target, start, entry.partial_parity_bytes)? {
                Ok(sum) if sum == entry.checksum => {}
                Ok(_) => {
                    found.tally.torn += 1;
                    continue;
                }
                Err(_) => {
                    found.tally.damaged += 1;
                    continue;
                }
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
            if let Err(fault) = self.read_small(target, start + u64::from(offset), &mut piece)? {
                return Ok(Err(fault));
            }
            sum = PplEntry::checksum_on(sum, &piece);
        }
        Ok(Ok(sum))
    }

    /// Makes the parity of all that was found anew, and durable. What cannot be done counts as damage.
    fn replay_logs(&mut self, slots: &[Slot], found: &mut FoundLogs) -> Result<(), VolumeError> {
        for replay in std::mem::take(&mut found.replays) {
            for (offset, bytes) in pieces(replay.run.length) {
                let done = self.replay_piece(slots, &replay, u64::from(offset), bytes)?;
                found.tally.damaged += u64::from(done.is_err());
            }
        }
        for slot in slots.iter().filter(|slot| matches!(slot.duty, Duty::Member(_))) {
            let flushed = self.call(slot.place.target, MemberIo::Flush)?;
            found.tally.damaged += u64::from(flushed.is_err());
        }
        Ok(())
    }

    fn replay_piece(&mut self, slots: &[Slot], replay: &Replay, offset: u64, length: usize) -> Io<()> {
        let mut sources = Vec::new();
        for role in &replay.run.data {
            let Some(place) = place_of(slots, *role) else { return Ok(Err(Fault::Gone)) };
            sources.push((place.target, place.data_offset_bytes + replay.run.member_offset + offset));
        }
        let Some(parity) = place_of(slots, replay.run.parity) else { return Ok(Err(Fault::Gone)) };
        sources.extend(replay.partial_parity.map(|start| (parity.target, start + offset)));
        let mut sum = vec![0; length];
        let mut bytes = vec![0; length];
        for (target, at) in sources {
            if let Err(fault) = self.read_small(target, at, &mut bytes)? {
                return Ok(Err(fault));
            }
            sum.iter_mut().zip(&bytes).for_each(|(sum, byte)| *sum ^= byte);
        }
        let at = parity.data_offset_bytes + replay.run.member_offset + offset;
        let span = self.small_span(length);
        self.world.arena().write(self.homes.memory(span), &sum);
        self.call(parity.target, MemberIo::Write { offset: at, span })
    }

    /// Makes the logs empty that were found when a node was put together. Its engine may be at work already, for the array
    /// around it: what it wants to log waits until the log is empty.
    pub(crate) fn clear_found_logs(&mut self, node: NodeId) -> Result<(), VolumeError> {
        let uuid = self.nodes[node.0].facts.array_uuid;
        while let Some((notes, log, newest)) = self.nodes[node.0].logs.next_found() {
            let slot = self.nodes[node.0].slots.iter().find(|slot| slot.buffer == notes && slot.duty != Duty::Out);
            // A member that does not take it does not take the first unit either, and fails then.
            let generation = match slot.map(|slot| slot.place.target) {
                Some(target) => self.clear_log(target, log, newest, uuid)?.ok(),
                None => None,
            };
            self.nodes[node.0].logs.emptied(notes, generation);
        }
        Ok(())
    }

    /// Makes a log empty: a header without entries at its start, which is durable before anything else is done to it. If
    /// what the log holds is not known (`newest`), it is filled with zeros, so that no old header is ever found in it.
    pub(crate) fn clear_log(&mut self, target: Target, log: LogPlace, newest: Option<u64>, uuid: Uuid) -> Io<u64> {
        let next = newest.and_then(|generation| generation.checked_add(1));
        let header = PplHeader { generation: next.unwrap_or(0), entries: Vec::new() };
        let written = self.write_small(target, log.area.offset_bytes, header.encode(uuid).as_slice())?;
        if let (Ok(()), None) = (written, next) {
            let rest = self.zero(target, log.area)?;
            return Ok(rest.map(|()| header.generation));
        }
        Ok(written.map(|()| header.generation))
    }

    /// Fills a log's area with zeros, but for its first header.
    fn zero(&mut self, target: Target, area: Area) -> Io<()> {
        let whole = self.plan.log_span(self.small.unwrap_or(0));
        self.world.arena().write(self.homes.memory(whole), &vec![0; LOG_BYTES as usize]);
        let mut at = PPL_HEADER_BYTES as u64;
        while at < area.size_bytes {
            let length = u32::try_from(area.size_bytes - at).unwrap_or(u32::MAX).min(LOG_BYTES);
            let io = MemberIo::Write { offset: area.offset_bytes + at, span: whole.part(0, length) };
            if let Err(fault) = self.call(target, io)? {
                return Ok(Err(fault));
            }
            at += u64::from(length);
        }
        self.call(target, MemberIo::Flush)
    }
}

/// The logs of all slots, which are still to be made empty.
fn found_logs(slots: &[Slot], found: &FoundLogs) -> Logs {
    let mut logs = Logs::default();
    for (slot, newest) in slots.iter().zip(&found.generations) {
        if let Some(log) = slot.place.log {
            logs.insert_found(slot.buffer, log, *newest);
        }
    }
    logs
}

/// The member whose log it is.
struct Parity {
    target: Target,
    area: Area,
    role: Role,
}

/// Whether a member has what it should in these columns.
fn holds(states: &[MemberState], role: Role, columns: &Range<u64>) -> bool {
    match states[role.index()] {
        MemberState::InSync => true,
        MemberState::Rebuilding { position } => columns.end <= position,
        MemberState::Missing => false,
    }
}

/// Where the member with this role lies.
fn place_of(slots: &[Slot], role: Role) -> Option<Place> {
    slots.iter().find(|slot| slot.duty == Duty::Member(role)).map(|slot| slot.place)
}

/// Offsets and lengths of the pieces that small buffers can hold.
fn pieces(length: u32) -> impl Iterator<Item = (u32, usize)> {
    (0..length).step_by(NOTE_BYTES as usize).map(move |start| (start, (length - start).min(NOTE_BYTES) as usize))
}
