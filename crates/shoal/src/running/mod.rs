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
//! A command does not care who runs the array: [`reach()`] finds out, and gives it a [`Handle`]. If a process runs the array,
//! that is a [`client::Client`]; if not, the array is opened, as a [`host::Host`]. The process that runs an array
//! has the same `Host`, so whatever can be done is done by one code.
//!
//! The array belongs to one thread, [`server`]'s. All that could make it wait happens in others: reading a client's
//! requests and writing to it ([`session`]), surveying and opening the drive that it names ([`order`]), looking for drives that are gone
//! ([`outage`]).
//!
//! Taken from those who do this well: a request carries an id that comes back (QEMU's QMP); clients are bounded, and what
//! cannot be understood ends the connection (SPDK). Unlike theirs, news are not sent by themselves but are part of the
//! state, so that there is one answer to one request and a client needs no second way of listening.

mod bulletin;
mod client;
mod clients;
mod engine;
mod handle;
mod host;
mod incarnation;
mod jobs;
mod kernel;
mod order;
mod outage;
mod place;
mod protocol;
mod reach;
mod server;
mod service;
mod session;
mod traffic;
mod watch;
mod wire;
mod world;

pub(crate) use engine::Engine;
pub(crate) use handle::Handle;
pub(crate) use host::Host;
pub(crate) use incarnation::incarnation;
pub(crate) use kernel::{claim_for_kernel, hand_over, kernel_failure, kernel_state, refuse_held, stop_in_kernel};
pub(crate) use place::{
    DIRECTORY_VARIABLE as RUNTIME_VARIABLE, for_clients as place_for_clients, make_directory as make_runtime_directory,
    own_directory as runtime_directory_if_own,
};
pub(crate) use protocol::{Answer, Command, RequestLine};
pub(crate) use reach::{
    NO_KERNEL_FOR_SIMULATED, Opening, SERVED_BUFFERS, claim_to_run, claim_to_serve, purpose, reach, reach_running,
};
pub(crate) use server::Server;
pub(crate) use service::Service;
pub(crate) use watch::{or_alert, tell_gone};
pub(crate) use world::HostWorld;
