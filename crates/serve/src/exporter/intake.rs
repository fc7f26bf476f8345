//! What clients say, as far as there is room for it: requests are judged, begun, and cut into
//! parts.
//!
//! A connection goes on until it has nothing more to read, waits for a buffer or for something of
//! its own to end, or has had its turn. Requests longer than a buffer are begun part by part, and
//! the next request is not read before the last part is begun; so a connection has one of them in
//! the making at a time. A long read whose answer is not structured must come as one uninterrupted
//! run of bytes: it goes alone, after all that was under way on its connection has been answered,
//! and before any other request is read. Who does not take its answers is not asked for more: all
//! that a client can have the owner keep is bounded.

use rustix::event::epoll::EventFlags;
use shoal_volume::{Command, Volume};

use super::Exporter;
use super::pieces::{InFlight, Role, Transaction};
use crate::connection::{Part, Reading, Received};
use crate::limits::{CLIENTS_MAX, PIECES_MAX, TRIM_BYTES_MAX, UNDER_WAY_MAX};
use crate::output::Reply;
use crate::protocol::Errno;
use crate::request::{Header, RequestKind};
use crate::slab::Key;

/// Steps that a connection goes before others have their turn.
const STEPS: u32 = 64;
/// Bytes of content that are begun in one turn: drives are at work on the first requests while the
/// next ones are received.
pub(super) const BATCH_BYTES: u32 = 1 << 20;
/// What a step counts for in that, whatever its content: requests without any keep the owner busy,
/// too.
const STEP_BYTES: u32 = 512;
/// The one metadata context's number.
const ALLOCATION_ID: u32 = 1;

/// What came of a step.
enum Went {
    /// Another may follow.
    On,
    /// Nothing more can be done until an event, a buffer or an end comes.
    Nowhere,
    /// The client makes no sense, or has gone.
    Away,
}

impl Exporter {
    /// Lets a connection say what it has to say. Returns whether anything came of it.
    pub(super) fn advance(&mut self, volume: &mut dyn Volume, key: Key) -> bool {
        for step in 0..STEPS {
            let Some(connection) = self.connections.get(key) else { return true };
            if self.batch_left_bytes == 0 && !connection.is_leaving {
                self.line_up(key);
                return step > 0;
            }
            self.batch_left_bytes = self.batch_left_bytes.saturating_sub(STEP_BYTES);
            let went = match connection.reading {
                _ if connection.is_leaving => Went::Nowhere,
                Reading::Request => self.read_request(volume, key),
                Reading::Begin(transaction) => self.begin_part(volume, key, transaction),
                Reading::Payload { .. } => self.read_payload(volume, key),
                Reading::Refused(left) => self.pass_over(key, left),
            };
            match went {
                Went::On => {}
                Went::Nowhere => return step > 0,
                Went::Away => {
                    self.drop_connection(volume, key);
                    return true;
                }
            }
        }
        self.line_up(key);
        true
    }

    /// Receives more, into the input.
    fn receive(&mut self, key: Key) -> Went {
        let connection = self.connections.at_mut(key).expect("it is being looked at");
        if connection.input.is_readable {
            match connection.input.receive(&mut connection.transport) {
                Received::Gone => return Went::Away,
                Received::Something => {
                    connection.moved_at = self.now;
                    return Went::On;
                }
                Received::Nothing => {}
            }
        }
        self.set_interest(key, EventFlags::IN, true);
        Went::Nowhere
    }

    fn read_request(&mut self, volume: &mut dyn Volume, key: Key) -> Went {
        let connection = self.connections.at_mut(key).expect("it is being looked at");
        if connection.under_way >= UNDER_WAY_MAX || connection.output.is_full() {
            connection.is_paused = true;
            return Went::Nowhere;
        }
        let Some(bytes) = connection.input.request() else { return self.receive(key) };
        let Some(header) = Header::parse(&bytes) else { return Went::Away };
        if header.is_goodbye() {
            connection.is_leaving = true;
            // Ends at once if nothing is owed.
            self.to_send.push(key);
            return Went::Nowhere;
        }
        let Some(payload) = header.payload_bytes() else { return Went::Away };
        let agreement = connection.agreement;
        let export = self.exports.at(agreement.export);
        let unsplit = volume.request_buffer_bytes() - 2 * volume.logical_block_bytes();
        let cookie = header.cookie;
        let judged = if self.is_ending { None } else { Some(header.judge(export, agreement, unsplit)) };
        let (errno, why) = match judged {
            Some(Ok(order)) => {
                match order {
                    RequestKind::BlockStatus => self.reply(key, Reply::extent(cookie, ALLOCATION_ID, header.length)),
                    RequestKind::Cache => self.reply(key, Reply::simple(cookie, None, None)),
                    _ => self.begin(volume, key, order, &header),
                }
                return Went::On;
            }
            Some(Err(refusal)) => (refusal.errno, refusal.why),
            None => (Errno::Shutdown, "the server is being stopped"),
        };
        self.reply(key, refusal(agreement.structured, cookie, errno, why));
        if payload > 0 {
            self.read_next(key, Reading::Refused(payload));
        }
        Went::On
    }

    /// Begins a request that was judged good.
    fn begin(&mut self, volume: &mut dyn Volume, key: Key, order: RequestKind, header: &Header) {
        let connection = self.connections.at_mut(key).expect("it is being looked at");
        let origin = self.exports.at(connection.agreement.export).offset;
        let (offset, length) = match order {
            // What it says of a range is not looked at, and may be anything.
            RequestKind::Flush => (origin, 0),
            _ => (origin + header.offset, header.length),
        };
        let block = u64::from(volume.logical_block_bytes());
        let (first, stop) = extent(order, offset, length, block);
        connection.under_way += 1;
        let structured = connection.agreement.structured;
        let alone =
            order == RequestKind::Read && !structured && length > volume.request_buffer_bytes() - 2 * block as u32;
        let transaction = self.transactions.insert(Transaction {
            connection: key,
            cookie: header.cookie,
            order,
            structured,
            alone,
            origin,
            start: first,
            next: first,
            end: stop.max(first),
            unfinished: 0,
            has_sent: false,
            is_durable: false,
            error: None,
            moved_at: self.now,
            is_given_up: false,
        });
        match order {
            RequestKind::Flush => {
                self.submit(volume, InFlight { transaction, role: Role::Flush, part: None, buffer: None })
            }
            _ if first >= stop => self.conclude(volume, transaction),
            _ => self.read_next(key, Reading::Begin(transaction)),
        }
    }

    fn read_next(&mut self, key: Key, reading: Reading) {
        if let Some(connection) = self.connections.at_mut(key) {
            connection.reading = reading;
        }
    }

    /// Begins the next part of a request; the next request follows the last part.
    fn begin_part(&mut self, volume: &mut dyn Volume, key: Key, transaction: Key) -> Went {
        let Some(it) = self.transactions.get(transaction).filter(|it| it.next < it.end || it.alone) else {
            self.read_next(key, Reading::Request);
            return Went::On;
        };
        if it.next >= it.end {
            return self.wait_for_own(key); // what was begun now might be answered before the last part
        }
        let block = volume.logical_block_bytes();
        let (order, unfinished, alone) = (it.order, it.unfinished, it.alone);
        let is_trim = matches!(order, RequestKind::Trim { .. });
        let length_max = if is_trim { TRIM_BYTES_MAX } else { volume.request_buffer_bytes() };
        let part = Part::first_of(it.next, it.end, block, length_max);
        let connection = self.connections.at_mut(key).expect("it is being looked at");
        let must_wait = match order {
            RequestKind::Trim { .. } | RequestKind::WriteZeroes { .. } => unfinished >= PIECES_MAX,
            RequestKind::Read if connection.output.is_full() => true,
            _ => alone && (connection.under_way > 1 || unfinished > 0 || !connection.output.is_empty()),
        };
        if must_wait {
            return self.wait_for_own(key);
        }
        let needs_buffer = needs_buffer(order, part);
        let buffer = if needs_buffer { self.take_buffer(key) } else { None };
        if needs_buffer && buffer.is_none() {
            return self.wait_for_a_buffer(volume, key, transaction);
        }
        self.batch_left_bytes = self.batch_left_bytes.saturating_sub(part.length);
        let it = self.transactions.at_mut(transaction).expect("it was just there");
        it.next += u64::from(part.payload);
        it.unfinished += 1;
        it.moved_at = self.now;
        if let (RequestKind::Write { .. }, Some(buffer)) = (order, buffer) {
            self.read_next(key, Reading::Payload { transaction, part, buffer, filled: 0 });
        } else {
            let piece = piece_without_payload(volume, transaction, order, part, buffer);
            self.submit_part(volume, piece);
        }
        Went::On
    }

    /// The connection goes on when something of its own has ended.
    fn wait_for_own(&mut self, key: Key) -> Went {
        if let Some(connection) = self.connections.at_mut(key) {
            connection.is_paused = true;
        }
        Went::Nowhere
    }

    /// There is no buffer for the next part of a request.
    fn wait_for_a_buffer(&mut self, volume: &mut dyn Volume, key: Key, transaction: Key) -> Went {
        if self.connections.get(key).is_some_and(|it| it.overdue > 0) {
            // What is its own is with drives that do not answer.
            self.give_up(volume, transaction);
            return Went::On;
        }
        self.line_up(key);
        Went::Nowhere
    }

    fn take_buffer(&mut self, key: Key) -> Option<u32> {
        let holders = self.connections.iter().filter(|(other, it)| *other != key && it.held > 0).count();
        let connection = self.connections.at_mut(key)?;
        let buffer = self.pool.take(connection.held, CLIENTS_MAX.saturating_sub(1 + holders))?;
        connection.held += 1;
        Some(buffer)
    }

    /// Receives payload straight into a buffer, but for what came along with the request.
    fn read_payload(&mut self, volume: &mut dyn Volume, key: Key) -> Went {
        let connection = self.connections.at_mut(key).expect("it is being looked at");
        let Reading::Payload { transaction, part, buffer, filled } = &mut connection.reading else {
            return Went::On;
        };
        let whole = part.payload_in(volume.request_memory(*buffer));
        if *filled < part.payload {
            let skip = |filled: u32| shoal_volume::Memory {
                offset: whole.offset + filled as usize,
                length: whole.length - filled,
            };
            let there = connection.input.take((part.payload - *filled) as usize);
            volume.arena().write(skip(*filled), there);
            *filled += there.len() as u32;
            if *filled < part.payload {
                let rest = skip(*filled);
                if !connection.input.is_readable {
                    self.set_interest(key, EventFlags::IN, true);
                    return Went::Nowhere;
                }
                let (received, count) = connection.input.receive_into(&mut connection.transport, volume.arena(), rest);
                *filled += count;
                connection.moved_at = self.now;
                return if received == Received::Gone { Went::Away } else { Went::On };
            }
        }
        let piece = InFlight { transaction: *transaction, role: Role::Write, part: Some(*part), buffer: Some(*buffer) };
        connection.reading = Reading::Begin(piece.transaction);
        if let Some(it) = self.transactions.at_mut(piece.transaction) {
            it.moved_at = self.now;
        }
        self.submit_part(volume, piece);
        Went::On
    }

    /// Passes over the payload of a write that was refused.
    fn pass_over(&mut self, key: Key, left: u32) -> Went {
        let connection = self.connections.at_mut(key).expect("it is being looked at");
        let left = left - connection.input.take(left as usize).len() as u32;
        connection.reading = if left == 0 { Reading::Request } else { Reading::Refused(left) };
        if left == 0 { Went::On } else { self.receive(key) }
    }

    /// A part of a write goes around what is being put together elsewhere; others go straight to
    /// the volume.
    fn submit_part(&mut self, volume: &mut dyn Volume, piece: InFlight) {
        match (piece.role, piece.part) {
            (Role::Write, Some(part)) if part.is_ragged() => self.mend(volume, piece, part),
            (Role::Write | Role::Zeros | Role::Hole { .. } | Role::Discard, Some(part)) if self.ragged.bars(part) => {
                self.ragged.hold(piece);
            }
            _ => self.submit(volume, piece),
        }
    }

    /// Hands a piece to the volume.
    pub(super) fn submit(&mut self, volume: &mut dyn Volume, piece: InFlight) {
        let span = |buffer: Option<u32>, length| volume.request_span(buffer.unwrap_or(self.zeros), length);
        let command = match (piece.role, piece.part) {
            (Role::Read, Some(part)) => Command::Read { offset: part.offset, span: span(piece.buffer, part.length) },
            (Role::Write | Role::Zeros, Some(part)) => {
                Command::Write { offset: part.offset, span: span(piece.buffer, part.length) }
            }
            (Role::Discard | Role::Hole { .. }, Some(part)) => {
                Command::Discard { offset: part.offset, length: u64::from(part.length) }
            }
            (Role::Edge { at, offset }, _) => {
                let mut edge = volume.request_span(self.ragged.edges, volume.logical_block_bytes());
                edge.offset = at;
                Command::Read { offset, span: edge }
            }
            _ => Command::Flush,
        };
        self.ask(volume, piece, command);
    }
}

/// Whether a part has content of its own.
fn needs_buffer(order: RequestKind, part: Part) -> bool {
    match order {
        RequestKind::Trim { .. } => false,
        RequestKind::WriteZeroes { .. } => part.is_ragged(),
        _ => true,
    }
}

/// How a request is answered that is not even begun.
fn refusal(structured: bool, cookie: u64, errno: Errno, why: &str) -> Reply {
    if structured { Reply::error(cookie, errno, None, why) } else { Reply::simple(cookie, Some(errno), None) }
}

/// A part of a request that brings no payload.
fn piece_without_payload(
    volume: &dyn Volume,
    transaction: Key,
    order: RequestKind,
    part: Part,
    buffer: Option<u32>,
) -> InFlight {
    let role = match (order, buffer) {
        (RequestKind::WriteZeroes { .. }, Some(buffer)) => {
            let memory = part.payload_in(volume.request_memory(buffer));
            volume.arena().write(memory, &vec![0; part.payload as usize]);
            Role::Write
        }
        (RequestKind::WriteZeroes { may_discard: true, is_fast, .. }, None) => Role::Hole { is_fast },
        (RequestKind::WriteZeroes { .. }, None) => Role::Zeros,
        (RequestKind::Trim { .. }, _) => Role::Discard,
        _ => Role::Read,
    };
    InFlight { transaction, role, part: Some(part), buffer }
}

/// The first byte of the volume that a request is about, and the first behind them.
fn extent(order: RequestKind, offset: u64, length: u32, block: u64) -> (u64, u64) {
    let end = offset + u64::from(length);
    match order {
        // Only whole blocks can be without use.
        RequestKind::Trim { .. } => (offset.next_multiple_of(block), end / block * block),
        RequestKind::Flush => (0, 0),
        _ => (offset, end),
    }
}
