//! The owner's part: clients in the transmission phase, between their sockets and the volume.
//!
//! ```text
//!  sockets ──► serve ──► requests ──► parts ──► volume.submit
//!     ▲                                              │
//!     └────── replies ◄── finish ◄── completions ◄───┘  volume.turn, which also wakes for the sockets
//! ```
//!
//! A *transaction* is a client's request until it is answered. It is cut into *parts* that fit a
//! buffer; each part that is on its way through the volume is a *piece*. Everything is found by
//! keys that outlive what they name, so a client may vanish at any time: its pieces end unheard,
//! and their buffers go back to the pool.

mod attention;
mod intake;
mod losses;
mod patience;
mod pieces;
mod ragged;
mod resumed;

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use shoal_volume::{Completion, Instant, Submitter, Volume};

use crate::Bell;
use crate::connection::{Connection, Input, Reading};
use crate::export::Exports;
use crate::handshakes::{Arrival, Handshakes};
use crate::limits::BUFFERS_MIN;
use crate::output::{Output, Reply};
use crate::pool::Pool;
use crate::slab::{Key, Slab};
use crate::transport::End;

use attention::Attention;
use intake::BATCH_BYTES;
use losses::Losses;
pub use patience::DEADLINE;
use pieces::{InFlight, Transaction};
use ragged::Ragged;

/// A shorter deadline would keep the owner busy looking at it.
const DEADLINE_MIN: Duration = Duration::from_millis(40);
/// How long clients may take over what they are still owed when the server ends.
const FAREWELL: Duration = Duration::from_secs(10);
/// The event data of the bell; no connection's key has such a number.
const BELL: u64 = u64::MAX;

/// Serves clients in the transmission phase: reads their requests, submits them to the volume, and
/// sends the answers. Never blocks.
#[derive(Debug)]
pub struct Exporter {
    epoll: Arc<OwnedFd>,
    bell: Bell,
    handshakes: Handshakes,
    arrivals: Receiver<Arrival>,
    exports: Arc<Exports>,
    connections: Slab<Connection>,
    transactions: Slab<Transaction>,
    pieces: Slab<InFlight>,
    pool: Pool,
    /// A buffer that holds zeros, and is only read.
    zeros: u32,
    ragged: Ragged,
    /// Connections that are to be looked at again.
    line: VecDeque<Key>,
    /// Connections with something to be sent.
    to_send: Vec<Key>,
    is_ending: bool,
    losses: Losses,
    /// A request of which nothing has moved for so long is answered with an error.
    deadline: Duration,
    /// How much content may still be begun in this turn.
    batch_left_bytes: u32,
    attention: Attention,
    /// The volume's time at the last turn.
    now: Instant,
    /// When clients and their requests were looked at.
    looked_at: Instant,
    /// When the end began.
    ended_at: Instant,
}

impl Exporter {
    /// For exports of a volume, of whose request buffers those in `buffers` are the exporter's: at
    /// least [`BUFFERS_MIN`], each of [`BUFFER_BYTES_MIN`](crate::BUFFER_BYTES_MIN) or more.
    pub fn new(exports: Exports, mut buffers: std::ops::Range<u32>) -> io::Result<Self> {
        assert!(buffers.len() >= BUFFERS_MIN as usize, "an exporter needs {BUFFERS_MIN} buffers, not {buffers:?}");
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let bell = Bell::new()?;
        epoll::add(&epoll, bell.file(), EventData::new_u64(BELL), EventFlags::IN)?;
        let (sender, arrivals) = channel();
        let exports = Arc::new(exports);
        let handshakes = Handshakes::new(sender, bell.clone(), Arc::clone(&exports));
        let (zeros, edges) = (buffers.start, buffers.start + 1);
        buffers.start += 2;
        Ok(Self {
            epoll: Arc::new(epoll),
            bell,
            handshakes,
            arrivals,
            exports,
            connections: Slab::new(),
            transactions: Slab::new(),
            pieces: Slab::new(),
            pool: Pool::new(buffers.rev()),
            zeros,
            ragged: Ragged::new(edges),
            line: VecDeque::new(),
            to_send: Vec::new(),
            is_ending: false,
            losses: Losses::new(),
            deadline: DEADLINE,
            batch_left_bytes: BATCH_BYTES,
            attention: Attention::new(),
            now: Instant { ns: 0 },
            looked_at: Instant { ns: 0 },
            ended_at: Instant { ns: 0 },
        })
    }

    /// Answers requests of which nothing has moved for so long with an error; else [`DEADLINE`].
    pub fn with_deadline(self, deadline: Duration) -> Self {
        Self { deadline: deadline.max(DEADLINE_MIN), ..self }
    }

    /// How long nothing of a request may move.
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Where clients come in.
    pub fn handshakes(&self) -> Handshakes {
        self.handshakes.clone()
    }

    /// Wakes the owner, whatever for.
    pub fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// What the owner's volume is to watch.
    pub fn file(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.epoll)
    }

    /// Clients that are connected. Those that have gone do not count, even if that was not heeded
    /// yet.
    pub fn connections(&self) -> usize {
        self.connections.iter().filter(|(_, it)| it.transport.end() != End::Closed).count()
    }

    /// Takes in what clients have sent, submits it, and sends what they can take. Returns how long
    /// the owner may wait for its volume and for [`Exporter::file`].
    pub fn serve(&mut self, volume: &mut dyn Volume) -> Duration {
        if volume.size_bytes() != self.exports.size_bytes() {
            self.exports = Arc::new(self.exports.resized(volume.size_bytes()));
            self.handshakes.show(Arc::clone(&self.exports));
        }
        self.batch_left_bytes = BATCH_BYTES;
        let mut events = [epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; 32];
        let is_idle = self.pieces.len() == 0 && self.connections.len() > 0 && self.line.is_empty();
        let count = self.attention.events(&self.epoll, volume, is_idle, &mut events);
        self.now = volume.now();
        for event in &events[..count] {
            // Copies, as the struct is packed.
            let (flags, number) = (event.flags, event.data.u64());
            if number == BELL {
                self.bell.silence();
            } else {
                self.heed(volume, Key::of_number(number), flags);
            }
        }
        while let Some(arrival) = self.next_arrival() {
            self.forget_the_gone(volume);
            self.welcome(volume, arrival);
        }
        self.settle(volume);
        let patience = self.patience(volume);
        // What the batch had no room for waits for nothing but its turn.
        if self.batch_left_bytes == 0 && !self.line.is_empty() { Duration::ZERO } else { patience }
    }

    /// Takes its own answers out of `completions`, and sends what comes of them.
    pub fn finish(&mut self, volume: &mut dyn Volume, completions: &mut Vec<Completion>) {
        self.now = volume.now();
        completions.retain(|completion| {
            let is_own = completion.id.submitter == Submitter::Server;
            if is_own {
                self.piece_done(volume, Key::of_number(completion.id.number), completion.result);
            }
            !is_own
        });
        self.settle(volume);
    }

    /// Refuses further clients and further requests.
    pub fn end(&mut self) {
        self.is_ending = true;
        self.handshakes.close();
        self.ended_at = self.now;
    }

    /// Whether nothing is under way after [`Exporter::end`], or clients took too long over it.
    pub fn has_ended(&self) -> bool {
        let owed = self.connections.iter().any(|(_, it)| !it.output.is_empty());
        let is_answered = self.transactions.iter().all(|(_, it)| it.is_given_up);
        is_answered && (!owed || self.since(self.ended_at) > FAREWELL)
    }

    /// Whether the volume still has something of the exporter's, which may be because a drive does
    /// not answer.
    pub fn is_waiting_for_the_volume(&self) -> bool {
        self.pieces.len() > 0
    }

    fn since(&self, then: Instant) -> Duration {
        Duration::from_nanos(self.now.since_ns(then))
    }

    /// A connection's event: flags that were not asked for say that it is broken.
    fn heed(&mut self, volume: &mut dyn Volume, key: Key, flags: EventFlags) {
        let Some(connection) = self.connections.at_mut(key) else { return };
        let is_busy = connection.is_paused || connection.is_in_line || connection.is_leaving;
        // These cannot be left unasked for. What is said last is read, if that can be done now.
        if flags.intersects(EventFlags::HUP | EventFlags::ERR) && (is_busy || !flags.contains(EventFlags::IN)) {
            return self.drop_connection(volume, key);
        }
        if flags.contains(EventFlags::OUT) {
            self.to_send.push(key);
        }
        if flags.contains(EventFlags::IN) {
            connection.input.is_readable = true;
            if is_busy {
                // It will be asked for when there is room for it.
                self.set_interest(key, EventFlags::IN, false);
            } else {
                self.advance(volume, key);
            }
        }
    }

    /// Drops connections whose clients have ended them, with what was not read of them. A client
    /// that was not answered may connect again and ask again: what it asked the first time must not
    /// be begun after what it asks the second time.
    fn forget_the_gone(&mut self, volume: &mut dyn Volume) {
        let all: Vec<Key> = self.connections.iter().map(|(key, _)| key).collect();
        for key in all {
            if self.connections.at_mut(key).is_some_and(Connection::has_gone) || self.is_left_waiting(key) {
                self.drop_connection(volume, key);
            }
        }
    }

    fn welcome(&mut self, volume: &mut dyn Volume, arrival: Arrival) {
        let Arrival { transport, agreement, rest, seat, exports } = arrival;
        if self.is_ending {
            return;
        }
        let interest = EventFlags::IN;
        let mut connection = Connection {
            transport,
            agreement,
            input: Input::new(&rest),
            reading: Reading::Request,
            output: Output::default(),
            under_way: 0,
            held: 0,
            overdue: 0,
            next_flush: self.first_flush(&exports),
            is_in_line: false,
            is_paused: false,
            is_leaving: false,
            interest,
            moved_at: self.now,
            seat,
        };
        // Handshakes may end in another order than that in which clients came, so one that has gone
        // may come in last.
        if connection.transport.end() == End::Closed || self.connections.len() > 0 && connection.has_gone() {
            return;
        }
        let key = self.connections.insert(connection);
        let socket = self.connections.get(key).expect("it was just put there").transport.socket();
        if epoll::add(&self.epoll, socket, EventData::new_u64(key.number()), interest).is_err() {
            return self.drop_connection(volume, key);
        }
        self.advance(volume, key);
    }

    /// Sends and looks again until nothing moves.
    fn settle(&mut self, volume: &mut dyn Volume) {
        loop {
            while let Some(key) = self.to_send.pop() {
                self.send(volume, key);
            }
            // Each once: whoever cannot go on lines up again.
            let mut has_moved = false;
            for _ in 0..self.line.len() {
                let Some(key) = self.line.pop_front() else { break };
                if let Some(connection) = self.connections.at_mut(key) {
                    connection.is_in_line = false;
                    has_moved |= self.advance(volume, key);
                }
            }
            if self.to_send.is_empty() && !has_moved {
                return;
            }
        }
    }

    fn send(&mut self, volume: &mut dyn Volume, key: Key) {
        let Some(connection) = self.connections.at_mut(key) else { return };
        let mut free = Vec::new();
        let sent = connection.output.send(&mut connection.transport, volume.arena(), &mut free);
        connection.held -= free.len();
        free.into_iter().for_each(|buffer| self.pool.give_back(buffer));
        let Ok(has_moved) = sent else { return self.drop_connection(volume, key) };
        if has_moved {
            connection.moved_at = self.now;
        }
        let is_done = connection.output.is_empty();
        if is_done && connection.is_leaving && connection.under_way == 0 {
            return self.drop_connection(volume, key);
        }
        self.set_interest(key, EventFlags::OUT, !is_done);
        if is_done {
            self.resume(key);
        }
    }

    /// Queues an answer.
    fn reply(&mut self, key: Key, reply: Reply) {
        if let Some(connection) = self.connections.at_mut(key) {
            if connection.output.is_empty() {
                connection.moved_at = self.now;
                self.to_send.push(key);
            }
            connection.output.push(reply);
        }
    }

    /// Something of the connection's own has ended: it may go on.
    fn resume(&mut self, key: Key) {
        if let Some(connection) = self.connections.at_mut(key)
            && std::mem::take(&mut connection.is_paused)
        {
            self.line_up(key);
        }
    }

    /// The connection is looked at again, in its turn.
    fn line_up(&mut self, key: Key) {
        if let Some(connection) = self.connections.at_mut(key)
            && !std::mem::replace(&mut connection.is_in_line, true)
        {
            self.line.push_back(key);
        }
    }

    fn set_interest(&mut self, key: Key, flag: EventFlags, is_wanted: bool) {
        let Some(connection) = self.connections.at_mut(key) else { return };
        let mut interest = connection.interest;
        interest.set(flag, is_wanted);
        if interest != connection.interest {
            connection.interest = interest;
            let data = EventData::new_u64(key.number());
            // A socket that is there, and in the set, can be modified.
            let _ = epoll::modify(&self.epoll, connection.transport.socket(), data, interest);
        }
    }

    /// Ends a connection. What the volume has of it goes on, unheard; what has not got there is
    /// forgotten.
    fn drop_connection(&mut self, volume: &mut dyn Volume, key: Key) {
        let Some(mut connection) = self.connections.remove(key) else { return };
        connection.output.forget().into_iter().for_each(|buffer| self.pool.give_back(buffer));
        let cut_short = match connection.reading {
            Reading::Begin(transaction) => Some((transaction, 0)),
            Reading::Payload { transaction, buffer, .. } => {
                self.pool.give_back(buffer);
                Some((transaction, 1))
            }
            Reading::Request | Reading::Refused(_) => None,
        };
        if let Some((transaction, parts_lost)) = cut_short {
            self.cut_short(transaction, parts_lost);
        }
        self.forget_waiting(volume);
        let _ = epoll::delete(&self.epoll, connection.transport.socket());
        connection.transport.close();
    }
}
