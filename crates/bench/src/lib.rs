//! Load on a [`shoal_volume::Volume`], and what comes of it.
//!
//! One record per request (what, where, when submitted, when completed, with which result) streams into projections:
//! totals, histograms, a time series. Each number carries its validity: see [`Validity`].

mod result;

pub use result::{
    Bucket, Cpu, DirectionResult, Interval, Latency, Limit, Measurement, Pattern, Reason, ReasonCode,
    TargetDescription, TargetKind, Validity, Verdict, Workload,
};
