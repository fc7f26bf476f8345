//! Arrays: built, measured, verified.

use shoal_bench::{BenchError, Blocks, Conditions, TargetDescription, TargetKind, Verification, Verified};
use shoal_plan::arrays::capacity;
use shoal_volume::{ArrayVolume, ConsistencyPolicy, CreateOptions, Health, MinorVersion, OpenOptions, Volume, World};

use super::cell::Cell;
use super::progress::Tracker;
use super::{StepError, Study, Watch};
use crate::analysis::array_name;
use crate::bay::{Bay, Opened, Requests};
use crate::model::{self, ArrayResult, Configuration, DriveDescription};
use crate::plan::PlannedArray;
use crate::running::RunningArray;

/// Requests in flight while verifying.
pub(crate) const VERIFY_DEPTH: u32 = 8;
/// Size of each.
pub(crate) const VERIFY_BYTES: u32 = 1 << 20;
/// The chunk given where the level has none and does not look at it.
const NO_CHUNK_BYTES: u32 = 512 << 10;
/// In the superblocks, for whoever finds them.
const ARRAY_NAME: &str = "shoal-study";

impl<B: Bay> Study<'_, B> {
    /// Builds an array and runs all workloads on it once; then builds it anew, and verifies its
    /// content.
    pub(super) fn array(
        &self,
        planned: &PlannedArray,
        result: &mut Option<ArrayResult>,
        (repeat, seed): (u32, u64),
        tracker: &Tracker<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<(), StepError> {
        let mut volume = self.build(planned, self.requests())?;
        let begun = volume.content().now();
        let configuration = configuration(planned, self.bay.drives(), volume.as_ref());
        let mut cell = self.array_cell(&configuration, volume.as_ref(), seed);
        let result = result.get_or_insert(ArrayResult { configuration, measurements: Vec::new(), verification: None });
        let workloads = &self.plan.factors.workloads;
        for (index, workload) in workloads.iter().enumerate() {
            let mut tell = |per_mille: u16| {
                // Verifying counts as one workload more.
                let done = index as u64 * 1000 + u64::from(per_mille);
                tracker.tell(done / (workloads.len() as u64 + 1), watch.progress);
            };
            let measured = cell.measure(volume.content_mut(), (index, workload), 1, watch.interrupt, &mut tell)?;
            result.measurements.extend(measured.into_iter().map(|mut measurement| {
                measurement.repeat = repeat;
                measurement
            }));
        }
        tracker.worked(volume.content().now().since_ns(begun));
        volume.close().map_err(StepError::Run)?;
        let mut volume = self.build(planned, Requests { count: VERIFY_DEPTH, bytes: VERIFY_BYTES, compared: true })?;
        let begun = volume.content().now();
        let verify_bytes = self.verify_bytes(planned);
        if let Some(verified) = self.verify(volume.content_mut(), verify_bytes, (repeat, seed), tracker, watch)? {
            let sum = result.verification.get_or_insert(model::Verification { bytes: 0, wrong_blocks: 0 });
            sum.bytes += verified.bytes;
            sum.wrong_blocks += verified.wrong_blocks;
        }
        tracker.worked(volume.content().now().since_ns(begun));
        volume.close().map_err(StepError::Run)?;
        Ok(())
    }

    /// How much of an array is verified: as planned, or as much as its members can keep if each
    /// keeps a copy of it.
    fn verify_bytes(&self, planned: &PlannedArray) -> u64 {
        let planned_bytes = self.plan.factors.verify_bytes;
        let member_count = planned.members.len().max(1) as u64;
        self.bay.kept_bytes_max().map_or(planned_bytes, |kept_bytes| planned_bytes.min(kept_bytes / member_count))
    }

    fn build(&self, planned: &PlannedArray, requests: Requests) -> Result<Box<dyn RunningArray>, StepError> {
        let opened = self.bay.open(&planned.members, requests).map_err(StepError::Open)?;
        let limit = self.plan.factors.drive_bytes_limit;
        let drives = planned.members.iter().copied().zip(opened.drives.iter().copied()).collect();
        let array = build(opened, planned, limit, &self.open)?;
        self.bay.run(array, drives, requests).map_err(StepError::Run)
    }

    fn array_cell(&self, configuration: &Configuration, volume: &dyn RunningArray, seed: u64) -> Cell {
        let status = volume.status();
        Cell {
            target: describe(configuration, volume.content(), self.bay),
            conditions: Conditions {
                buffered: volume.is_buffered(),
                unwritten: None,
                degraded: status.health != Health::Optimal,
                resyncing: status.progress.is_some(),
            },
            range_bytes: volume.content().size_bytes(),
            written_bytes: 0,
            seed,
        }
    }

    /// Writes a part of the array and compares it; `None` if that was interrupted.
    fn verify<V: Volume + ?Sized>(
        &self,
        volume: &mut V,
        verify_bytes: u64,
        (repeat, seed): (u32, u64),
        tracker: &Tracker<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Option<model::Verification>, StepError> {
        let blocks = verified_blocks(volume, verify_bytes)?;
        let verification = Verification { blocks, depth: VERIFY_DEPTH, seed, pass: u64::from(repeat) };
        let workloads = self.plan.factors.workloads.len() as u64;
        let total = 2 * blocks.count * u64::from(blocks.block_size_bytes);
        let progress = &mut *watch.progress;
        let mut tell = |bytes: u64| {
            let per_mille = u64::try_from(u128::from(bytes) * 1000 / u128::from(total)).unwrap_or(1000);
            tracker.tell((workloads * 1000 + per_mille) / (workloads + 1), progress);
        };
        let written = verification.write(volume, watch.interrupt, &mut |_, bytes| tell(bytes))?;
        if written.interrupted {
            return Ok(None);
        }
        let compared = verification.compare(volume, watch.interrupt, &mut |_, bytes| tell(total / 2 + bytes))?;
        Ok((!compared.interrupted).then(|| outcome(volume, blocks, &[written, compared])))
    }
}

/// Builds an array of open drives. Parity and mirrors are taken to agree: a block is read only
/// after it was written.
pub(crate) fn build<W: World>(
    opened: Opened<W>,
    planned: &PlannedArray,
    drive_bytes_limit: u64,
    open: &OpenOptions,
) -> Result<ArrayVolume<W>, StepError> {
    let create = CreateOptions {
        level: planned.level,
        chunk_bytes: planned.chunk_bytes.unwrap_or(NO_CHUNK_BYTES),
        spare_count: 0,
        name: ARRAY_NAME.to_owned(),
        homehost: None,
        drive_bytes_limit: Some(drive_bytes_limit),
        assume_clean: true,
        metadata: MinorVersion::Start4K,
        consistency: ConsistencyPolicy::Resync,
    };
    Ok(ArrayVolume::create(opened.world, opened.plan, &opened.drives, &create, open)?)
}

/// What a verification found, in the report's words.
pub(crate) fn outcome<V: Volume + ?Sized>(volume: &V, blocks: Blocks, passes: &[Verified]) -> model::Verification {
    // A request that failed is as wrong as all it should have carried.
    let wrong = |pass: &Verified| pass.wrong_bytes + pass.errors * u64::from(blocks.block_size_bytes);
    let wrong_bytes: u64 = passes.iter().map(wrong).sum();
    let compared_bytes = passes.last().map_or(0, |pass| pass.bytes);
    let wrong_blocks = wrong_bytes.div_ceil(u64::from(volume.logical_block_bytes()));
    model::Verification { bytes: compared_bytes, wrong_blocks }
}

/// The part of an array that is verified: so much from its start, in whole requests.
fn verified_blocks<V: Volume + ?Sized>(volume: &V, verify_bytes: u64) -> Result<Blocks, StepError> {
    let length = verify_bytes.max(u64::from(VERIFY_BYTES)).min(volume.size_bytes());
    let block = u32::try_from(length).unwrap_or(u32::MAX).min(VERIFY_BYTES);
    let blocks = Blocks::of_range(0, length, block, volume.size_bytes(), volume.logical_block_bytes());
    Ok(blocks.map_err(BenchError::Workload)?)
}

/// What was built, with what it holds on all of the drives, whatever part of them is measured.
pub(crate) fn configuration(
    planned: &PlannedArray,
    drives: &[DriveDescription],
    volume: &dyn RunningArray,
) -> Configuration {
    let status = volume.status();
    let sizes: Option<Vec<u64>> =
        planned.members.iter().map(|&member| Some(drives.get(member as usize)?.size_bytes)).collect();
    let chunk_bytes = planned.chunk_bytes.unwrap_or(NO_CHUNK_BYTES);
    let whole = sizes.and_then(|sizes| capacity(planned.level, &sizes, chunk_bytes).ok());
    Configuration {
        capacity_bytes: whole.map_or_else(|| volume.content().size_bytes(), |whole| whole.usable_bytes),
        redundancy: status.survival().whole,
        ..planned_configuration(planned)
    }
}

/// What is to be built, as far as it is known.
fn planned_configuration(planned: &PlannedArray) -> Configuration {
    Configuration {
        level: planned.level.name(),
        layout: planned.level.layout_name(),
        chunk_bytes: planned.chunk_bytes.map(u64::from),
        members: planned.members.clone(),
        capacity_bytes: 0,
        redundancy: 0,
    }
}

/// What people call an array that is to be built.
pub(super) fn planned_name(planned: &PlannedArray) -> String {
    array_name(&planned_configuration(planned))
}

/// The array as a target.
pub(crate) fn describe<V: Volume + ?Sized>(
    configuration: &Configuration,
    volume: &V,
    bay: &impl Bay,
) -> TargetDescription {
    TargetDescription {
        name: array_name(configuration),
        kind: TargetKind::Array,
        size_bytes: volume.size_bytes(),
        logical_block_bytes: volume.logical_block_bytes(),
        level: Some(configuration.level.clone()),
        layout: configuration.layout.clone(),
        chunk_bytes: configuration.chunk_bytes,
        member_count: u32::try_from(configuration.members.len()).ok(),
        simulated: bay.simulated().map(str::to_owned),
        engine: bay.engine().map(str::to_owned),
    }
}
