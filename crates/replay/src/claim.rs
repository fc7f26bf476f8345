//! What is claimed of each published figure: whether it is an input, or where its prediction comes
//! from.
//!
//! A [`Claim`] names figures by their columns, `*` standing for anything. Every figure of the table
//! is named by exactly one claim, and every claim names a figure: [`claim_of`] holds the first,
//! tests both. There is no default: a figure that nobody thought of is an error, never an input.

use schemars::JsonSchema;
use serde::Serialize;

use crate::outcomes::{Missing, Outcomes};
use crate::{Figure, ReplayError};

/// What a figure is to the replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// It describes one drive, the host, the setup or the world: it is told, not foretold.
    Input,
    /// A figure of an array that fixes a free parameter of the model; there are two.
    Fitted,
    /// It follows from inputs and fitted parameters.
    Predicted,
    /// As predicted, with an assumption that `why` names.
    PredictedAssumed,
    /// The model has nothing to say; `why` says why.
    NotPredicted,
}

/// What a number beside the published one comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// A run of the engine over simulated drives.
    Simulation,
    /// Arithmetic on figures that the study prints.
    Arithmetic,
}

/// Computes a figure from what was played.
pub(crate) type Forecast = fn(&Outcomes, &Figure) -> Result<f64, Missing>;

/// What is claimed of the figures that it names.
pub(crate) struct Claim {
    experiment: &'static str,
    configuration: &'static str,
    metric: &'static str,
    pub(crate) kind: Kind,
    pub(crate) forecast: Option<(Basis, Forecast)>,
    pub(crate) why: &'static str,
}

/// The figures that a claim is about: experiment, configuration, metric, the last with its unit in
/// brackets where the table has one metric in two units.
pub(crate) type Named = (&'static str, &'static str, &'static str);

impl Claim {
    fn new(named: Named, kind: Kind, forecast: Option<(Basis, Forecast)>, why: &'static str) -> Self {
        let (experiment, configuration, metric) = named;
        Self { experiment, configuration, metric, kind, forecast, why }
    }

    fn names(&self, figure: &Figure) -> bool {
        matches(self.experiment, &figure.experiment)
            && matches(self.configuration, &figure.configuration)
            && (matches(self.metric, &figure.metric)
                || matches(self.metric, &format!("{} [{}]", figure.metric, figure.unit)))
    }
}

/// It is told.
pub(crate) fn input(named: Named, why: &'static str) -> Claim {
    Claim::new(named, Kind::Input, None, why)
}

/// It is told, and the simulated drive that it describes is played all the same: the number beside
/// it is a check.
pub(crate) fn checked_input(named: Named, forecast: Forecast, why: &'static str) -> Claim {
    Claim::new(named, Kind::Input, Some((Basis::Simulation, forecast)), why)
}

/// It fixes a parameter.
pub(crate) fn fitted(named: Named, forecast: Forecast, why: &'static str) -> Claim {
    Claim::new(named, Kind::Fitted, Some((Basis::Simulation, forecast)), why)
}

/// It follows from a run.
pub(crate) fn predicted(named: Named, forecast: Forecast, why: &'static str) -> Claim {
    Claim::new(named, Kind::Predicted, Some((Basis::Simulation, forecast)), why)
}

/// It follows from a run, with an assumption.
pub(crate) fn assumed(named: Named, forecast: Forecast, why: &'static str) -> Claim {
    Claim::new(named, Kind::PredictedAssumed, Some((Basis::Simulation, forecast)), why)
}

/// It follows from other figures that are printed.
pub(crate) fn computed(named: Named, forecast: Forecast, why: &'static str) -> Claim {
    Claim::new(named, Kind::Predicted, Some((Basis::Arithmetic, forecast)), why)
}

/// It follows from other figures that are printed, with an assumption.
pub(crate) fn computed_assumed(named: Named, forecast: Forecast, why: &'static str) -> Claim {
    Claim::new(named, Kind::PredictedAssumed, Some((Basis::Arithmetic, forecast)), why)
}

/// The model is silent.
pub(crate) fn not_predicted(named: Named, why: &'static str) -> Claim {
    Claim::new(named, Kind::NotPredicted, None, why)
}

/// The one claim about a figure.
pub(crate) fn claim_of<'a>(claims: &'a [Claim], figure: &Figure) -> Result<&'a Claim, ReplayError> {
    let mut naming = claims.iter().filter(|claim| claim.names(figure));
    match (naming.next(), naming.next()) {
        (Some(claim), None) => Ok(claim),
        (first, _) => Err(ReplayError::Claims { figure: describe(figure), twice: first.is_some() }),
    }
}

fn describe(figure: &Figure) -> String {
    let Figure { study, experiment, configuration, metric, .. } = figure;
    format!("{}, {experiment}, {configuration}, {metric}", study.name())
}

/// Whether `text` is `pattern` with something, or nothing, in the place of each `*`.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, tail)) => text.strip_prefix(head).is_some_and(|rest| {
            let mut starts = rest.char_indices().map(|(index, _)| index).chain([rest.len()]);
            starts.any(|start| matches(tail, &rest[start..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Study, figures, studies};

    #[test]
    fn every_figure_has_one_claim_and_every_claim_a_figure() {
        let figures = figures();
        for study in Study::ALL {
            let claims = studies::claims(study);
            let of_study: Vec<_> = figures.iter().filter(|figure| figure.study == study).collect();
            for figure in &of_study {
                let naming = claims.iter().filter(|claim| claim.names(figure)).count();
                assert_eq!(naming, 1, "claims about {}", describe(figure));
            }
            for claim in &claims {
                let named = of_study.iter().any(|figure| claim.names(figure));
                let Claim { experiment, configuration, metric, .. } = claim;
                assert!(named, "{study:?}: no figure is {experiment}, {configuration}, {metric}");
            }
        }
    }

    #[test]
    fn claims_say_why_in_a_sentence_and_have_a_number_where_their_kind_asks_for_one() {
        for claim in Study::ALL.into_iter().flat_map(studies::claims) {
            let Claim { experiment, configuration, metric, kind, forecast, why } = &claim;
            let at = format!("{experiment}, {configuration}, {metric}");
            assert!(why.len() > 10 && !why.ends_with('.') && !why.contains('\n'), "{at}: {why}");
            match kind {
                Kind::Fitted | Kind::Predicted | Kind::PredictedAssumed => assert!(forecast.is_some(), "{at}"),
                Kind::NotPredicted => assert!(forecast.is_none(), "{at}"),
                Kind::Input => {}
            }
        }
    }

    #[test]
    fn no_more_figures_are_fitted_than_there_are_free_parameters() {
        let fitted = |study| studies::claims(study).into_iter().filter(|claim| claim.kind == Kind::Fitted).count();
        assert!(Study::ALL.into_iter().map(fitted).sum::<usize>() <= 3);
    }

    #[test]
    fn stars_stand_for_anything() {
        assert!(matches("a*c", "abc") && matches("a*c", "ac") && matches("*", "") && matches("*b*", "abc"));
        assert!(!matches("a*c", "abcd") && !matches("ab", "abc") && !matches("*b", "abc"));
    }
}
