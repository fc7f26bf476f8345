//! A study, as the lab book keeps it: step by step, as a study that takes hours may not come to its
//! end.

use std::collections::BTreeMap;

use shoal_bench::{Measurement, Validity, Verdict};
use shoal_labbook::{ArrayIdentity, DriveIdentity, Measured, Recorder, Target};
use shoal_study::model::{FaultRecord, FaultState};
use shoal_study::plan::StudyPlan;
use shoal_study::run::Subject;

/// What drives and arrays do while all drives work, and around a fault, is no figure of theirs
/// alone.
const TOGETHER: &str = "all drives at once";

/// Who writes a study down.
pub(super) struct Keeper<'a, 'b> {
    pub(super) recorder: Recorder<'a>,
    pub(super) plan: &'b StudyPlan,
    /// The drives, in the study's order, as far as they can be known again.
    pub(super) drives: Vec<Option<DriveIdentity>>,
}

impl Keeper<'_, '_> {
    /// What a step has measured.
    pub(super) fn keep(&mut self, subject: Subject, measurements: &[Measurement]) {
        let (circumstance, drive) = match subject {
            Subject::Alone(drive) => ("", Some(drive)),
            Subject::Together(drive) => (TOGETHER, Some(drive)),
            Subject::Array(_) => ("", None),
        };
        let Some(target) = self.target(measurements, circumstance) else { return };
        let target = match (subject, drive) {
            (Subject::Array(array), _) => self.array(target, &self.plan.arrays[array as usize].members, measurements),
            (_, drive) => Target { drive: drive.and_then(|drive| self.drives.get(drive as usize)?.clone()), ..target },
        };
        self.recorder.add(&target);
    }

    /// What happened around a fault.
    pub(super) fn keep_fault(&mut self, fault: &FaultRecord) {
        let mut rebuilt = None;
        for phase in &fault.phases {
            let measurements = std::slice::from_ref(&phase.measurement);
            let Some(target) = self.target(measurements, circumstance(phase.state)) else { continue };
            let target = self.array(target, &fault.configuration.members, measurements);
            rebuilt = Some(Target { measurements: vec![rebuild(fault)], ..target.clone() });
            self.recorder.add(&target);
        }
        rebuilt.iter().for_each(|target| self.recorder.add(target));
    }

    /// What a study measures is known by its plan: how much of a target is read follows from what
    /// was written before, and is no setting, nor is the seed of a step.
    fn target(&self, measurements: &[Measurement], circumstance: &str) -> Option<Target> {
        let mut target = Target::of(measurements, circumstance)?;
        let seed = self.plan.factors.seed.to_string();
        for measured in &mut target.measurements {
            let name = measured.workload.split(", from ").next().unwrap_or_default().to_owned();
            measured.workload = name;
            measured.settings.insert("seed".to_owned(), seed.clone());
        }
        Some(target)
    }

    /// An array that is gone with the study.
    fn array(&self, target: Target, members: &[u32], measurements: &[Measurement]) -> Target {
        let level = measurements.first().and_then(|measurement| measurement.target.level.clone()).unwrap_or_default();
        let member = |&member: &u32| self.drives.get(member as usize)?.clone();
        Target {
            array: Some(ArrayIdentity { uuid: None, name: target.name.clone(), level }),
            members: members.iter().filter_map(member).collect(),
            ..target
        }
    }
}

fn circumstance(state: FaultState) -> &'static str {
    match state {
        FaultState::Healthy => "before a fault",
        FaultState::Failing => "while a member fails",
        FaultState::Degraded => "degraded",
        FaultState::Rebuilding => "rebuilding",
        FaultState::Rebuilt => "after a rebuild",
    }
}

/// The rebuild itself.
fn rebuild(fault: &FaultRecord) -> Measured {
    let figures = [("rebuild_ns", fault.rebuild_ns), ("rebuild_bytes_per_s", fault.rebuild_bytes_per_s)];
    Measured {
        workload: "rebuild under load".to_owned(),
        settings: BTreeMap::new(),
        repeat: 1,
        figures: figures.map(|(name, value)| (name.to_owned(), value)).into(),
        validity: Validity { verdict: Verdict::Valid, reasons: Vec::new() },
        read_histogram: Vec::new(),
        write_histogram: Vec::new(),
        series: Vec::new(),
    }
}
