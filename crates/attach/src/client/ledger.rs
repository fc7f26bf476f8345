//! What was submitted on a connection and not answered: kept whole, so that it can be sent again.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use rustix::io::Errno;
use shoal_serve::protocol::{REQUEST, REQUEST_BYTES, command};
use shoal_volume::{Mark, Unflushed};

use super::incoming::{Nonsense, Requests, Shape};
use super::operation::{Answer, Done, Operation};
use super::room::Share;

/// Requests that are sent in one go.
const BUNCH: usize = 32;
/// Bytes that are sent in one go, but for a single request.
const BUNCH_BYTES: usize = 1 << 20;

/// An operation without its answer.
pub(super) struct Pending {
    operation: Operation,
    done: Done,
    deadline: Instant,
    /// Of a read: what has come of it on this connection.
    content: Vec<u8>,
    covered: u64,
    error: Option<Errno>,
    share: Share,
    /// What it covers, if it is a flush.
    mark: Mark,
}

/// The operations of a client that are not answered, kept whole. Cookies count up, and every
/// operation has the same time: so the first one is both the first that
/// was submitted and the first that runs out of time.
pub(super) struct Ledger {
    pending: BTreeMap<u64, Pending>,
    /// Those that have not gone out on this connection, or not all of them, in order.
    unsent: VecDeque<u64>,
    /// Bytes of the first of them that have.
    sent_of_first: usize,
    next_cookie: u64,
    /// Whether a server that is shutting down is one that comes again.
    outlives_servers: bool,
    /// Answers to be given once nothing is locked.
    finished: Vec<(Done, Answer)>,
    unflushed: Arc<Unflushed>,
}

impl Ledger {
    /// For a connection that is made again when it breaks, or not.
    pub(super) fn new(outlives_servers: bool, unflushed: Arc<Unflushed>) -> Self {
        let (pending, unsent, finished) = (BTreeMap::new(), VecDeque::new(), Vec::new());
        Self { pending, unsent, sent_of_first: 0, next_cookie: 0, outlives_servers, finished, unflushed }
    }

    /// What was answered and not flushed, by all connections of the client.
    pub(super) fn unflushed(&self) -> &Unflushed {
        &self.unflushed
    }

    pub(super) fn enter(&mut self, operation: Operation, done: Done, deadline: Instant, share: Share) {
        let cookie = self.next_cookie;
        self.next_cookie += 1;
        let (content, mark) = (Vec::new(), self.unflushed.mark());
        let pending = Pending { operation, done, deadline, content, covered: 0, error: None, share, mark };
        self.pending.insert(cookie, pending);
        self.unsent.push_back(cookie);
    }

    /// Answers what never got as far as being an operation.
    pub(super) fn refuse(&mut self, done: Done, errno: Errno) {
        self.finished.push((done, Err(errno)));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// When the first of them runs out of time.
    pub(super) fn first_deadline(&self) -> Option<Instant> {
        self.pending.first_key_value().map(|(_, it)| it.deadline)
    }

    pub(super) fn take_finished(&mut self) -> Vec<(Done, Answer)> {
        std::mem::take(&mut self.finished)
    }

    /// Answers those whose time is over. Whether one of them has gone out, so that it may still be
    /// carried out.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        let mut has_gone_out = false;
        while let Some(entry) = self.pending.first_entry().filter(|entry| entry.get().deadline <= now) {
            let (cookie, pending) = entry.remove_entry();
            if self.unsent.front() == Some(&cookie) {
                self.unsent.pop_front();
                has_gone_out |= std::mem::take(&mut self.sent_of_first) > 0;
            } else {
                has_gone_out = true;
            }
            self.finish(pending, Err(Errno::TIMEDOUT));
        }
        has_gone_out
    }

    /// The connection is gone: all of them are to be sent on the next one, in the order in which
    /// they were submitted.
    pub(super) fn forget_connection(&mut self) {
        for pending in self.pending.values_mut() {
            (pending.content, pending.covered, pending.error) = (Vec::new(), 0, None);
        }
        (self.unsent, self.sent_of_first) = (self.pending.keys().copied().collect(), 0);
    }

    /// There will be no next one.
    pub(super) fn fail_all(&mut self, errno: Errno) {
        (self.unsent, self.sent_of_first) = (VecDeque::new(), 0);
        while let Some((_, pending)) = self.pending.pop_first() {
            self.finish(pending, Err(errno));
        }
    }

    fn finish(&mut self, pending: Pending, answer: Answer) {
        drop(pending.share);
        self.finished.push((pending.done, answer));
    }

    /// Hands out what is to be sent next, in pieces; `send` says how many of their bytes have gone.
    pub(super) fn send(&mut self, send: impl FnOnce(&[&[u8]]) -> Result<usize, Errno>) -> Result<(), Errno> {
        let mut heads = [[0; REQUEST_BYTES]; BUNCH];
        let mut pieces: Vec<&[u8]> = Vec::with_capacity(2 * BUNCH);
        let (mut skip, mut bytes) = (self.sent_of_first, 0);
        let mut lengths = Vec::with_capacity(BUNCH);
        for (head, &cookie) in heads.iter_mut().zip(&self.unsent) {
            let operation = &self.pending[&cookie].operation;
            *head = request(operation, cookie);
            let data = if let Operation::Write { data, .. } = operation { &data[..] } else { &[] };
            lengths.push(head.len() + data.len());
            for piece in [&head[..], data] {
                let skipped = skip.min(piece.len());
                skip -= skipped;
                if skipped < piece.len() {
                    pieces.push(&piece[skipped..]);
                }
                bytes += piece.len() - skipped;
            }
            if bytes >= BUNCH_BYTES {
                break;
            }
        }
        let mut gone = self.sent_of_first + send(&pieces)?;
        for length in lengths {
            if gone < length {
                break;
            }
            gone -= length;
            self.unsent.pop_front();
        }
        self.sent_of_first = gone;
        Ok(())
    }
}

/// A request as it goes over the wire, but for what is written.
fn request(operation: &Operation, cookie: u64) -> [u8; REQUEST_BYTES] {
    let fua = |is_set: bool| if is_set { command::FLAG_FUA } else { 0 };
    let (flags, kind, offset, length) = match operation {
        Operation::Read { offset, length } => (0, command::READ, *offset, *length),
        Operation::Write { offset, data, fua: is_durable } => {
            let length = u32::try_from(data.len()).expect("what is longer was refused");
            (fua(*is_durable), command::WRITE, *offset, length)
        }
        Operation::Flush => (0, command::FLUSH, 0, 0),
        Operation::Discard { offset, length } => (0, command::TRIM, *offset, *length),
        Operation::WriteZeroes { offset, length, may_discard } => {
            let flags = if *may_discard { 0 } else { command::FLAG_NO_HOLE };
            (flags, command::WRITE_ZEROES, *offset, *length)
        }
        Operation::FastZeroes { offset, length } => (command::FLAG_FAST_ZERO, command::WRITE_ZEROES, *offset, *length),
    };
    let mut head = [0; REQUEST_BYTES];
    head[..4].copy_from_slice(&REQUEST.to_be_bytes());
    head[4..6].copy_from_slice(&flags.to_be_bytes());
    head[6..8].copy_from_slice(&kind.to_be_bytes());
    head[8..16].copy_from_slice(&cookie.to_be_bytes());
    head[16..24].copy_from_slice(&offset.to_be_bytes());
    head[24..].copy_from_slice(&length.to_be_bytes());
    head
}

/// A server may only speak of what was sent to it, all of it.
impl Requests for Ledger {
    fn shape(&self, cookie: u64) -> Option<Shape> {
        if self.unsent.front().is_some_and(|&first| cookie >= first) {
            return None;
        }
        Some(match self.pending.get(&cookie)?.operation {
            Operation::Read { offset, length } => Shape::Read { offset, length },
            _ => Shape::Other,
        })
    }

    fn content(&mut self, cookie: u64) -> &mut [u8] {
        let Some(pending) = self.pending.get_mut(&cookie) else { return &mut [] };
        if let (true, Operation::Read { length, .. }) = (pending.content.is_empty(), &pending.operation) {
            pending.content = vec![0; *length as usize];
        }
        &mut pending.content
    }

    fn cover(&mut self, cookie: u64, bytes: u32) {
        if let Some(pending) = self.pending.get_mut(&cookie) {
            pending.covered += u64::from(bytes);
        }
    }

    fn fail(&mut self, cookie: u64, errno: Errno) {
        if let Some(pending) = self.pending.get_mut(&cookie) {
            pending.error.get_or_insert(errno);
        }
    }

    fn complete(&mut self, cookie: u64) -> Result<(), Nonsense> {
        let Some(pending) = self.pending.get_mut(&cookie) else { return Ok(()) };
        if self.outlives_servers && pending.error == Some(Errno::SHUTDOWN) {
            // It is sent again when the server, which is about to end the connection, is there
            // again.
            (pending.content, pending.covered, pending.error) = (Vec::new(), 0, None);
            return Ok(());
        }
        if let (None, Operation::Read { length, .. }) = (pending.error, &pending.operation)
            && pending.covered != u64::from(*length)
        {
            return Err(Nonsense("content of a read is missing, or came twice"));
        }
        let Some(mut pending) = self.pending.remove(&cookie) else { return Ok(()) };
        let mut answer = pending.error.map_or_else(|| Ok(std::mem::take(&mut pending.content)), Err);
        if answer.is_ok() && pending.operation == Operation::Flush {
            answer = self.unflushed.flushed(pending.mark).map(|()| Vec::new());
        } else if pending.operation.needs_flush() {
            // One that failed may have changed something, too.
            self.unflushed.answered();
        }
        self.finish(pending, answer);
        Ok(())
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} operations, {} of them unsent", self.pending.len(), self.unsent.len())
    }
}
