//! Keeps the partial parity logs of a running RAID5.
//!
//! Before the engine writes data and parity of a stripe, it asks for entries in the log of the
//! member that holds the parity (`Effect::Log`). Every member's log does one *unit* at a time, as
//! Linux does:
//!
//! ```text
//!  waiting ──► writing ──► flushing ──► open ───────────► settling ──► over; the next unit begins
//!  (entries     header and   the log's    answered: the      all members that
//!   gather)     parity in    member       engine writes      were written, and
//!               one write                 these stripes      their replacements,
//!                                                            are flushed
//! ```
//!
//! * The engine hears of a unit only when it is durable. So of a unit that a crash tears, no stripe
//!   was written.
//! * A unit ends when the writes of all its stripes have ended and are flushed; if a member failed
//!   meanwhile, not before that is recorded, as the member looks as if it had taken them until
//!   then. So the newest unit of a log is all that is ever needed, and the next may take its place.
//! * What comes meanwhile waits, and goes into the next unit together: the more there is to do, the
//!   fewer log writes and flushes each stripe costs.
//!
//! Flushes are shared: a member does one at a time for all logs that want one, and those that come
//! while it is under way share the next, as it may not cover what they want covered.
//!
//! If a log cannot be written, its member fails. Once that is recorded, its parity is not written,
//! and nothing needs a log. Until then the member passes for one in sync, and the stripe's data may
//! not change.
//!
//! The same goes for a member that fails at anything else. After a crash it would be back as one in
//! sync, without what was written while it was out, in stripes whose log was its own or whose
//! entries leave it out; and nothing is resynced. So while a failure is not recorded the engine
//! begins no write of a stripe, whichever member has the log. Entries that were made durable
//! meanwhile are released without having been used: a replay of them changes nothing. The write
//! asks for new ones when the record has ended; if the record fails, the write does.
//!
//! All of this goes on while a resync does: what is written then is logged from the first write on.
//! What that does for the position of the resync: [`crate::ppl`].

mod log;

use std::collections::{BTreeMap, VecDeque};

use shoal_array::{EffectId, Fault, Geometry, Instant, LogRoom, MemberIo, Outcome, PartialParity, Role};
use shoal_md::{PPL_ENTRIES_MAX, PPL_HEADER_BYTES, PplEntry, PplHeader};

use crate::compute::Bytes;
use crate::ppl::LogPlace;
use crate::world::World;

use log::{Log, Waiting};

use super::{Duty, NodeId, Pending, Slot, Tree, Waiter};

/// The logs of an array's members, by the number of the member's notes, and the flushes that they
/// wait for.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    by_notes: BTreeMap<u32, Log>,
    flushes: BTreeMap<u32, Flushes>,
    /// As they were when the array was put together, with the newest generation in them: still to
    /// be made empty.
    found: Vec<(u32, LogPlace, Option<u64>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Writing,
    Flushing,
    Open,
    Settling,
    /// Its member did not take it, and fails. The engine hears of that when it is recorded.
    Abandoned,
}

/// What is in the log and still needed.
#[derive(Debug)]
struct Unit {
    stage: Stage,
    /// Members that its stripes' data and parity are written to.
    written: Vec<Role>,
    /// Of those who asked: those whose writes have not ended.
    open: Vec<EffectId>,
    /// Members whose flushes it waits for.
    flushes: usize,
}

/// A member's flushes: the logs that wait for the one under way, and for the next.
#[derive(Debug, Default)]
struct Flushes {
    under_way: Vec<u32>,
    next: Vec<u32>,
}

/// I/O of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogIo {
    /// A unit of the log that belongs to these notes.
    Unit(u32),
    /// A flush of the member that these notes belong to.
    Flush(u32),
}

impl Logs {
    /// A log that was made empty, with a header of this generation.
    pub(crate) fn insert(&mut self, notes: u32, place: LogPlace, generation: u64) {
        let log = Log { place, next_bytes: 0, generation, waiting: VecDeque::new(), unit: None };
        self.by_notes.insert(notes, log);
    }

    /// A log as it was found, which is still to be made empty.
    pub(crate) fn insert_found(&mut self, notes: u32, place: LogPlace, newest: Option<u64>) {
        self.insert(notes, place, newest.unwrap_or(0));
        self.found.push((notes, place, newest));
    }

    /// A log that is still to be made empty. No unit begins in it before it is
    /// [emptied](Self::emptied).
    pub(crate) fn next_found(&self) -> Option<(u32, LogPlace, Option<u64>)> {
        self.found.last().copied()
    }

    /// A log that was found has been made empty, with a header of this generation; `None`: its
    /// member does not take that.
    pub(crate) fn emptied(&mut self, notes: u32, generation: Option<u64>) {
        self.found.retain(|(found, ..)| *found != notes);
        if let (Some(log), Some(generation)) = (self.by_notes.get_mut(&notes), generation) {
            log.generation = generation;
        }
    }

    fn is_found(&self, notes: u32) -> bool {
        self.found.iter().any(|(found, ..)| *found == notes)
    }

    /// What the engine may ask for in one go: what every log has room for.
    pub(crate) fn room<'a>(places: impl Iterator<Item = &'a LogPlace>) -> Option<LogRoom> {
        let bytes = places.map(|place| place.unit_bytes_max()).min()?;
        Some(LogRoom { bytes, entries: PPL_ENTRIES_MAX as u32 })
    }
}

impl Logs {
    /// Whether the log of these notes holds what is still needed.
    pub(super) fn has_unit(&self, notes: u32) -> bool {
        self.by_notes.get(&notes).is_some_and(|log| log.unit.is_some())
    }

    /// Whether something is under way, or waits, for the log of these notes: nobody else gets them
    /// meanwhile.
    pub(super) fn are_at_work(&self, notes: u32) -> bool {
        let has_flush = |flushes: &Flushes| !flushes.under_way.is_empty() || !flushes.next.is_empty();
        let log = self.by_notes.get(&notes);
        log.is_some_and(|log| log.unit.is_some() || !log.waiting.is_empty())
            || self.flushes.get(&notes).is_some_and(has_flush)
    }

    /// A member has moved to another drive, with that one's notes: what waits for its log waits
    /// there.
    pub(super) fn move_waiting(&mut self, from: u32, to: u32) {
        let waiting = self.by_notes.get_mut(&from).map(|log| std::mem::take(&mut log.waiting));
        if let (Some(waiting), Some(log)) = (waiting, self.by_notes.get_mut(&to)) {
            log.waiting.extend(waiting);
        }
    }
}

impl<W: World> Tree<W> {
    /// An engine wants entries in a member's log.
    pub(super) fn log(&mut self, node: NodeId, id: EffectId, role: Role, entries: Vec<PartialParity>) {
        let it = &mut self.nodes[node.0];
        let notes = it.slot_of(role).map(|slot| it.slots[slot].buffer);
        match notes.and_then(|notes| it.logs.by_notes.get_mut(&notes)) {
            Some(log) => log.waiting.push_back(Waiting { id, role, entries }),
            None => self.ready.push_back((node.into(), id, Outcome::Failed(Fault::Gone))),
        }
    }

    /// Begins the units that can begin; false if there are none.
    pub(super) fn begin_units(&mut self, now: Instant) -> bool {
        let mut begun = false;
        for index in 0..self.nodes.len() {
            let logs = &self.nodes[index].logs;
            let due = logs.by_notes.iter().filter(|(_, log)| log.unit.is_none() && !log.waiting.is_empty());
            let it = &self.nodes[index];
            let moves = |notes: &u32| it.mirrors.iter().any(|mirror| mirror.moves_log(*notes));
            // One whose member failed is told so when that is recorded.
            let is_out = |notes: &u32| it.slots.iter().any(|slot| slot.buffer == *notes && slot.duty == Duty::Out);
            let waits = |notes: &u32| moves(notes) || logs.is_found(*notes) || is_out(notes) && !it.recorder.is_idle();
            for notes in due.map(|(notes, _)| *notes).filter(|notes| !waits(notes)).collect::<Vec<_>>() {
                self.begin_unit(now, NodeId(index), notes);
                begun = true;
            }
        }
        begun
    }

    fn begin_unit(&mut self, now: Instant, node: NodeId, notes: u32) {
        let it = &mut self.nodes[node.0];
        let uuid = it.facts.array_uuid;
        let slot = it.slots.iter().find(|slot| slot.buffer == notes && matches!(slot.duty, Duty::Member(_)));
        let target = slot.map(|slot| slot.place.target);
        let log = it.logs.by_notes.get_mut(&notes).expect("its unit is due");
        let Some(target) = target else {
            let waiting = std::mem::take(&mut log.waiting);
            let failed = waiting.into_iter().map(|waiting| (node.into(), waiting.id, Outcome::Failed(Fault::Gone)));
            return self.ready.extend(failed);
        };
        let (open, entries) = log.take_unit();
        let mut written: Vec<Role> = entries.iter().flat_map(|entry| written_by(it.array.geometry(), entry)).collect();
        written.sort_unstable();
        written.dedup();
        log.generation += 1;
        log.unit = Some(Unit { stage: Stage::Writing, written, open, flushes: 0 });
        let whole = self.plan.log_span(notes);
        let bytes = Bytes { arena: self.world.arena(), homes: &self.homes };
        let mut header = PplHeader { generation: log.generation, entries: Vec::with_capacity(entries.len()) };
        let mut length = PPL_HEADER_BYTES as u32;
        for (entry, role) in entries {
            let mut checksum = PplEntry::checksum_of(&[]);
            if let Some(parity) = entry.parity {
                checksum = PplEntry::checksum_of(bytes.copy(parity, whole.part(length, parity.length)));
                length += parity.length;
            }
            header.entries.push(PplEntry::new(&entry, role, checksum).expect("a stripe's columns fit an entry"));
        }
        self.world
            .arena()
            .write(self.homes.memory(whole.part(0, PPL_HEADER_BYTES as u32)), header.encode(uuid).as_slice());
        let offset = log.place_unit(u64::from(length));
        let token = self.pending.insert(Pending::Log { node, io: LogIo::Unit(notes) });
        self.submit_io(now, target, token, MemberIo::Write { offset, span: whole.part(0, length) });
    }

    /// A log's I/O has ended.
    pub(super) fn log_io_done(&mut self, now: Instant, node: NodeId, io: LogIo, good: bool) {
        match io {
            LogIo::Unit(notes) if good => {
                self.unit(node, notes).stage = Stage::Flushing;
                self.unit(node, notes).flushes = 1;
                self.want_flush(now, node, notes, notes);
            }
            LogIo::Unit(notes) => {
                if let Some(slot) = self.nodes[node.0].slots.iter().position(|slot| slot.buffer == notes) {
                    self.drop_slot(now, node, slot);
                }
                self.abandon_unit(now, node, notes);
            }
            LogIo::Flush(notes) => self.flush_done(now, node, notes, good),
        }
    }

    fn unit(&mut self, node: NodeId, notes: u32) -> &mut Unit {
        let log = self.nodes[node.0].logs.by_notes.get_mut(&notes);
        log.and_then(|log| log.unit.as_mut()).expect("its I/O or writes were under way")
    }

    /// The log does not take it, and its member is out.
    fn abandon_unit(&mut self, now: Instant, node: NodeId, notes: u32) {
        self.unit(node, notes).stage = Stage::Abandoned;
        self.record(now, node, Waiter::Log(notes));
    }

    /// The log of `notes` waits for a flush of the member of `of`, which covers everything that was
    /// written before.
    fn want_flush(&mut self, now: Instant, node: NodeId, of: u32, notes: u32) {
        let flushes = self.nodes[node.0].logs.flushes.entry(of).or_default();
        flushes.next.push(notes);
        if flushes.under_way.is_empty() {
            self.start_flush(now, node, of);
        }
    }

    fn start_flush(&mut self, now: Instant, node: NodeId, of: u32) {
        let it = &mut self.nodes[node.0];
        let flushes = it.logs.flushes.get_mut(&of).expect("somebody wants it");
        flushes.under_way = std::mem::take(&mut flushes.next);
        let slot = it.slots.iter().find(|slot| slot.buffer == of && slot.duty != Duty::Out);
        let Some(target) = slot.map(|slot| slot.place.target) else { return self.flush_done(now, node, of, false) };
        let token = self.pending.insert(Pending::Log { node, io: LogIo::Flush(of) });
        self.submit_io(now, target, token, MemberIo::Flush);
    }

    fn flush_done(&mut self, now: Instant, node: NodeId, of: u32, good: bool) {
        if !good && let Some(slot) = self.nodes[node.0].slots.iter().position(|slot| slot.buffer == of) {
            self.flush_refused(now, node, slot);
        }
        let flushes = self.nodes[node.0].logs.flushes.get_mut(&of).expect("it was under way");
        let waited = std::mem::take(&mut flushes.under_way);
        let more = !flushes.next.is_empty();
        for notes in waited {
            if !good && notes == of && self.unit(node, notes).stage == Stage::Flushing {
                self.abandon_unit(now, node, notes);
            } else {
                self.unit_flushed(now, node, notes);
            }
        }
        if more {
            self.start_flush(now, node, of);
        }
    }

    /// One of the flushes that a unit waits for is done.
    fn unit_flushed(&mut self, now: Instant, node: NodeId, notes: u32) {
        let unit = self.unit(node, notes);
        unit.flushes -= 1;
        if unit.flushes > 0 {
            return;
        }
        if unit.stage == Stage::Flushing {
            unit.stage = Stage::Open;
            let durable: Vec<_> = unit.open.iter().map(|id| (node.into(), *id, Outcome::Done)).collect();
            self.ready.extend(durable);
        } else {
            self.end_unit(now, node, notes);
        }
    }

    /// All that a unit's writes have reached is durable. A member that failed has missed some of
    /// it.
    fn end_unit(&mut self, now: Instant, node: NodeId, notes: u32) {
        if self.nodes[node.0].array.has_unrecorded_failure() {
            return self.record(now, node, Waiter::Log(notes));
        }
        self.nodes[node.0].logs.by_notes.get_mut(&notes).expect("it has a unit").unit = None;
    }

    /// The failure that a unit waited for is recorded. If it cannot be, nothing may take the unit's
    /// place any more.
    pub(super) fn unit_recorded(&mut self, node: NodeId, notes: u32, outcome: &Outcome) {
        let logs = &mut self.nodes[node.0].logs.by_notes;
        let log = logs.get_mut(&notes).expect("its unit waited for it");
        let unit = log.unit.take().expect("it waited for it");
        // Those whose writes have ended are not open any more.
        let mut failed = unit.open;
        if *outcome != Outcome::Done {
            failed.extend(log.waiting.drain(..).map(|waiting| waiting.id));
            logs.remove(&notes);
        }
        self.ready.extend(failed.into_iter().map(|id| (node.into(), id, Outcome::Failed(Fault::Gone))));
    }

    /// The writes of one of those who asked for a log have ended.
    pub(super) fn log_released(&mut self, now: Instant, node: NodeId, id: EffectId) {
        let of = |log: &Log| log.unit.as_ref().is_some_and(|unit| unit.open.contains(&id));
        let mut logs = self.nodes[node.0].logs.by_notes.iter();
        let Some(notes) = logs.find(|(_, log)| of(log)).map(|(notes, _)| *notes) else { return };
        let unit = self.unit(node, notes);
        unit.open.retain(|open| *open != id);
        if unit.open.is_empty() {
            self.settle_unit(now, node, notes);
        }
    }

    /// All writes of a unit have ended: they are flushed, by replacements as well, and then it is
    /// over.
    fn settle_unit(&mut self, now: Instant, node: NodeId, notes: u32) {
        let written = std::mem::take(&mut self.unit(node, notes).written);
        let has_part =
            |slot: &&Slot| matches!(slot.duty, Duty::Member(role) | Duty::Replacement(role) if written.contains(&role));
        let members: Vec<u32> = self.nodes[node.0].slots.iter().filter(has_part).map(|slot| slot.buffer).collect();
        let unit = self.unit(node, notes);
        (unit.stage, unit.flushes) = (Stage::Settling, members.len());
        if members.is_empty() {
            self.end_unit(now, node, notes);
        }
        for of in members {
            self.want_flush(now, node, of, notes);
        }
    }
}

/// The members that a logged write goes to: its chunks, and the parity.
fn written_by(geometry: &Geometry, (entry, parity): &(PartialParity, Role)) -> Vec<Role> {
    let position = geometry.position(entry.offset).expect("logs are of a parity level");
    let stripe = geometry.stripe(position.row).expect("the engine logs stripes that there are");
    let chunks = &stripe.data[position.index..position.index + entry.chunks as usize];
    chunks.iter().copied().chain([*parity]).collect()
}
