//! Load on a [`shoal_volume::Volume`], and what comes of it. A volume is a plain drive or an array
//! that runs, so both are measured in the same way. Every number comes from one stream of records,
//! one per request; none is reported that the records do not carry, and each says whether it can be
//! trusted.
//!
//! * [`Bench`] runs a [`Workload`] and makes [`Measurement`]s: one record per request ([`Event`]:
//!   what, where, when submitted, when completed, with which result) streams into projections
//!   (totals, histograms, a time series), and each number carries its [`Validity`].
//! * [`Verification`] writes a range and compares every byte of it.
//! * [`Fill`] is what is written: incompressible, distinct per block, checkable.
//! * [`Summary`] puts repetitions together.
//!
//! ```
//! use shoal_bench::Latencies;
//!
//! let mut latencies = Latencies::new();
//! (1..=2000).for_each(|number| latencies.record(number * 1000));
//! let latency = latencies.latency();
//! assert_eq!((latency.min, latency.max), (1000, 2_000_000)); // exact, whatever the histogram rounds
//! assert!(latency.percentiles.contains_key("99"));
//! assert!(!latency.percentiles.contains_key("99.9")); // too few requests lie beyond it to say
//! ```

#![forbid(unsafe_code)]

mod ceiling;
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

pub use cpu::{ProcessTime, machine_busy_ns};
pub use event::{Direction, Event, Observer};
pub use fill::{Fill, Found, WrongUnit};
pub use projection::Latencies;
pub use result::{
    Bucket, Cpu, DirectionResult, Interval, Latency, Limit, Measurement, Members, Pattern, Reason, ReasonCode,
    TargetDescription, TargetKind, Validity, Verdict, Workload,
};
pub use runner::{Bench, BenchError, BenchProgress, Watch, check_fit, check_range, run_together, workload_fill};
pub use stats::{Spread, Summary};
pub use validity::{Conditions, UnwrittenProbe, probe_unwritten};
pub use verify::{BetweenRequests, Verification, Verified};
pub use workload::{Blocks, Operation, Operations, WorkloadError};
