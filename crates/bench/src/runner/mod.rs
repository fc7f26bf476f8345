//! Runs a workload on a volume and makes measurements of it.

use std::sync::atomic::{AtomicBool, Ordering};

use shoal_volume::{Arena, RequestError, Volume, VolumeError};

use crate::cpu::{CpuSpent, CpuTimes};
use crate::fill::Fill;
use crate::fill::buffers::WriteBuffers;
use crate::projection::{Projections, per_second};
use crate::pump::{Load, Place, Took, flush, pump};
use crate::validity::{Circumstances, judge};
use crate::{
    Blocks, Conditions, Cpu, CpuScope, Direction, Event, Limit, Measurement, Observer, Operation, Operations,
    TargetDescription, Workload, WorkloadError, ceiling,
};

/// Throughput over time is kept in intervals of this length.
const INTERVAL_NS: u64 = 100_000_000;
/// Progress is told this often.
const PROGRESS_NS: u64 = 100_000_000;
/// A run is given up after so many errors in a row: the target is gone.
const ERRORS_IN_A_ROW: u32 = 256;

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
pub struct Progress {
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
    /// Whose CPU time counts.
    pub cpu_scope: CpuScope,
}

/// Who watches a benchmark, and who stops it.
pub struct Watch<'a> {
    /// Once true, the run ends as soon as the requests in flight are answered, and keeps what it has.
    pub interrupt: &'a AtomicBool,
    /// Told of progress about ten times a second.
    pub progress: &'a mut dyn FnMut(Progress),
    /// Sees every request of the measured time.
    pub observer: &'a mut dyn Observer,
}

impl Bench {
    /// Runs all repetitions, by the volume's own time. One that is interrupted is the last, and is kept if it measured
    /// anything. A repetition goes on where the one before stopped: none finds in the drive's cache what another left
    /// there.
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
            let mut buffers = self.write_buffers(volume, blocks, repeat);
            let mut run =
                Run { bench: self, blocks, operations: &mut operations, buffers: &mut buffers, watch, repeat };
            let measurement = run.measure(volume, ceiling_iops)?;
            let interrupted = watch.interrupt.load(Ordering::Relaxed);
            if measurement.ios > 0 || !interrupted {
                measurements.push(measurement);
            }
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

    fn write_buffers<V: Volume + ?Sized>(&self, volume: &V, blocks: Blocks, repeat: u32) -> Option<WriteBuffers> {
        let writes = self.workload.read_percent < 100;
        writes.then(|| {
            let fill = workload_fill(&self.workload, blocks);
            WriteBuffers::new(fill, u64::from(repeat), volume.request_buffers(), blocks.block_size_bytes)
        })
    }
}

/// The fill that a writing workload uses; its pass is the number of the repetition.
pub fn workload_fill(workload: &Workload, blocks: Blocks) -> Fill {
    // The offset's lowest bit that is set limits the alignment as the block size's does.
    let alignment_bytes = 1_u64 << (u64::from(blocks.block_size_bytes) | blocks.offset).trailing_zeros();
    Fill::new(workload.seed, alignment_bytes)
}

/// The blocks that a workload visits on a volume, if the volume can carry it.
pub fn check_fit<V: Volume + ?Sized>(volume: &V, workload: &Workload) -> Result<Blocks, WorkloadError> {
    let &Workload { depth, block_size_bytes, .. } = workload;
    let blocks = Blocks::of_range(
        workload.range_offset,
        workload.range_bytes,
        block_size_bytes,
        volume.size_bytes(),
        volume.logical_block_bytes(),
    )?;
    check_buffers(volume, depth, block_size_bytes)?;
    Ok(blocks)
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

/// One repetition.
struct Run<'a, 'w> {
    bench: &'a Bench,
    blocks: Blocks,
    operations: &'a mut Operations,
    buffers: &'a mut Option<WriteBuffers>,
    watch: &'a mut Watch<'w>,
    repeat: u32,
}

impl Run<'_, '_> {
    fn measure<V: Volume + ?Sized>(&mut self, volume: &mut V, ceiling_iops: u64) -> Result<Measurement, BenchError> {
        let workload = &self.bench.workload;
        let begun_ns = volume.now().ns;
        if workload.warm_up_ns > 0 {
            self.load(volume, Limit::DurationNs(workload.warm_up_ns), begun_ns, &mut ())?;
            if self.buffers.is_some() {
                // What the warm-up wrote is not to be paid for by what is measured.
                let _ = flush(volume)?;
            }
        }
        let mut projections = Projections::new(INTERVAL_NS);
        let measured = self.bench.target.simulated.is_none();
        let before = measured.then(|| CpuTimes::now(self.bench.cpu_scope));
        let mut took = self.load(volume, workload.limit, begun_ns, &mut projections)?;
        let mut flushed = Ok(());
        let mut flush_ns = None;
        if self.buffers.is_some() {
            let (flush_took, result) = flush(volume)?;
            took.end_ns = flush_took.end_ns;
            flush_ns = Some(flush_took.elapsed_ns());
            flushed = result;
        }
        let spent = before.map(|before| before.until(&CpuTimes::now(self.bench.cpu_scope)));
        Ok(self.measurement(projections, took, Ending { flush_ns, flushed, spent, ceiling_iops }))
    }

    fn load<V: Volume + ?Sized>(
        &mut self,
        volume: &mut V,
        limit: Limit,
        begun_ns: u64,
        measured: &mut impl Observer,
    ) -> Result<Took, VolumeError> {
        let start_ns = volume.now().ns;
        let workload = &self.bench.workload;
        let mut load = Running {
            until: Until::new(limit, start_ns, self.blocks.block_size_bytes),
            operations: self.operations,
            buffers: self.buffers.as_mut(),
            observer: (measured, &mut *self.watch.observer),
            interrupt: self.watch.interrupt,
            progress: &mut *self.watch.progress,
            next_progress_ns: start_ns + PROGRESS_NS,
            begun_ns,
            bytes: 0,
            errors_in_a_row: 0,
            repeat: self.repeat,
            repeats: self.bench.repeats,
        };
        pump(volume, workload.depth, &mut load)
    }

    fn measurement(&self, projections: Projections, took: Took, ending: Ending) -> Measurement {
        let Projections { read, write, series } = projections;
        let elapsed_ns = took.elapsed_ns();
        let (bytes, ios) = (read.bytes + write.bytes, read.ios + write.ios);
        let mut both = read.latencies.clone();
        both.add(&write.latencies);
        let cpu = ending.spent.map(|spent| cpu(spent, ios, bytes));
        let mut measurement = Measurement {
            target: self.bench.target.clone(),
            workload: self.bench.workload.clone(),
            repeat: self.repeat,
            bytes,
            ios,
            elapsed_ns,
            bytes_per_s: per_second(bytes, elapsed_ns),
            iops: per_second(ios, elapsed_ns),
            latency_ns: both.latency(),
            cpu_ns_per_io: cpu.map(|cpu| cpu.cpu_ns_per_io),
            cpu,
            flush_ns: ending.flush_ns,
            read: read.result(elapsed_ns),
            write: write.result(elapsed_ns),
            series: series.into_intervals(),
            validity: crate::validity::valid(),
        };
        let circumstances = Circumstances {
            interrupted: self.watch.interrupt.load(Ordering::Relaxed),
            flush_failed: ending.flushed.is_err(),
            ceiling_iops: ending.ceiling_iops,
        };
        measurement.validity = judge(&measurement, &self.bench.conditions, &circumstances);
        measurement
    }
}

/// What is known of a run's end beside its events.
struct Ending {
    flush_ns: Option<u64>,
    flushed: Result<(), RequestError>,
    /// None where the processor has no part in the time.
    spent: Option<CpuSpent>,
    ceiling_iops: u64,
}

fn cpu(spent: CpuSpent, ios: u64, bytes: u64) -> Cpu {
    const MIB: u128 = 1 << 20;
    let total_ns = spent.user_ns + spent.system_ns;
    let per_mib = (u128::from(total_ns) * MIB).checked_div(u128::from(bytes)).unwrap_or(0);
    Cpu {
        user_ns: spent.user_ns,
        system_ns: spent.system_ns,
        machine_busy_ns: spent.machine_busy_ns,
        cpu_ns_per_io: total_ns.checked_div(ios).unwrap_or(0),
        cpu_ns_per_mib: u64::try_from(per_mib).unwrap_or(u64::MAX),
    }
}

/// When no more requests are made.
#[derive(Clone, Copy, Debug)]
enum Until {
    Time { start_ns: u64, end_ns: u64 },
    Requests { done: u64, all: u64 },
}

impl Until {
    fn new(limit: Limit, start_ns: u64, block_size_bytes: u32) -> Self {
        match limit {
            Limit::DurationNs(duration_ns) => Self::Time { start_ns, end_ns: start_ns.saturating_add(duration_ns) },
            Limit::Bytes(bytes) => Self::Requests { done: 0, all: bytes.div_ceil(u64::from(block_size_bytes)) },
        }
    }

    /// Whether one more may be made; counts it.
    fn take(&mut self, now_ns: u64) -> bool {
        match self {
            Self::Time { end_ns, .. } => now_ns < *end_ns,
            Self::Requests { done, all } => {
                *done += 1;
                *done <= *all
            }
        }
    }

    fn done_per_mille(self, now_ns: u64) -> u16 {
        let (done, all) = match self {
            Self::Time { start_ns, end_ns } => (now_ns.saturating_sub(start_ns), end_ns - start_ns),
            Self::Requests { done, all } => (done, all),
        };
        let per_mille = u128::from(done.min(all)) * 1000 / u128::from(all.max(1));
        u16::try_from(per_mille).expect("it is at most 1000")
    }
}

/// The load of one phase: warm-up or measured.
struct Running<'a, O> {
    until: Until,
    operations: &'a mut Operations,
    buffers: Option<&'a mut WriteBuffers>,
    observer: (O, &'a mut dyn Observer),
    interrupt: &'a AtomicBool,
    progress: &'a mut dyn FnMut(Progress),
    next_progress_ns: u64,
    begun_ns: u64,
    bytes: u64,
    errors_in_a_row: u32,
    repeat: u32,
    repeats: u32,
}

impl<V: ?Sized, O: Observer> Load<V> for Running<'_, O> {
    fn next(&mut self, now_ns: u64) -> Option<Operation> {
        let given_up = self.errors_in_a_row >= ERRORS_IN_A_ROW || self.interrupt.load(Ordering::Relaxed);
        (!given_up && self.until.take(now_ns)).then(|| self.operations.next_operation())
    }

    fn prepare(&mut self, arena: &Arena, place: Place, operation: &Operation) {
        let Some(buffers) = self.buffers.as_mut() else { return };
        match operation.direction {
            Direction::Read => buffers.spoil(place.buffer),
            Direction::Write => buffers.prepare(arena, place.buffer, place.memory, operation.offset),
        }
    }

    fn completed(&mut self, _arena: &Arena, _place: Place, event: &Event) {
        if event.result.is_ok() {
            self.errors_in_a_row = 0;
            self.bytes += u64::from(event.length);
        } else {
            self.errors_in_a_row += 1;
        }
        self.observer.record(event);
    }

    fn turned(&mut self, _volume: &mut V, now_ns: u64) {
        if now_ns < self.next_progress_ns {
            return;
        }
        self.next_progress_ns = now_ns + PROGRESS_NS;
        (self.progress)(Progress {
            repeat: self.repeat,
            repeats: self.repeats,
            elapsed_ns: now_ns.saturating_sub(self.begun_ns),
            bytes: self.bytes,
            done_per_mille: self.until.done_per_mille(now_ns),
        });
    }
}

#[cfg(test)]
mod tests;
