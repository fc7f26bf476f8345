//! How well the found model does what was measured.

use schemars::JsonSchema;
use serde::Serialize;
use shoal_sim::DriveModel;

use crate::measure::Observation;
use crate::probe::{Direction, Question};
use crate::replay::Replay;

use super::statistics::mean;

/// A question, what the drive took for it, and what the model takes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Residual {
    /// What was done.
    pub what: String,
    /// How long a step took in the mean.
    pub measured_ns: u64,
    /// How long it takes a simulated drive of the found model.
    pub predicted_ns: u64,
    /// What the prediction is off, as a fraction of what was measured.
    pub error: f64,
}

/// One residual for each observation; none if the model cannot be simulated.
pub(super) fn residuals(model: &DriveModel, observations: &[Observation]) -> Vec<Residual> {
    let Some(mut replay) = Replay::new(model) else { return Vec::new() };
    let residual = |observation: &Observation| {
        let steps = observation.probe.steps.iter();
        let predicted: Vec<u64> = steps.map(|&step| replay.step_ns(step)).collect();
        let (measured_ns, predicted_ns) = (mean(&observation.latencies_ns), mean(&predicted));
        Residual {
            what: words(observation.probe.question),
            measured_ns,
            predicted_ns,
            error: predicted_ns as f64 / measured_ns.max(1) as f64 - 1.0,
        }
    };
    observations.iter().map(residual).collect()
}

/// What a residual may be before it is remarked on.
const ERROR_MAX: f64 = 0.2;

/// A warning, if the model does not do what the drive did.
pub(super) fn remark(residuals: &[Residual]) -> Option<String> {
    let off = residuals.iter().filter(|residual| residual.error.abs() > ERROR_MAX).count();
    (off > 0).then(|| {
        format!(
            "The model is off by more than a fifth in {off} of {} questions: either other things kept the drive or the machine \
             busy meanwhile, so measure again, or the drive is unlike the model, so do not trust predictions there.",
            residuals.len()
        )
    })
}

fn words(question: Question) -> String {
    let data = |direction| if direction == Direction::Read { "reads" } else { "writes" };
    match question {
        Question::Transfer(direction) => format!("{} of 4 KiB to 1 MiB, after rests", data(direction)),
        Question::Stream(direction) => format!("{} of 4 KiB to 1 MiB, at once", data(direction)),
        Question::ReadAhead => "reads of 64 KiB after a long rest".to_owned(),
        Question::Random(direction) => format!("{} of 4 KiB anywhere", data(direction)),
        Question::Near => "reads of 4 KiB nearby".to_owned(),
        Question::Ends => "reads of 4 KiB at both ends".to_owned(),
        Question::Zones => "reads in sixteen places".to_owned(),
        Question::Fill => "much written in a row".to_owned(),
        Question::Refill => "more written after a rest".to_owned(),
        Question::Trace => "very many writes of 4 KiB".to_owned(),
        Question::Jumps => "regions written one after the other".to_owned(),
        Question::Interleaved(regions) => format!("{regions} regions written in turn"),
    }
}
