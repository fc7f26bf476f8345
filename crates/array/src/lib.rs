//! shoal's array engine: a pure state machine that turns requests on an array into I/O on its
//! members.
//!
//! The engine performs no I/O and owns no bytes, clock, thread or source of randomness. Requests,
//! completions and the time go in; member I/O, computations on buffers and events come out. Whoever
//! drives it decides where the bytes are and what a member is: a drive, a simulated drive, or
//! another array.
//!
//! * [`Geometry`] maps array bytes to member bytes and back, for every level and layout of Linux
//!   md.
//! * [`Array`] runs requests over a geometry: degraded reads and writes, parity updates, rebuild,
//!   scrub.
//!
//! The crate is `no_std` with `alloc`, has no dependencies and no unsafe code; a build without the
//! standard library is part of the project's gates.
//!
//! Where a byte lives:
//!
//! ```
//! use shoal_array::{Geometry, Level, ParityLayout, Role, Shape};
//!
//! const CHUNK: u64 = 64 << 10;
//! let level = Level::Raid5(ParityLayout::LeftSymmetric);
//! let geometry = Geometry::new(Shape { level, chunk_bytes: 64 << 10, member_bytes: vec![1 << 30; 4] })?;
//! assert_eq!(geometry.capacity_bytes(), 3 << 30);
//!
//! // The fourth chunk is the first of the second row. Parity has moved from the last member to the one before it, and
//! // the data begin behind the parity.
//! let piece = geometry.piece(3 * CHUNK, 4096);
//! assert_eq!(*piece.copies, [(Role(3), CHUNK)]);
//! # Ok::<(), shoal_array::ShapeError>(())
//! ```
//!
//! One request through the engine, with a driver that does everything at once:
//!
//! ```
//! use shoal_array::{
//!     Array, BufferId, Command, Completion, Config, Effect, Event, Instant, Level, MemberState, Outcome, Request,
//!     RequestId, Scratch, Shape, Span,
//! };
//!
//! let shape = Shape { level: Level::Raid1, chunk_bytes: 0, member_bytes: vec![1 << 20; 2] };
//! let scratch = Scratch { first: BufferId(1), count: 4, bytes_each: 4096 };
//! let mut array = Array::new(Config::new(shape, vec![MemberState::InSync; 2], scratch))?;
//! let now = Instant { ns: 0 };
//! let span = Span { buffer: BufferId(0), offset: 0, length: 4096 };
//! array.submit(now, Request { id: RequestId::client(7), command: Command::Write { offset: 8192, span } });
//!
//! let mut written = Vec::new();
//! while let Some(effect) = array.poll_effect() {
//!     let Effect::Io { id, role, .. } = effect else { panic!("a mirror needs no computation") };
//!     written.push(role.index()); // here a driver writes the span to its member
//!     array.handle_outcome(now, id, Outcome::Done);
//! }
//! assert_eq!(written, [0, 1]);
//! let answer = Completion { id: RequestId::client(7), result: Ok(()) };
//! assert_eq!(array.poll_event(), Some(Event::Completed(answer)));
//! # Ok::<(), shoal_array::ShapeError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod array;
mod effect;
mod geometry;
mod request;
mod units;

pub use array::{
    Array, Background, BadBlocks, BadBlocksFull, Blame, CommandError, Config, Event, Health, JobProgress, LogRoom,
    Matter, MemberState, Mismatch, Regions, Resync, Scratch, ScrubMode,
};
pub use effect::{Block, Compute, Effect, Fault, MemberIo, Outcome, PartialParity};
pub use geometry::{Copies, Geometry, Home, Piece, Position, ShapeError, Stripe, UnknownLayout};
pub use geometry::{Level, ParityLayout, Raid0Layout, Raid10Layout, Shape};
pub use request::{Command, Completion, Request, RequestError};
pub use units::{BufferId, EffectId, Instant, RequestId, Role, Span, Submitter};
