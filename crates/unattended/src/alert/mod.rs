//! News of an array, for people who are not watching it.
//!
//! ```text
//!  owner's loop ── Sight ──► queue (bounded, never waits) ──► notifier's thread
//!                                                               │ changes: what is different from the last sight
//!                                                               ▼
//!                                                             outbox: a lane for each way out
//!                                                               │ gathers, collapses, limits, tries again
//!                                                               ▼
//!                                                mail, webhook, command
//! ```
//!
//! - **The array never waits.** Its loop hands over what the array is like now, and goes on. If the
//!   queue is full, the newest sight takes the place of the one before it: what changed in between
//!   is told once less, what it has come to is told.
//! - **What is told follows from two sights**, by one table (`changes`). The last one is kept in a
//!   file, so what happened while nobody ran the array, a member that was there and is not any
//!   more, is told at the next start.
//! - **Nothing is lost, and nobody is flooded.** An alert stays in the file until each way out has
//!   taken it. What cannot be sent is tried again, later and later, up to an hour. A lane sends so
//!   many messages an hour; what comes meanwhile goes together into the next one, in which an alert
//!   replaces an earlier one of the same subject. So the last word on every subject always gets
//!   out, and a stick that comes and goes all night is a few messages.
//! - **Secrets are in files**, never among arguments or in what is logged: webhooks' addresses are
//!   secrets too.

mod changes;
mod channel;
mod configuration;
mod kind;
mod notifier;
mod outbox;
mod sight;

pub use channel::SendError;
pub use configuration::{Configuration, ConfigurationError};
pub use kind::{Alert, Kind, Message, Severity};
pub use notifier::{NotStarted, Notifier, NotifierError, Tried, Witness, try_all};
pub use sight::{ArraySight, Health, MemberSight, MemberState, ScrubSight};
