#![allow(clippy::unwrap_used)]

use shoal_bench::TargetKind;
use shoal_volume::ArrayLevel;

use super::{Cost, Factors, PlanError, Step, StudyPlan};
use crate::model::{DriveDescription, SEED_LIMIT};

fn drives(count: usize) -> Vec<DriveDescription> {
    let drive = |index: usize| DriveDescription {
        name: format!("drive {index}"),
        path: format!("/drives/{index}"),
        kind: TargetKind::File,
        size_bytes: 1 << 30,
        logical_block_bytes: 512,
        model: None,
        bus: None,
    };
    (0..count).map(drive).collect()
}

fn factors(levels: &[&str], chunks: &[u32], members: &[u32]) -> Factors {
    Factors {
        levels: levels.iter().map(|level| ArrayLevel::parse(level, None, 2).unwrap()).collect(),
        chunk_bytes: chunks.to_vec(),
        member_counts: members.to_vec(),
        workloads: Factors::standard_workloads(1_000_000_000, 0),
        repeats: 3,
        drive_bytes_limit: 1 << 30,
        verify_bytes: 64 << 20,
        seed: 11,
    }
}

fn repeats_of(plan: &StudyPlan, repeat: u32) -> Vec<u32> {
    let of_repeat = |step: &super::SeededStep| match step.step {
        Step::Array { array, repeat: of } if of == repeat => Some(array),
        _ => None,
    };
    plan.steps.iter().filter_map(of_repeat).collect()
}

#[test]
fn every_combination_once_in_every_round() {
    let plan = StudyPlan::new(factors(&["0", "5", "1"], &[65_536, 524_288, 65_536], &[3, 4, 6]), &drives(6)).unwrap();
    // RAID1 has no chunk, and a chunk given twice counts once.
    assert_eq!(plan.arrays.len(), 2 * 2 * 3 + 3);
    assert_eq!(plan.steps.len(), 6 + 3 + 3 * 15);
    for repeat in 1..=3 {
        let mut round = repeats_of(&plan, repeat);
        round.sort_unstable();
        assert_eq!(round, (0..15).collect::<Vec<_>>());
    }
    assert_ne!(repeats_of(&plan, 1), repeats_of(&plan, 2), "each round has its own order");
    assert!(plan.steps[..6].iter().all(|step| matches!(step.step, Step::Alone { .. })));
    assert!(plan.steps.iter().all(|step| step.seed < SEED_LIMIT));
}

#[test]
fn the_seed_is_the_order() {
    let plan = |seed| {
        let factors = Factors { seed, ..factors(&["0", "5"], &[65_536, 524_288], &[3, 4, 5, 6]) };
        StudyPlan::new(factors, &drives(6)).unwrap().steps
    };
    assert_eq!(plan(1), plan(1));
    assert_ne!(plan(1), plan(2));
}

#[test]
fn what_makes_no_array_is_left_out_and_told() {
    let plan = StudyPlan::new(factors(&["6", "50", "10"], &[65_536], &[3, 6]), &drives(6)).unwrap();
    assert_eq!(plan.left_out, ["level 6 takes at least 4 members, not 3", "level 50 takes at least 6 members, not 3"]);
    assert_eq!(plan.arrays.len(), 4);
    let odd = StudyPlan::new(factors(&["50"], &[65_536], &[7, 8]), &drives(8)).unwrap();
    assert_eq!(odd.left_out, ["level 50 takes a multiple of 2 members, not 7"]);
}

#[test]
fn a_study_of_nothing_is_refused() {
    let refused = |factors, count| StudyPlan::new(factors, &drives(count)).unwrap_err();
    let good = || factors(&["0"], &[65_536], &[2]);
    assert_eq!(refused(good(), 0), PlanError::Nothing { what: "drive" });
    assert_eq!(refused(Factors { repeats: 0, ..good() }, 2), PlanError::Nothing { what: "repeat" });
    assert_eq!(refused(Factors { workloads: Vec::new(), ..good() }, 2), PlanError::Nothing { what: "workload" });
    assert_eq!(refused(factors(&["0"], &[65_536], &[3]), 2), PlanError::TooManyMembers { count: 3, drives: 2 });
    assert_eq!(refused(Factors { seed: SEED_LIMIT, ..good() }, 2), PlanError::Seed(SEED_LIMIT));
    let error = refused(factors(&["6"], &[65_536], &[2]), 2);
    assert_eq!(error.to_string(), "no array can be built: level 6 takes at least 4 members, not 2");
}

#[test]
fn one_drive_is_not_measured_together_with_itself() {
    let plan = StudyPlan::new(factors(&[], &[], &[]), &drives(1)).unwrap();
    assert_eq!(plan.steps.iter().map(|step| step.step).collect::<Vec<_>>(), [Step::Alone { drive: 0 }]);
}

#[test]
fn the_cost_is_told_beforehand() {
    let plan = StudyPlan::new(factors(&["0"], &[65_536], &[2]), &drives(3)).unwrap();
    let cost = Cost::estimate(&plan, 3, 10_000_000);
    assert_eq!(cost.step_ns.len(), 3 + 3 + 3);
    assert_eq!(cost.step_ns.iter().sum::<u64>(), cost.duration_ns);
    // Per drive: 3 repeats of 2 s of writing alone, and as much all at once ...
    let alone_and_together = 2 * 3 * 2 * 10_000_000;
    assert_eq!(cost.written_bytes[2], alone_and_together);
    // ... and for members as much again, and half of what is verified each time.
    assert_eq!(cost.written_bytes[0], alone_and_together + 3 * (20_000_000 + (32 << 20)));
    // Steps of 4 s, the drives' three times, and 0.2 s around each; verifying is written and read
    // at 10 MB/s.
    let verifying_ns = 3 * 2 * (32_u64 << 20) * 100;
    assert_eq!(cost.duration_ns, (3 * 12 + 3 * 4 + 3 * 4) * 1_000_000_000 + 9 * 200_000_000 + verifying_ns);
    // Nothing overflows.
    Cost::estimate(&plan, 3, 0);
    Cost::estimate(&plan, 3, u64::MAX);
}

#[test]
fn a_fault_story_costs_more() {
    let plan = StudyPlan::new(factors(&["0"], &[64 << 10], &[3]), &drives(3)).unwrap();
    let without = Cost::estimate(&plan, 3, 1 << 20);
    let with = without.clone().with_fault_story(1 << 30, 1 << 20);
    assert_eq!(with.duration_ns - without.duration_ns, 4 * 1024 * 1_000_000_000);
    for (with, without) in with.written_bytes.iter().zip(&without.written_bytes) {
        assert_eq!(with - without, 2 << 30);
    }
}
