//! Writes that begin or end within a block of the volume.
//!
//! The client's bytes are in a buffer, with room around them for the rest of the first and the last
//! block. That rest is read, put beside them, and whole blocks are written. Between reading and
//! writing nobody else may write those blocks, or what they wrote would be undone. So such a part
//! is *mended* alone with its blocks:
//!
//! ```text
//!  waits for a slot ──► waits until no write is under way on its blocks ──► reads its edges ──► writes
//!                       └──────── writes that overlap it are held meanwhile, and let go at the end ───┘
//! ```
//!
//! Several are mended at a time, each in a *slot*: a place for two blocks in the one buffer for
//! edges, which is always there. No two of them overlap, and none overtakes a write that it
//! overlaps and that came first:
//!
//! | a part that waits for a slot | waits on while |
//! | --- | --- |
//! | overlaps one that is being mended | that one is |
//! | overlaps one that came first, and waits as well | that one waits |
//! | overlaps a write that is held | that one is held |
//! | is its client's second or later | its client has as many slots as are free |
//!
//! Who is being mended waits for the drives alone, and who is held for who is being mended: so
//! nobody waits in a ring. A drive that does not answer keeps the slots of those who wait for it,
//! even after their requests were given up; by the last rule a client that asks it for everything
//! leaves others half of them. (It is the rule by which the buffers are shared, too.) What waits
//! here is dropped when its request is given up, or its client has gone.

use std::collections::VecDeque;

use shoal_volume::{Memory, RequestError, Volume};

use super::Exporter;
use super::pieces::{InFlight, Role, Transaction};
use crate::connection::Part;
use crate::limits::SLOTS_MAX;
use crate::slab::Key;
use crate::transport::End;

/// Writes under way whose edges are within a block: which blocks they hold, and what is read for
/// them.
#[derive(Debug)]
pub(super) struct Ragged {
    /// The buffer for edges: of each slot the first block, then the last.
    pub(super) edges: u32,
    slots: [Option<Mended>; SLOTS_MAX],
    waiting: VecDeque<(InFlight, Part)>,
    /// Writes that overlap what is being mended.
    held: Vec<InFlight>,
}

/// A part that is being mended.
#[derive(Clone, Copy, Debug)]
struct Mended {
    piece: InFlight,
    part: Part,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waits,
    Reads { edges_left: u32, error: Option<RequestError> },
    Writes,
}

impl Ragged {
    pub(super) fn new(edges: u32) -> Self {
        Self { edges, slots: [None; SLOTS_MAX], waiting: VecDeque::new(), held: Vec::new() }
    }

    /// Whether a write must wait for what is being mended.
    pub(super) fn bars(&self, part: Part) -> bool {
        self.mended().any(|it| overlap(it.part, part))
    }

    /// What is being mended, while its edges are read: it has a buffer, and is not with the volume
    /// itself.
    pub(super) fn being_read(&self) -> impl Iterator<Item = &InFlight> {
        self.mended().filter(|it| matches!(it.stage, Stage::Reads { .. })).map(|it| &it.piece)
    }

    /// Keeps a write until then.
    pub(super) fn hold(&mut self, piece: InFlight) {
        self.held.push(piece);
    }

    fn mended(&self) -> impl Iterator<Item = &Mended> {
        self.slots.iter().flatten()
    }

    /// Whether a part that waits, behind so many others, must wait on for what came before it.
    fn is_barred(&self, part: Part, before: usize) -> bool {
        let is_held = |held: &InFlight| held.part.is_some_and(|held| overlap(held, part));
        self.bars(part)
            || self.waiting.iter().take(before).any(|(_, other)| overlap(*other, part))
            || self.held.iter().any(is_held)
    }
}

fn overlap(one: Part, other: Part) -> bool {
    one.overlaps(other.offset, u64::from(other.length))
}

/// What a slot takes of the buffer for edges, in bytes.
fn slot_bytes(volume: &dyn Volume) -> u32 {
    2 * volume.logical_block_bytes()
}

impl Exporter {
    /// Takes in a part that is to be mended.
    pub(super) fn mend(&mut self, volume: &mut dyn Volume, piece: InFlight, part: Part) {
        self.ragged.waiting.push_back((piece, part));
        self.mend_next(volume);
    }

    /// A write has ended: perhaps one that was mended, or the last that one of them waited for.
    pub(super) fn ragged_goes_on(&mut self, volume: &mut dyn Volume, ended: &InFlight) {
        let is_it = |it: &Mended| it.stage == Stage::Writes && it.piece.buffer == ended.buffer;
        if let Some(slot) = self.ragged.slots.iter_mut().find(|slot| slot.as_ref().is_some_and(is_it)) {
            *slot = None;
            self.let_go(volume);
        }
        self.mend_next(volume);
    }

    /// Lets those go whom nobody bars any more: before anybody else is mended there, as they were
    /// there first.
    fn let_go(&mut self, volume: &mut dyn Volume) {
        for piece in std::mem::take(&mut self.ragged.held) {
            if piece.part.is_some_and(|part| self.ragged.bars(part)) {
                self.ragged.hold(piece);
            } else {
                self.submit(volume, piece);
            }
        }
    }

    /// Gives free slots to those who wait, and begins to read where nobody writes any more.
    fn mend_next(&mut self, volume: &mut dyn Volume) {
        let count = (volume.request_buffer_bytes() / slot_bytes(volume)).clamp(1, SLOTS_MAX as u32) as usize;
        let mut at = 0;
        while at < self.ragged.waiting.len() {
            let Some(slot) = self.ragged.slots[..count].iter().position(Option::is_none) else { break };
            let (piece, part) = self.ragged.waiting[at];
            if self.ragged.is_barred(part, at) || !self.may_have_a_slot(&piece, count) {
                at += 1;
                continue;
            }
            self.ragged.waiting.remove(at);
            self.ragged.slots[slot] = Some(Mended { piece, part, stage: Stage::Waits });
        }
        for slot in 0..count {
            self.read_edges(volume, slot);
        }
    }

    /// Whether a piece's client leaves enough of so many slots to others.
    fn may_have_a_slot(&self, piece: &InFlight, count: usize) -> bool {
        let client = |piece: &InFlight| self.transactions.get(piece.transaction).map(|it| it.connection);
        let taken = self.ragged.mended().count();
        let own = self.ragged.mended().filter(|it| client(&it.piece) == client(piece)).count();
        own == 0 || own < count - taken
    }

    /// Begins to read, if nobody writes there any more.
    fn read_edges(&mut self, volume: &mut dyn Volume, slot: usize) {
        let Some(Mended { piece, part, stage: Stage::Waits }) = self.ragged.slots[slot] else { return };
        let writes = |other: &InFlight| other.changes_content() && other.part.is_some_and(|other| overlap(part, other));
        if self.pieces.iter().any(|(_, other)| writes(other)) {
            return;
        }
        let block = volume.logical_block_bytes();
        let tail = part.offset + u64::from(part.length - block);
        let needs_head = part.skew > 0;
        let needs_tail = part.skew + part.payload < part.length && !(needs_head && tail == part.offset);
        let edges_left = u32::from(needs_head) + u32::from(needs_tail);
        self.ragged.slots[slot] = Some(Mended { piece, part, stage: Stage::Reads { edges_left, error: None } });
        let first = slot as u32 * slot_bytes(volume);
        let mut read = |at: u32, offset: u64| {
            let role = Role::Edge { at, offset };
            self.submit(volume, InFlight { transaction: piece.transaction, role, part: None, buffer: None });
        };
        if needs_head {
            read(first, part.offset);
        }
        if needs_tail {
            read(first + block, tail);
        }
    }

    /// An edge was read into its place in the buffer, or cannot be.
    pub(super) fn edge_done(&mut self, volume: &mut dyn Volume, at: u32, result: Result<(), RequestError>) {
        let slot = (at / slot_bytes(volume)) as usize;
        let Some(Mended { piece, part, stage: Stage::Reads { edges_left, error } }) = self.ragged.slots[slot] else {
            return;
        };
        let (edges_left, error) = (edges_left - 1, error.or(result.err()));
        let stage = if edges_left == 0 { Stage::Writes } else { Stage::Reads { edges_left, error } };
        self.ragged.slots[slot] = Some(Mended { piece, part, stage });
        match (edges_left, error) {
            // It ends unwritten: its client may have written something else since.
            (0, _) if !self.is_wanted(&piece) => self.part_done(volume, piece),
            (0, None) => {
                self.put_edges(volume, &piece, part, slot);
                self.submit(volume, piece);
            }
            (0, Some(error)) => {
                // It ends as if it had been written, but with an error.
                if let Some(it) = self.transactions.at_mut(piece.transaction) {
                    it.error = it.error.or(Some(error));
                }
                self.part_done(volume, piece);
            }
            _ => {}
        }
    }

    /// Whether a client that will say nothing more, and may have gone, has something that waits.
    pub(super) fn is_left_waiting(&self, key: Key) -> bool {
        let slots = self.ragged.mended().filter(|it| it.stage == Stage::Waits).map(|it| &it.piece);
        let waiting = self.ragged.waiting.iter().map(|(piece, _)| piece).chain(&self.ragged.held).chain(slots);
        let is_its = |piece: &InFlight| self.transactions.get(piece.transaction).is_some_and(|it| it.connection == key);
        let is_silent = || self.connections.get(key).is_some_and(|it| it.transport.end() != End::Open);
        waiting.into_iter().any(is_its) && is_silent()
    }

    /// Drops what waits of clients that have gone: begun later, it could undo what they have asked
    /// for since, when they came again, and was answered.
    pub(super) fn forget_waiting(&mut self, volume: &mut dyn Volume) {
        let is_gone = |it: &Transaction| self.connections.get(it.connection).is_none();
        let gone: Vec<Key> = self.transactions.iter().filter(|(_, it)| is_gone(it)).map(|(key, _)| key).collect();
        for transaction in self.drop_waiting(volume, &gone) {
            if self.transactions.get(transaction).is_some_and(|it| it.unfinished == 0) {
                self.transactions.remove(transaction);
            }
        }
    }

    /// Drops what waits of these requests, and has not reached the volume. Returns the request of
    /// each part of which that is so.
    pub(super) fn drop_waiting(&mut self, volume: &mut dyn Volume, transactions: &[Key]) -> Vec<Key> {
        let mut dropped = Vec::new();
        let mut stays = |piece: &InFlight| {
            let stays = !transactions.contains(&piece.transaction);
            dropped.extend((!stays).then_some(*piece));
            stays
        };
        self.ragged.waiting.retain(|(piece, _)| stays(piece));
        self.ragged.held.retain(&mut stays);
        for slot in &mut self.ragged.slots {
            if slot.as_ref().is_some_and(|it| it.stage == Stage::Waits && !stays(&it.piece)) {
                *slot = None;
            }
        }
        for piece in &dropped {
            self.part_lost(piece.transaction, piece.buffer);
        }
        self.let_go(volume);
        self.mend_next(volume);
        dropped.iter().map(|piece| piece.transaction).collect()
    }

    /// Puts what was read around the client's bytes.
    fn put_edges(&self, volume: &dyn Volume, piece: &InFlight, part: Part, slot: usize) {
        let Some(buffer) = piece.buffer else { return };
        let (edges, whole) = (volume.request_memory(self.ragged.edges), volume.request_memory(buffer));
        let (block, first) = (volume.logical_block_bytes(), slot as u32 * slot_bytes(volume));
        let mut bytes = vec![0; block as usize];
        let mut copy = |from: u32, to: u32, length: u32| {
            let bytes = &mut bytes[..length as usize];
            volume.arena().read(Memory { offset: edges.offset + (first + from) as usize, length }, bytes);
            volume.arena().write(Memory { offset: whole.offset + to as usize, length }, bytes);
        };
        copy(0, 0, part.skew);
        let (end, is_one_block) = (part.skew + part.payload, part.length == block);
        // If the only block has a head, that was read, and the tail is in it.
        let base = if is_one_block && part.skew > 0 { 0 } else { block };
        let within = end % block;
        if within > 0 {
            copy(base + within, end, part.length - end);
        }
    }
}
