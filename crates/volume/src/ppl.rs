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
//! What the logs say decides what has to follow:
//!
//! | logs | complete array | degraded array |
//! | --- | --- | --- |
//! | whole, and something was replayed | in sync, as for Linux | in sync |
//! | whole, all of them empty | resync, as for Linux: nobody says that it ever was in sync | in sync |
//! | one was torn by the crash | resync, as for Linux | in sync: of its stripes nothing was written yet |
//! | one cannot be read, or says what cannot be | resync | refused without `--force` |
//!
//! Degraded, "in sync" says: what is computed for the missing member is right, but for blocks that were being written when
//! it was lost.

use shoal_array::{Fault, Geometry, LogRoom, MemberIo, MemberState, Role, Shape};
use shoal_md::{
    Area, Assembly, Features, PPL_HEADER_BYTES, PplEntry, PplError, PplHeader, PplRun, PplWrite, Superblock, Uuid,
    newest_ppl,
};

use crate::assemble::OpenError;
use crate::buffers::{LOG_BYTES, NOTE_BYTES};
use crate::tree::{Duty, Logs, NodeId, Slot, Target, Tree};
use crate::world::World;
use crate::{OpenOptions, VolumeError};

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
    /// Whether nothing has to follow a replay. `is_active`: the array was in sync, and active; otherwise it was in
    /// the middle of a resync.
    fn vouch(&self, is_active: bool, is_degraded: bool) -> bool {
        let Tally { entries, torn, damaged } = self.tally;
        is_active && damaged == 0 && (is_degraded || entries > 0 && torn == 0)
    }
}

/// The logs of an array that is being put together.
#[derive(Debug, Default)]
pub(crate) struct OpenLogs {
    /// What the engine may ask for in one go; none if nothing is logged.
    pub(crate) room: Option<LogRoom>,
    /// The logs, to be made empty once the superblocks say who is there.
    pub(crate) logs: Logs,
    /// An array that was active is in sync after the replay.
    pub(crate) is_in_sync: bool,
}

/// What is read through a small buffer fails in two ways.
type Io<T> = Result<Result<T, Fault>, VolumeError>;

/// Whether the array has partial parity logs.
pub(crate) fn has_logs(assembly: &Assembly) -> bool {
    assembly.superblock.features.any_of(Features::PPL | Features::MULTIPLE_PPLS)
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
    if !has_logs(assembly) || !options.writable {
        return Ok(OpenLogs::default());
    }
    let cause = |cause| OpenError::Geometry { name: assembly.name(), cause };
    let geometry = Geometry::new(shape.clone()).map_err(cause)?;
    let in_use = slots.iter().filter(|slot| slot.duty != Duty::Out);
    if let Some(slot) = in_use.clone().find(|slot| slot.place.log.is_none()) {
        return Err(OpenError::LogRoom { drive: tree.name(slot.place.target) });
    }
    let was_clean = assembly.superblock.is_clean();
    let array_uuid = assembly.superblock.array_uuid;
    let mut found = tree.find_logs(slots, &geometry, &assembly.member_states(), array_uuid)?;
    let check = |found: &FoundLogs| match assembly.is_dirty_and_degraded() && !options.force && found.tally.damaged > 0
    {
        true => Err(OpenError::DirtyDegraded { name: assembly.name() }),
        false => Ok(()),
    };
    check(&found)?;
    if !was_clean {
        tree.replay_logs(slots, &mut found)?;
        check(&found)?;
    }
    let logs = found_logs(slots, &found);
    let was_active = assembly.superblock.resync_offset_sectors == 0;
    let is_degraded = assembly.is_dirty_and_degraded();
    let room = Logs::room(in_use.filter_map(|slot| slot.place.log.as_ref()));
    Ok(OpenLogs { room, logs, is_in_sync: found.vouch(was_active, is_degraded) })
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
            let can_be = |run: &PplRun| run.data.iter().chain([&run.parity]).all(|role| holds(states, *role, run));
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
        let place = |role: Role| slots.iter().find(|slot| slot.duty == Duty::Member(role)).map(|slot| slot.place);
        let mut sources = Vec::new();
        for role in &replay.run.data {
            let Some(place) = place(*role) else { return Ok(Err(Fault::Gone)) };
            sources.push((place.target, place.data_offset_bytes + replay.run.member_offset + offset));
        }
        let Some(parity) = place(replay.run.parity) else { return Ok(Err(Fault::Gone)) };
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
fn holds(states: &[MemberState], role: Role, run: &PplRun) -> bool {
    match states[role.index()] {
        MemberState::InSync => true,
        MemberState::Rebuilding { position } => run.member_offset + u64::from(run.length) <= position,
        MemberState::Missing => false,
    }
}

/// Offsets and lengths of the pieces that small buffers can hold.
fn pieces(length: u32) -> impl Iterator<Item = (u32, usize)> {
    (0..length).step_by(NOTE_BYTES as usize).map(move |start| (start, (length - start).min(NOTE_BYTES) as usize))
}
