//! shoal's array engine: a pure state machine that turns requests on an array into I/O on its members.
//!
//! The engine performs no I/O and owns no bytes, clock, thread or source of randomness. Requests, completions and the
//! time go in; member I/O, computations on buffers and events come out. Whoever drives it decides where the bytes are
//! and what a member is: a drive, a simulated drive, or another array.
//!
//! * [`Geometry`] maps array bytes to member bytes and back, for every level and layout of Linux md.
//! * [`Array`] runs requests over a geometry: degraded reads and writes, parity updates, rebuild, scrub.
//!
//! The crate is `no_std` with `alloc`, has no dependencies and no unsafe code; a build without the standard library
//! is part of the project's gates.
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
    Array, Background, CommandError, Config, Event, Health, MemberState, Mismatch, Progress, Scratch, ScrubMode,
};
pub use effect::{Block, Compute, Effect, Fault, MemberIo, Outcome};
pub use geometry::{Copies, Geometry, Home, Piece, Position, ShapeError, Stripe, UnknownLayout};
pub use geometry::{Level, ParityLayout, Raid0Layout, Raid10Layout, Shape};
pub use request::{Command, Completion, Request, RequestError};
pub use units::{BufferId, EffectId, Instant, RequestId, Role, Span};
