//! The rules of the analysis, held against made-up studies.

use crate::sample;
use crate::sample::measure::{Shape, measurement};
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use shoal_bench::{Reason, ReasonCode, Validity, Verdict};
use shoal_study::analysis::analyse;
use shoal_study::model::{
    Analysis, ArrayResult, Configuration, ExpectedLimit, Metric, Purpose, StudyReport, Verification,
};

/// An array whose sequential reads and writes came out at these MB/s, one per repeat.
fn array(configuration: Configuration, read: &[u32], write: &[u32]) -> ArrayResult {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let target = sample::array_target(&configuration);
    let runs = |metric, speeds: &[u32]| -> Vec<_> { speeds.iter().map(|&speed| (metric, speed)).collect() };
    let measurements = [runs(Metric::SequentialRead, read), runs(Metric::SequentialWrite, write)]
        .concat()
        .into_iter()
        .map(|(metric, speed)| {
            let shape = Shape { metric, repeat: 1, bytes_per_s: f64::from(speed) * 1e6, spread: 0.0 };
            measurement(target.clone(), shape, &mut random)
        })
        .collect();
    ArrayResult { configuration, measurements, verification: Some(Verification { bytes: 1 << 30, wrong_blocks: 0 }) }
}

fn mark(array: &mut ArrayResult, verdict: Verdict) {
    let reason = Reason { code: ReasonCode::Cached, verdict, text: "made up".to_owned() };
    for measurement in &mut array.measurements {
        measurement.validity = Validity { verdict, reasons: vec![reason.clone()] };
    }
}

/// The sample's drives with other arrays.
fn study(arrays: Vec<ArrayResult>) -> StudyReport {
    let mut report = sample::study();
    report.arrays = arrays;
    report.analysis = analyse(&report);
    report
}

fn order(analysis: &Analysis, purpose: Purpose) -> Vec<u32> {
    let ranking = analysis.rankings.iter().find(|ranking| ranking.purpose == purpose).unwrap();
    ranking.entries.iter().map(|entry| entry.array).collect()
}

const KIB: u64 = 1 << 10;

#[test]
fn a_clear_lead_decides_and_says_so() {
    let slow = array(sample::configuration("5", 6, 512 * KIB), &[80, 81, 82], &[40, 41, 42]);
    let fast = array(sample::configuration("5", 6, 64 * KIB), &[100, 101, 102], &[60, 61, 62]);
    let report = study(vec![slow, fast]);
    assert_eq!(order(&report.analysis, Purpose::Throughput), [1, 0]);
    let recommendation = &report.analysis.recommendation;
    assert_eq!((recommendation.array, recommendation.runner_up), (Some(1), Some(0)));
    assert_eq!(recommendation.sentences.len(), 2);
    let [what, why] = [&recommendation.sentences[0], &recommendation.sentences[1]];
    for part in ["RAID5", "left-symmetric", "64 KiB", "all 6 drives", "reads 10", "writes 6", "any one drive"] {
        assert!(what.contains(part), "{part:?} is missing in: {what}");
    }
    assert!(why.contains("RAID5 \u{d7} 6, 512 KiB") && why.contains("behind"), "{why}");
}

#[test]
fn differences_within_the_spread_are_ties_and_the_default_chunk_is_recommended() {
    let default_chunk = array(sample::configuration("5", 6, 512 * KIB), &[95, 99, 110], &[50, 52, 56]);
    let other = array(sample::configuration("5", 6, 64 * KIB), &[98, 106, 112], &[51, 55, 58]);
    let report = study(vec![other, default_chunk]);
    assert_eq!(order(&report.analysis, Purpose::Throughput), [0, 1], "by the figure that is shown");
    assert!(report.analysis.rankings[0].entries[1].tied);
    assert!(!report.analysis.rankings[0].entries[0].tied);
    assert_eq!(report.analysis.recommendation.array, Some(1));
    let why = &report.analysis.recommendation.sentences[1];
    assert!(why.contains("the same within the spread") && why.contains("md's default of 512 KiB"), "{why}");
}

#[test]
fn among_ties_the_safer_array_is_recommended() {
    let raid5 = array(sample::configuration("5", 4, 512 * KIB), &[95, 100, 105], &[50, 52, 56]);
    let raid6 = array(sample::configuration("6", 5, 512 * KIB), &[94, 99, 106], &[49, 52, 57]);
    let report = study(vec![raid5, raid6]);
    assert_eq!(order(&report.analysis, Purpose::Throughput), [0, 1]);
    assert_eq!(order(&report.analysis, Purpose::Safety), [1, 0]);
    assert_eq!(report.analysis.recommendation.array, Some(1));
}

#[test]
fn arrays_that_survive_a_failure_go_before_faster_ones_that_do_not() {
    let raid0 = array(sample::configuration("0", 6, 512 * KIB), &[200, 201, 202], &[150, 151, 152]);
    let raid5 = array(sample::configuration("5", 6, 512 * KIB), &[80, 81, 82], &[40, 41, 42]);
    let report = study(vec![raid0, raid5]);
    assert_eq!(order(&report.analysis, Purpose::Overall), [1, 0]);
    assert_eq!(order(&report.analysis, Purpose::Throughput), [0, 1]);
    assert_eq!(order(&report.analysis, Purpose::Capacity), [0, 1]);
    assert!(report.analysis.recommendation.sentences[1].contains("survives no drive's failure"));
}

#[test]
fn wrong_blocks_and_missing_verification_exclude() {
    let mut wrong = array(sample::configuration("5", 6, 512 * KIB), &[100; 3], &[100; 3]);
    wrong.verification = Some(Verification { bytes: 1 << 30, wrong_blocks: 3 });
    let mut unread = array(sample::configuration("5", 5, 512 * KIB), &[100; 3], &[100; 3]);
    unread.verification = None;
    let report = study(vec![wrong, unread]);
    assert_eq!(report.analysis.recommendation.array, None);
    assert_eq!(report.analysis.recommendation.sentences.len(), 2);
    assert!(report.analysis.rankings.is_empty());
    assert!(report.analysis.arrays[0].excluded.as_ref().unwrap().contains("3 blocks"));
    assert!(report.analysis.arrays[1].excluded.as_ref().unwrap().contains("not read back"));
}

#[test]
fn valid_results_go_before_suspect_ones_and_suspicion_is_told() {
    let plain = array(sample::configuration("5", 5, 512 * KIB), &[80; 3], &[40; 3]);
    let mut suspect = array(sample::configuration("5", 6, 512 * KIB), &[100; 3], &[60; 3]);
    mark(&mut suspect, Verdict::Suspect);
    let report = study(vec![suspect.clone(), plain]);
    assert_eq!(report.analysis.recommendation.array, Some(1));
    assert!(report.analysis.recommendation.sentences[1].contains("suspect results"));
    let again = &report.analysis.recommendation.sentences[2];
    assert!(again.starts_with("RAID5") && again.contains("measure again before you decide"), "{again}");
    let report = study(vec![suspect]);
    assert_eq!(report.analysis.recommendation.array, Some(0));
    assert!(report.analysis.recommendation.sentences[0].contains("marked suspect"));
}

#[test]
fn expectations_follow_the_members_and_the_bus() {
    let report = sample::study();
    let expected = |array: usize, metric| {
        let workloads = &report.analysis.arrays[array].workloads;
        workloads.iter().find(|workload| workload.metric == metric).unwrap().expected.unwrap()
    };
    let index = |level: &str, members: usize| {
        let fits =
            |configuration: &Configuration| configuration.level == level && configuration.members.len() == members;
        report.arrays.iter().position(|array| fits(&array.configuration)).unwrap()
    };
    let pair = expected(index("0", 2), Metric::SequentialRead);
    assert_eq!(pair.limit, ExpectedLimit::SlowestMember);
    assert!((60_000_000..70_000_000).contains(&pair.bytes_per_s), "two sticks of 33 MB/s: {pair:?}");
    assert!((900..=1000).contains(&pair.efficiency_permille), "{pair:?}");
    let mirrors = expected(index("10", 6), Metric::SequentialWrite);
    assert!(
        (28_000_000..36_000_000).contains(&mirrors.bytes_per_s),
        "three pairs at the slow stick's pace: {mirrors:?}"
    );
    let reads = report.analysis.together.iter().find(|summary| summary.metric == Metric::SequentialRead).unwrap();
    assert!(reads.bus_limited && reads.alone_bytes_per_s.unwrap() > reads.total_bytes_per_s.median);
}

#[test]
fn the_slow_stick_is_found() {
    let stragglers = sample::study().analysis.stragglers;
    assert!(!stragglers.is_empty());
    assert!(stragglers.iter().all(|straggler| straggler.drive == 3), "{stragglers:?}");
}

fn any_array() -> impl Strategy<Value = ArrayResult> {
    let level = prop_oneof![Just("0"), Just("5"), Just("6"), Just("10")];
    let speeds = || prop::collection::vec(1_u32..400, 1..4);
    let verdicts = prop_oneof![Just(Verdict::Valid), Just(Verdict::Suspect), Just(Verdict::Invalid)];
    let wrong_blocks = prop_oneof![Just(None), Just(Some(0)), Just(Some(2))];
    (level, 4_u32..=6, 2_u64..11, speeds(), speeds(), verdicts, wrong_blocks).prop_map(
        |(level, members, chunk, read, write, verdict, wrong_blocks)| {
            let mut array = array(sample::configuration(level, members, KIB << chunk), &read, &write);
            if verdict != Verdict::Valid {
                mark(&mut array, verdict);
            }
            array.verification = wrong_blocks.map(|wrong_blocks| Verification { bytes: 1 << 30, wrong_blocks });
            array
        },
    )
}

/// What may be recommended at all, by the rules in the module's documentation.
fn fit(array: &ArrayResult, verdict: Verdict) -> bool {
    let verified = array.verification.is_some_and(|verification| verification.wrong_blocks == 0);
    verified && array.measurements.iter().all(|measurement| measurement.validity.verdict <= verdict)
}

proptest! {
    #[test]
    fn the_recommendation_is_an_array_that_was_measured_valid(arrays in prop::collection::vec(any_array(), 0..8)) {
        let mut report = StudyReport { arrays, ..sample::study() };
        report.analysis = analyse(&report);
        let recommendation = &report.analysis.recommendation;
        prop_assert!((2..=3).contains(&recommendation.sentences.len()));
        let valid = report.arrays.iter().any(|array| fit(array, Verdict::Valid));
        let suspect = report.arrays.iter().any(|array| fit(array, Verdict::Suspect));
        prop_assert_eq!(recommendation.array.is_some(), suspect);
        if let Some(array) = recommendation.array {
            let chosen = &report.arrays[array as usize];
            let worst = if valid { Verdict::Valid } else { Verdict::Suspect };
            prop_assert!(fit(chosen, worst));
            prop_assert_eq!(Some(&chosen.configuration), recommendation.configuration.as_ref());
            prop_assert_ne!(recommendation.runner_up, Some(array));
        }
        for ranking in &report.analysis.rankings {
            let mut ranked: Vec<u32> = ranking.entries.iter().map(|entry| entry.array).collect();
            ranked.sort_unstable();
            let fits: Vec<u32> = report.analysis.arrays.iter()
                .filter(|summary| summary.excluded.is_none()).map(|summary| summary.array).collect();
            prop_assert_eq!(ranked, fits, "every fit array has one place");
        }
    }
}
