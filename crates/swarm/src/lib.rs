//! Fault hunting: a seed is a world of drives, faults and power cuts; checkers judge what an array
//! makes of it.
//!
//! [`sample`] makes a [`Scenario`] of a seed, as data: an array, drives and buses, what its user
//! does, what goes wrong. The player plays it on the array that ships,
//! [`shoal_volume::ArrayVolume`], over simulated drives. [`hunt()`] does that for many seeds, and
//! [`shrink()`] makes one that fails as small as it gets. A run is a function of its scenario, bit
//! for bit: [`Played::trace_hash`] covers every I/O, its time, and every answer.
//!
//! *The safety phase.* While faults are at work, what was flushed is there, everything else is old
//! or new, every request is answered, once, in time, and well. *The liveness phase.* The faults
//! stop, drives come back or are replaced; the array has to become well again: in sync, scrubbed
//! without a finding, with the right content, and, closed in order, with the same content without
//! any single one of its members. The files in `checkers/` say what they check, and what not.
//!
//! *Lives.* Power is cut at any start or end of an I/O of the array: under way, in a record run,
//! while it is opened, replays a log, is closed, takes a drive in, is rebuilt. What no flush covers
//! is kept, lost, torn or reordered. Every start has a subset of the drives: any that the level can
//! do without may stay away, for any number of lives, and come back. Each life has what the one
//! before had in sync, but for what the level can spare. The host remembers the array and must not
//! refuse that. In half of the lives all that was ever written is read before anything else.
//!
//! *Apart.* Now and then any other subset is started on a copy of the world, perhaps after a second
//! host, which has never seen the array, has run a third one, and this host the rest of them. What
//! the memory lets through holds what was flushed, here or there; if both went on, here.
//!
//! *Outages.* Drives hang, at any time and while an array is opened, and have to be given up in
//! time. All drives of a hub lose their power while the host lives on; if the array fails by it, it
//! is opened anew, and its user's next flush has to fail if he was answered what no flush covers.
//!
//! *What the world has.* All levels, most layouts, arrays of arrays, up to 24 members, drives of
//! different size; spares; bitmaps and partial parity logs; write-back windows, of three worlds in
//! ten; makes of drives of very different speed on up to three buses; up to sixteen overlapping
//! requests in flight; scrubs, replacements, members taken out, restarts. Drives stall, fail to
//! read, write or flush (and give up what the flush was to cover), have sectors that cannot be read
//! until they are written, in their content and in superblock, bitmap and logs, have superblocks,
//! bitmaps and partial parity logs with a wrong bit, lie about flushes, are pulled (and lose their
//! cache) and come back under another name. Half of the worlds have much of one kind of trouble.
//! All of that within what the level survives: no more members of an array are weak at a time than
//! it has redundancy for. A fault beyond that is passed over, and counted. But for the last copy of
//! a mirror: there errors come as well, and whoever asks has to be told; a flush that fails is not
//! made good by the next one. And on arrays without redundancy, which fail by it and are opened
//! anew. Owners ask for what has to be refused, and strangers that carry the array's name lie
//! beside its members (on a copy of the world: on a host that does not know the array a stranger
//! that is as fresh as they are may do what he likes, but for a panic).
//!
//! *Out of order.* In three worlds of five drives hold some I/Os before they begin them, and some
//! answers: of what is under way at a time anything may come first, as with real drives that have a
//! queue (`out_of_order.rs`).
//!
//! *What others have done meanwhile.* Linux runs an array with parity meanwhile and is killed, and
//! what only its write journal has by then is replayed. The owner lets an array grow, by more
//! members, to another chunk or layout, stopped or cut short, and gone on with at the next start.
//! Members fail and power is cut in the midst of both; the journal's own drive is spared, and a
//! host whose array grows comes back with all its drives, but for one that a reshape under way can
//! do without.
//!
//! *What md's format cannot survive by design* is counted apart: blocks in the write hole of an
//! array without a log, and blocks that silent faults (flipped bits, writes lost, misdirected,
//! torn, flushes that make nothing durable) bear on. Which blocks those are is known by place, not
//! by what they hold.
//!
//! *What it does not have.* Errors beyond what parity or the copies of a RAID10 survive; flipped
//! bits in lists of bad blocks; in arrays of arrays lies about flushes, and silent faults beside
//! flipped bits; mirrors over parity that was never resynced; growth with silent faults, and
//! journals that fail (for these see `power_cuts` among the tests of `shoal-volume`); drives of
//! GiB.

#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may fail by panic"))]

mod books;
mod checkers;
mod chronicle;
mod fleet;
mod hunt;
mod journals;
mod limits;
mod out_of_order;
mod player;
mod random;
mod sample;
mod scenario;
mod shrink;
mod watched;

pub use checkers::Failure;
pub use fleet::Make;
pub use hunt::{Find, Hunt, Watch, hunt, play};
pub use limits::FAILURES_MAX;
pub use player::{Counts, Played, Waits};
pub use sample::sample;
pub use scenario::{Growth, Linux, Misuse, Reordering, Run, Scenario, Step, Stranger, Trouble};
pub use shrink::{Shrunk, shrink};
