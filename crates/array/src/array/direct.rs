//! Pieces that go straight to members: everything on linear, RAID0, RAID1 and RAID10, and reads of
//! parity levels whose member holds the data.
//!
//! A read goes to one copy; if that fails, [`super::op`] takes over. A write or discard goes to
//! every copy that works, also to one that is being rebuilt, wherever the rebuild stands. A copy
//! whose write fails is taken out, so that what it missed is never read; the last one stays, and
//! the request fails.

use super::{
    Array,
    effects::Purpose,
    member::{Protection, Wanted},
    op::{Kind, Op, Site},
    plan::{Cols, Part},
    requests::{Action, Active},
    slab::Key,
    slices::Waiter,
};
use crate::{Fault, MemberIo, MemberState, Outcome, Piece, RequestError, Role};

impl Array {
    /// Cuts off the next piece and starts it.
    pub(super) fn cut_piece(&mut self, key: Key<Active>) {
        let request = &self.requests[key];
        let (action, offset) = (request.action, request.cut);
        let mut piece = self.geometry.piece(offset, request.uncut());
        if action == Action::Read {
            self.end_at_rebuild(&mut piece);
            let copy = self.choose_copy(key, &mut piece);
            self.requests[key].cut(piece.length);
            return self.read_piece(key, &piece, copy);
        }
        self.requests[key].cut(piece.length);
        match action {
            Action::Write | Action::Discard => self.write_piece(key, &piece),
            Action::Read | Action::Flush => unreachable!("a read is cut by its copies, and a flush has no pieces"),
        }
    }

    /// Shortens a piece that no member holds whole to what one holds from the start, if there is
    /// such a member.
    fn end_at_rebuild(&self, piece: &mut Piece) {
        let held = piece.copies.iter().map(|(role, offset)| self.members.held_from(*role, *offset, piece.length));
        piece.length = held.max().filter(|length| *length > 0).unwrap_or(piece.length);
    }

    /// The copy to read. Shortens a piece that others share.
    fn choose_copy(&mut self, key: Key<Active>, piece: &mut Piece) -> Option<(Role, u64)> {
        if piece.copies.len() == 1 {
            return self.members.choose_brisk(piece.copies.iter().copied(), Wanted::alone(piece.length), &[], true);
        }
        // Copies are of array bytes, and these are their sync bytes.
        let is_synced = self.members.is_synced(piece.offset..piece.offset + piece.length);
        let wanted = Wanted { length: piece.length, ahead: piece.length + self.to_come(key, piece) };
        let copy = self.members.choose_brisk(piece.copies.iter().copied(), wanted, &[], is_synced)?;
        if is_synced {
            piece.length = self.members.share(self.now, &piece.copies, copy, wanted);
        }
        Some(copy)
    }

    /// How many bytes of a request come after a piece on the same members: of every so many chunks,
    /// one.
    fn to_come(&self, key: Key<Active>, piece: &Piece) -> u64 {
        let sets = (self.members.states().len() / piece.copies.len()).max(1) as u64;
        let chunks = (self.requests[key].uncut() - piece.length) / u64::from(self.profile.chunk_bytes);
        chunks / sets * u64::from(self.profile.chunk_bytes)
    }

    fn read_piece(&mut self, key: Key<Active>, piece: &Piece, copy: Option<(Role, u64)>) {
        match copy {
            Some((role, offset))
                if self.members.is_stalled(role)
                    && self.members.protection() == Protection::Parity
                    && self.can_go_round(role, offset, piece.offset, piece.length) =>
            {
                self.queue_reads(key, piece.offset, piece.length, false);
            }
            Some((role, offset)) => {
                let span = self.requests[key].span_of(piece.offset, piece.length);
                let purpose = Purpose::Piece { request: key, offset: piece.offset, length: piece.length };
                self.issue_io(role, MemberIo::Read { offset, span }, purpose);
            }
            None if self.members.protection() == Protection::Parity => {
                self.queue_reads(key, piece.offset, piece.length, false)
            }
            None => {
                self.requests[key].fail(piece.offset, RequestError::Lost { offset: piece.offset });
                self.piece_done(key);
            }
        }
    }

    fn write_piece(&mut self, key: Key<Active>, piece: &Piece) {
        let has_copy =
            piece.copies.iter().any(|(role, offset)| self.members.holds(*role, *offset..offset + piece.length));
        if !has_copy {
            self.requests[key].fail(piece.offset, RequestError::Lost { offset: piece.offset });
            return self.piece_done(key);
        }
        for &(role, offset) in &piece.copies {
            if !self.members.is_working(role) {
                continue;
            }
            let request = &mut self.requests[key];
            request.add_pending();
            let io = match request.action {
                Action::Write => MemberIo::Write { offset, span: request.span_of(piece.offset, piece.length) },
                _ => MemberIo::Discard { offset, length: piece.length },
            };
            let purpose = Purpose::Piece { request: key, offset: piece.offset, length: piece.length };
            self.issue_io(role, io, purpose);
        }
        self.piece_done(key);
    }

    /// A member has answered.
    pub(super) fn piece_ended(&mut self, key: Key<Active>, offset: u64, length: u64, role: Role, outcome: &Outcome) {
        let action = self.requests[key].action;
        match (action, outcome) {
            (_, Outcome::Done) => {}
            (Action::Discard, Outcome::Failed(Fault::Unsupported)) => self.requests[key].is_unsupported = true,
            (Action::Read, Outcome::Failed(fault)) => return self.read_failed(key, offset, length, role, *fault),
            (_, Outcome::Failed(_)) => self.write_failed(key, offset, length, role),
            (_, Outcome::Differs(_)) => panic!("member I/O was answered like a comparison"),
        }
        self.piece_done(key);
    }

    fn write_failed(&mut self, key: Key<Active>, offset: u64, length: u64, role: Role) {
        let is_out = self.member_gave_up(role);
        if self.members.protection() == Protection::Mirrors && is_out {
            return;
        }
        self.requests[key].fail(offset, RequestError::Lost { offset });
        if is_out {
            return;
        }
        self.members.distrust(role);
        // The last copy has old data, or a mix. A copy that is being rebuilt may have the new: it
        // must not be read.
        for &(other, at) in &self.geometry.piece(offset, length).copies {
            let is_rebuilding = matches!(self.members.state(other), MemberState::Rebuilding { .. });
            if is_rebuilding && self.members.may_hold_some(other, at..at + length) {
                self.take_out(other);
            }
        }
    }

    pub(super) fn read_failed(&mut self, key: Key<Active>, offset: u64, length: u64, role: Role, fault: Fault) {
        let unreadable = fault == Fault::Unreadable;
        let is_out = !unreadable && self.member_gave_up(role);
        match self.members.protection() {
            Protection::None => self.read_unprotected(key, offset, length, unreadable),
            Protection::Parity => self.queue_reads(key, offset, length, unreadable),
            Protection::Mirrors => {
                let suspect = (!is_out).then_some(role);
                self.read_other_copy(key, offset, length, suspect, unreadable);
            }
        }
    }

    fn read_unprotected(&mut self, key: Key<Active>, offset: u64, length: u64, unreadable: bool) {
        let block_bytes = u64::from(self.profile.block_bytes);
        if unreadable && length > block_bytes {
            // Halves, to find the block.
            return self.read_other_copy(key, offset, length, None, true);
        }
        let error = if unreadable { RequestError::Unreadable { offset } } else { RequestError::Lost { offset } };
        self.requests[key].fail(offset, error);
        self.piece_done(key);
    }

    /// Starts an operation for a read that failed at one copy. If that was `unreadable`, halves of
    /// the range are tried at the suspect first: only the blocks that really cannot be read are
    /// taken from elsewhere, and written anew.
    fn read_other_copy(&mut self, key: Key<Active>, offset: u64, length: u64, suspect: Option<Role>, unreadable: bool) {
        let copies = self.geometry.piece(offset, length).copies;
        let span = self.requests[key].span_of(offset, length);
        let cols = Cols { start: 0, end: span.length };
        let part = Part { request: key, index: 0, cols, offset, span };
        let mut op =
            Op::new(Kind::Read { parts: [part].into(), suspect }, Site::Mirror { copies, offset, ticket: None }, cols);
        match suspect {
            _ if unreadable && op.halve(self.profile.block_bytes) => {}
            Some(role) => op.note_bad(role, !unreadable),
            None => {}
        }
        let op = self.ops.insert(op);
        self.begin(op);
    }

    /// Queues reads at the slices of a range within one chunk.
    fn queue_reads(&mut self, key: Key<Active>, offset: u64, length: u64, unreadable: bool) {
        let is_block = length == u64::from(self.profile.block_bytes);
        let mut at = offset;
        while at < offset + length {
            let (slice, part) = self.part_at(key, at, offset + length);
            at += u64::from(part.cols.length());
            self.requests[key].add_pending();
            self.queue_at_slice(slice, Waiter::Read(part, unreadable && is_block));
        }
        self.piece_done(key);
    }

    /// Cuts off the rest of the row and queues its parts at their slices.
    pub(super) fn cut_row(&mut self, key: Key<Active>) {
        let request = &self.requests[key];
        let is_write = request.action == Action::Write;
        let row_bytes = self.profile.row_bytes();
        let end = (request.cut / row_bytes + 1).saturating_mul(row_bytes).min(request.cut + request.uncut());
        while self.requests[key].cut < end {
            let (slice, part) = self.part_at(key, self.requests[key].cut, end);
            self.requests[key].cut(u64::from(part.cols.length()));
            self.queue_at_slice(slice, if is_write { Waiter::Write(part) } else { Waiter::Read(part, false) });
        }
    }

    /// The first part of a range of a parity level: what lies in one chunk and one slice.
    pub(super) fn part_at(&self, key: Key<Active>, offset: u64, end: u64) -> (u64, Part) {
        let place = self.profile.place(offset);
        let length = (end - offset).min(u64::from(place.slice_end - place.column));
        let span = self.requests[key].span_of(offset, length);
        let cols = Cols { start: place.column, end: place.column + span.length };
        (place.slice, Part { request: key, index: place.index, cols, offset, span })
    }
}
