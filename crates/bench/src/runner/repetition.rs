//! One repetition of a workload, a turn at a time: warm-up, flush, what is measured, flush. Whoever
//! turns it waits for answers in between, for one repetition or for several side by side.

use std::sync::atomic::Ordering;

use shoal_volume::{Arena, Completion, MemberTraffic, RequestError, Volume};

use super::{Bench, BenchProgress, Watch, workload_fill};
use crate::cpu::{CpuSpent, CpuTimes};
use crate::fill::buffers::WriteBuffers;
use crate::projection::{Projections, per_second};
use crate::pump::{Load, Place, Pump, submit_flush};
use crate::validity::{Circumstances, judge, valid};
use crate::{Blocks, Conditions, Cpu, Direction, Event, Limit, Measurement, Members, Observer, Operation, Operations};

/// Throughput over time is kept in intervals of this length.
const INTERVAL_NS: u64 = 100_000_000;
/// Progress is told this often.
const PROGRESS_NS: u64 = 100_000_000;
/// A run is given up after so many errors in a row: the target is gone.
const ERRORS_IN_A_ROW: u32 = 256;

/// What a repetition is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing: it has not begun.
    Before,
    WarmUp,
    /// What the warm-up wrote is not to be paid for by what is measured.
    FlushOfWarmUp,
    Measured,
    FinalFlush,
    Over,
}

/// How many repetitions go on at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Company {
    /// The processor's time is this one's.
    Alone,
    /// Nobody can tell whose the processor's time is.
    SideBySide,
}

/// One repetition of a workload: warm-up, flush, measured part, flush. Advances by turns and never
/// blocks.
pub(super) struct Repetition<'a> {
    bench: &'a Bench,
    company: Company,
    /// The most requests per second that the generator could make for it; 0 if that is not known.
    ceiling_iops: u64,
    stage: Stage,
    pump: Pump,
    loading: Loading<'a>,
    start_ns: u64,
    /// When the last answer to what is measured came.
    end_ns: u64,
    flush_start_ns: u64,
    flush: Option<(u64, Result<(), RequestError>)>,
    before: Option<CpuTimes>,
    spent: Option<CpuSpent>,
    /// At the end; a member may have failed on the way.
    is_degraded: bool,
    /// What the drives were asked before what is measured; at the end, meanwhile.
    members: Option<MemberTraffic>,
}

/// What the requests are, and what is kept of them.
struct Loading<'a> {
    operations: &'a mut Operations,
    /// Of a workload that writes.
    buffers: Option<WriteBuffers>,
    /// None while nothing is measured.
    projections: Option<Projections>,
    until: Until,
    begun_ns: u64,
    next_progress_ns: u64,
    bytes: u64,
    errors_in_a_row: u32,
    repeat: u32,
    repeats: u32,
}

impl<'a> Repetition<'a> {
    /// The `repeat`th repetition, from 1, for a volume that it was found to fit.
    pub(super) fn new<V: Volume + ?Sized>(
        bench: &'a Bench,
        volume: &V,
        (operations, blocks): (&'a mut Operations, Blocks),
        repeat: u32,
        (company, ceiling_iops): (Company, u64),
    ) -> Self {
        let writes = bench.workload.read_percent < 100;
        let buffers = writes.then(|| {
            let fill = workload_fill(&bench.workload, blocks);
            WriteBuffers::new(fill, u64::from(repeat), volume.request_buffers(), blocks.block_size_bytes)
        });
        Self {
            bench,
            company,
            ceiling_iops,
            stage: Stage::Before,
            pump: Pump::new(bench.workload.depth, volume.request_buffers()),
            loading: Loading {
                operations,
                buffers,
                projections: None,
                until: Until::Requests { done: 0, all: 0 },
                begun_ns: 0,
                next_progress_ns: 0,
                bytes: 0,
                errors_in_a_row: 0,
                repeat,
                repeats: bench.repeats,
            },
            start_ns: 0,
            end_ns: 0,
            flush_start_ns: 0,
            flush: None,
            before: None,
            spent: None,
            is_degraded: false,
            members: None,
        }
    }

    /// Submits what may be in flight, and goes on to the next stage when nothing is left of one.
    /// Whether there is anything to wait for; if not, it is over. `now_ns` is when the last answers
    /// came.
    pub(super) fn submit<V: Volume + ?Sized>(&mut self, volume: &mut V, watch: &mut Watch<'_>, now_ns: u64) -> bool {
        loop {
            let waits = match self.stage {
                Stage::WarmUp | Stage::Measured => {
                    self.pump.submit(volume, &mut Watched { loading: &mut self.loading, watch }, now_ns)
                }
                Stage::FlushOfWarmUp | Stage::FinalFlush => self.flush.is_none(),
                Stage::Over => return false,
                Stage::Before => false,
            };
            if waits {
                return true;
            }
            self.go_on(volume, now_ns);
        }
    }

    /// An answer came.
    pub(super) fn complete<V: Volume + ?Sized>(
        &mut self,
        volume: &V,
        completion: Completion,
        watch: &mut Watch<'_>,
        now_ns: u64,
    ) {
        match self.stage {
            Stage::FlushOfWarmUp | Stage::FinalFlush => self.flush = Some((now_ns, completion.result)),
            _ => self.pump.complete(volume, &mut Watched { loading: &mut self.loading, watch }, completion, now_ns),
        }
    }

    /// A batch of answers is dealt with.
    pub(super) fn turned(&mut self, watch: &mut Watch<'_>, now_ns: u64) {
        if matches!(self.stage, Stage::WarmUp | Stage::Measured) {
            self.loading.tell(watch, now_ns);
        }
    }

    /// Begins the next stage. Nothing is in flight.
    fn go_on<V: Volume + ?Sized>(&mut self, volume: &mut V, now_ns: u64) {
        let writes = self.loading.buffers.is_some();
        let workload = &self.bench.workload;
        self.stage = match self.stage {
            Stage::Before if workload.warm_up_ns > 0 => Stage::WarmUp,
            Stage::WarmUp if writes => Stage::FlushOfWarmUp,
            Stage::Before | Stage::WarmUp | Stage::FlushOfWarmUp => Stage::Measured,
            Stage::Measured if writes => Stage::FinalFlush,
            Stage::Measured | Stage::FinalFlush | Stage::Over => Stage::Over,
        };
        match self.stage {
            Stage::WarmUp => {
                let start_ns = volume.now().ns;
                self.loading.begun_ns = start_ns;
                self.loading.begin(Limit::DurationNs(workload.warm_up_ns), start_ns, workload.block_size_bytes);
            }
            Stage::Measured => {
                self.members = volume.member_traffic();
                self.begin_measuring(volume.now().ns);
            }
            Stage::FlushOfWarmUp | Stage::FinalFlush => {
                self.end_ns = now_ns;
                self.flush_start_ns = volume.now().ns;
                self.flush = None;
                submit_flush(volume);
            }
            Stage::Over => {
                self.end(now_ns);
                self.is_degraded = volume.is_degraded();
                self.members = volume.member_traffic().zip(self.members).map(|(now, before)| now.since(before));
            }
            Stage::Before => {}
        }
    }

    fn begin_measuring(&mut self, start_ns: u64) {
        let workload = &self.bench.workload;
        if workload.warm_up_ns == 0 {
            self.loading.begun_ns = start_ns;
        }
        self.loading.projections = Some(Projections::new(INTERVAL_NS));
        self.loading.begin(workload.limit, start_ns, workload.block_size_bytes);
        self.start_ns = start_ns;
        let has_part_in_time = self.bench.target.simulated.is_none();
        self.before = has_part_in_time.then(CpuTimes::now);
    }

    fn end(&mut self, now_ns: u64) {
        // Of what was interrupted before it was measured the last answer came before its beginning.
        self.end_ns = self.flush.map_or(now_ns, |(end_ns, _)| end_ns).max(self.start_ns);
        self.spent = self.before.map(|before| before.until(&CpuTimes::now()));
    }

    /// What came of it.
    pub(super) fn measurement(self, interrupted: bool) -> Measurement {
        let Projections { read, write, series } = self.loading.projections.expect("what is over was measured");
        let elapsed_ns = self.end_ns - self.start_ns;
        let (bytes, ios) = (read.bytes + write.bytes, read.ios + write.ios);
        let mut both = read.latencies.clone();
        both.add(&write.latencies);
        let cpu = self.spent.filter(|_| self.company == Company::Alone).map(|spent| cpu(spent, ios, bytes));
        let flush = self.flush.filter(|_| self.loading.buffers.is_some());
        let mut measurement = Measurement {
            target: self.bench.target.clone(),
            workload: self.bench.workload.clone(),
            repeat: self.loading.repeat,
            bytes,
            ios,
            elapsed_ns,
            bytes_per_s: per_second(bytes, elapsed_ns),
            iops: per_second(ios, elapsed_ns),
            latency_ns: both.latency(),
            cpu_ns_per_io: cpu.map(|cpu| cpu.cpu_ns_per_io),
            cpu,
            flush_ns: flush.map(|(end_ns, _)| end_ns - self.flush_start_ns),
            read: read.result(elapsed_ns),
            write: write.result(elapsed_ns),
            members: self.members.map(Members::new),
            series: series.into_intervals(),
            validity: valid(),
        };
        let circumstances = Circumstances {
            interrupted,
            flush_failed: flush.is_some_and(|(_, result)| result.is_err()),
            ceiling_iops: self.ceiling_iops,
            processor_ns: self.spent.map_or(0, |spent| spent.user_ns + spent.system_ns),
        };
        let conditions = &self.bench.conditions;
        let conditions = Conditions { degraded: conditions.degraded || self.is_degraded, ..*conditions };
        measurement.validity = judge(&measurement, &conditions, &circumstances);
        measurement
    }
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
                let more = *done < *all;
                *done += u64::from(more);
                more
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

impl Loading<'_> {
    fn begin(&mut self, limit: Limit, start_ns: u64, block_size_bytes: u32) {
        self.until = Until::new(limit, start_ns, block_size_bytes);
        self.next_progress_ns = start_ns + PROGRESS_NS;
        self.bytes = 0;
        self.errors_in_a_row = 0;
    }

    fn tell(&mut self, watch: &mut Watch<'_>, now_ns: u64) {
        if now_ns < self.next_progress_ns {
            return;
        }
        self.next_progress_ns = now_ns + PROGRESS_NS;
        (watch.progress)(BenchProgress {
            repeat: self.repeat,
            repeats: self.repeats,
            elapsed_ns: now_ns.saturating_sub(self.begun_ns),
            bytes: self.bytes,
            done_per_mille: self.until.done_per_mille(now_ns),
        });
    }
}

/// The load, under somebody's eyes.
struct Watched<'a, 'b, 'w> {
    loading: &'a mut Loading<'b>,
    watch: &'a mut Watch<'w>,
}

impl<V: ?Sized> Load<V> for Watched<'_, '_, '_> {
    fn next(&mut self, now_ns: u64) -> Option<Operation> {
        let Loading { errors_in_a_row, until, operations, .. } = &mut *self.loading;
        let given_up = *errors_in_a_row >= ERRORS_IN_A_ROW || self.watch.interrupt.load(Ordering::Relaxed);
        (!given_up && until.take(now_ns)).then(|| operations.next_operation())
    }

    fn prepare(&mut self, arena: &Arena, place: Place, operation: &Operation) {
        let Some(buffers) = self.loading.buffers.as_mut() else { return };
        match operation.direction {
            Direction::Read => buffers.spoil(place.buffer),
            Direction::Write => buffers.prepare(arena, place.buffer, place.memory, operation.offset),
        }
    }

    fn completed(&mut self, _arena: &Arena, _place: Place, event: &Event) {
        let loading = &mut *self.loading;
        if event.result.is_ok() {
            loading.errors_in_a_row = 0;
            loading.bytes += u64::from(event.length);
        } else {
            loading.errors_in_a_row += 1;
        }
        if let Some(projections) = &mut loading.projections {
            projections.record(event);
            self.watch.observer.record(event);
        }
    }

    fn turned(&mut self, _volume: &mut V, now_ns: u64) {
        self.loading.tell(self.watch, now_ns);
    }
}
