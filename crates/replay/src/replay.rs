//! Plays studies and puts what came of them beside what was published.

use schemars::JsonSchema;
use serde::Serialize;
use shoal_bench::BenchError;
use shoal_sim::NotationError;
use shoal_volume::{CreateError, RequestError, SimulatedWorldError, VolumeError};

use crate::claim::{Basis, Claim, Kind, claim_of};
use crate::experiment::play;
use crate::outcomes::{Missing, Outcomes};
use crate::studies::claims;
use crate::{Figure, Study, Value, figures};

/// Why a study cannot be played. None of it is in the user's hands: the studies and drives are part
/// of the program.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// A figure has no claim, or several.
    #[error("{figure}: {} of `crates/replay/src/studies` names this figure: give it exactly one", if *.twice { "more than one claim" } else { "no claim" })]
    Claims {
        /// The figure.
        figure: String,
        /// Whether there are several.
        twice: bool,
    },
    /// A claim has no outcome.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// An input is not in the table.
    #[error("no figure is published for the {0}")]
    NotPublished(String),
    /// A percentile of too few requests.
    #[error("too few requests for a 99.99th percentile: play more of them")]
    TooFewSamples,
    /// Drives that are not in the catalogue.
    #[error(transparent)]
    Fleet(#[from] NotationError),
    /// The world.
    #[error(transparent)]
    World(#[from] SimulatedWorldError),
    /// The array.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// A method.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// The volume.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// A request.
    #[error("a simulated request failed: {0}")]
    Request(RequestError),
}

/// A published figure, and what the replay makes of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Replayed {
    /// Which study printed it.
    pub study: Study,
    /// The part of the study.
    pub experiment: String,
    /// What was measured or described.
    pub configuration: String,
    /// Which of its properties.
    pub metric: String,
    /// The unit of `value` and `predicted`.
    pub unit: String,
    /// The figure as published.
    pub value: Value,
    /// In the words it was printed in.
    pub as_printed: String,
    /// What came out here; left out where nothing did. For an input it is a check of the drive that
    /// was made from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<f64>,
    /// How far `predicted` is off, as a fraction of `value`, signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// What the figure is to the replay.
    pub kind: Kind,
    /// What `predicted` comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// Where the prediction comes from, what it assumes, why it is off, or why there is none.
    pub why: String,
}

impl Replayed {
    fn new(figure: Figure, claim: &Claim, outcomes: &Outcomes) -> Result<Self, Missing> {
        let predicted = claim.forecast.map(|(_, forecast)| forecast(outcomes, &figure)).transpose()?;
        let error = predicted.zip(figure.value.number()).map(|(predicted, value)| error(predicted, value));
        let Figure { study, experiment, configuration, metric, unit, value, as_printed } = figure;
        Ok(Self {
            study,
            experiment,
            configuration,
            metric,
            unit,
            value,
            as_printed,
            predicted,
            error,
            kind: claim.kind,
            basis: claim.forecast.map(|(basis, _)| basis),
            why: claim.why.to_owned(),
        })
    }

    /// What it is, in one line.
    pub fn what(&self) -> String {
        [&*self.experiment, &*self.configuration, &*self.metric].join(": ")
    }

    /// Whether it is a prediction, with or without an assumption.
    pub fn is_prediction(&self) -> bool {
        matches!(self.kind, Kind::Predicted | Kind::PredictedAssumed)
    }
}

/// How far off, as a fraction. Of a figure that is 0 any other is off by all.
fn error(predicted: f64, value: f64) -> f64 {
    if predicted == value { 0.0 } else { (predicted - value) / if value == 0.0 { 1.0 } else { value.abs() } }
}

/// Studies that were played.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// Every figure of these studies, in the order of the table.
    pub figures: Vec<Replayed>,
    /// What the experiments came to, by study: figures, and the points between them that charts
    /// show.
    pub outcomes: Vec<(Study, Outcomes)>,
}

/// How many figures there are of each kind, and how far the predictions are off.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// All figures.
    pub figures: usize,
    /// Of which inputs.
    pub inputs: usize,
    /// Of which fitted.
    pub fitted: usize,
    /// Of which predicted.
    pub predicted: usize,
    /// Of which predicted with an assumption.
    pub predicted_assumed: usize,
    /// Of which not predicted.
    pub not_predicted: usize,
    /// Of the predictions with and without assumption, those that a simulation made; the others are
    /// arithmetic.
    pub simulated: usize,
    /// The median of the predictions' errors, without sign, as a fraction.
    pub median_error: f64,
    /// The same of those that a simulation made.
    pub median_error_simulated: f64,
    /// The largest error without sign, as a fraction.
    pub worst_error: f64,
    /// How many predictions are off by more than a tenth; `why` names the cause of each.
    pub off_by_more_than_a_tenth: usize,
}

impl Summary {
    /// Of these figures.
    pub fn of<'a>(figures: impl Iterator<Item = &'a Replayed> + Clone) -> Self {
        let count = |kind| figures.clone().filter(|figure| figure.kind == kind).count();
        let predictions = figures.clone().filter(|figure| figure.is_prediction());
        let simulated = predictions.clone().filter(|figure| figure.basis == Some(Basis::Simulation));
        let errors = sorted_errors(predictions);
        let simulated = sorted_errors(simulated);
        Self {
            figures: figures.clone().count(),
            inputs: count(Kind::Input),
            fitted: count(Kind::Fitted),
            predicted: count(Kind::Predicted),
            predicted_assumed: count(Kind::PredictedAssumed),
            not_predicted: count(Kind::NotPredicted),
            simulated: simulated.len(),
            median_error: median(&errors),
            median_error_simulated: median(&simulated),
            worst_error: errors.last().copied().unwrap_or(0.0),
            off_by_more_than_a_tenth: errors.iter().filter(|&&error| error > 0.1).count(),
        }
    }
}

fn sorted_errors<'a>(figures: impl Iterator<Item = &'a Replayed>) -> Vec<f64> {
    let mut errors: Vec<_> = figures.filter_map(|figure| figure.error.map(f64::abs)).collect();
    errors.sort_by(f64::total_cmp);
    errors
}

/// Of sorted numbers; 0 of none.
fn median(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[count / 2],
        count => (sorted[count / 2 - 1] + sorted[count / 2]) / 2.0,
    }
}

/// Plays these studies, on all processors. The result is the same on every machine.
pub fn replay(studies: &[Study]) -> Result<Replay, ReplayError> {
    let mut replay = Replay { figures: Vec::new(), outcomes: Vec::new() };
    for &study in studies {
        let outcomes = play(study)?;
        let claims = claims(study);
        for figure in figures().into_iter().filter(|figure| figure.study == study) {
            let claim = claim_of(&claims, &figure)?;
            replay.figures.push(Replayed::new(figure, claim, &outcomes)?);
        }
        replay.outcomes.push((study, outcomes));
    }
    Ok(replay)
}
