//! Arrays that run in a process of their own, and are administered while they do.
//!
//! ```text
//!  shoal fail, add, scrub, read, ...                      shoal run
//!  ┌──────────────────────────┐                 ┌───────────────────────────────────┐
//!  │ command ─► Handle        │   lines of JSON │ clients ─► sessions ─jobs─► server│
//!  │            ├─ Host ──────┼─ (at hand)      │            (threads)        │     │
//!  │            └─ Client ────┼────────────────►│                            Host   │
//!  └──────────────────────────┘    a socket     └───────────────────────────────────┘
//! ```
//!
//! A command does not care who runs the array: [`reach()`] finds out, and gives it a [`Handle`]. If
//! a process runs the array, that is a [`Client`]; if not, the array is opened, as a [`Host`]. The
//! process that runs an array has the same `Host`, so whatever can be done is done by one code.
//!
//! The array belongs to one thread, the [`Server`]'s. All that could make it wait happens in
//! others: reading a client's requests and writing to it (`session`), surveying and opening the
//! drive that it names (`order`), looking for drives that are gone (`outage`).
//!
//! Taken from those who do this well: a request carries an id that comes back (QEMU's QMP); clients
//! are bounded, and what cannot be understood ends the connection (SPDK). Unlike theirs, news are
//! not sent by themselves but are part of the state, so that there is one answer to one request and
//! a client needs no second way of listening.

#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may fail by panic"))]

mod bulletin;
mod client;
mod clients;
mod engine;
mod gather;
mod handle;
mod host;
mod identity;
mod incarnation;
mod jobs;
mod kernel;
mod leftovers;
mod limits;
mod list;
mod members;
mod opening;
mod order;
mod outage;
mod place;
mod reach;
mod reach_error;
#[cfg(test)]
mod rig;
mod seats;
mod server;
mod service;
mod session;
mod silence;
mod traffic;
mod watch;
mod wire;
mod world;
mod write_back;

pub use client::Client;
pub use engine::{Absence, Engine, EngineError, Resumption};
pub use gather::{wait_for_members, when_free};
pub use handle::{ExecuteError, Handle, SpeedError};
pub use host::Host;
pub use incarnation::incarnation;
pub use kernel::{StopError, claim_for_kernel, hand_over, kernel_state, refuse_held, stop_in_kernel};
pub use list::{Unheard, running_arrays};
pub use members::{Members, open_members};
pub use opening::{ArrayAddress, ClaimError, EngineChoice, Opening, SERVED_BUFFERS, Setup};
pub use place::{
    PlaceError, check_named as check_named_socket, make_directory as make_runtime_directory,
    own_directory as own_runtime_directory, socket_for_clients,
};
pub use reach::{Users, claim, inspect, reach, reach_running, runner, simulate};
pub use reach_error::ReachError;
pub use server::{RunError, Server, StartError, Stopper, try_socket};
pub use service::Service;
pub use silence::Silence;
pub use watch::{WatchError, check_alerts, host_name, or_alert, tell_gone};
pub use wire::ConnectError;
pub use world::{HostWorld, NewDriveError};
pub use write_back::WriteBack;
