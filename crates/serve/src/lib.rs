//! Arrays for others: a server of network block devices (NBD).
//!
//! ```text
//!   listener's thread          a thread each              the owner's thread
//!  ┌────────────────┐ accept  ┌──────────────┐ arrival  ┌─────────────────────────────┐
//!  │ Listener       │────────►│ Negotiation  │─────────►│ Exporter ◄──► volume ◄─► drives
//!  │ unix:, tcp:    │         │ (and TLS)    │  + bell  │   ▲  sockets                │
//!  └────────────────┘         └──────────────┘          └───┼─────────────────────────┘
//!                                                           └── clients in transmission
//! ```
//!
//! # Who waits for whom
//!
//! A volume has one owner, and one thread. That thread also serves all clients that have come to an
//! agreement: their sockets are in an epoll set, whose file the volume's world watches while it
//! waits for drives. So one wait is for all of them, nothing is polled, no request crosses to
//! another thread, and at depth 1 a read costs what the drive takes and a handful of system calls.
//! Nothing that the owner does for a client waits for it: sockets are read and written as far as
//! they go. What may be slow without end, a client that has yet to say what it wants, has a thread
//! of its own, which it keeps for ten seconds at most ([`Handshakes`]).
//!
//! # Where content lies
//!
//! Payload is received straight into a request buffer of the volume, and sent straight out of it:
//! the kernel's copy between socket and buffer is the only one, and drives read and write the same
//! memory. Buffers are few and shared, so they are what clients compete for; `pool.rs` says how
//! none can take them all. A request longer than a buffer goes in parts, several at a time. Zeros
//! are written out of one buffer of zeros, and what was read and is all zeros is told as a hole to
//! clients that understand it.
//!
//! # What an answer means
//!
//! A write is answered when the volume has answered it; it survives a power cut once a flush that
//! was asked for afterwards is answered, or if it was itself to be durable (FUA), which is answered
//! after a flush of the volume. A flush covers the writes of all connections, so clients may use
//! several (`CAN_MULTI_CONN`). What is no multiple of the volume's block is put together here
//! (`exporter/ragged.rs`), alone with its blocks.
//!
//! A client whose connection broke may connect again and ask again for what was not answered: of
//! what it asked before, nothing is begun after it has come back, and what was begun came to the
//! volume first.
//!
//! # What a client cannot do
//!
//! It cannot make the server keep more than its buffers, 8 KiB of what it says and 256 requests;
//! take more than half of the buffers that are free; hold those that it has for longer than a
//! minute without moving a byte; or bring anything else to a halt. Bytes that make no sense end its
//! connection, and a request that makes none is answered with an error. Whatever becomes of it,
//! requests that have reached the volume are carried out, and their buffers come back.
//!
//! # Incarnations
//!
//! A client that comes again after the server was killed wants to know whether what was answered
//! and not flushed may be lost: whether a drive has lost its power meanwhile. So the server tells
//! which *incarnation* of the content it serves: `LIST_META_CONTEXT` with the query
//! `x-shoal:incarnation` is answered with `x-shoal:incarnation:WORD`. The word is the server's
//! owner's ([`Exports::with_incarnation`]); clients that do not ask hear nothing of it, and it
//! cannot be chosen as a context.
//!
//! # What is not here
//!
//! There is no cache to prefetch into, so `CACHE` succeeds and does nothing. Nobody knows which
//! blocks of an array were ever written, so `BLOCK_STATUS` tells everything as allocated. Zeros are
//! made by discarding, which the volume promises to read as zeros, and written where the volume
//! cannot; whoever asks for `FAST_ZERO` is told `ENOTSUP` then. The size of an export is told at
//! the handshake: a client hears of a new one when it connects again, or from whoever made it (the
//! kernel's `nbd` can be told over netlink), and may use it at once on any connection. The
//! protocol's experimental `RESIZE` is not there, as no client has it.

#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may fail by panic"))]

mod address;
mod bell;
mod connection;
mod export;
mod exporter;
mod handshakes;
mod limits;
mod listener;
mod negotiation;
mod output;
mod pool;
#[expect(missing_docs, reason = "the numbers have the names of the protocol's document, which explains them")]
pub mod protocol;
mod request;
mod slab;
mod tls;
mod transport;

pub use address::{Address, AddressError};
pub use bell::Bell;
pub use export::{Export, ExportError, Exports};
pub use exporter::{DEADLINE, Exporter};
pub use handshakes::Handshakes;
pub use limits::{BUFFER_BYTES_MIN, BUFFERS_MIN, CLIENTS_MAX, PAYLOAD_BYTES_MAX, STRING_BYTES_MAX};
pub use listener::{ListenError, Listener, Protection};
pub use negotiation::{Agreement, Negotiation, Step, TlsStage};
pub use tls::{Clients, TlsError, TlsFiles};
