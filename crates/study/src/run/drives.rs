//! Drives measured one by one, and all at the same time.

use std::sync::Barrier;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use shoal_bench::{Conditions, CpuScope, Measurement, TargetDescription, Workload};
use shoal_volume::{DriveVolume, Volume};

use super::cell::Cell;
use super::progress::Tracker;
use super::{StepError, Study, Watch};
use crate::bay::{Bay, Opened};
use crate::model::{DriveMeasurement, SEED_LIMIT, TogetherRun};

/// How often the threads that measure are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// What came of measuring all drives at once: what was done, and why no more.
pub(super) struct TogetherRuns {
    pub(super) runs: Vec<TogetherRun>,
    pub(super) error: Option<StepError>,
}

impl<B: Bay> Study<'_, B> {
    /// All repeats of all workloads on one drive.
    pub(super) fn alone(
        &self,
        drive: u32,
        seed: u64,
        tracker: &Tracker<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Measurement>, StepError> {
        let mut volume = self.open_drive(drive)?;
        let mut cell = self.drive_cell(drive, &volume, seed, CpuScope::Process);
        let workloads = &self.plan.factors.workloads;
        let mut measurements = Vec::new();
        for (index, workload) in workloads.iter().enumerate() {
            let mut tell = |per_mille: u16| {
                let done = index as u64 * 1000 + u64::from(per_mille);
                tracker.tell(done / workloads.len() as u64, watch.progress);
            };
            let repeats = self.plan.factors.repeats;
            measurements.extend(cell.measure(&mut volume, (index, workload), repeats, watch.interrupt, &mut tell)?);
        }
        Ok(measurements)
    }

    /// All workloads on all drives at the same time, once.
    pub(super) fn together(
        &self,
        repeat: u32,
        seed: u64,
        tracker: &Tracker<'_>,
        watch: &mut Watch<'_>,
    ) -> TogetherRuns {
        let mut done = TogetherRuns { runs: Vec::new(), error: None };
        let mut written = vec![0; self.bay.drives().len()];
        let begun_ns = (watch.now_ns)();
        let workloads = &self.plan.factors.workloads;
        for workload in workloads.iter().enumerate() {
            let mut look = || {
                let elapsed_ns = (watch.now_ns)().saturating_sub(begun_ns);
                let per_mille = u128::from(elapsed_ns) * 1000 / u128::from(tracker.estimate_ns().max(1));
                tracker.tell(u64::try_from(per_mille).unwrap_or(1000), watch.progress);
            };
            match self.at_once(workload, seed, &mut written, watch.interrupt, &mut look) {
                Ok(mut drives) if drives.iter().all(Option::is_some) => {
                    drives.iter_mut().flatten().for_each(|drive| drive.measurement.repeat = repeat);
                    done.runs.push(together_run(drives.into_iter().flatten().collect()));
                }
                Ok(_interrupted) => break,
                Err(error) => {
                    done.error = Some(error);
                    break;
                }
            }
        }
        done
    }

    /// One workload on all drives, a thread each, started together. A drive that was interrupted before it measured
    /// anything gives none.
    fn at_once(
        &self,
        workload: (usize, &Workload),
        seed: u64,
        written: &mut [u64],
        interrupt: &AtomicBool,
        look: &mut dyn FnMut(),
    ) -> Result<Vec<Option<DriveMeasurement>>, StepError> {
        let start = Barrier::new(written.len());
        let start = &start;
        thread::scope(|scope| {
            let threads: Vec<_> = (0..)
                .zip(written.iter_mut())
                .map(|(drive, written)| {
                    scope.spawn(move || self.one_of_many(drive, workload, seed, written, interrupt, start))
                })
                .collect();
            while threads.iter().any(|thread| !thread.is_finished()) {
                thread::sleep(LOOK);
                look();
            }
            let join = |thread: thread::ScopedJoinHandle<'_, _>| match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            threads.into_iter().map(join).collect()
        })
    }

    fn one_of_many(
        &self,
        drive: u32,
        workload: (usize, &Workload),
        seed: u64,
        written: &mut u64,
        interrupt: &AtomicBool,
        start: &Barrier,
    ) -> Result<Option<DriveMeasurement>, StepError> {
        let opened = self.open_drive(drive);
        // Everybody comes here, whether the drive could be opened or not: nobody waits for ever.
        start.wait();
        let mut volume = opened?;
        let seed = (seed + u64::from(drive) * 1000) % SEED_LIMIT;
        let mut cell = self.drive_cell(drive, &volume, seed, CpuScope::Thread);
        cell.written_bytes = *written;
        let measurements = cell.measure(&mut volume, workload, 1, interrupt, &mut |_| {})?;
        *written = cell.written_bytes;
        Ok(measurements.into_iter().next().map(|measurement| DriveMeasurement { drive, measurement }))
    }

    fn open_drive(&self, drive: u32) -> Result<DriveVolume<B::World>, StepError> {
        let Opened { world, plan, drives } = self.bay.open(&[drive], self.requests()).map_err(StepError::Open)?;
        Ok(DriveVolume::new(world, drives[0], plan))
    }

    fn drive_cell(&self, drive: u32, volume: &DriveVolume<B::World>, seed: u64, cpu_scope: CpuScope) -> Cell {
        let description = &self.bay.drives()[drive as usize];
        let target = TargetDescription {
            name: description.name.clone(),
            kind: description.kind,
            size_bytes: volume.size_bytes(),
            logical_block_bytes: volume.logical_block_bytes(),
            level: None,
            layout: None,
            chunk_bytes: None,
            member_count: None,
            simulated: None,
        };
        Cell {
            target,
            conditions: Conditions { buffered: !volume.facts().direct, ..Conditions::default() },
            cpu_scope,
            range_bytes: self.plan.factors.drive_bytes_limit.min(volume.size_bytes()),
            written_bytes: 0,
            seed,
        }
    }
}

/// Totals over the time that the slowest took.
fn together_run(drives: Vec<DriveMeasurement>) -> TogetherRun {
    let longest_ns = drives.iter().map(|drive| drive.measurement.elapsed_ns).max().unwrap_or(0);
    let total = |value: fn(&Measurement) -> u64| {
        let sum: u128 = drives.iter().map(|drive| u128::from(value(&drive.measurement))).sum();
        let per_second = (sum * 1_000_000_000).checked_div(u128::from(longest_ns)).unwrap_or(0);
        u64::try_from(per_second).unwrap_or(u64::MAX)
    };
    let (total_bytes_per_s, total_iops) = (total(|it| it.bytes), total(|it| it.ios));
    TogetherRun { drives, total_bytes_per_s, total_iops }
}
