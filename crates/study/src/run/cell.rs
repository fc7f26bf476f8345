//! The workloads of one target, one after the other.

use std::sync::atomic::AtomicBool;

use shoal_bench::{
    Bench, BenchError, Blocks, Conditions, Measurement, Pattern, TargetDescription, Watch, Workload, probe_unwritten,
};
use shoal_volume::Volume;

use crate::model::SEED_LIMIT;

/// One target and what is known of it while its workloads run.
///
/// Reads stay within what the writes before them have covered: what was never written, drives need
/// not look up.
pub(super) struct Cell {
    pub(super) target: TargetDescription,
    pub(super) conditions: Conditions,
    /// So much of the target, from its start, is used.
    pub(super) range_bytes: u64,
    /// So much of it is known to be written.
    pub(super) written_bytes: u64,
    /// Of the step.
    pub(super) seed: u64,
}

impl Cell {
    /// Runs one workload, the `index`th of the plan's.
    pub(super) fn measure<V: Volume + ?Sized>(
        &mut self,
        volume: &mut V,
        (index, template): (usize, &Workload),
        repeats: u32,
        interrupt: &AtomicBool,
        progress: &mut dyn FnMut(u16),
    ) -> Result<Vec<Measurement>, BenchError> {
        let bench = self.bench(volume, (index, template), repeats)?;
        let mut tell = |of_repeat: shoal_bench::BenchProgress| {
            let done = u64::from(of_repeat.repeat - 1) * 1000 + u64::from(of_repeat.done_per_mille);
            progress(u16::try_from(done / u64::from(repeats.max(1))).unwrap_or(1000));
        };
        let measurements = bench.run(volume, &mut Watch { interrupt, progress: &mut tell, observer: &mut () })?;
        self.wrote(template, measurements.iter());
        Ok(measurements)
    }

    /// One workload, ready to be run.
    pub(super) fn bench<V: Volume + ?Sized>(
        &self,
        volume: &mut V,
        (index, template): (usize, &Workload),
        repeats: u32,
    ) -> Result<Bench, BenchError> {
        let workload = self.workload(index, template);
        let mut conditions = self.conditions;
        // A model does not know what was written.
        if workload.read_percent > 0 && self.target.simulated.is_none() {
            let (length, block) = (workload.range_bytes, workload.block_size_bytes);
            let blocks = Blocks::of_range(0, length, block, volume.size_bytes(), volume.logical_block_bytes())?;
            conditions.unwritten = Some(probe_unwritten(volume, blocks, workload.seed)?);
        }
        Ok(Bench { target: self.target.clone(), workload, repeats, conditions })
    }

    /// What came of a workload: how far the range is written by now.
    pub(super) fn wrote<'a>(&mut self, template: &Workload, measurements: impl Iterator<Item = &'a Measurement>) {
        if template.pattern == Pattern::Sequential && template.read_percent == 0 {
            let written: u64 = measurements.map(|measurement| measurement.bytes).sum();
            self.written_bytes = self.written_bytes.saturating_add(written).min(self.range_bytes);
        }
    }

    /// The workload on this target: its range and its seed.
    fn workload(&self, index: usize, template: &Workload) -> Workload {
        let block = u64::from(template.block_size_bytes);
        let written = self.written_bytes / block * block;
        let range_bytes = if template.read_percent > 0 && written > 0 { written } else { self.range_bytes };
        Workload {
            range_offset: 0,
            range_bytes: range_bytes.min(self.range_bytes),
            seed: (self.seed ^ (index as u64 + 1)) % SEED_LIMIT,
            ..template.clone()
        }
    }
}
