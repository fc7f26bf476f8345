//! Places: which array is best for what, and which differences are none.

use std::cmp::Reverse;

use shoal_bench::Verdict;

use super::summary::first;
use super::{DEFAULT_CHUNK_BYTES, NOISE_PERCENT, wording};
use crate::model::{
    ArrayResult, ArraySummary, Configuration, Metric, Purpose, Ranking, RankingEntry, Spread, WorkloadSummary,
};

/// The metrics that places are given by, and no others.
pub(super) const RANKED: [Metric; 4] =
    [Metric::SequentialRead, Metric::SequentialWrite, Metric::RandomRead, Metric::RandomWrite];

/// Sets `excluded` on every array that is not fit to be ranked.
pub(super) fn exclude(results: &[ArrayResult], summaries: &mut [ArraySummary]) {
    let measured = measured_metrics(summaries);
    for (result, summary) in results.iter().zip(summaries) {
        summary.excluded = reason_to_exclude(result, &summary.workloads, &measured);
    }
}

/// The ranked metrics that any array has: what the plan was about.
fn measured_metrics(summaries: &[ArraySummary]) -> Vec<Metric> {
    let has = |metric: &Metric| {
        summaries.iter().flat_map(|summary| &summary.workloads).any(|workload| workload.metric == *metric)
    };
    RANKED.into_iter().filter(has).collect()
}

fn reason_to_exclude(result: &ArrayResult, workloads: &[WorkloadSummary], measured: &[Metric]) -> Option<String> {
    match result.verification {
        None => return Some("its content was not read back: the study was stopped before".to_owned()),
        Some(verification) if verification.wrong_blocks > 0 => {
            return Some(format!("{} blocks were wrong when read back", wording::count(verification.wrong_blocks)));
        }
        Some(_) => {}
    }
    let missing = measured.iter().find(|metric| first(workloads, **metric).is_none());
    match missing {
        Some(metric) => Some(format!("it has no valid result for {}", wording::metric(*metric))),
        None if measured.is_empty() => Some("nothing was measured on it".to_owned()),
        None => None,
    }
}

/// All rankings, for the purposes that the measurements can speak to.
pub(super) fn rankings(results: &[ArrayResult], summaries: &[ArraySummary]) -> Vec<Ranking> {
    let measured = measured_metrics(summaries);
    let candidates: Vec<Candidate> = results
        .iter()
        .zip(summaries)
        .filter(|(_, summary)| summary.excluded.is_none())
        .filter_map(|(result, summary)| Candidate::new(&result.configuration, summary, &measured))
        .collect();
    let best = Best::of(&candidates);
    let purposes = [Purpose::Overall, Purpose::Throughput, Purpose::SmallRequests, Purpose::Capacity, Purpose::Safety];
    purposes.into_iter().filter_map(|purpose| ranking(purpose, &candidates, &best)).collect()
}

fn ranking(purpose: Purpose, candidates: &[Candidate], best: &Best) -> Option<Ranking> {
    let mut contenders = Vec::new();
    for candidate in candidates {
        contenders.push(Contender { candidate, criteria: candidate.criteria(purpose, best)? });
    }
    if contenders.is_empty() {
        return None;
    }
    let entries = ordered(contenders, 0)
        .into_iter()
        .map(|Placed { contender, tied }| RankingEntry {
            array: contender.candidate.array,
            score: score(purpose, &contender),
            tied,
            reasons: reasons(contender.candidate),
        })
        .collect();
    Some(Ranking { purpose, rule: rule(purpose).to_owned(), entries })
}

fn rule(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Overall => {
            "Arrays that survive a failure come first; then by the geometric mean of capacity, sequential and small \
             random speeds, each as a share of the best."
        }
        Purpose::Throughput => "By the geometric mean of sequential read and write speed.",
        Purpose::SmallRequests => "By the geometric mean of small random reads and writes per second.",
        Purpose::Capacity => "By capacity; then by sequential speed.",
        Purpose::Safety => "By the number of drives that may fail; then by capacity; then by sequential speed.",
    }
}

/// The figure shown for a place: the criterion that the purpose is about.
fn score(purpose: Purpose, contender: &Contender) -> u64 {
    let criterion = match purpose {
        Purpose::Overall => contender.criteria.last(),
        _ => contender.criteria.first(),
    };
    match (purpose, criterion) {
        (_, None) => 0,
        (Purpose::Overall, Some(criterion)) => criterion.value() / SHARE_STEPS,
        (_, Some(criterion)) => criterion.value(),
    }
}

/// Shares of the best are counted in steps of this many to a thousandth.
const SHARE_STEPS: u64 = 10;

/// A measured figure, from the slowest run to the fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) low: u64,
    pub(super) value: u64,
    pub(super) high: u64,
}

impl Range {
    fn of(spread: Spread) -> Self {
        Self { low: spread.min, value: spread.median, high: spread.max }
    }

    /// Applies `combine` to the slowest runs, the medians and the fastest runs of several figures.
    fn combined(ranges: &[Self], combine: impl Fn(&[u64]) -> u64) -> Self {
        let part = |of: fn(&Self) -> u64| combine(&ranges.iter().map(of).collect::<Vec<u64>>());
        Self { low: part(|range| range.low), value: part(|range| range.value), high: part(|range| range.high) }
    }

    /// Every run of the better beats every run of the other, by more than noise.
    pub(super) fn differs_from(self, other: Self) -> bool {
        let (better, worse) = if self.value >= other.value { (self, other) } else { (other, self) };
        let beyond_noise = u128::from(better.value) * 100 > u128::from(worse.value) * u128::from(100 + NOISE_PERCENT);
        better.low > worse.high && beyond_noise
    }
}

/// What places are given by.
#[derive(Clone, Copy, Debug)]
enum Criterion {
    /// A property: any difference counts.
    Exact(u64),
    /// A measurement: differences within the spread do not count.
    Measured(Range),
}

impl Criterion {
    fn value(self) -> u64 {
        match self {
            Self::Exact(value) => value,
            Self::Measured(range) => range.value,
        }
    }

    fn differs_from(self, other: Self) -> bool {
        match (self, other) {
            (Self::Measured(this), Self::Measured(other)) => this.differs_from(other),
            _ => self.value() != other.value(),
        }
    }
}

/// An array that is fit to be ranked.
pub(super) struct Candidate<'a> {
    pub(super) array: u32,
    pub(super) configuration: &'a Configuration,
    /// The ranked metrics of the plan, each with this array's figure: bytes per second if
    /// sequential, else requests.
    pub(super) figures: Vec<(Metric, Range)>,
    /// The worst verdict among them.
    pub(super) verdict: Verdict,
}

impl<'a> Candidate<'a> {
    pub(super) fn new(configuration: &'a Configuration, summary: &ArraySummary, measured: &[Metric]) -> Option<Self> {
        let mut figures = Vec::new();
        let mut verdict = Verdict::Valid;
        for &metric in measured {
            let workload = first(&summary.workloads, metric)?;
            verdict = verdict.max(workload.verdict);
            let sequential = matches!(metric, Metric::SequentialRead | Metric::SequentialWrite);
            figures.push((metric, Range::of(if sequential { workload.bytes_per_s } else { workload.iops })));
        }
        Some(Self { array: summary.array, configuration, figures, verdict })
    }

    /// The geometric mean of those of two metrics that were measured.
    fn mean_of(&self, metrics: [Metric; 2]) -> Option<Range> {
        let ranges: Vec<Range> =
            self.figures.iter().filter(|(metric, _)| metrics.contains(metric)).map(|(_, range)| *range).collect();
        (!ranges.is_empty()).then(|| Range::combined(&ranges, geometric_mean))
    }

    fn throughput(&self) -> Option<Range> {
        self.mean_of([Metric::SequentialRead, Metric::SequentialWrite])
    }

    fn balance(&self, best: &Best) -> Range {
        let capacity = share(self.configuration.capacity_bytes, best.capacity_bytes);
        let mut shares = vec![Range { low: capacity, value: capacity, high: capacity }];
        for ((_, range), (_, best)) in self.figures.iter().zip(&best.figures) {
            shares.push(Range {
                low: share(range.low, *best),
                value: share(range.value, *best),
                high: share(range.high, *best),
            });
        }
        Range::combined(&shares, geometric_mean)
    }

    /// `None` if the measurements do not speak to this purpose.
    fn criteria(&self, purpose: Purpose, best: &Best) -> Option<Vec<Criterion>> {
        let capacity = Criterion::Exact(self.configuration.capacity_bytes);
        let redundancy = Criterion::Exact(u64::from(self.configuration.redundancy));
        let throughput = self.throughput().map(Criterion::Measured);
        Some(match purpose {
            Purpose::Overall => vec![
                Criterion::Exact(u64::from(self.configuration.redundancy > 0)),
                Criterion::Measured(self.balance(best)),
            ],
            Purpose::Throughput => vec![throughput?],
            Purpose::SmallRequests => {
                vec![Criterion::Measured(self.mean_of([Metric::RandomRead, Metric::RandomWrite])?)]
            }
            Purpose::Capacity => [capacity].into_iter().chain(throughput).collect(),
            Purpose::Safety => [redundancy, capacity].into_iter().chain(throughput).collect(),
        })
    }

    /// Decides between equal figures; smaller is better, and no two arrays of a study are equal.
    pub(super) fn preference(&self) -> Preference {
        let chunk_bytes = self.configuration.chunk_bytes.unwrap_or(DEFAULT_CHUNK_BYTES).max(1);
        Preference {
            redundancy: Reverse(self.configuration.redundancy),
            capacity_steps: Reverse(capacity_steps(self.configuration.capacity_bytes)),
            chunk_doublings_from_default: chunk_bytes.ilog2().abs_diff(DEFAULT_CHUNK_BYTES.ilog2()),
            members: self.configuration.members.len(),
            array: self.array,
        }
    }
}

/// See [`Candidate::preference`]; compared field by field, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Preference {
    pub(super) redundancy: Reverse<u32>,
    pub(super) capacity_steps: Reverse<u64>,
    pub(super) chunk_doublings_from_default: u32,
    pub(super) members: usize,
    array: u32,
}

/// A capacity in steps of a sixteenth of a doubling: what rounding to the chunk takes away decides
/// nothing.
fn capacity_steps(capacity_bytes: u64) -> u64 {
    let octave = capacity_bytes.max(16).ilog2();
    u64::from(octave) * 16 + (capacity_bytes >> (octave - 4)) % 16
}

/// The best of all candidates in everything.
struct Best {
    capacity_bytes: u64,
    figures: Vec<(Metric, u64)>,
}

impl Best {
    fn of(candidates: &[Candidate]) -> Self {
        let mut best = Self { capacity_bytes: 0, figures: Vec::new() };
        for candidate in candidates {
            best.capacity_bytes = best.capacity_bytes.max(candidate.configuration.capacity_bytes);
            for &(metric, range) in &candidate.figures {
                match best.figures.iter_mut().find(|(present, _)| *present == metric) {
                    Some((_, value)) => *value = range.value.max(*value),
                    None => best.figures.push((metric, range.value)),
                }
            }
        }
        best
    }
}

/// `value` as a share of `whole`, in tenths of thousandths.
fn share(value: u64, whole: u64) -> u64 {
    let steps = u128::from(1000 * SHARE_STEPS);
    u64::try_from(u128::from(value) * steps / u128::from(whole.max(1))).unwrap_or(u64::MAX)
}

/// The geometric mean, rounded down; exact integer arithmetic, so that places are the same on every
/// machine.
pub(super) fn geometric_mean(values: &[u64]) -> u64 {
    let Some(degree) = u32::try_from(values.len()).ok().filter(|degree| *degree > 0) else { return 0 };
    let product = values.iter().fold(1_u128, |product, value| product.saturating_mul(u128::from(*value)));
    let (mut low, mut high) = (0_u64, values.iter().copied().max().unwrap_or(0));
    while low < high {
        let middle = high - (high - low) / 2;
        match u128::from(middle).checked_pow(degree) {
            Some(power) if power <= product => low = middle,
            _ => high = middle - 1,
        }
    }
    low
}

struct Contender<'a> {
    candidate: &'a Candidate<'a>,
    criteria: Vec<Criterion>,
}

struct Placed<'a> {
    contender: Contender<'a>,
    tied: bool,
}

/// Orders by the criteria from number `depth` on: by what is exact, and at last by the figure that
/// is shown, so that none goes before a better one. Those share a place that are no different from
/// the first of it, and have none between them that is. Being tied is not transitive, so this is no
/// sort by a key.
fn ordered(mut contenders: Vec<Contender>, depth: usize) -> Vec<Placed> {
    let is_last = contenders.iter().all(|contender| contender.criteria.len() <= depth + 1);
    if is_last {
        return placed_by_last(contenders);
    }
    let mut placed = Vec::new();
    while let Some(leader) = leader(&contenders, depth) {
        let (group, rest): (Vec<Contender>, Vec<Contender>) =
            contenders.into_iter().partition(|contender| !leader.differs_from(contender.criteria[depth]));
        placed.extend(ordered(group, depth + 1));
        contenders = rest;
    }
    placed
}

/// The same by the last criterion alone.
fn placed_by_last(mut contenders: Vec<Contender>) -> Vec<Placed> {
    let last = |contender: &Contender| contender.criteria.last().copied();
    let shown = |contender: &Contender| last(contender).map(Criterion::value);
    contenders.sort_by_key(|contender| (Reverse(shown(contender)), contender.candidate.preference()));
    let mut placed = Vec::new();
    let mut first: Option<Criterion> = None;
    for contender in contenders {
        let own = last(&contender);
        let tied = first.zip(own).is_some_and(|(first, own)| !first.differs_from(own));
        first = if tied { first } else { own };
        placed.push(Placed { contender, tied });
    }
    placed
}

/// The best figure for criterion number `depth`, if there is such a criterion.
fn leader(contenders: &[Contender], depth: usize) -> Option<Criterion> {
    contenders
        .iter()
        .filter_map(|contender| contender.criteria.get(depth))
        .copied()
        .max_by_key(|criterion| criterion.value())
}

fn reasons(candidate: &Candidate) -> Vec<String> {
    let configuration = candidate.configuration;
    let mut reasons = vec![
        format!("holds {}", wording::decimal_bytes(configuration.capacity_bytes)),
        wording::survives(configuration.redundancy),
    ];
    reasons.extend(candidate.figures.iter().map(|(metric, range)| wording::figure(*metric, range.value)));
    reasons
}
