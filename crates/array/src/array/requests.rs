//! Requests, from submission to answer.
//!
//! A request enters the [order](super::order), and when its turn has come it is cut in pieces, a
//! bounded number at a time. A piece either goes straight to members ([`super::direct`]) or waits
//! for a slice of a parity stripe. Each piece is done before the request is answered, whatever
//! befalls the others: a span is never in use after the answer.

use super::{
    Array, Event, Owner,
    effects::Purpose,
    member::Protection,
    order::{Claim, Ticket},
    slab::Key,
};
use crate::{Command, Completion, Health, Instant, MemberIo, Outcome, Request, RequestError, RequestId, Role, Span};

/// Pieces of one request in flight, beyond which no further ones are cut. The row of a parity level
/// is never broken off.
const PIECES_MAX: u32 = 1024;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Read,
    Write,
    Discard,
    Flush,
}

/// A request that is not answered yet.
#[derive(Debug)]
pub(super) struct Active {
    id: RequestId,
    pub(super) action: Action,
    start: u64,
    end: u64,
    span: Span,
    /// Array bytes below are cut into pieces.
    pub(super) cut: u64,
    /// Pieces in flight.
    pending: u32,
    /// The error with the lowest offset.
    error: Option<(u64, RequestError)>,
    /// Discards: some member cannot.
    pub(super) is_unsupported: bool,
    /// A last copy that may have taken its part has refused a flush since: that part may be lost
    /// when it is answered.
    may_be_lost: bool,
    ticket: Option<Key<Ticket<Owner>>>,
    /// The stream of writes that it belongs to.
    pub(super) stream: Option<usize>,
    /// Parts of it that wait for plugged rows.
    pub(super) plugged_parts: u32,
    /// When it came.
    begun: Instant,
}

impl Active {
    fn new(request: Request, now: Instant) -> Self {
        let (action, start, length, span) = parse(request.command);
        Self {
            id: request.id,
            action,
            start,
            end: start.saturating_add(length),
            span,
            cut: start,
            pending: 0,
            error: None,
            is_unsupported: false,
            may_be_lost: false,
            ticket: None,
            stream: None,
            plugged_parts: 0,
            begun: now,
        }
    }

    pub(super) fn start(&self) -> u64 {
        self.start
    }

    pub(super) fn range(&self) -> (u64, u64) {
        (self.start, self.end)
    }

    pub(super) fn changes_content(&self) -> bool {
        matches!(self.action, Action::Write | Action::Discard)
    }

    /// A last copy refuses a flush: what has begun may be lost there, though nobody has been told
    /// that it is done; and what another flush covers may be.
    pub(super) fn meet_refusal(&mut self) {
        match self.action {
            Action::Write | Action::Discard => self.may_be_lost |= self.cut > self.start,
            Action::Flush => self.fail(0, RequestError::Failed),
            Action::Read => {}
        }
    }

    pub(super) fn uncut(&self) -> u64 {
        self.end - self.cut
    }

    /// The bytes of the span that belong to this part of the range.
    pub(super) fn span_of(&self, offset: u64, length: u64) -> Span {
        let skipped = u32::try_from(offset - self.start).expect("a span is shorter than 4 GiB");
        self.span.part(skipped, u32::try_from(length).expect("a span is shorter than 4 GiB"))
    }

    /// Cuts off the next piece.
    pub(super) fn cut(&mut self, length: u64) {
        self.cut += length;
        self.pending += 1;
    }

    /// Something else has to end before the answer.
    pub(super) fn add_pending(&mut self) {
        self.pending += 1;
    }

    pub(super) fn fail(&mut self, offset: u64, error: RequestError) {
        if self.error.is_none_or(|(first, _)| offset < first) {
            self.error = Some((offset, error));
        }
    }
}

/// A command's range and action.
fn parse(command: Command) -> (Action, u64, u64, Span) {
    let no_span = Span { buffer: crate::BufferId(0), offset: 0, length: 0 };
    match command {
        Command::Read { offset, span } => (Action::Read, offset, u64::from(span.length), span),
        Command::Write { offset, span } => (Action::Write, offset, u64::from(span.length), span),
        Command::Discard { offset, length } => (Action::Discard, offset, length, no_span),
        Command::Flush => (Action::Flush, 0, 0, no_span),
    }
}

impl Array {
    pub(super) fn take_in(&mut self, request: Request) {
        let (action, start, length, _) = parse(request.command);
        let end = start.saturating_add(length);
        if let Err(error) = self.check(action, start, length) {
            return self.answer(request.id, Err(error));
        }
        let id = request.id;
        let active = Active::new(request, self.now);
        if action == Action::Flush {
            let key = self.requests.insert(active);
            if !self.hold_for_renewal(key) {
                self.start_flush(key);
            }
            return;
        }
        if length == 0 {
            return self.answer(id, Ok(()));
        }
        let key = self.requests.insert(active);
        let claim = if action == Action::Read { Claim::Shared } else { Claim::Alone };
        let (ticket, is_ready) = self.order.enter(start..end, claim, Owner::Request(key));
        self.requests[key].ticket = Some(ticket);
        if is_ready {
            self.cut_pieces(key);
        } else {
            self.unplug_for(ticket);
        }
    }

    fn check(&self, action: Action, offset: u64, length: u64) -> Result<(), RequestError> {
        let block_bytes = u64::from(self.profile.block_bytes);
        if !offset.is_multiple_of(block_bytes) || !length.is_multiple_of(block_bytes) {
            return Err(RequestError::Misaligned);
        }
        if offset.checked_add(length).is_none_or(|end| end > self.profile.capacity_bytes) {
            return Err(RequestError::OutOfRange);
        }
        match (action, self.members.protection()) {
            (Action::Write | Action::Discard, _) if !self.profile.is_writable => Err(RequestError::ReadOnly),
            (Action::Discard, Protection::Parity) => Err(RequestError::Unsupported),
            (Action::Write, Protection::Parity) if self.health() == Health::Failed => Err(RequestError::Failed),
            _ => Ok(()),
        }
    }

    /// Cuts more pieces, as many as may be in flight; answers the request when all is done.
    pub(super) fn cut_pieces(&mut self, key: Key<Active>) {
        // Not to be answered by a piece that ends at once while others are still to be cut.
        self.requests[key].pending += 1;
        if self.is_uncut_parity_write(key) {
            self.stream_goes_on(key);
        }
        while self.requests[key].uncut() > 0 && self.requests[key].pending <= PIECES_MAX {
            if self.goes_by_rows(key) { self.cut_row(key) } else { self.cut_piece(key) }
        }
        self.piece_done(key);
    }

    fn is_uncut_parity_write(&self, key: Key<Active>) -> bool {
        let request = &self.requests[key];
        let is_uncut = request.cut == request.start;
        is_uncut && request.action == Action::Write && self.members.protection() == Protection::Parity
    }

    /// Writes of parity levels are done stripe by stripe. So are long reads while members are
    /// missing: their blocks are solved for from the others, which are read once for both purposes.
    fn goes_by_rows(&self, key: Key<Active>) -> bool {
        let request = &self.requests[key];
        self.members.protection() == Protection::Parity
            && match request.action {
                Action::Write => true,
                Action::Read => {
                    let is_long = request.end - request.start >= 2 * u64::from(self.profile.chunk_bytes);
                    is_long && self.health() == Health::Degraded
                }
                Action::Discard | Action::Flush => false,
            }
    }

    /// A piece has ended; its error, if any, is noted already.
    pub(super) fn piece_done(&mut self, key: Key<Active>) {
        let request = &mut self.requests[key];
        request.pending -= 1;
        let pending = request.pending;
        if request.uncut() > 0 {
            // Refilled in large steps, so that neighbours come together.
            if pending == PIECES_MAX / 2 || pending == 0 {
                self.cut_pieces(key);
            }
        } else if pending == 0 && (request.action == Action::Read || !self.hold_for_record(key)) {
            self.complete(key);
        }
    }

    /// Answers a request.
    pub(super) fn complete(&mut self, key: Key<Active>) {
        let request = self.requests.remove(key);
        if let Some(stream) = request.stream {
            self.stream_answered(stream, self.now.since_ns(request.begun));
        }
        if let Some(ticket) = request.ticket {
            self.order.leave(ticket, |owner| self.runnable.push_back(owner));
        }
        let result = match request.error {
            Some((_, error)) => Err(error),
            None if request.is_unsupported => Err(RequestError::Unsupported),
            None => Ok(()),
        };
        if request.may_be_lost && result.is_ok() {
            self.records.note_lost_flush();
        }
        self.answer(request.id, result);
    }

    fn answer(&mut self, id: RequestId, result: Result<(), RequestError>) {
        self.pace.foreground(self.now);
        self.events.push_back(Event::Completed(Completion { id, result }));
    }

    /// A flush goes to every member that works. If more members are gone than the level survives,
    /// completed writes are gone with them, and a flush must not say otherwise.
    pub(super) fn start_flush(&mut self, key: Key<Active>) {
        self.requests[key].pending += 1;
        for role in self.members.roles() {
            if self.members.is_working(role) && self.profile.is_writable {
                self.requests[key].pending += 1;
                self.issue_io(role, MemberIo::Flush, Purpose::Flush(key));
            }
        }
        self.flush_part_done(key);
    }

    pub(super) fn flush_ended(&mut self, key: Key<Active>, role: Role, outcome: &Outcome) {
        if *outcome == Outcome::Done {
            self.resume_renewal(role);
        } else if !self.member_gave_up(role) {
            self.last_copy_refused_flush(role);
            self.requests[key].fail(0, RequestError::Failed);
        }
        self.flush_part_done(key);
    }

    fn flush_part_done(&mut self, key: Key<Active>) {
        let is_last = self.requests[key].pending == 1;
        if is_last && (self.records.take_lost_flush() || self.health() == Health::Failed) {
            self.requests[key].fail(0, RequestError::Failed);
        }
        // The flush itself may have shown that a member can be renewed now; another one follows
        // that.
        if is_last && self.requests[key].error.is_none() && self.hold_for_renewal(key) {
            self.requests[key].pending = 0;
            return;
        }
        self.piece_done(key);
    }
}
