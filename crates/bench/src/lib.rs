//! Load on a [`shoal_volume::Volume`], and what comes of it.
//!
//! * [`Bench`] runs a [`Workload`] and makes [`Measurement`]s: one record per request ([`Event`]: what, where, when
//!   submitted, when completed, with which result) streams into projections (totals, histograms, a time series), and
//!   each number carries its [`Validity`].
//! * [`Verification`] writes a range and compares every byte of it.
//! * [`Fill`] is what is written: incompressible, distinct per block, checkable.
//! * [`Summary`] puts repetitions together.

#![forbid(unsafe_code)]

mod ceiling;
mod clock;
mod cpu;
mod event;
mod fill;
#[cfg(test)]
mod memory_volume;
mod null_volume;
mod projection;
mod pump;
mod result;
mod runner;
mod stats;
mod validity;
mod verify;
mod workload;

pub use clock::{Clock, SystemClock};
pub use cpu::CpuScope;
pub use event::{Direction, Event, Observer};
pub use fill::{Fill, Found, WrongUnit};
pub use projection::Latencies;
pub use result::{
    Bucket, Cpu, DirectionResult, Interval, Latency, Limit, Measurement, Pattern, Reason, ReasonCode,
    TargetDescription, TargetKind, Validity, Verdict, Workload,
};
pub use runner::{Bench, BenchError, Progress, Watch, check_fit, workload_fill};
pub use stats::{Spread, Summary};
pub use validity::{Conditions, UnwrittenProbe, probe_unwritten};
pub use verify::{BetweenRequests, Verification, Verified};
pub use workload::{Blocks, Operation, Operations, WorkloadError};
