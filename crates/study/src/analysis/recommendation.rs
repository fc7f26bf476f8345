//! What to do, in two or three sentences.

use std::cmp::Ordering;

use shoal_bench::Verdict;

use super::ranking::{Candidate, RANKED, Range};
use super::summary::first;
use super::wording;
use crate::model::{
    ArraySummary, Configuration, Metric, Purpose, Ranking, RankingEntry, Recommendation, StudyReport, WorkloadSummary,
};

/// Recommends the overall leader among arrays whose results are all valid, or, failing any, among
/// the ranked; of those that are tied with it the one that is preferred for what it is.
pub(super) fn recommend(report: &StudyReport, summaries: &[ArraySummary], rankings: &[Ranking]) -> Recommendation {
    let study = Study { report, summaries, rankings };
    let ranked = study.entries(Purpose::Overall);
    let is_valid = |entry: &RankingEntry| study.verdict(entry.array) == Some(Verdict::Valid);
    let valid = ranked.iter().position(is_valid);
    let Some(leader) = valid.or_else(|| (!ranked.is_empty()).then_some(0)) else { return study.nothing() };
    let winner = study.preferred_of_ties(ranked, leader, |entry| valid.is_none() || is_valid(entry));
    let Some(chosen) = study.array(ranked[winner].array) else { return study.nothing() };
    let runner_up = ranked.get(if winner == 0 { 1 } else { 0 });
    let next = runner_up.and_then(|entry| study.array(entry.array));
    let second = match next {
        None => "No other array was measured and verified, so there is nothing to compare it with.".to_owned(),
        Some(next) => study.against(&chosen, &next),
    };
    let doubted = ranked.first().filter(|entry| valid.is_some() && !is_valid(entry));
    let again = doubted.and_then(|entry| study.array(entry.array)).map(|first| {
        format!(
            "{} comes first by its results, which are marked suspect: measure again before you decide.",
            first.summary.name
        )
    });
    let sentences = [study.build(&chosen, valid.is_some()), second].into_iter().chain(again).collect();
    Recommendation {
        sentences,
        array: Some(chosen.array),
        configuration: Some(chosen.configuration.clone()),
        runner_up: runner_up.map(|entry| entry.array),
    }
}

struct Study<'a> {
    report: &'a StudyReport,
    summaries: &'a [ArraySummary],
    rankings: &'a [Ranking],
}

/// A ranked array with all that is said of it.
struct Ranked<'a> {
    array: u32,
    configuration: &'a Configuration,
    summary: &'a ArraySummary,
}

impl Ranked<'_> {
    fn workload(&self, metric: Metric) -> Option<&WorkloadSummary> {
        first(&self.summary.workloads, metric)
    }
}

impl<'a> Study<'a> {
    fn entries(&self, purpose: Purpose) -> &'a [RankingEntry] {
        let ranking = self.rankings.iter().find(|ranking| ranking.purpose == purpose);
        ranking.map_or(&[], |ranking| &ranking.entries)
    }

    /// The place of the array that is preferred among those that share a place with the leader.
    fn preferred_of_ties(
        &self,
        ranked: &[RankingEntry],
        leader: usize,
        may_win: impl Fn(&RankingEntry) -> bool,
    ) -> usize {
        let first = first_of_place(ranked, leader);
        let same_place =
            (first..ranked.len()).filter(|&at| first_of_place(ranked, at) == first && may_win(&ranked[at]));
        let preference = |&at: &usize| Some(candidate(&self.array(ranked[at].array)?)?.preference());
        same_place.min_by_key(preference).unwrap_or(leader)
    }

    fn array(&self, array: u32) -> Option<Ranked<'a>> {
        let index = usize::try_from(array).ok()?;
        let (result, summary) = (self.report.arrays.get(index)?, self.summaries.get(index)?);
        Some(Ranked { array, configuration: &result.configuration, summary })
    }

    /// The worst verdict among the results that places are given by.
    fn verdict(&self, array: u32) -> Option<Verdict> {
        candidate(&self.array(array)?).map(|candidate| candidate.verdict)
    }

    fn nothing(&self) -> Recommendation {
        let why = self.summaries.iter().find_map(|summary| {
            let reason = summary.excluded.as_ref()?;
            Some(format!("{}, for one, is out because {reason}.", summary.name))
        });
        let why = why.unwrap_or_else(|| match self.report.complete {
            true => "Run the study with at least one level and enough drives for it.".to_owned(),
            false => "The study ended before that.".to_owned(),
        });
        let first = "Nothing can be recommended, because no array was both measured and verified.".to_owned();
        Recommendation { sentences: vec![first, why], ..Recommendation::default() }
    }

    /// What to build and what one gets.
    fn build(&self, chosen: &Ranked, valid: bool) -> String {
        let lead = if valid { "Build" } else { "If the results, all of them marked suspect, can be trusted, build" };
        let mut gets = vec![format!("it holds {}", wording::decimal_bytes(chosen.configuration.capacity_bytes))];
        let sequential = [Metric::SequentialRead, Metric::SequentialWrite];
        gets.extend(sequential.iter().filter_map(|metric| {
            let workload = chosen.workload(*metric)?;
            Some(wording::figure(*metric, workload.bytes_per_s.median))
        }));
        if let Some(small) = small_requests(chosen) {
            gets.push(small);
        }
        gets.push(format!("and {}", wording::survives(chosen.configuration.redundancy)));
        format!("{lead} {}: {}.", wording::build(chosen.configuration, self.report), gets.join(", "))
    }

    /// What came next and why it did not win; what the fastest without protection would give.
    fn against(&self, chosen: &Ranked, next: &Ranked) -> String {
        let mut sentence = match self.is_tied(chosen, next) {
            true => format!("{} is the same within the spread, {}", next.summary.name, beside(chosen, next)),
            false => format!("Next came {}, {}", next.summary.name, self.difference(chosen, next)),
        };
        let fastest = self.entries(Purpose::Throughput).first().and_then(|entry| self.array(entry.array));
        if let Some(fastest) = fastest
            && fastest.array != next.array
            && fastest.configuration.redundancy < chosen.configuration.redundancy
        {
            let speeds: Vec<String> = [Metric::SequentialRead, Metric::SequentialWrite]
                .iter()
                .filter_map(|metric| Some(wording::figure(*metric, fastest.workload(*metric)?.bytes_per_s.median)))
                .collect();
            let loss = match fastest.configuration.redundancy {
                0 => "loses everything with the first drive".to_owned(),
                _ => wording::survives(fastest.configuration.redundancy),
            };
            sentence.push_str(&format!("; the fastest, {}, {} but {loss}", fastest.summary.name, speeds.join(" and ")));
        }
        sentence.push('.');
        sentence
    }

    /// Whether two arrays share a place, with results that are worth the same.
    fn is_tied(&self, chosen: &Ranked, next: &Ranked) -> bool {
        let entries = self.entries(Purpose::Overall);
        let at = |array: u32| entries.iter().position(|entry| entry.array == array);
        let place = |array: u32| at(array).map(|at| first_of_place(entries, at));
        let is_safe = |ranked: &Ranked| ranked.configuration.redundancy > 0;
        place(chosen.array) == place(next.array)
            && self.verdict(next.array) <= self.verdict(chosen.array)
            && is_safe(chosen) == is_safe(next)
    }

    /// Why the next one did not win, as a clause.
    fn difference(&self, chosen: &Ranked, next: &Ranked) -> String {
        if self.verdict(next.array) > self.verdict(chosen.array) {
            return "which ranks no lower but has suspect results".to_owned();
        }
        if chosen.configuration.redundancy > 0 && next.configuration.redundancy == 0 {
            return "which survives no drive's failure".to_owned();
        }
        let entries = self.entries(Purpose::Overall);
        let behind = |array| entries.iter().find(|entry| entry.array == array).map_or(0, |entry| entry.score);
        let percent = percent_below(behind(next.array), behind(chosen.array));
        match self.largest_loss(chosen, next) {
            Some((metric, loss)) => {
                format!(
                    "{percent} % behind in the balance of capacity and speed, most of all in {metric} ({loss} % less)"
                )
            }
            None => format!("{percent} % behind in the balance of capacity and speed"),
        }
    }

    /// Where the other falls short the most, if anywhere by more than the spread.
    fn largest_loss(&self, chosen: &Ranked, next: &Ranked) -> Option<(&'static str, u64)> {
        let capacity = percent_below(next.configuration.capacity_bytes, chosen.configuration.capacity_bytes);
        let mut losses = vec![("capacity", capacity)];
        let (Some(better), Some(other)) = (candidate(chosen), candidate(next)) else { return None };
        for ((metric, best), (_, worse)) in better.figures.iter().zip(&other.figures) {
            if Range::differs_from(*best, *worse) {
                losses.push((wording::metric(*metric), percent_below(worse.value, best.value)));
            }
        }
        losses.into_iter().max_by_key(|(_, loss)| *loss).filter(|(_, loss)| *loss > 0)
    }
}

/// Where the first of those is that share a place with the entry at `at`.
fn first_of_place(entries: &[RankingEntry], at: usize) -> usize {
    (0..=at).rev().find(|&above| !entries[above].tied).unwrap_or(0)
}

/// The array as the ranking sees it.
fn candidate<'a>(ranked: &Ranked<'a>) -> Option<Candidate<'a>> {
    let measured: Vec<Metric> = RANKED.into_iter().filter(|metric| ranked.workload(*metric).is_some()).collect();
    Candidate::new(ranked.configuration, ranked.summary, &measured)
}

/// "does 12,400 reads and 3,100 writes of 4 KiB a second".
fn small_requests(chosen: &Ranked) -> Option<String> {
    let (read, write) = (chosen.workload(Metric::RandomRead), chosen.workload(Metric::RandomWrite));
    let block = wording::binary_bytes(u64::from(read.or(write)?.block_size_bytes));
    let part = |workload: &WorkloadSummary, verb| format!("{} {verb}", wording::count(workload.iops.median));
    Some(match (read, write) {
        (Some(read), Some(write)) => {
            format!("does {} or {} of {block} a second", part(read, "reads"), part(write, "writes"))
        }
        (Some(read), None) => format!("does {} of {block} a second", part(read, "reads")),
        (None, Some(write)) => format!("does {} of {block} a second", part(write, "writes")),
        (None, None) => return None,
    })
}

/// What tells one that the chosen one is tied with from it.
fn beside(chosen: &Ranked, next: &Ranked) -> String {
    let (Some(better), Some(other)) = (candidate(chosen), candidate(next)) else { return "listed later".to_owned() };
    let (better, other) = (better.preference(), other.preference());
    // What is smaller in a preference is better.
    let told = |ordering: Ordering, worse: &str, more: &str| match ordering {
        Ordering::Equal => None,
        Ordering::Less => Some(format!("but {worse}")),
        Ordering::Greater => Some(format!("and {more}")),
    };
    let default = wording::binary_bytes(super::DEFAULT_CHUNK_BYTES);
    let [farther, nearer] =
        ["farther from", "nearer to"].map(|how| format!("its chunk is {how} md's default of {default}"));
    told(better.redundancy.cmp(&other.redundancy), "it survives fewer failures", "it survives more failures")
        .or_else(|| told(better.capacity_steps.cmp(&other.capacity_steps), "it holds less", "it holds more"))
        .or_else(|| {
            let chunks = better.chunk_doublings_from_default.cmp(&other.chunk_doublings_from_default);
            told(chunks, &farther, &nearer)
        })
        .or_else(|| told(better.members.cmp(&other.members), "it needs more drives", "it needs fewer drives"))
        .unwrap_or_else(|| "but it is listed later in the plan".to_owned())
}

/// By how many percent `value` is below `whole`; 0 if it is not.
fn percent_below(value: u64, whole: u64) -> u64 {
    let below = u128::from(whole.saturating_sub(value)) * 100;
    u64::try_from(below.checked_div(u128::from(whole)).unwrap_or(0)).unwrap_or(100)
}
