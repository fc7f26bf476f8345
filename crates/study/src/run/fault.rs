//! A member fails in the middle of writing and is rebuilt, all under load; then everything is read
//! back.
//!
//! The array is divided into as many parts as there are phases, and each phase writes its own part
//! once, with a seed of its own. So when all is over every byte of the array tells whether it is
//! what was last written, whichever state the array was in at that moment: a write that was lost
//! leaves the bytes of another seed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use shoal_bench::{
    Bench, BenchError, Blocks, Conditions, Limit, Measurement, Pattern, TargetDescription, Verification, Verified,
    Workload,
};
use shoal_volume::{ArrayLevel, Event, Instant, LevelError, OpenOptions, ScrubMode};

use super::StepError;
use super::array::{VERIFY_BYTES, VERIFY_DEPTH, build, configuration, describe, outcome};
use super::erase::erase_superblocks;
use super::hooked::Hooked;
use crate::bay::{Bay, Opened, Requests};
use crate::model::{self, Configuration, FaultPhase, FaultRecord, FaultState, SEED_LIMIT};
use crate::plan::PlannedArray;
use crate::running::RunningArray;

/// The phases that write, in the order of time.
const PHASES: [FaultState; 5] =
    [FaultState::Healthy, FaultState::Failing, FaultState::Degraded, FaultState::Rebuilding, FaultState::Rebuilt];
/// How long background work goes on between looks at the interrupt flag.
const LOOK: Duration = Duration::from_millis(50);
/// Chunk of the arrays that [`FaultStory::suited_to`] proposes.
const CHUNK_BYTES: u32 = 64 << 10;

/// What is to happen.
#[derive(Clone, Debug)]
pub struct FaultStory {
    /// The array; of a level with redundancy.
    pub array: PlannedArray,
    /// The member that fails.
    pub failed_drive: u32,
    /// The drive that takes its place; no member.
    pub replacement_drive: u32,
    /// So much of each drive is used.
    pub drive_bytes_limit: u64,
    /// Decides the bytes written; below [`SEED_LIMIT`].
    pub seed: u64,
}

/// Who watches, and who stops it.
pub struct FaultWatch<'a> {
    /// Once true, it ends soon, and there is no record.
    pub interrupt: &'a AtomicBool,
    /// Told what is being done, and how much of the whole story is done, in thousandths.
    pub progress: &'a mut dyn FnMut(&'static str, u16),
}

impl FaultStory {
    /// A story for so many drives: the last is the replacement, the others are RAID5, or RAID1 if
    /// they are two. `None` for fewer than three drives.
    pub fn suited_to(drive_count: u32, drive_bytes_limit: u64, seed: u64) -> Result<Option<Self>, LevelError> {
        let Some(members) = drive_count.checked_sub(1).filter(|members| *members >= 2) else { return Ok(None) };
        let (level, chunk_bytes) = if members == 2 { ("1", None) } else { ("5", Some(CHUNK_BYTES)) };
        let level = ArrayLevel::parse(level, None, 1)?;
        let array = PlannedArray { level, chunk_bytes, members: (0..members).collect() };
        Ok(Some(Self { array, failed_drive: 1, replacement_drive: members, drive_bytes_limit, seed }))
    }

    /// Lets it happen. `None` if it was interrupted. The drives are left without superblocks.
    pub fn run<B: Bay>(
        &self,
        bay: &B,
        open: &OpenOptions,
        watch: &mut FaultWatch<'_>,
    ) -> Result<Option<FaultRecord>, StepError> {
        let record = self.happen(bay, open, watch);
        let erased = erase_superblocks(bay);
        let record = record?;
        erased.map(|()| record)
    }

    fn happen<B: Bay>(
        &self,
        bay: &B,
        open: &OpenOptions,
        watch: &mut FaultWatch<'_>,
    ) -> Result<Option<FaultRecord>, StepError> {
        let all: Vec<u32> = self.array.members.iter().copied().chain([self.replacement_drive]).collect();
        let requests = Requests { count: VERIFY_DEPTH, bytes: VERIFY_BYTES, compared: true };
        let Opened { world, plan, mut drives } = bay.open(&all, requests).map_err(StepError::Open)?;
        let ids = all.iter().copied().zip(drives.iter().copied()).collect();
        drives.truncate(self.array.members.len());
        let array = build(Opened { world, plan, drives }, &self.array, self.drive_bytes_limit, open)?;
        let mut volume = bay.run(array, ids, requests).map_err(StepError::Run)?;
        let configuration = configuration(&self.array, bay.drives(), volume.as_ref());
        let scene = Scene {
            story: self,
            blocks: whole(volume.as_ref())?,
            target: describe(&configuration, volume.content(), bay),
            configuration,
        };
        let record = scene.play(volume.as_mut(), watch)?;
        volume.close().map_err(StepError::Run)?;
        Ok(record)
    }
}

fn background(what: &str) -> StepError {
    StepError::Background { what: what.to_owned() }
}

fn whole(volume: &dyn RunningArray) -> Result<Blocks, StepError> {
    let blocks =
        Blocks::of_range(0, 0, VERIFY_BYTES, volume.content().size_bytes(), volume.content().logical_block_bytes());
    Ok(blocks.map_err(BenchError::Workload)?)
}

/// The array and the drives that have a part.
struct Scene<'a> {
    story: &'a FaultStory,
    configuration: Configuration,
    blocks: Blocks,
    target: TargetDescription,
}

/// What the hooks note while the load runs.
#[derive(Debug, Default)]
struct Notes {
    failed_at_ns: Option<u64>,
    rebuild_started_ns: Option<u64>,
    rebuilt_at_ns: Option<u64>,
    rebuild_bytes: u64,
    written_while_degraded_bytes: u64,
}

impl Notes {
    fn is_degraded(&self) -> bool {
        self.failed_at_ns.is_some() && self.rebuilt_at_ns.is_none()
    }
}

impl Scene<'_> {
    fn play(
        &self,
        volume: &mut dyn RunningArray,
        watch: &mut FaultWatch<'_>,
    ) -> Result<Option<FaultRecord>, StepError> {
        (watch.progress)("filling the array", 0);
        let filling = Verification { blocks: self.blocks, depth: VERIFY_DEPTH, seed: self.story.seed, pass: 0 };
        if !filling.write(volume.content_mut(), watch.interrupt, &mut |_, _| {})?.is_good() {
            return self.interrupted(watch, "filling the array failed");
        }
        let begun = volume.content().now();
        let mut notes = Notes::default();
        let mut phases = Vec::new();
        for (number, state) in (0..).zip(PHASES) {
            (watch.progress)(name(state), 200 + 100 * number);
            if state == FaultState::Rebuilding {
                notes.rebuild_started_ns = Some(volume.content().now().since_ns(begun));
                volume.add_drive(self.story.replacement_drive).map_err(StepError::Run)?;
                notes.rebuild_bytes = volume.status().progress.map_or(0, |progress| progress.total_bytes);
            }
            if state == FaultState::Rebuilt && !self.finish_rebuild(volume, begun, &mut notes, watch)? {
                return Ok(None);
            }
            let Some((start_ns, measurement)) = self.phase(volume, u64::from(number), begun, &mut notes, watch)? else {
                return self.interrupted(watch, "the load wrote nothing");
            };
            phases.push(FaultPhase { state, start_ns, measurement });
        }
        (watch.progress)("reading everything back", 800);
        let Some(verification) = self.read_back(volume, watch.interrupt)? else { return Ok(None) };
        (watch.progress)("scrubbing", 900);
        let Some(mismatched) = scrub(volume, watch.interrupt)? else { return Ok(None) };
        (watch.progress)("done", 1000);
        self.record(&notes, phases, verification, mismatched).map(Some)
    }

    /// Why it ended early: that is no error if it was asked for.
    fn interrupted<T>(&self, watch: &FaultWatch<'_>, otherwise: &str) -> Result<Option<T>, StepError> {
        if watch.interrupt.load(Ordering::Relaxed) { Ok(None) } else { Err(background(otherwise)) }
    }

    /// Writes a phase's part of the array; tells when it began. Half-way through its part, the
    /// failing phase's member fails.
    fn phase(
        &self,
        volume: &mut dyn RunningArray,
        number: u64,
        begun: Instant,
        notes: &mut Notes,
        watch: &mut FaultWatch<'_>,
    ) -> Result<Option<(u64, Measurement)>, StepError> {
        let blocks = self.part(number);
        let bench = self.bench(volume, number, notes);
        let mut start_ns = None;
        let mut writes = 0;
        let mut failed = Ok(());
        let failing = PHASES[usize::try_from(number).unwrap_or(0)] == FaultState::Failing;
        let mut hook = |volume: &mut dyn RunningArray| {
            start_ns.get_or_insert(volume.content().now().since_ns(begun));
            writes += 1;
            if failing && writes == blocks.count / 2 {
                notes.failed_at_ns = Some(volume.content().now().since_ns(begun));
                failed = volume.fail_drive(self.story.failed_drive);
            }
            if notes.rebuild_started_ns.is_some() && notes.rebuilt_at_ns.is_none() && volume.status().progress.is_none()
            {
                notes.rebuilt_at_ns = Some(volume.content().now().since_ns(begun));
            }
            if notes.is_degraded() {
                notes.written_while_degraded_bytes += u64::from(VERIFY_BYTES);
            }
        };
        let mut hooked = Hooked { inner: volume, before_write: &mut hook };
        let mut watch = shoal_bench::Watch { interrupt: watch.interrupt, progress: &mut |_| {}, observer: &mut () };
        let measured = bench.run(&mut hooked, &mut watch)?.pop();
        failed.map_err(StepError::Run)?;
        Ok(start_ns.zip(measured).filter(|_| !watch.interrupt.load(Ordering::Relaxed)))
    }

    /// The load of a phase.
    fn bench(&self, volume: &dyn RunningArray, number: u64, notes: &Notes) -> Bench {
        Bench {
            target: self.target.clone(),
            workload: self.workload(number),
            repeats: 1,
            conditions: Conditions {
                buffered: volume.is_buffered(),
                unwritten: None,
                degraded: notes.is_degraded(),
                resyncing: volume.status().progress.is_some(),
            },
        }
    }

    /// Lets the rebuild come to its end; false if it was interrupted.
    fn finish_rebuild(
        &self,
        volume: &mut dyn RunningArray,
        begun: Instant,
        notes: &mut Notes,
        watch: &FaultWatch<'_>,
    ) -> Result<bool, StepError> {
        while volume.run_background(LOOK).map_err(StepError::Run)? {
            if watch.interrupt.load(Ordering::Relaxed) {
                return Ok(false);
            }
        }
        notes.rebuilt_at_ns.get_or_insert(volume.content().now().since_ns(begun));
        let finished = volume.take_news().iter().any(|news| matches!(news.event, Event::RebuildFinished(_)));
        if finished { Ok(true) } else { Err(background("the rebuild did not finish")) }
    }

    /// Compares every part with what its phase wrote.
    fn read_back(
        &self,
        volume: &mut dyn RunningArray,
        interrupt: &AtomicBool,
    ) -> Result<Option<model::Verification>, StepError> {
        let mut sum = model::Verification { bytes: 0, wrong_blocks: 0 };
        for number in 0..PHASES.len() as u64 {
            let blocks = self.part(number);
            let part = Verification { blocks, depth: VERIFY_DEPTH, seed: self.seed(number), pass: 0 };
            let compared: Verified = part.compare_load(volume.content_mut(), interrupt, &mut |_, _| {})?;
            if compared.interrupted {
                return Ok(None);
            }
            let found = outcome(volume.content(), blocks, &[compared]);
            sum.bytes += found.bytes;
            sum.wrong_blocks += found.wrong_blocks;
        }
        Ok(Some(sum))
    }

    fn record(
        &self,
        notes: &Notes,
        phases: Vec<FaultPhase>,
        verification: model::Verification,
        scrub_mismatched_bytes: u64,
    ) -> Result<FaultRecord, StepError> {
        let times = notes.failed_at_ns.zip(notes.rebuild_started_ns).zip(notes.rebuilt_at_ns);
        let ((failed_at_ns, rebuild_started_ns), rebuilt_at_ns) =
            times.ok_or_else(|| background("the array is too small to fail in the middle of writing"))?;
        let rebuild_ns = rebuilt_at_ns.saturating_sub(rebuild_started_ns);
        let per_second = (u128::from(notes.rebuild_bytes) * 1_000_000_000).checked_div(u128::from(rebuild_ns));
        Ok(FaultRecord {
            configuration: self.configuration.clone(),
            failed_drive: self.story.failed_drive,
            replacement_drive: self.story.replacement_drive,
            failed_at_ns,
            rebuild_started_ns,
            rebuild_ns,
            rebuild_bytes: notes.rebuild_bytes,
            rebuild_bytes_per_s: u64::try_from(per_second.unwrap_or(0)).unwrap_or(u64::MAX),
            written_while_degraded_bytes: notes.written_while_degraded_bytes,
            verification,
            scrub_mismatched_bytes,
            phases,
        })
    }

    /// The part of the array that a phase writes.
    fn part(&self, number: u64) -> Blocks {
        let parts = PHASES.len() as u64;
        let [first, end] = [number, number + 1].map(|part| self.blocks.count * part / parts);
        Blocks { offset: self.blocks.start(first), count: end - first, ..self.blocks }
    }

    fn seed(&self, number: u64) -> u64 {
        (self.story.seed + number + 1) % SEED_LIMIT
    }

    fn workload(&self, number: u64) -> Workload {
        let blocks = self.part(number);
        let bytes = blocks.count * u64::from(blocks.block_size_bytes);
        Workload {
            pattern: Pattern::Sequential,
            read_percent: 0,
            block_size_bytes: blocks.block_size_bytes,
            depth: VERIFY_DEPTH,
            limit: Limit::Bytes(bytes),
            warm_up_ns: 0,
            range_offset: blocks.offset,
            range_bytes: bytes,
            visit_once: false,
            seed: self.seed(number),
        }
    }
}

fn name(state: FaultState) -> &'static str {
    match state {
        FaultState::Healthy => "writing to the healthy array",
        FaultState::Failing => "failing a member in the middle of writing",
        FaultState::Degraded => "writing without the member",
        FaultState::Rebuilding => "writing while a replacement is rebuilt",
        FaultState::Rebuilt => "writing to the rebuilt array",
    }
}

/// Checks that all members agree: bytes that do not; `None` if it was interrupted.
fn scrub(volume: &mut dyn RunningArray, interrupt: &AtomicBool) -> Result<Option<u64>, StepError> {
    volume.scrub(ScrubMode::Check).map_err(StepError::Run)?;
    while volume.run_background(LOOK).map_err(StepError::Run)? {
        if interrupt.load(Ordering::Relaxed) {
            volume.stop_scrub().map_err(StepError::Run)?;
        }
    }
    for news in volume.take_news() {
        if let Event::ScrubFinished { mismatched_bytes, completed } = news.event {
            return Ok(completed.then_some(mismatched_bytes));
        }
    }
    Err(background("the scrub did not finish"))
}
