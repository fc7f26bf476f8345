//! What the studies paid, by the planner's own functions.

use shoal_plan::cost::published_cost_figures;

use crate::Figure;
use crate::outcomes::{Missing, Outcomes};

/// A cost figure from its inputs, as the planner has it.
pub(crate) fn published_cost(_: &Outcomes, figure: &Figure) -> Result<f64, Missing> {
    let costs = published_cost_figures();
    let found = costs.iter().find(|cost| {
        cost.study == figure.study.name()
            && cost.configuration == figure.configuration
            && cost.metric == figure.metric
            && cost.unit == figure.unit
    });
    found.map(|cost| cost.ours).ok_or_else(|| Missing(format!("{}, {}", figure.configuration, figure.metric)))
}
