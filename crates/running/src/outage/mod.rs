//! An array whose drives go away together, as a hub that loses its power takes all its sticks
//! along, while the host goes on. It is *paused*: its requests wait, and when the drives are back
//! it is put together anew and they go on.
//!
//! ```text
//!             a request fails,               a drive that               the drives have answered
//!             or the array has               is counted on              all that they were asked,
//!             lost too much                  is gone                    and enough of them are back
//!  running ───────────────────► in doubt ──────────────────► paused ─────────────────────────────► running
//!     ▲                            │ all are there              │ the deadline is over, or it cannot be
//!     └────────────────────────────┘ (errors are told)          └─────────────────► over (requests fail)
//! ```
//!
//! # What is an outage
//!
//! Errors do not say it: a stick that was pulled answers `EIO`, and so does one that has a bad
//! block. So the drives are looked at when a request has failed: what is counted on is there if its
//! path leads to the very device that is open, and its superblock can be read, or it does not
//! answer: a drive that is busy with an error is not gone. If all are there, the drives are broken
//! and not gone, and the error is told, as without any of this. *Counted on* is whom this host has
//! seen in the last update of the array (its book, `shoal_memory`). An update that was announced
//! and not written is taken back there, and half a second passes before the loss of a member is
//! written down: members that vanish one after the other, with no longer between them, are all
//! counted on. A host without a book resumes nothing.
//!
//! # What is held
//!
//! Every request that the array could not serve, whether it failed with the loss or came later, in
//! the order of submission ([`held`]). A request of a client has its own deadline (`shoal_serve`),
//! so none waits longer than it would for a drive that does not answer. Nothing of the old array is
//! under way any more when the new one is made: a late write could undo a newer one. Until the
//! drives have answered all that they were asked nothing is resumed. A write that had reached some
//! members is written again, to all.
//!
//! # What is resumed
//!
//! The old array is forgotten ([`shoal_volume::Frame`]), and one is put together of the drives that
//! are back, by the rules of any start and by the book: a set of members that is older than what
//! was flushed is refused, whatever it says. Nothing is forced, also if the array was started so.
//! Members that somebody else has written to meanwhile (a later update than this process has
//! announced) are refused: clients remember what was there before. What a restart goes on with goes
//! on (resync, rebuild, replacement, the log's replay); a scrub ends, and says that it was not
//! complete.
//!
//! | the deadline of who has waited longest is over | all that are counted on are there | half of it is over | the same was refused before | what is done |
//! | --- | --- | --- | --- | --- |
//! | yes | | | | the end |
//! | no | yes | | no | it is put together |
//! | no | yes | | yes | the end: nothing else will come |
//! | no | none is | | | waiting |
//! | no | no | no | | waiting |
//! | no | no | yes | no | it is put together, if the level can do without the others |
//! | no | no | yes | yes | waiting |
//!
//! A refusal that may end by itself (a drive is busy with whoever looked at it first, or is gone
//! again) is none. The deadline counts from the first request that waits; while none does, the
//! array waits for its drives without end. Half of it counts from when the drives were missed. Who
//! is not back by then is missing, by two updates before the first write, and has to come back as
//! any member that was away.
//!
//! # What is told
//!
//! Drives lose their caches with their power. If something was answered and not flushed when they
//! went, one flush fails of every client that was there, as it would of a kernel's device: a flush
//! that is held fails itself, as does a write that was to be durable. A client that comes later
//! learns by the incarnation of the drives (`shoal_volume::Unflushed`).
//!
//! `status` says that the array is paused, since when and for which drives; people are alerted, and
//! again when it goes on. What would change the array meanwhile (`fail`, `add`, `remove`, `re-add`,
//! `replace`, `scrub`) is refused as busy, at once. `stop` ends the waiting: what is held fails.
//!
//! # What is not meant
//!
//! Arrays that the kernel runs, and simulated ones. A drive that hangs and says nothing: its
//! requests end at their deadline. An array that had lost too much when it was opened.

mod administered;
mod held;
mod last;
mod lookout;
mod patience;
mod requests;
mod resumable;
mod sighting;

pub(super) use patience::Terms;
pub(super) use resumable::Resumable;
