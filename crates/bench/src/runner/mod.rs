//! Runs a workload on a volume, or one on each of several drives at the same time, and makes
//! measurements of it.

mod repetition;

use std::sync::atomic::{AtomicBool, Ordering};

use shoal_volume::{Completion, DriveSet, Volume, VolumeError, World};

use crate::fill::Fill;
use crate::{
    Blocks, Conditions, Measurement, Observer, Operations, TargetDescription, Workload, WorkloadError, ceiling,
};
use repetition::{Company, Repetition};

/// Why a benchmark cannot run, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// It does not fit the target.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The target broke altogether.
    #[error(transparent)]
    Volume(#[from] VolumeError),
}

/// How far a benchmark is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchProgress {
    /// The repetition that runs, from 1.
    pub repeat: u32,
    /// How many there are.
    pub repeats: u32,
    /// Time since this repetition began, its warm-up included.
    pub elapsed_ns: u64,
    /// Bytes transferred since the warm-up.
    pub bytes: u64,
    /// What this repetition has done of what it has to, in thousandths.
    pub done_per_mille: u16,
}

/// A workload on a target, to be run.
#[derive(Clone, Debug)]
pub struct Bench {
    /// What is measured.
    pub target: TargetDescription,
    /// What is done to it.
    pub workload: Workload,
    /// How often.
    pub repeats: u32,
    /// What is known of the target that bears on the numbers.
    pub conditions: Conditions,
}

/// Who watches a benchmark, and who stops it.
pub struct Watch<'a> {
    /// Once true, the run ends as soon as the requests in flight are answered, and keeps what it
    /// has.
    pub interrupt: &'a AtomicBool,
    /// Told of progress about ten times a second.
    pub progress: &'a mut dyn FnMut(BenchProgress),
    /// Sees every request of the measured time.
    pub observer: &'a mut dyn Observer,
}

impl Bench {
    /// Runs all repetitions, by the volume's own time. One that is interrupted is the last, and is
    /// kept if it measured anything. A repetition goes on where the one before stopped: none finds
    /// in the drive's cache what another left there.
    pub fn run<V: Volume + ?Sized>(
        &self,
        volume: &mut V,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Measurement>, BenchError> {
        let blocks = check_fit(volume, &self.workload)?;
        let mut operations = Operations::new(&self.workload, blocks)?;
        let ceiling_iops = self.generator_iops(blocks, volume.logical_block_bytes());
        let mut measurements = Vec::new();
        for repeat in 1..=self.repeats {
            let circumstances = (Company::Alone, ceiling_iops);
            let repetition = Repetition::new(self, volume, (&mut operations, blocks), repeat, circumstances);
            let measurement = finish(repetition, volume, watch)?;
            let interrupted = watch.interrupt.load(Ordering::Relaxed);
            measurements.extend(worth_keeping(measurement, interrupted));
            if interrupted {
                break;
            }
        }
        Ok(measurements)
    }

    /// What the generator could do, where that can bear on the numbers; 0 where it cannot.
    fn generator_iops(&self, blocks: Blocks, logical_block_bytes: u32) -> u64 {
        if self.target.simulated.is_some() {
            return 0; // making requests takes no virtual time
        }
        ceiling::generator_iops(&self.workload, blocks, logical_block_bytes)
    }
}

/// Turns a repetition until it is over.
fn finish<V: Volume + ?Sized>(
    mut repetition: Repetition<'_>,
    volume: &mut V,
    watch: &mut Watch<'_>,
) -> Result<Measurement, BenchError> {
    let mut completions: Vec<Completion> = Vec::new();
    let mut now_ns = volume.now().ns;
    while repetition.submit(volume, watch, now_ns) {
        volume.poll(1, None, &mut completions)?;
        now_ns = volume.now().ns;
        for completion in completions.drain(..) {
            repetition.complete(volume, completion, watch, now_ns);
        }
        repetition.turned(watch, now_ns);
    }
    Ok(repetition.measurement(watch.interrupt.load(Ordering::Relaxed)))
}

/// Runs a bench on each drive of a set, all at the same time and each once: the first on the first
/// drive, and so on. None for a drive that was interrupted before it measured anything. Progress is
/// told drive by drive.
///
/// # Panics
/// If there is not one bench for each drive.
pub fn run_together<W: World>(
    benches: &[Bench],
    drives: &mut DriveSet<W>,
    watch: &mut Watch<'_>,
) -> Result<Vec<Option<Measurement>>, BenchError> {
    assert_eq!(benches.len(), drives.len(), "a bench for each drive");
    let mut operations = Vec::new();
    for (index, bench) in benches.iter().enumerate() {
        let blocks = check_fit(&drives.drive(index), &bench.workload)?;
        operations.push((Operations::new(&bench.workload, blocks)?, blocks));
    }
    let mut repetitions = Vec::new();
    for (index, (bench, (operations, blocks))) in benches.iter().zip(&mut operations).enumerate() {
        let drive = drives.drive(index);
        // One generator makes the requests for all.
        let ceiling_iops = bench.generator_iops(*blocks, drive.logical_block_bytes()) / benches.len() as u64;
        let circumstances = (Company::SideBySide, ceiling_iops);
        repetitions.push(Repetition::new(bench, &drive, (operations, *blocks), 1, circumstances));
    }
    finish_together(&mut repetitions, drives, watch)?;
    let interrupted = watch.interrupt.load(Ordering::Relaxed);
    Ok(repetitions.into_iter().map(|it| worth_keeping(it.measurement(interrupted), interrupted)).collect())
}

/// Turns all repetitions until all are over.
fn finish_together<W: World>(
    repetitions: &mut [Repetition<'_>],
    drives: &mut DriveSet<W>,
    watch: &mut Watch<'_>,
) -> Result<(), BenchError> {
    let mut completions: Vec<Completion> = Vec::new();
    loop {
        let now_ns = drives.now().ns;
        let mut waits = false;
        for (index, repetition) in repetitions.iter_mut().enumerate() {
            drives.take(index, &mut completions);
            let answered = !completions.is_empty();
            let mut drive = drives.drive(index);
            for completion in completions.drain(..) {
                repetition.complete(&drive, completion, watch, now_ns);
            }
            if answered {
                repetition.turned(watch, now_ns);
            }
            waits |= repetition.submit(&mut drive, watch, now_ns);
        }
        if !waits {
            return Ok(());
        }
        drives.wait(None)?;
    }
}

/// A measurement, unless it was interrupted before it measured anything.
fn worth_keeping(measurement: Measurement, interrupted: bool) -> Option<Measurement> {
    (measurement.ios > 0 || !interrupted).then_some(measurement)
}

/// The fill that a writing workload uses; its pass is the number of the repetition.
pub fn workload_fill(workload: &Workload, blocks: Blocks) -> Fill {
    // The offset's lowest bit that is set limits the alignment as the block size's does.
    let alignment_bytes = 1_u64 << (u64::from(blocks.block_size_bytes) | blocks.offset).trailing_zeros();
    Fill::new(workload.seed, alignment_bytes)
}

/// The blocks that a workload visits on a volume, if the volume can carry it.
pub fn check_fit<V: Volume + ?Sized>(volume: &V, workload: &Workload) -> Result<Blocks, WorkloadError> {
    let blocks = check_range(volume, workload)?;
    check_buffers(volume, workload.depth, workload.block_size_bytes)?;
    Ok(blocks)
}

/// The blocks that a workload visits on a volume, if the volume has them.
pub fn check_range<V: Volume + ?Sized>(volume: &V, workload: &Workload) -> Result<Blocks, WorkloadError> {
    let &Workload { range_offset, range_bytes, block_size_bytes, .. } = workload;
    Blocks::of_range(range_offset, range_bytes, block_size_bytes, volume.size_bytes(), volume.logical_block_bytes())
}

/// Whether a volume has the buffers for so many requests of such a size.
pub(crate) fn check_buffers<V: Volume + ?Sized>(
    volume: &V,
    depth: u32,
    block_size_bytes: u32,
) -> Result<(), WorkloadError> {
    let (request_buffers, request_buffer_bytes) = (volume.request_buffers(), volume.request_buffer_bytes());
    if depth == 0 || depth > request_buffers || block_size_bytes > request_buffer_bytes {
        return Err(WorkloadError::Buffers { depth, block_size_bytes, request_buffers, request_buffer_bytes });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
