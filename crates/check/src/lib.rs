//! Does a drive have the capacity that it claims?
//!
//! ```text
//!  plan ──places, dense area──► probe (a World: real drives, files, simulated ones) ──what was seen──► judge ──► Report
//! ```
//!
//! Every block that is written says, sector by sector, for which offset it was meant (`stamp`). So
//! a block that is read back tells where a write went that went elsewhere.
//!
//! **The probe** (`probe`) writes single blocks at *places*, from the highest down: one at each
//! multiple of a stride, others at powers of two from both ends and at random. Then it writes a
//! *dense area* at the start of the drive, which is as long as the stride, and reads everything
//! back, the oldest first. Three things follow:
//!
//! * If addresses repeat after `W` bytes, one of the strided places lies in the window that lands
//!   on the dense area, so it reads back the stamp of the place `W` below. That finds every `W`,
//!   and which it is, with as many writes as there are strides, and not only powers of two.
//! * Between the writing of a place and its reading lies the dense area. A cache that is smaller
//!   than half of it can hide nothing: the first half is read after the second was written.
//! * Beyond the real end, places are lost. Where the end is, is found by rounds of 32 places
//!   between the last that held and the first that was lost, each round with the dense area between
//!   writing and reading.
//!
//! **Confidence.** If all of `k` random places held, then with 95 % confidence at most
//! `1 - 0.05^(1/k)` of the drive is bad: if more were, the chance that none of `k` independent
//! places meets it would be less than 0.05. A *fake* is told by `n` places that a sound drive would
//! have held. It is taken that a sound drive loses or confuses one write in a thousand without an
//! error, which is worse than any that is sold; then the chance that all `n` are such is
//! `10^(-3n)`, and the confidence is `1 - 10^(-3n)`. The same holds for *damaged*. A full check
//! that holds leaves nothing to chance but the cache. *Unsure* has no confidence.

#![forbid(unsafe_code)]

mod access;
mod full;
mod judge;
mod limits;
mod look;
mod plan;
mod probe;
mod report;
mod stamp;
mod verdict;

pub use access::{CheckError, Watch};
pub use limits::STEP_BYTES_MAX;
pub use plan::{Cost, PlanError, WritePlan, plan};
pub use report::{Evidence, Kind, Report, Tally, Verdict};
pub use stamp::wrote;
pub use verdict::{Depth, check};
