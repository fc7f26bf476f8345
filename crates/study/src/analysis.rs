//! What follows from a study's measurements: summaries, expectations, rankings, a recommendation.
//!
//! The rules, so that anybody can check a conclusion against the numbers:
//!
//! 1. **Repeats** of one workload on one target are summed up by their median, smallest and
//!    largest. Invalid repeats are left out unless there is nothing else. (`summary`)
//! 2. **Ties.** Two results differ if every repeat of one beats every repeat of the other, and by
//!    more than [`NOISE_PERCENT`]; otherwise they are tied, "within the spread". Figures combined
//!    from several workloads take their range from the ranges of the parts. (`ranking`)
//! 3. **Expectations** of an array come from its members, measured alone, and from all drives at
//!    once, which shows what the buses let through. (`expected`)
//! 4. **Places.** For each purpose the order is that of the figure that is shown; between equal
//!    figures: the array that survives more failures, then the one that holds markedly more, then
//!    the chunk nearest to md's default, then fewer members. An array that is tied with the first
//!    of the place before it shares that place. (`ranking`)
//! 5. **Fit to be ranked** is an array whose content was read back without a wrong block and whose
//!    workloads all have a result that is not invalid. The recommendation is the overall leader
//!    among arrays whose results are all valid; only if there is none, among suspect ones, and then
//!    it says so. Of arrays that share its place the one is recommended that survives more
//!    failures, then as above. (`recommendation`)

use crate::model::{Analysis, ArraySummary, Configuration, StudyReport};

mod expected;
mod ranking;
mod recommendation;
mod summary;
#[cfg(test)]
mod tests;
mod wording;

/// Differences of no more than this are never called differences, however well the repeats agree.
pub const NOISE_PERCENT: u64 = 3;

/// A drive slower than this share of the drive in the middle is a straggler.
pub const STRAGGLER_PERCENT: u64 = 70;

/// The drives share a bottleneck if all at once they do less than this share of the sum of what
/// they do alone.
pub const BUS_LIMIT_PERCENT: u64 = 85;

/// md's default chunk size.
pub const DEFAULT_CHUNK_BYTES: u64 = 512 << 10;

/// Draws every conclusion. A function of the observations in `report` alone; its `analysis` is not
/// looked at.
pub fn analyse(report: &StudyReport) -> Analysis {
    let drives = summary::drives(&report.alone);
    let together = summary::together(&report.together, &drives);
    let mut arrays: Vec<ArraySummary> = report
        .arrays
        .iter()
        .zip(0..)
        .map(|(result, array)| ArraySummary {
            array,
            name: array_name(&result.configuration),
            workloads: expected::with_expectations(
                summary::workloads(&result.measurements),
                &result.configuration,
                &drives,
                &together,
            ),
            excluded: None,
        })
        .collect();
    ranking::exclude(&report.arrays, &mut arrays);
    let stragglers = summary::stragglers(&drives);
    let rankings = ranking::rankings(&report.arrays, &arrays);
    let recommendation = recommendation::recommend(report, &arrays, &rankings);
    Analysis { drives, together, arrays, stragglers, rankings, recommendation }
}

/// A short name for a configuration, as tables and charts use it: "RAID5 x 6, 64 KiB", with a
/// proper multiplication sign.
pub fn array_name(configuration: &Configuration) -> String {
    let mut name = format!("{} \u{d7} {}", wording::level(configuration), configuration.members.len());
    if let Some(chunk_bytes) = configuration.chunk_bytes {
        name.push_str(", ");
        name.push_str(&wording::binary_bytes(chunk_bytes));
    }
    name
}
