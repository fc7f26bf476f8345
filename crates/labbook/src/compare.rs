//! What two runs of one kind say of each other, figure by figure. How sure that is, and by which
//! statistic, is in [`crate::statistics`].

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use shoal_bench::Verdict;

use crate::figure::Better;
use crate::model::{Measured, Run, Target};
use crate::statistics::{Interval, median, shift};

/// The figures of a second run beside those of a first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Comparison {
    /// Figure by figure, in the order of the first run.
    pub figures: Vec<Difference>,
    /// What one of the runs has alone, a workload and target each: it is not compared.
    pub left_out: Vec<String>,
    /// How many repeats were invalid, and so left out.
    pub invalid_count: u64,
}

/// A figure of both runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// The target, as the first run names it.
    pub target: String,
    /// As the second one names it, if that is another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_target: Option<String>,
    /// The workload.
    pub workload: String,
    /// The figure's name.
    pub figure: String,
    /// Which way it is better.
    pub better: Better,
    /// The repeats of the first run.
    pub before: Vec<u64>,
    /// Those of the second.
    pub after: Vec<u64>,
    /// By how much the second is more: the median of the differences between all repeats (Hodges
    /// and Lehmann).
    pub difference: i64,
    /// The same in thousandths of the first run's median; left out where that is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference_per_mille: Option<i64>,
    /// Where the difference lies (Moses's interval, of the Mann-Whitney statistic); left out if
    /// there are too few repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// What that comes to.
    pub verdict: Compared,
}

/// What the difference of a figure comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Compared {
    /// The second run is better.
    Better,
    /// The second run is worse.
    Worse,
    /// The interval holds 0: noise.
    Noise,
    /// Too few repeats to say.
    TooFew,
}

/// Compares what both runs have. A target has its like in the other run by what it is, else by its
/// name; where each run has one target, these are compared whatever they are.
pub fn compare(before: &Run, after: &Run) -> Comparison {
    let mut comparison = Comparison { figures: Vec::new(), left_out: Vec::new(), invalid_count: 0 };
    let mut met = Vec::new();
    for target in &before.targets {
        let other = like(target, before, after);
        for (workload, measured) in target.by_workload() {
            let others = other.map(|(index, other)| (index, workload_of(other, workload)));
            match others.filter(|(_, others)| !others.is_empty()) {
                None => comparison.left_out.push(format!("{workload}, {}: only in the first run", target.name)),
                Some((index, others)) => {
                    met.push((index, workload));
                    let other = &after.targets[index];
                    comparison.take((target, other), workload, &measured, &others);
                }
            }
        }
    }
    for (index, target) in after.targets.iter().enumerate() {
        let alone = target.by_workload().into_iter().filter(|(workload, _)| !met.contains(&(index, *workload)));
        let told = alone.map(|(workload, _)| format!("{workload}, {}: only in the second run", target.name));
        comparison.left_out.extend(told);
    }
    comparison
}

fn like<'a>(target: &Target, before: &Run, after: &'a Run) -> Option<(usize, &'a Target)> {
    let are_alone = before.targets.len() == 1 && after.targets.len() == 1;
    let others = || after.targets.iter().enumerate();
    let same = others().find(|(_, other)| target.is_same_as(other));
    same.or_else(|| others().find(|(_, other)| are_alone || other.name == target.name))
}

fn workload_of<'a>(target: &'a Target, workload: &str) -> Vec<&'a Measured> {
    target.measurements.iter().filter(|measured| measured.workload == workload).collect()
}

impl Comparison {
    fn take(&mut self, (target, other): (&Target, &Target), workload: &str, before: &[&Measured], after: &[&Measured]) {
        let invalid = before.iter().chain(after).filter(|measured| !is_usable(measured)).count();
        self.invalid_count += invalid as u64;
        let names = before.iter().flat_map(|measured| measured.figures.keys());
        let names: BTreeSet<_> = names.collect();
        for figure in names {
            let Some(better) = Better::of(figure) else { continue };
            let (before, after) = (values(before, figure), values(after, figure));
            let (Some(middle), Some(estimate)) = (median(before.clone()), shift(&before, &after)) else { continue };
            self.figures.push(Difference {
                target: target.name.clone(),
                other_target: (other.name != target.name).then(|| other.name.clone()),
                workload: workload.to_owned(),
                figure: figure.clone(),
                better,
                before,
                after,
                difference: estimate.value,
                difference_per_mille: per_mille(estimate.value, middle),
                interval: estimate.interval,
                verdict: Compared::of(estimate.interval, better),
            });
        }
    }
}

impl Compared {
    fn of(interval: Option<Interval>, better: Better) -> Self {
        match (interval, better) {
            (None, _) => Self::TooFew,
            (Some(Interval { low: 1.., .. }), Better::More) | (Some(Interval { high: ..=-1, .. }), Better::Less) => {
                Self::Better
            }
            (Some(Interval { low: 1.., .. }), Better::Less) | (Some(Interval { high: ..=-1, .. }), Better::More) => {
                Self::Worse
            }
            (Some(_), _) => Self::Noise,
        }
    }
}

/// What is invalid does not show what it seems to show.
fn is_usable(measured: &Measured) -> bool {
    measured.validity.verdict != Verdict::Invalid
}

fn values(measured: &[&Measured], figure: &str) -> Vec<u64> {
    let usable = measured.iter().filter(|measured| is_usable(measured));
    usable.filter_map(|measured| measured.figures.get(figure).copied()).collect()
}

/// In thousandths of a figure, rounded towards 0; none where the figure is 0.
pub(crate) fn per_mille(difference: i64, of: u64) -> Option<i64> {
    let thousandths = i128::from(difference) * 1000;
    thousandths.checked_div(i128::from(of)).map(|value| value.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
}
