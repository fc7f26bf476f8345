//! A client of one export of an NBD server, which outlives the server: it connects again, and asks
//! again for what was not answered. Every operation is answered within its deadline.
//!
//! ```text
//!  submit ──► room ──► line ──► ledger ──► socket ──► server
//!                       │  ▲                  │
//!                done ◄─┘  └──── thread ◄─────┘        one thread and one socket each line
//! ```
//!
//! # What asking again means
//!
//! An operation that was not answered may have been carried out, in part, or not at all; it is
//! carried out again. That is safe under four conditions, and each is seen to:
//!
//! **Twice is the same as once.** All operations say what is to be where, none of them how it is to
//! change.
//!
//! **The first time is over before the second begins.** Else an old write could undo a newer one,
//! which was submitted when the second time had been answered. If the server's process is gone,
//! what it had under way is too: its successor cannot claim the array's members before the kernel
//! has ended the I/O of the process that had claimed them. If the process lives on, the end of the
//! old connection is in its hands before the new one is made; of what a connection that has ended
//! left unread it begins nothing once another has come (`shoal_serve`), and what it had begun went
//! to the volume first, which keeps the order of writes that overlap. So there is one rule on this
//! side: a connection is shut down before another is made, and *an operation that runs out of time
//! takes its connection along*, as nobody may find it carried out later.
//!
//! **Order is nobody's promise.** Operations under way at the same time have no order among each
//! other, neither here nor the second time; whoever wants one waits for an answer, as the kernel's
//! block layer does. Should two writes that are under way together overlap, they are sent again in
//! the order in which they were submitted, and what is left is one of the two outcomes that were
//! allowed before.
//!
//! **What was answered and not flushed is still there, or a flush fails.** A write that was
//! answered lies in the drives or their caches, below the server's process, and a flush through the
//! next process covers it as one through the first would have. This holds as long as the *machine*
//! and its *drives* go on: had one of them lost its power, writes would be gone that nobody asks
//! for again, and the flush that follows would claim otherwise. A Unix socket has both ends on one
//! machine, which lose power together. A TCP connection has not: so **over TCP nothing is ever
//! asked again**; TCP itself retransmits what a bad link has dropped, and when it gives up
//! everything fails (`EIO`).
//!
//! Drives may lose their power under a machine that goes on: a hub with a supply of its own is
//! unplugged. A server that lives through it has members that fail, and says so; one that ends with
//! it is followed by another that knows nothing. So a server tells at the handshake by which
//! *incarnation* each drive is known (`x-shoal:incarnation`, see `shoal_serve`): for a drive of
//! this kernel, the number that it had when it appeared, which is never given twice (`diskseq`).
//! The client compares, drive by drive, when it comes again. If a drive that it knew is another
//! incarnation, and something was answered that no flush has covered ([`Unflushed`]), the next
//! flush fails with `EIO`, once: what a kernel's device does whose cache was lost, and what file
//! systems and databases know what to do with. What was flushed is on the medium, so nobody is told
//! of a drive that lost its power with nothing in its cache. A drive that is missing is no reason:
//! the array knows that it lacks what was written meanwhile. Nor is a drive that is new to the
//! client and was plugged in before the last handshake, as the server tells the highest number of
//! all disks with it. It is a reason, though no content may be lost, if a drive was plugged in and
//! became a member, or a member was pulled and taken back, and then the server is killed, all with
//! something unflushed: the client hears of incarnations at handshakes only. A front that takes the
//! place of a killed one believes that something was not flushed.
//!
//! # Who is there
//!
//! A socket's path may lead to another array the next time. The description, size and abilities of
//! the export have to be what they were (`shoal serve` puts the array's UUID into the description);
//! otherwise it is as if nobody were there.
//!
//! # Time and memory
//!
//! What is not answered in time fails with `ETIMEDOUT`, whether the server is gone, or stands
//! still. While it is gone there is one deadline for all that waits: it counts from when the first
//! began to, and when it is over, what comes later fails at once. Had each request its own, a
//! program that makes them one after the other would wait for days. When a server is there again
//! all is as before. No more than 256 operations and 64 MiB are under way; whoever submits more
//! waits, no longer than the deadline as those before are answered by then. What a server says
//! never decides how much memory is taken (`incoming`).

mod handshake;
mod incoming;
mod ledger;
mod line;
mod operation;
mod room;
mod socket;

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use shoal_serve::Address;
use shoal_serve::protocol::transmission;
use shoal_volume::Unflushed;

use crate::limits::{CONNECTIONS_MAX, TRANSFER_BYTES_MAX};
use handshake::Handshake;
use line::{Again, Line};
use room::Room;
use socket::ShakeError;

pub use handshake::{HandshakeError, Terms, TermsError};
pub use operation::{Ability, Answer, Done, Operation};

/// How long the first handshake may take.
const FIRST_PATIENCE: Duration = Duration::from_secs(60);

/// How to be a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientOptions {
    /// The export's name; empty for the server's first.
    pub export: String,
    /// How long one operation may take, with all that it takes to connect again; and how long a
    /// server may be gone before operations fail at once.
    pub deadline: Duration,
    /// How many connections; more than one only where the server allows it.
    pub connections: u32,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens there, or not to us.
    #[error("{server}: {source}: is the array served there?")]
    Unreachable {
        /// Where.
        server: String,
        /// What the system says.
        source: io::Error,
    },
    /// No agreement was come to.
    #[error("{server}: {source}")]
    Handshake {
        /// Where.
        server: String,
        /// Why.
        source: HandshakeError,
    },
    /// The system gives no thread or file.
    #[error("a client's thread: {0}")]
    System(#[from] io::Error),
}

/// A client of one export. It connects again by itself, and answers every operation within the
/// deadline. Clones are the same client; when the last one is gone, what is under way is still
/// answered.
#[derive(Clone, Debug)]
pub struct Client(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    terms: Terms,
    deadline: Duration,
    lines: Vec<Arc<Line>>,
    turn: AtomicUsize,
    room: Arc<Room>,
}

impl Client {
    /// Connects to the server at a Unix socket, and stays connected.
    pub fn connect(socket: &Path, options: &ClientOptions) -> Result<Self, ClientError> {
        Self::open(&Address::Unix(socket.to_owned()), options)
    }

    /// Connects to a server anywhere. Over TCP the client does not connect again.
    pub fn open(address: &Address, options: &ClientOptions) -> Result<Self, ClientError> {
        let (socket, terms) = agree(address, &options.export, true)?;
        let again = matches!(address, Address::Unix(_)).then(|| Again {
            address: address.clone(),
            export: options.export.clone(),
            terms: terms.clone(),
        });
        let unflushed = Arc::new(Unflushed::new(terms.incarnation.clone()));
        let mut lines = vec![Line::start(Some((socket, terms.is_structured)), again.clone(), Arc::clone(&unflushed))?];
        if terms.flags & transmission::CAN_MULTI_CONN != 0 {
            for _ in 1..options.connections.min(CONNECTIONS_MAX) {
                let (socket, terms) = agree(address, &options.export, true)?;
                let agreed = Some((socket, terms.is_structured));
                lines.push(Line::start(agreed, again.clone(), Arc::clone(&unflushed))?);
            }
        }
        let (turn, room) = (AtomicUsize::new(0), Arc::default());
        Ok(Self(Arc::new(Inner { terms, deadline: options.deadline, lines, turn, room })))
    }

    /// A client of a server at a Unix socket that promised `terms` to another client, which is
    /// gone. It need not be there yet: it is connected to as if a connection had just broken, and
    /// operations wait for that until their deadline.
    pub fn expect(socket: &Path, terms: Terms, options: &ClientOptions) -> Result<Self, ClientError> {
        let address = Address::Unix(socket.to_owned());
        let again = Again { address, export: options.export.clone(), terms: terms.clone() };
        let unflushed = Arc::new(Unflushed::inherited(terms.incarnation.clone()));
        let lines = vec![Line::start(None, Some(again), unflushed)?];
        let (turn, room) = (AtomicUsize::new(0), Arc::default());
        Ok(Self(Arc::new(Inner { terms, deadline: options.deadline, lines, turn, room })))
    }

    /// What the server has promised.
    pub fn terms(&self) -> &Terms {
        &self.0.terms
    }

    /// Bytes of content.
    pub fn size_bytes(&self) -> u64 {
        self.0.terms.size_bytes
    }

    /// What operations should be multiples of, in bytes.
    pub fn block_bytes(&self) -> u32 {
        self.0.terms.block_bytes.preferred
    }

    /// What the server says of the export.
    pub fn description(&self) -> &str {
        &self.0.terms.description
    }

    /// Whether writes are refused.
    pub fn is_read_only(&self) -> bool {
        self.0.terms.flags & transmission::READ_ONLY != 0
    }

    /// Whether the server can do this.
    pub fn can(&self, ability: Ability) -> bool {
        let flag = match ability {
            Ability::Flush => transmission::SEND_FLUSH,
            Ability::Fua => transmission::SEND_FUA,
            Ability::Discard => transmission::SEND_TRIM,
            Ability::WriteZeroes => transmission::SEND_WRITE_ZEROES,
            Ability::FastZeroes => transmission::SEND_FAST_ZERO,
            Ability::SeveralConnections => transmission::CAN_MULTI_CONN,
        };
        self.0.terms.flags & flag != 0
    }

    /// How long an operation may take.
    pub fn deadline(&self) -> Duration {
        self.0.deadline
    }

    /// Why there is no connection at the moment, if there is none.
    pub fn trouble(&self) -> Option<String> {
        self.0.lines.iter().find_map(|line| line.trouble())
    }

    /// Has something done. `done` is called exactly once, from a thread of the client's, and within
    /// the deadline; it must neither block nor submit. Waits while too much is under way.
    pub fn submit(&self, operation: Operation, done: Done) {
        let inner = &*self.0;
        let line = &inner.lines[inner.turn.fetch_add(1, Ordering::Relaxed) % inner.lines.len()];
        if let Err(errno) = self.judge(&operation) {
            return line.refuse(done, errno);
        }
        let share = inner.room.enter(operation.bytes());
        line.submit(operation, done, inner.deadline, share);
    }

    /// Whether the server could do it.
    fn judge(&self, operation: &Operation) -> Result<(), Errno> {
        let (offset, length) = match operation {
            Operation::Read { offset, length }
            | Operation::Discard { offset, length }
            | Operation::WriteZeroes { offset, length, .. }
            | Operation::FastZeroes { offset, length } => (*offset, u64::from(*length)),
            Operation::Write { offset, data, .. } => (*offset, data.len() as u64),
            Operation::Flush if self.can(Ability::Flush) => return Ok(()),
            Operation::Flush => return Err(Errno::OPNOTSUPP),
        };
        if self.is_read_only() && !matches!(operation, Operation::Read { .. }) {
            return Err(Errno::ROFS);
        }
        let most = self.0.terms.block_bytes.most.min(TRANSFER_BYTES_MAX);
        let is_content = matches!(operation, Operation::Read { .. } | Operation::Write { .. });
        let is_within = offset.checked_add(length).is_some_and(|end| end <= self.size_bytes());
        if length == 0 || !is_within || (is_content && length > u64::from(most)) {
            return Err(Errno::INVAL);
        }
        let ability = match operation {
            Operation::Write { fua: true, .. } => Some(Ability::Fua),
            Operation::Discard { .. } => Some(Ability::Discard),
            Operation::WriteZeroes { .. } => Some(Ability::WriteZeroes),
            Operation::FastZeroes { .. } => Some(Ability::FastZeroes),
            _ => None,
        };
        if ability.is_some_and(|ability| !self.can(ability)) { Err(Errno::OPNOTSUPP) } else { Ok(()) }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.lines.iter().for_each(|line| line.close());
    }
}

/// A connection on which everything is agreed.
pub(crate) fn agree(
    address: &Address,
    export: &str,
    wants_structured: bool,
) -> Result<(std::os::fd::OwnedFd, Terms), ClientError> {
    let server = || address.to_string();
    let socket = socket::open(address).map_err(|source| ClientError::Unreachable { server: server(), source })?;
    let handshake = Handshake::new(export, wants_structured);
    let terms = socket::shake_hands(socket.as_fd(), handshake, Instant::now() + FIRST_PATIENCE);
    let terms = terms.map_err(|error| match error {
        ShakeError::Io(source) => ClientError::Unreachable { server: server(), source },
        ShakeError::Handshake(source) => ClientError::Handshake { server: server(), source },
    })?;
    Ok((socket, terms))
}
