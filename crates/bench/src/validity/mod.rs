//! Whether a measurement shows what it seems to show.

mod unwritten;

pub use unwritten::{UnwrittenProbe, probe_unwritten};

use crate::{Limit, Measurement, Reason, ReasonCode, Validity, Verdict};

/// What is known of a target that bears on its numbers. The default is a target that nothing speaks
/// against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// The page cache is between us and the drive: it could not be opened for direct I/O.
    pub buffered: bool,
    /// What a look at the range before the run found; only reads are judged by it.
    pub unwritten: Option<UnwrittenProbe>,
    /// An array with members missing.
    pub degraded: bool,
    /// An array that is being rebuilt, resynced or scrubbed.
    pub resyncing: bool,
}

/// What is known of a run beside its numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circumstances {
    pub(crate) interrupted: bool,
    pub(crate) flush_failed: bool,
    /// The most requests per second that the load generator could make; 0 if that is not known.
    pub(crate) ceiling_iops: u64,
    /// What the measuring process used of processors meanwhile; 0 where that has no part in the
    /// time.
    pub(crate) processor_ns: u64,
}

/// Fewer requests than this say little.
const FEWEST_IOS: u64 = 30;
/// A shorter run says little.
const SHORTEST_NS: u64 = 100_000_000;
/// A run is held to be limited by the generator if it reached this part of what the generator can
/// do.
const GENERATOR_PERCENT: u64 = 33;
/// A run is held to be limited by the processor if the measuring process used this much of one.
const CPU_PERCENT: u64 = 95;
/// No single thing one can buy, and no bus that shoal's drives hang on, moves as many bytes in a
/// second.
const IMPLAUSIBLE_BYTES_PER_S: u64 = 30_000_000_000;
/// No drive answers a single request as fast; memory does.
const IMPLAUSIBLE_LATENCY_NS: u64 = 4_000;
/// With more all-zero samples than this, reads show nothing.
const UNWRITTEN_PERCENT_INVALID: u64 = 50;
/// With more all-zero samples than this, reads are doubtful.
const UNWRITTEN_PERCENT_SUSPECT: u64 = 5;

/// The validity that nothing speaks against.
pub(crate) fn valid() -> Validity {
    Validity { verdict: Verdict::Valid, reasons: Vec::new() }
}

/// Weighs a measurement.
pub(crate) fn judge(measurement: &Measurement, conditions: &Conditions, run: &Circumstances) -> Validity {
    let mut reasons = Vec::new();
    done(measurement, run, &mut reasons);
    if measurement.ios > 0 {
        enough(measurement, &mut reasons);
        limited_elsewhere(measurement, run, &mut reasons);
        if measurement.target.simulated.is_none() {
            // A model has no cache but those that it is meant to have, and does not know what was
            // written.
            answered_elsewhere(measurement, conditions, &mut reasons);
        }
        array_at_rest(conditions, &mut reasons);
    }
    let verdict = reasons.iter().map(|reason| reason.verdict).max().unwrap_or(Verdict::Valid);
    Validity { verdict, reasons }
}

fn add(reasons: &mut Vec<Reason>, verdict: Verdict, code: ReasonCode, text: String) {
    reasons.push(Reason { code, verdict, text });
}

/// Did it do what was asked?
fn done(measurement: &Measurement, run: &Circumstances, reasons: &mut Vec<Reason>) {
    let directions = [&measurement.read, &measurement.write];
    let errors: u64 = directions.into_iter().flatten().map(|direction| direction.errors).sum();
    if errors > 0 {
        let text =
            format!("{errors} requests failed: check the drive and its cable before trusting any number from it");
        add(reasons, Verdict::Invalid, ReasonCode::Errors, text);
    }
    if run.flush_failed {
        let text = "the final flush failed: what was written may be lost; check the drive and its cable".to_owned();
        add(reasons, Verdict::Invalid, ReasonCode::Errors, text);
    }
    if measurement.ios == 0 {
        let text = "not one request was answered: run it for longer, or look at the errors".to_owned();
        add(reasons, Verdict::Invalid, ReasonCode::NothingDone, text);
    }
    if run.interrupted {
        let text = "stopped before its end: run it again to its end to compare it with others".to_owned();
        add(reasons, Verdict::Suspect, ReasonCode::Interrupted, text);
    }
}

/// Did it go on for long enough?
fn enough(measurement: &Measurement, reasons: &mut Vec<Reason>) {
    let longer = match measurement.workload.limit {
        Limit::DurationNs(_) => "measure for more seconds",
        Limit::Bytes(_) => "measure more bytes",
    };
    if measurement.ios < FEWEST_IOS {
        let text = format!("only {} requests were made, too few to average over: {longer}", measurement.ios);
        add(reasons, Verdict::Suspect, ReasonCode::TooFewSamples, text);
    }
    if measurement.elapsed_ns < SHORTEST_NS {
        let text = format!("the run took only {} ms: {longer}", measurement.elapsed_ns / 1_000_000);
        add(reasons, Verdict::Suspect, ReasonCode::TooShort, text);
    }
}

/// Did something other than the target set the speed?
fn limited_elsewhere(measurement: &Measurement, run: &Circumstances, reasons: &mut Vec<Reason>) {
    if run.ceiling_iops > 0 && measurement.iops.saturating_mul(100) > run.ceiling_iops.saturating_mul(GENERATOR_PERCENT)
    {
        let text = format!(
            "the load generator can make {} requests a second, too few beside the {} measured: use larger blocks",
            run.ceiling_iops, measurement.iops
        );
        add(reasons, Verdict::Suspect, ReasonCode::GeneratorBound, text);
    }
    if run.processor_ns.saturating_mul(100) >= measurement.elapsed_ns.saturating_mul(CPU_PERCENT) {
        let text = "a whole processor was busy making the requests, so it may have set the speed, not the target: use \
                    larger blocks, or read the number as this machine's limit"
            .to_owned();
        add(reasons, Verdict::Suspect, ReasonCode::CpuBound, text);
    }
}

/// Did the drive answer, or something in front of it?
fn answered_elsewhere(measurement: &Measurement, conditions: &Conditions, reasons: &mut Vec<Reason>) {
    let reads = measurement.read.is_some();
    if conditions.buffered {
        // Writes are flushed within the measured time; reads may never have reached the drive.
        let verdict = if reads { Verdict::Invalid } else { Verdict::Suspect };
        let text =
            "the page cache was in the way, as the file system refuses direct I/O: measure on one that allows it";
        add(reasons, verdict, ReasonCode::Buffered, text.to_owned());
    }
    let alone = measurement.workload.depth == 1 && reads;
    if measurement.bytes_per_s > IMPLAUSIBLE_BYTES_PER_S
        || (alone && measurement.latency_ns.mean < IMPLAUSIBLE_LATENCY_NS)
    {
        let text = "faster than any drive: a cache answered; measure a range larger than every cache".to_owned();
        add(reasons, Verdict::Invalid, ReasonCode::Cached, text);
    }
    let Some(probe) = conditions.unwritten.filter(|_| reads) else { return };
    let verdict = match u64::from(probe.zero) * 100 {
        zeros if zeros > u64::from(probe.sampled) * UNWRITTEN_PERCENT_INVALID => Verdict::Invalid,
        zeros if zeros > u64::from(probe.sampled) * UNWRITTEN_PERCENT_SUSPECT => Verdict::Suspect,
        _ => return,
    };
    let text = format!(
        "{} of {} blocks sampled were all zeros, which drives and file systems may answer without looking: write the \
         range first",
        probe.zero, probe.sampled
    );
    add(reasons, verdict, ReasonCode::Unwritten, text);
}

/// Was the array whole, and did it do nothing else?
fn array_at_rest(conditions: &Conditions, reasons: &mut Vec<Reason>) {
    if conditions.degraded {
        let text = "members are missing: compare it with other degraded arrays only, or rebuild it first".to_owned();
        add(reasons, Verdict::Suspect, ReasonCode::Degraded, text);
    }
    if conditions.resyncing {
        let text = "a rebuild or scrub shared the members: wait for its end and measure again".to_owned();
        add(reasons, Verdict::Suspect, ReasonCode::Resyncing, text);
    }
}

#[cfg(test)]
mod tests;
