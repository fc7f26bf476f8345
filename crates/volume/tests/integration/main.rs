//! Arrays that run, on files and on simulated drives: what they do, what they survive, and what a
//! power cut leaves of them.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod arrays;
mod bitmap;
mod copies;
mod faults;
mod flushes;
mod hunted;
mod memory;
mod mutated;
mod overtaking;
mod power_cuts;
mod queues;
mod simulated;
mod small_writes;
mod stalls;
mod states;
mod support;
