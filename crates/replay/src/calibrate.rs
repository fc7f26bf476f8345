//! Rates of single drives from published figures of single drives: solved on the simulated drive itself, with the same methods
//! and host that measure it afterwards.
//!
//! The catalogue's descriptions have such rates too, for whoever meets the drives elsewhere. Here the host of the study is
//! part of the figure: what it loses between windows, or leaves dirty in memory, is not the drive's.

use shoal_sim::{DriveModel, Medium};

use crate::ReplayError;

/// Halvings of the interval: to a few parts in a million.
const STEPS: u32 = 20;

/// The argument, between 1 and 100000, at which a growing function reaches `target`, by bisection on a logarithmic scale.
pub(crate) fn solve(function: impl Fn(f64) -> Result<f64, ReplayError>, target: f64) -> Result<f64, ReplayError> {
    let (mut low, mut high) = (1.0_f64, 1e5_f64);
    for _ in 0..STEPS {
        let middle = (low * high).sqrt();
        if function(middle)? < target {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok((low * high).sqrt())
}

/// The stick, reading at another rate.
pub(crate) fn with_read_rate(mut model: DriveModel, megabytes_per_s: f64) -> DriveModel {
    if let Medium::Flash(flash) = &mut model.medium {
        flash.bytes_per_s.read = (megabytes_per_s * 1e6) as u64;
    }
    model
}

/// The stick, writing at another rate.
pub(crate) fn with_write_rate(mut model: DriveModel, megabytes_per_s: f64) -> DriveModel {
    if let Medium::Flash(flash) = &mut model.medium {
        flash.bytes_per_s.write = (megabytes_per_s * 1e6) as u64;
    }
    model
}

/// The stick, with so much more or less lost by a read that does not continue the last.
pub(crate) fn with_longer_random_reads(mut model: DriveModel, by_ms: f64) -> DriveModel {
    if let Medium::Flash(flash) = &mut model.medium {
        flash.random_ns.read = (flash.random_ns.read as f64 + by_ms * 1e6).max(0.0) as u64;
    }
    model
}
