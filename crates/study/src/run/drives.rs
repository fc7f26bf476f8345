//! Drives measured one by one, and all at the same time.

use shoal_bench::{Conditions, Measurement, TargetDescription, Workload, run_together};
use shoal_volume::{DriveFacts, DriveSet, DriveVolume, Volume};

use super::cell::Cell;
use super::progress::Tracker;
use super::{StepError, Study, Watch};
use crate::bay::{Bay, Opened, Requests};
use crate::model::{DriveMeasurement, SEED_LIMIT, TogetherRun};

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
        let begun = volume.now();
        let mut cell = self.drive_cell(drive, volume.facts(), &volume, seed);
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
        tracker.worked(volume.now().since_ns(begun));
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
        for workload in self.plan.factors.workloads.iter().enumerate() {
            match self.at_once(workload, seed, &mut written, tracker, watch) {
                Ok(drives) if drives.iter().all(Option::is_some) => {
                    let mut drives: Vec<DriveMeasurement> = drives.into_iter().flatten().collect();
                    drives.iter_mut().for_each(|drive| drive.measurement.repeat = repeat);
                    done.runs.push(together_run(drives));
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

    /// One workload on all drives, in one world, started together. A drive that was interrupted
    /// before it measured anything gives none.
    fn at_once(
        &self,
        workload: (usize, &Workload),
        seed: u64,
        written: &mut [u64],
        tracker: &Tracker<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Option<DriveMeasurement>>, StepError> {
        let mut set = self.open_all(workload.1)?;
        let begun = set.now();
        let mut cells = Vec::new();
        let mut benches = Vec::new();
        for (drive, written) in (0..).zip(&*written) {
            let facts = set.facts(drive as usize).clone();
            let volume = &mut set.drive(drive as usize);
            let seed = (seed + u64::from(drive) * 1000) % SEED_LIMIT;
            let cell = Cell { written_bytes: *written, ..self.drive_cell(drive, &facts, volume, seed) };
            benches.push(cell.bench(volume, workload, 1)?);
            cells.push(cell);
        }
        let workload_count = self.plan.factors.workloads.len() as u64;
        let mut tell = |progress: shoal_bench::BenchProgress| {
            let done = workload.0 as u64 * 1000 + u64::from(progress.done_per_mille);
            tracker.tell(done / workload_count, watch.progress);
        };
        let mut of_drives = shoal_bench::Watch { interrupt: watch.interrupt, progress: &mut tell, observer: &mut () };
        let measured = run_together(&benches, &mut set, &mut of_drives)?;
        tracker.worked(set.now().since_ns(begun));
        for ((cell, written), measurement) in cells.iter_mut().zip(written).zip(&measured) {
            cell.wrote(workload.1, measurement.iter());
            *written = cell.written_bytes;
        }
        let of_drive = |(drive, measurement): (u32, Option<Measurement>)| {
            measurement.map(|measurement| DriveMeasurement { drive, measurement })
        };
        Ok((0..).zip(measured).map(of_drive).collect())
    }

    /// All drives in one world, with room for one workload on each.
    fn open_all(&self, workload: &Workload) -> Result<DriveSet<B::World>, StepError> {
        let all: Vec<u32> = (0..).zip(self.bay.drives()).map(|(drive, _)| drive).collect();
        let count = workload.depth.saturating_mul(u32::try_from(all.len()).unwrap_or(u32::MAX));
        let requests = Requests { count, bytes: workload.block_size_bytes, compared: false };
        let Opened { world, plan, drives } = self.bay.open(&all, requests).map_err(StepError::Open)?;
        Ok(DriveSet::new(world, &drives, plan))
    }

    fn open_drive(&self, drive: u32) -> Result<DriveVolume<B::World>, StepError> {
        let Opened { world, plan, drives } = self.bay.open(&[drive], self.requests()).map_err(StepError::Open)?;
        Ok(DriveVolume::new(world, drives[0], plan))
    }

    fn drive_cell<V: Volume>(&self, drive: u32, facts: &DriveFacts, volume: &V, seed: u64) -> Cell {
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
            simulated: self.bay.simulated().map(str::to_owned),
            engine: None,
        };
        Cell {
            target,
            conditions: Conditions { buffered: !facts.direct, ..Conditions::default() },
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
