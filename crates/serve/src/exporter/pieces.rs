//! Requests under way, and what comes of their pieces.

use shoal_volume::{Command, Instant, Request, RequestError, RequestId, Submitter, Volume};

use super::Exporter;
use crate::connection::{Part, Reading};
use crate::output::{Content, Reply};
use crate::protocol::Errno;
use crate::request::RequestKind;
use crate::slab::Key;

/// A client's request, until it is answered and all its pieces have ended.
#[derive(Debug)]
pub(super) struct Transaction {
    pub(super) connection: Key,
    /// The client's name for it.
    pub(super) cookie: u64,
    pub(super) order: RequestKind,
    /// Whether the answer is structured.
    pub(super) structured: bool,
    /// Whether nothing else of its connection is under way.
    pub(super) alone: bool,
    /// Where the export begins in the volume.
    pub(super) origin: u64,
    /// Where it begins in the volume.
    pub(super) start: u64,
    /// Where the next part begins, in the volume.
    pub(super) next: u64,
    /// Where the last part ends.
    pub(super) end: u64,
    /// Parts that were begun and have not ended.
    pub(super) unfinished: u32,
    /// Whether some of the content was handed out in an answer that is not structured.
    pub(super) has_sent: bool,
    /// Whether what it wrote was flushed.
    pub(super) is_durable: bool,
    /// What went wrong first.
    pub(super) error: Option<RequestError>,
    /// When something of it was begun, received or ended.
    pub(super) moved_at: Instant,
    /// Whether it was answered though the volume has not.
    pub(super) is_given_up: bool,
}

/// Something on its way through the volume.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub(super) transaction: Key,
    pub(super) role: Role,
    /// Of which part, if it is of one.
    pub(super) part: Option<Part>,
    /// Where its content is; none for what has none, and for zeros.
    pub(super) buffer: Option<u32>,
}

/// What a piece does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Read,
    Write,
    /// Writes zeros, out of the buffer of zeros.
    Zeros,
    /// Makes zeros of content by giving it up; writes them where that cannot be had, unless that is
    /// too slow.
    Hole {
        /// Whether it is.
        is_fast: bool,
    },
    Discard,
    /// Makes the client's writes, or this request's, durable.
    Flush,
    /// Reads a block at the end of a part that is being mended.
    Edge {
        /// Where in the buffer for edges.
        at: u32,
        /// The block.
        offset: u64,
    },
}

impl InFlight {
    pub(super) fn changes_content(&self) -> bool {
        matches!(self.role, Role::Write | Role::Zeros | Role::Hole { .. } | Role::Discard)
    }
}

impl Exporter {
    /// Hands a command to the volume, for a piece.
    pub(super) fn ask(&mut self, volume: &mut dyn Volume, piece: InFlight, command: Command) {
        self.losses.is_untold |= piece.changes_content();
        let id = RequestId { submitter: Submitter::Server, number: self.pieces.insert(piece).number() };
        volume.submit(Request { id, command });
    }

    /// The volume has answered.
    pub(super) fn piece_done(&mut self, volume: &mut dyn Volume, key: Key, result: Result<(), RequestError>) {
        let piece = self.pieces.remove(key).expect("the volume answers what was submitted, once");
        match piece.role {
            Role::Edge { at, .. } => return self.edge_done(volume, at, result),
            Role::Read => self.read_done(volume, piece, result),
            // A trim is a hint, which levels and drives may not know how to take.
            Role::Discard if result == Err(RequestError::Unsupported) => {}
            Role::Hole { is_fast: false } if result == Err(RequestError::Unsupported) && self.is_wanted(&piece) => {
                return self.submit(volume, InFlight { role: Role::Zeros, ..piece });
            }
            Role::Flush => {
                self.note(piece.transaction, result);
                if result.is_err() {
                    self.flush_refused();
                }
            }
            _ => self.note(piece.transaction, result),
        }
        self.part_done(volume, piece);
    }

    /// A part has ended, however; its buffer is free, unless it is on its way to the client.
    pub(super) fn part_done(&mut self, volume: &mut dyn Volume, piece: InFlight) {
        if let Some(buffer) = piece.buffer.filter(|_| piece.role != Role::Read) {
            self.release(piece.transaction, buffer);
        }
        if piece.changes_content() {
            self.ragged_goes_on(volume, &piece);
        }
        let Some(it) = self.transactions.at_mut(piece.transaction) else { return };
        it.moved_at = self.now;
        if piece.role == Role::Flush {
            it.is_durable = true;
        } else {
            it.unfinished -= 1;
        }
        if it.unfinished == 0 && it.next >= it.end {
            self.conclude(volume, piece.transaction);
        } else {
            let connection = it.connection;
            self.resume(connection);
        }
    }

    /// Whether somebody still waits for it: of what nobody does nothing more is begun.
    pub(super) fn is_wanted(&self, piece: &InFlight) -> bool {
        let transaction = self.transactions.get(piece.transaction).filter(|it| !it.is_given_up);
        transaction.is_some_and(|it| self.connections.get(it.connection).is_some())
    }

    fn note(&mut self, transaction: Key, result: Result<(), RequestError>) {
        if let Some(it) = self.transactions.at_mut(transaction) {
            it.error = it.error.or(result.err());
        }
    }

    pub(super) fn release(&mut self, transaction: Key, buffer: u32) {
        self.pool.give_back(buffer);
        let Some(it) = self.transactions.get(transaction) else { return };
        if let Some(connection) = self.connections.at_mut(it.connection) {
            connection.held -= 1;
            connection.overdue -= usize::from(it.is_given_up);
        }
    }

    /// Sends what was read, or notes what went wrong.
    fn read_done(&mut self, volume: &mut dyn Volume, piece: InFlight, result: Result<(), RequestError>) {
        let (Some(part), Some(buffer)) = (piece.part, piece.buffer) else { return };
        let Some(it) = self.transactions.at_mut(piece.transaction) else { return };
        it.error = it.error.or(result.err());
        if it.error.is_some() && it.alone {
            // The rest is not even read.
            it.end = it.next;
        }
        let key = it.connection;
        if it.error.is_some() || it.is_given_up || self.connections.get(key).is_none() {
            return self.release(piece.transaction, buffer);
        }
        let content = Content { memory: part.payload_in(volume.request_memory(buffer)), buffer };
        let is_last = it.unfinished == 1 && it.next >= it.end;
        let offset = part.offset + u64::from(part.skew) - it.origin;
        let (cookie, is_first) = (it.cookie, !std::mem::replace(&mut it.has_sent, true));
        let reply = if it.structured && volume.arena().holds_zeros(content.memory) {
            self.release(piece.transaction, buffer);
            Reply::hole(cookie, is_last, offset, part.payload)
        } else if it.structured {
            Reply::data(cookie, is_last, offset, content)
        } else if is_first {
            Reply::simple(cookie, None, Some(content))
        } else {
            Reply::more(content)
        };
        self.reply(key, reply);
    }

    /// All parts have ended: flushes if that was asked for, and then answers.
    pub(super) fn conclude(&mut self, volume: &mut dyn Volume, transaction: Key) {
        let Some(it) = self.transactions.get(transaction) else { return };
        if it.is_given_up {
            self.transactions.remove(transaction);
            return;
        }
        let durable = match it.order {
            RequestKind::Write { durable }
            | RequestKind::Trim { durable }
            | RequestKind::WriteZeroes { durable, .. } => durable,
            _ => false,
        };
        if durable && !it.is_durable && it.error.is_none() {
            return self.submit(volume, InFlight { transaction, role: Role::Flush, part: None, buffer: None });
        }
        let Some(it) = self.transactions.remove(transaction) else { return };
        let key = it.connection;
        let Some(connection) = self.connections.at_mut(key) else { return };
        connection.under_way -= 1;
        let error = match it.order {
            RequestKind::Flush => it.error.or_else(|| std::mem::replace(&mut connection.next_flush, Ok(())).err()),
            _ => it.error,
        };
        if matches!(connection.reading, Reading::Begin(current) if current == transaction) {
            connection.reading = Reading::Request;
            self.line_up(key);
        }
        match error {
            Some(_) if it.has_sent && !it.structured => return self.drop_connection(volume, key),
            Some(error) => self.reply(key, failure(&it, error)),
            None if it.order != RequestKind::Read => self.reply(key, Reply::simple(it.cookie, None, None)),
            None => {}
        }
        self.resume(key);
        // The last answer may be what a client that leaves is waited with for.
        self.to_send.push(key);
    }

    /// The client of a request has gone before all of it was begun, and took so many parts of its
    /// payload along.
    pub(super) fn cut_short(&mut self, transaction: Key, parts_lost: u32) {
        let Some(it) = self.transactions.at_mut(transaction) else { return };
        it.end = it.next;
        it.unfinished -= parts_lost;
        if it.unfinished == 0 {
            self.transactions.remove(transaction);
        }
    }
}

/// The answer to a request that went wrong.
fn failure(it: &Transaction, error: RequestError) -> Reply {
    let (errno, at) = match error {
        RequestError::OutOfRange | RequestError::Misaligned => (Errno::Invalid, None),
        RequestError::Lost { offset } | RequestError::Unreadable { offset } => (Errno::Io, Some(offset)),
        RequestError::Failed => (Errno::Io, None),
        RequestError::ReadOnly => (Errno::NotPermitted, None),
        RequestError::Unsupported => (Errno::NotSupported, None),
    };
    if !it.structured {
        return Reply::simple(it.cookie, Some(errno), None);
    }
    // The volume speaks of blocks, which may begin before the request.
    let offset = at.filter(|at| (it.start..it.end).contains(at)).map(|at| at - it.origin);
    Reply::error(it.cookie, errno, offset, &error.to_string())
}
