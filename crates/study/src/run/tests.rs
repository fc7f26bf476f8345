//! Whole studies, small and quick, on image files.
#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use shoal_bench::{Limit, TargetKind, Verdict, Workload};
use shoal_drive::{Access, Drive, IoLoop};
use shoal_plan::arrays::capacity;
use shoal_volume::{ArrayLevel, BufferPlan, OpenOptions, RealWorld};
use tempfile::TempDir;

use super::{FaultStory, FaultWatch, Heading, Observations, Phase, Study, StudyProgress, Watch};
use crate::bay::{Bay, BayError, Opened, Requests};
use crate::model::{DriveDescription, FaultState, Machine, StudyReport};
use crate::plan::{Factors, StudyPlan};

pub(super) const MIB: u64 = 1 << 20;

/// Image files in a directory that goes away with them.
pub(super) struct Images {
    _directory: TempDir,
    descriptions: Vec<DriveDescription>,
    pub(super) paths: Vec<PathBuf>,
}

impl Images {
    pub(super) fn new(count: usize, size_bytes: u64) -> Self {
        let directory = TempDir::new().unwrap();
        let paths: Vec<PathBuf> = (0..count).map(|index| directory.path().join(format!("drive-{index}"))).collect();
        let describe = |path: &PathBuf| DriveDescription {
            name: path.file_name().unwrap().to_string_lossy().into_owned(),
            path: path.display().to_string(),
            kind: TargetKind::File,
            size_bytes,
            logical_block_bytes: 512,
            model: None,
            bus: None,
        };
        paths.iter().for_each(|path| File::create(path).unwrap().set_len(size_bytes).unwrap());
        Self { descriptions: paths.iter().map(describe).collect(), paths, _directory: directory }
    }
}

impl Bay for Images {
    type World = RealWorld;

    fn drives(&self) -> &[DriveDescription] {
        &self.descriptions
    }

    fn open(&self, drives: &[u32], requests: Requests) -> Result<Opened<RealWorld>, BayError> {
        let plan = BufferPlan::for_drives(drives.len(), requests.count, requests.bytes);
        let arena = plan.arena()?;
        let mut world = RealWorld::new(IoLoop::new(None, arena.clone(), 256)?, arena);
        let mut ids = Vec::new();
        for &drive in drives {
            ids.push(world.add_drive(Drive::open(&self.paths[drive as usize], Access::Write)?)?);
        }
        Ok(Opened { world, plan, drives: ids })
    }
}

/// Each workload moves only so much: quick, and the same on every machine.
fn factors(levels: &[&str], member_counts: &[u32]) -> Factors {
    let small = |workload: Workload| {
        let bytes = if workload.block_size_bytes == 4096 { MIB } else { 8 * MIB };
        Workload { limit: Limit::Bytes(bytes), ..workload }
    };
    Factors {
        levels: levels.iter().map(|level| ArrayLevel::parse(level, None, 2).unwrap()).collect(),
        chunk_bytes: vec![65_536],
        member_counts: member_counts.to_vec(),
        workloads: Factors::standard_workloads(0, 0).into_iter().map(small).collect(),
        repeats: 2,
        drive_bytes_limit: 24 * MIB,
        verify_bytes: u64::MAX,
        seed: 5,
    }
}

fn run(
    images: &Images,
    plan: &StudyPlan,
    interrupt: &AtomicBool,
    progress: &mut dyn FnMut(&StudyProgress),
) -> Observations {
    let study = Study { plan, bay: images, open: OpenOptions::writable(), bytes_per_s: 100_000_000 };
    let start = std::time::Instant::now();
    let now_ns = || u64::try_from(start.elapsed().as_nanos()).unwrap();
    study.run(&mut Watch { interrupt, progress, measured: &mut |_, _| (), now_ns: &now_ns })
}

fn heading() -> Heading {
    let host = Machine {
        os: "test".to_owned(),
        kernel: "test".to_owned(),
        cpu_model: String::new(),
        cores: 1,
        memory_bytes: 0,
        io_engine: "io_uring".to_owned(),
    };
    Heading { tool_version: "0".to_owned(), command_line: Vec::new(), started_unix_ns: None, host }
}

#[test]
fn a_whole_study_measures_and_verifies_everything() {
    let images = Images::new(4, 32 * MIB);
    let plan = StudyPlan::new(factors(&["0", "5", "10"], &[4]), &images.descriptions).unwrap();
    let mut told: Vec<StudyProgress> = Vec::new();
    let seen = run(&images, &plan, &AtomicBool::new(false), &mut |progress| told.push(progress.clone()));
    assert_eq!(seen.warnings, [""; 0]);
    assert!(seen.complete);
    assert_eq!(seen.alone.len(), 4);
    assert!(seen.alone.iter().all(|drive| drive.measurements.len() == 4 * 2));
    assert_eq!(seen.together.len(), 4 * 2);
    assert!(seen.together.iter().all(|run| run.drives.len() == 4 && run.total_bytes_per_s > 0));
    assert_eq!(seen.arrays.len(), 3);
    for array in &seen.arrays {
        assert_eq!(array.measurements.len(), 4 * 2);
        assert!(array.measurements.iter().all(|measurement| measurement.ios > 0));
        let verification = array.verification.unwrap();
        assert_eq!(verification.wrong_blocks, 0);
        // Twice all of what was built on a part of the drives; what it holds is said of all.
        let holds = |drive_bytes| {
            let level = ArrayLevel::parse(&array.configuration.level, None, 4).unwrap();
            capacity(level, &[drive_bytes; 4], array.configuration.chunk_bytes.unwrap() as u32).unwrap().usable_bytes
        };
        assert_eq!(verification.bytes, holds(plan.factors.drive_bytes_limit) / MIB * MIB * 2);
        assert_eq!(array.configuration.capacity_bytes, holds(32 * MIB));
    }
    // Reads keep to what was written before.
    let all = seen.alone.iter().flat_map(|drive| &drive.measurements);
    for measurement in all.chain(seen.arrays.iter().flat_map(|array| &array.measurements)) {
        let codes = measurement.validity.reasons.iter().map(|reason| reason.code).collect::<Vec<_>>();
        assert!(!codes.contains(&shoal_bench::ReasonCode::Unwritten), "{codes:?} {:?}", measurement.workload);
        assert!(measurement.validity.reasons.iter().all(|reason| reason.code != shoal_bench::ReasonCode::Errors));
    }
    assert!(told.windows(2).all(|pair| pair[0].done_per_mille <= pair[1].done_per_mille), "progress never goes back");
    assert_eq!((told[0].phase, told.last().unwrap().phase), (Phase::Alone, Phase::Arrays));
    assert_eq!(told.last().unwrap().done_per_mille, 1000);
    let report = seen.into_report(heading(), &plan, &images, None);
    assert_eq!(report.analysis.arrays.len(), 3);
    let json = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<StudyReport>(&json).unwrap(), report);
}

/// What md's superblocks begin with.
const MAGIC: [u8; 4] = 0xa92b_4efc_u32.to_le_bytes();

#[test]
fn no_superblock_is_left_behind() {
    let images = Images::new(3, 32 * MIB);
    let plan = StudyPlan::new(Factors { repeats: 1, ..factors(&["5"], &[3]) }, &images.descriptions).unwrap();
    run(&images, &plan, &AtomicBool::new(false), &mut |_| {});
    for path in &images.paths {
        let mut start = [1; 8192];
        File::open(path).unwrap().read_exact(&mut start).unwrap();
        assert_ne!(start[4096..4100], MAGIC, "the superblock of version 1.2");
    }
}

#[test]
fn a_study_that_is_stopped_keeps_what_is_done() {
    let images = Images::new(3, 32 * MIB);
    let plan = StudyPlan::new(factors(&["0"], &[2, 3]), &images.descriptions).unwrap();
    let interrupt = AtomicBool::new(false);
    let mut stop = |progress: &StudyProgress| interrupt.store(progress.done_steps >= 4, Ordering::Relaxed);
    let seen = run(&images, &plan, &interrupt, &mut stop);
    assert!(!seen.complete);
    assert_eq!((seen.alone.len(), seen.together.len(), seen.arrays.len()), (3, 4, 0));
    let report = seen.into_report(heading(), &plan, &images, None);
    assert!(!report.complete && report.analysis.drives.len() == 3);
}

#[test]
fn a_drive_that_is_gone_costs_its_steps_only() {
    let images = Images::new(3, 32 * MIB);
    let plan = StudyPlan::new(Factors { repeats: 1, ..factors(&["0"], &[2, 3]) }, &images.descriptions).unwrap();
    std::fs::remove_file(&images.paths[2]).unwrap();
    let seen = run(&images, &plan, &AtomicBool::new(false), &mut |_| {});
    assert!(!seen.complete);
    assert_eq!(seen.alone.iter().map(|drive| drive.drive).collect::<Vec<_>>(), [0, 1]);
    assert!(seen.together.is_empty());
    assert_eq!(seen.arrays.len(), 1);
    assert_eq!(seen.arrays[0].configuration.members, [0, 1]);
    assert!(seen.warnings.iter().any(|warning| warning.starts_with("drive-2 alone: ")), "{:?}", seen.warnings);
}

#[test]
fn a_drive_too_small_for_an_array_is_named() {
    let images = Images::new(2, 256 * 1024);
    let plan = StudyPlan::new(Factors { repeats: 1, ..factors(&["0"], &[2]) }, &images.descriptions).unwrap();
    let seen = run(&images, &plan, &AtomicBool::new(false), &mut |_| {});
    assert!(seen.arrays.is_empty() && !seen.complete);
    assert!(
        seen.warnings.iter().any(|warning| warning.starts_with("RAID0 \u{d7} 2, 64 KiB, round 1: ")),
        "{:?}",
        seen.warnings
    );
}

#[test]
fn verdicts_do_not_hide() {
    let images = Images::new(1, 32 * MIB);
    let plan = StudyPlan::new(factors(&[], &[]), &images.descriptions).unwrap();
    let seen = run(&images, &plan, &AtomicBool::new(false), &mut |_| {});
    // Eight requests of 1 MiB are too few to average over, and that is said.
    let few = &seen.alone[0].measurements[0];
    assert_eq!(few.validity.verdict, Verdict::Suspect);
    assert!(few.validity.reasons.iter().any(|reason| reason.code == shoal_bench::ReasonCode::TooFewSamples));
}

#[test]
fn a_member_fails_in_the_middle_of_writing_and_nothing_is_lost() {
    for drives in [3_u32, 4, 6] {
        let images = Images::new(drives as usize, 24 * MIB);
        let story = FaultStory::suited_to(drives, u64::MAX, 77).unwrap().unwrap();
        let mut told = Vec::new();
        let interrupt = AtomicBool::new(false);
        let mut watch = FaultWatch { interrupt: &interrupt, progress: &mut |_, per_mille| told.push(per_mille) };
        let record = story.run(&images, &OpenOptions::writable(), &mut watch).unwrap().unwrap();
        let states: Vec<FaultState> = record.phases.iter().map(|phase| phase.state).collect();
        use FaultState::{Degraded, Failing, Healthy, Rebuilding, Rebuilt};
        assert_eq!(states, [Healthy, Failing, Degraded, Rebuilding, Rebuilt]);
        assert_eq!(record.verification.wrong_blocks, 0);
        assert_eq!(record.verification.bytes, record.configuration.capacity_bytes / MIB * MIB);
        assert_eq!(record.scrub_mismatched_bytes, 0);
        let failing = &record.phases[1];
        let phase_end_ns = failing.start_ns + failing.measurement.elapsed_ns;
        assert!((failing.start_ns..phase_end_ns).contains(&record.failed_at_ns));
        assert!(record.rebuild_bytes >= 20 * MIB && record.rebuild_ns > 0);
        assert!(record.written_while_degraded_bytes >= record.phases[2].measurement.bytes + MIB);
        assert!(record.phases.iter().all(|phase| phase.measurement.write.as_ref().unwrap().errors == 0));
        assert!(told.is_sorted() && told.last() == Some(&1000));
    }
}

#[test]
fn too_few_drives_make_no_story() {
    assert!(FaultStory::suited_to(2, u64::MAX, 1).unwrap().is_none());
    assert!(FaultStory::suited_to(0, u64::MAX, 1).unwrap().is_none());
}

#[test]
fn a_story_can_be_stopped_at_any_point() {
    let images = Images::new(4, 24 * MIB);
    let story = FaultStory::suited_to(4, u64::MAX, 77).unwrap().unwrap();
    for stop_at in [0, 300, 500, 600, 800, 900] {
        let interrupt = AtomicBool::new(false);
        let mut progress = |_: &str, per_mille: u16| interrupt.store(per_mille >= stop_at, Ordering::Relaxed);
        let mut watch = FaultWatch { interrupt: &interrupt, progress: &mut progress };
        let record = story.run(&images, &OpenOptions::writable(), &mut watch).unwrap();
        assert!(record.is_none(), "stopped at {stop_at}");
    }
}
