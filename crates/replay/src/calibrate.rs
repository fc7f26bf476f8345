//! Rates of single drives from published figures of single drives: solved on the simulated drive
//! itself, with the same methods and host that measure it afterwards.
//!
//! The catalogue's descriptions have such rates too, for whoever meets the drives elsewhere. Here
//! the host of the study is part of the figure: what it loses between windows, or leaves dirty in
//! memory, is not the drive's.

use shoal_sim::{DriveModel, Medium};

use crate::ReplayError;

/// Steps of the secant method; times are so nearly linear in what they are made of that a few are
/// enough.
const STEPS: u32 = 8;
/// Near enough: one part in ten thousand.
const NEAR: f64 = 1e-4;

/// The argument at which a function reaches `target`, of one that grows, and nearly as a straight
/// line: a time, of a time that it is made of. The search begins with half of the target and all of
/// it.
pub(crate) fn solve(function: impl Fn(f64) -> Result<f64, ReplayError>, target: f64) -> Result<f64, ReplayError> {
    let (mut before, mut now) = (target / 2.0, target);
    let (mut at_before, mut at_now) = (function(before)?, function(now)?);
    for _ in 0..STEPS {
        if (at_now / target - 1.0).abs() < NEAR || at_now == at_before {
            break;
        }
        let next = now + (target - at_now) * (now - before) / (at_now - at_before);
        // What is asked for may be out of reach: no time is shorter than none.
        (before, now) = (now, next.max(target * 1e-6));
        (at_before, at_now) = (at_now, function(now)?);
    }
    Ok(now)
}

/// Nanoseconds a byte, of MB/s; and back.
pub(crate) fn ns_per_byte(megabytes_per_s: f64) -> f64 {
    1e3 / megabytes_per_s
}

/// The stick, which takes so long to read a byte.
pub(crate) fn with_read_time(mut model: DriveModel, byte_ns: f64) -> DriveModel {
    if let Medium::Flash(flash) = &mut model.medium {
        flash.bytes_per_s.read = (1e9 / byte_ns) as u64;
    }
    model
}

/// The stick, which takes so long to write a byte.
pub(crate) fn with_write_time(mut model: DriveModel, byte_ns: f64) -> DriveModel {
    if let Medium::Flash(flash) = &mut model.medium {
        flash.bytes_per_s.write = (1e9 / byte_ns) as u64;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nearly_a_line_is_solved() {
        let line = solve(|x| Ok(3.0 * x + 7.0), 100.0).unwrap();
        assert!((line - 31.0).abs() < 1e-2, "{line}");
        let bent = solve(|x| Ok(x.max(5.0) + 0.01 * x * x), 12.0).unwrap();
        assert!((bent + 0.01 * bent * bent - 12.0).abs() < 1e-3, "{bent}");
    }
}
