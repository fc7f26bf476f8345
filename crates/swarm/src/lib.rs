//! Fault hunting: a seed is a world of drives, faults and power cuts; checkers judge what an array makes of it.
//!
//! [`sample`] makes a [`Scenario`] of a seed, as data: an array, drives and buses, what its user does, what goes wrong.
//! The player plays it on the array that ships, [`shoal_volume::ArrayVolume`], over simulated drives. [`hunt()`] does that
//! for many seeds, and [`shrink()`] makes one that fails as small as it gets. A run is a function of its scenario, bit for
//! bit: [`Played::trace_hash`] covers every I/O, its time, and every answer.
//!
//! *The safety phase.* While faults are at work, what was flushed is there, everything else is old or new, every request
//! is answered, once, in time, and well. *The liveness phase.* The faults stop, drives come back or are replaced; the array
//! has to become well again: in sync, scrubbed without a finding, with the right content, and, closed in order, with
//! the same content without any single one of its members. The files in `checkers/` say what they check, and what not.
//!
//! *What the world has.* All levels, most layouts, arrays of arrays; spares; bitmaps and partial parity logs; makes of drives of
//! very different speed on up to three buses; up to sixteen overlapping requests in flight; scrubs, replacements, members
//! taken out, restarts. Drives stall, fail to read, write or flush, have sectors that cannot be read until they are
//! written, are pulled (and lose their cache) and come back under another name; power is cut, and what no flush covers is
//! kept, lost, torn or reordered. All of that within what the level survives: no more members of an array are weak at a
//! time than it has redundancy for. A fault beyond that is passed over, and counted.
//!
//! *What md's format cannot survive by design* is counted apart: blocks in the write hole of an array without a log, and
//! blocks that silent faults (flipped bits, writes lost, misdirected, torn) bear on. Which blocks those are is known by place,
//! not by what they hold.
//!
//! *What it does not have.* Drives that lie about flushes; faults in superblocks, bitmaps and logs other than failing writes;
//! silent faults in arrays of arrays beside flipped bits; mirrors over parity that was never resynced; growth; journals; members of different size; two hosts.

#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may fail by panic"))]

mod checkers;
mod fleet;
mod hunt;
mod player;
mod random;
mod sample;
mod scenario;
mod shrink;
mod watched;

pub use checkers::Failure;
pub use fleet::Make;
pub use hunt::{FAILURES_MAX, Find, Hunt, Watch, hunt, play};
pub use player::{Counts, Played};
pub use sample::sample;
pub use scenario::{Run, Scenario, Step};
pub use shrink::{Shrunk, shrink};
