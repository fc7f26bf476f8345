//! Carries a plan out; and lets an array fail and recover ([`FaultStory`]).
//!
//! A step that fails (a drive that dies, an array that cannot be built) becomes a warning, and the
//! study goes on without it: hours of measuring are not lost to one bad stick. A study that is
//! stopped keeps every step that was done.

mod array;
mod cell;
mod drives;
mod erase;
mod fault;
mod hooked;
mod progress;

use std::sync::atomic::{AtomicBool, Ordering};

use shoal_bench::{BenchError, Measurement};
use shoal_volume::{CreateError, OpenOptions, VolumeError};

use crate::analysis::analyse;
use crate::bay::{Bay, BayError, Requests};
use crate::model::{
    Analysis, ArrayResult, DriveMeasurement, DriveMeasurements, FORMAT, FORMAT_VERSION, FaultRecord, Machine,
    StudyReport, TogetherRun,
};
use crate::plan::{SeededStep, Step, StudyPlan};
use progress::Tracker;

pub use erase::erase_superblocks;
pub use fault::{FaultStory, FaultWatch};
pub use progress::{Phase, StudyProgress};

/// A plan and the drives to carry it out on.
pub struct Study<'a, B> {
    /// What to do.
    pub plan: &'a StudyPlan,
    /// Where.
    pub bay: &'a B,
    /// How the arrays are run.
    pub open: OpenOptions,
    /// What [`StudyProgress`] takes the drives' speed to be at the start.
    pub bytes_per_s: u64,
}

/// Who watches a study, and who stops it.
pub struct Watch<'a> {
    /// Once true, the study ends soon, and keeps what it has.
    pub interrupt: &'a AtomicBool,
    /// Told of progress several times a second.
    pub progress: &'a mut dyn FnMut(&StudyProgress),
    /// Told of what was measured as soon as it was, so that it can be kept: a study takes hours,
    /// and may not come to its end.
    pub measured: &'a mut dyn FnMut(Subject, &[Measurement]),
    /// The time of whoever watches, in nanoseconds: what is left is told in it, and nothing is
    /// measured with it.
    pub now_ns: &'a dyn Fn() -> u64,
}

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// This drive, by itself.
    Alone(u32),
    /// This drive, while all worked.
    Together(u32),
    /// This array of the plan.
    Array(u32),
}

/// What a study saw.
#[derive(Clone, Debug, Default)]
pub struct Observations {
    /// Each drive alone.
    pub alone: Vec<DriveMeasurements>,
    /// All drives at once.
    pub together: Vec<TogetherRun>,
    /// The arrays that were built, in the order of the plan.
    pub arrays: Vec<ArrayResult>,
    /// Every step was done.
    pub complete: bool,
    /// How long the drives were at work, by their own time.
    pub elapsed_ns: u64,
    /// What went wrong, a sentence each.
    pub warnings: Vec<String>,
}

/// What a report says beside what was measured.
#[derive(Clone, Debug)]
pub struct Heading {
    /// Version of the program.
    pub tool_version: String,
    /// Program and arguments.
    pub command_line: Vec<String>,
    /// When it started, in nanoseconds since 1970 UTC.
    pub started_unix_ns: Option<u64>,
    /// The machine.
    pub host: Machine,
}

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// A drive cannot be opened.
    #[error(transparent)]
    Open(BayError),
    /// Whoever is to run an array does not, or not as asked.
    #[error(transparent)]
    Run(BayError),
    /// The array cannot be built.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The workload cannot run.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// The drives broke altogether.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// A rebuild or scrub did not end as it should.
    #[error("{what}: check the drives and their cables")]
    Background {
        /// Which, and how.
        what: String,
    },
}

impl<B: Bay> Study<'_, B> {
    /// Carries the plan out, as far as it is let.
    pub fn run(&self, watch: &mut Watch<'_>) -> Observations {
        let mut observations = Observations { complete: true, ..Observations::default() };
        observations.warnings = self.plan.left_out.iter().map(|why| format!("left out: {why}")).collect();
        let mut arrays: Vec<Option<ArrayResult>> = vec![None; self.plan.arrays.len()];
        let mut tracker = Tracker::new(self.plan, self.bay.drives().len(), self.bytes_per_s, watch.now_ns);
        for &step in &self.plan.steps {
            if watch.interrupt.load(Ordering::Relaxed) {
                break;
            }
            tracker.begin(self.describe(step.step), step.step, watch.progress);
            let result = self.step(step, &mut observations, &mut arrays, &mut tracker, watch);
            tracker.end(watch.progress);
            if let Err(error) = result {
                observations.complete = false;
                observations.warnings.push(format!("{}: {error}", self.describe(step.step)));
            }
        }
        if self.plan.steps.iter().any(|step| matches!(step.step, Step::Array { .. }))
            && let Err(error) = erase::erase_superblocks(self.bay)
        {
            observations.warnings.push(format!("the last array's superblocks are left on the drives: {error}"));
        }
        observations.complete &= !watch.interrupt.load(Ordering::Relaxed);
        observations.arrays = arrays.into_iter().flatten().collect();
        observations.elapsed_ns = tracker.worked_ns();
        observations
    }

    fn step(
        &self,
        SeededStep { step, seed }: SeededStep,
        observations: &mut Observations,
        arrays: &mut [Option<ArrayResult>],
        tracker: &mut Tracker<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<(), StepError> {
        match step {
            Step::Alone { drive } => {
                let measurements = self.alone(drive, seed, tracker, watch)?;
                (watch.measured)(Subject::Alone(drive), &measurements);
                observations.alone.push(DriveMeasurements { drive, measurements });
                Ok(())
            }
            Step::Together { repeat } => {
                let runs = self.together(repeat, seed, tracker, watch);
                for DriveMeasurement { drive, measurement } in runs.runs.iter().flat_map(|run| &run.drives) {
                    (watch.measured)(Subject::Together(*drive), std::slice::from_ref(measurement));
                }
                observations.together.extend(runs.runs);
                runs.error.map_or(Ok(()), Err)
            }
            Step::Array { array, repeat } => {
                let result = &mut arrays[array as usize];
                let before = result.as_ref().map_or(0, |result| result.measurements.len());
                let done = self.array(&self.plan.arrays[array as usize], result, (repeat, seed), tracker, watch);
                if let Some(result) = result {
                    (watch.measured)(Subject::Array(array), &result.measurements[before..]);
                }
                done
            }
        }
    }

    /// What people call a step.
    fn describe(&self, step: Step) -> String {
        match step {
            Step::Alone { drive } => format!("{} alone", self.bay.drives()[drive as usize].name),
            Step::Together { repeat } => format!("all drives at once, round {repeat}"),
            Step::Array { array, repeat } => {
                let name = array::planned_name(&self.plan.arrays[array as usize]);
                format!("{name}, round {repeat}")
            }
        }
    }

    /// Room for every workload.
    fn requests(&self) -> Requests {
        let workloads = &self.plan.factors.workloads;
        Requests {
            count: workloads.iter().map(|workload| workload.depth).max().unwrap_or(1),
            bytes: workloads.iter().map(|workload| workload.block_size_bytes).max().unwrap_or(1),
            compared: false,
        }
    }
}

impl Observations {
    /// The study's document, conclusions included.
    pub fn into_report<B: Bay>(
        self,
        heading: Heading,
        plan: &StudyPlan,
        bay: &B,
        fault: Option<FaultRecord>,
    ) -> StudyReport {
        let mut report = StudyReport {
            format: FORMAT.to_owned(),
            format_version: FORMAT_VERSION,
            tool_version: heading.tool_version,
            command_line: heading.command_line,
            started_unix_ns: heading.started_unix_ns,
            elapsed_ns: self.elapsed_ns,
            complete: self.complete,
            seed: plan.factors.seed,
            simulated: bay.simulated().map(str::to_owned),
            engine: bay.engine().map(str::to_owned),
            host: heading.host,
            drives: bay.drives().to_vec(),
            alone: self.alone,
            together: self.together,
            arrays: self.arrays,
            fault,
            analysis: Analysis::default(),
            warnings: self.warnings,
        };
        report.analysis = analyse(&report);
        report
    }
}

#[cfg(test)]
mod tests;
