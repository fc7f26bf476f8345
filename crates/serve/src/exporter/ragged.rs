//! Writes that begin or end within a block of the volume.
//!
//! The client's bytes are in a buffer, with room around them for the rest of the first and the last block. That rest is
//! read, put beside them, and whole blocks are written. Between reading and writing nobody else may write those blocks,
//! or what they wrote would be undone. So one such part at a time is *mended*, in the order of arrival:
//!
//! ```text
//!  waits until no write is under way on its blocks ──► reads its edges ──► writes ──► the next one
//!            └────────── writes that overlap it are held meanwhile, and let go at the end ──────────┘
//! ```
//!
//! All of it needs no buffer but the one for edges, which is always there, and no client: it cannot be held up but by
//! drives that do not answer. What waits here for those is dropped when its request is given up.

use std::collections::VecDeque;

use shoal_volume::{Memory, RequestError, Volume};

use super::Exporter;
use super::pieces::{Piece, Role};
use crate::connection::Part;
use crate::slab::Key;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Ragged {
    /// The buffer for edges: the first block, then the last.
    pub(super) edges: u32,
    mended: Option<Mended>,
    waiting: VecDeque<(Piece, Part)>,
    /// Writes that overlap what is being mended.
    held: Vec<Piece>,
}

/// The part that is being mended.
#[derive(Debug)]
struct Mended {
    piece: Piece,
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
        Self { edges, mended: None, waiting: VecDeque::new(), held: Vec::new() }
    }

    /// Whether a write must wait for what is being mended.
    pub(super) fn bars(&self, part: Part) -> bool {
        self.mended.as_ref().is_some_and(|it| it.part.overlaps(part.offset, u64::from(part.length)))
    }

    /// What is being mended, while its edges are read: it has a buffer, and is not with the volume itself.
    pub(super) fn being_read(&self) -> Option<&Piece> {
        self.mended.as_ref().filter(|it| matches!(it.stage, Stage::Reads { .. })).map(|it| &it.piece)
    }

    /// Keeps a write until then.
    pub(super) fn hold(&mut self, piece: Piece) {
        self.held.push(piece);
    }
}

impl Exporter {
    /// Takes in a part that is to be mended.
    pub(super) fn mend(&mut self, volume: &mut dyn Volume, piece: Piece, part: Part) {
        self.ragged.waiting.push_back((piece, part));
        self.mend_next(volume);
    }

    /// A write has ended: perhaps the one that was mended, or the last that it waited for.
    pub(super) fn ragged_goes_on(&mut self, volume: &mut dyn Volume, ended: &Piece) {
        let is_mended = |it: &Mended| it.stage == Stage::Writes && it.piece.buffer == ended.buffer;
        if self.ragged.mended.as_ref().is_some_and(is_mended) {
            self.ragged.mended = None;
            self.mend_next(volume);
        } else {
            self.read_edges(volume);
        }
    }

    fn mend_next(&mut self, volume: &mut dyn Volume) {
        if self.ragged.mended.is_some() {
            return;
        }
        let held = std::mem::take(&mut self.ragged.held);
        if let Some((piece, part)) = self.ragged.waiting.pop_front() {
            self.ragged.mended = Some(Mended { piece, part, stage: Stage::Waits });
        }
        for piece in held {
            // They were there first.
            self.submit(volume, piece);
        }
        self.read_edges(volume);
    }

    /// Begins to read, if nobody writes there any more.
    fn read_edges(&mut self, volume: &mut dyn Volume) {
        let Some(Mended { piece, part, stage: Stage::Waits }) = self.ragged.mended else { return };
        let writes = |other: &Piece| {
            other.changes_content()
                && other.part.is_some_and(|other| part.overlaps(other.offset, u64::from(other.length)))
        };
        if self.pieces.iter().any(|(_, other)| writes(other)) {
            return;
        }
        let block = volume.logical_block_bytes();
        let tail = part.offset + u64::from(part.length - block);
        let needs_head = part.skew > 0;
        let needs_tail = part.skew + part.payload < part.length && !(needs_head && tail == part.offset);
        let edges_left = u32::from(needs_head) + u32::from(needs_tail);
        if let Some(mended) = &mut self.ragged.mended {
            mended.stage = Stage::Reads { edges_left, error: None };
        }
        let mut read = |at: u32, offset: u64| {
            let role = Role::Edge { at, offset };
            self.submit(volume, Piece { transaction: piece.transaction, role, part: None, buffer: None });
        };
        if needs_head {
            read(0, part.offset);
        }
        if needs_tail {
            read(block, tail);
        }
    }

    /// An edge was read, or cannot be.
    pub(super) fn edge_done(&mut self, volume: &mut dyn Volume, result: Result<(), RequestError>) {
        let Some(Mended { piece, part, stage: Stage::Reads { edges_left, error } }) = self.ragged.mended else {
            return;
        };
        let (edges_left, error) = (edges_left - 1, error.or(result.err()));
        let stage = if edges_left == 0 { Stage::Writes } else { Stage::Reads { edges_left, error } };
        self.ragged.mended = Some(Mended { piece, part, stage });
        let is_given_up = self.transactions.get(piece.transaction).is_none_or(|it| it.is_given_up);
        match (edges_left, error) {
            // It ends unwritten: its client may have written something else since.
            (0, _) if is_given_up => self.part_done(volume, piece),
            (0, None) => {
                self.put_edges(volume, &piece, part);
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

    /// Drops what waits of a request, and has not reached the volume.
    pub(super) fn drop_waiting(&mut self, volume: &mut dyn Volume, transaction: Key) {
        let mut dropped = Vec::new();
        let mut stays = |piece: &Piece| {
            let stays = piece.transaction != transaction;
            dropped.extend((!stays).then_some(*piece));
            stays
        };
        self.ragged.waiting.retain(|(piece, _)| stays(piece));
        self.ragged.held.retain(&mut stays);
        if self.ragged.mended.as_ref().is_some_and(|it| it.stage == Stage::Waits && !stays(&it.piece)) {
            self.ragged.mended = None;
        }
        for piece in dropped {
            self.part_lost(transaction, piece.buffer);
        }
        self.mend_next(volume);
    }

    /// Puts what was read around the client's bytes.
    fn put_edges(&self, volume: &dyn Volume, piece: &Piece, part: Part) {
        let Some(buffer) = piece.buffer else { return };
        let (edges, whole) = (volume.request_memory(self.ragged.edges), volume.request_memory(buffer));
        let block = volume.logical_block_bytes();
        let mut bytes = vec![0; block as usize];
        let mut copy = |from: u32, to: u32, length: u32| {
            let bytes = &mut bytes[..length as usize];
            volume.arena().read(Memory { offset: edges.offset + from as usize, length }, bytes);
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
