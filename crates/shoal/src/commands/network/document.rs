//! What `shoal network --json` prints.

use schemars::JsonSchema;
use serde::Serialize;
use shoal_network::{Findings, LeftOut, LinkSpeed, Offer, Options, Plan};

use super::published::BesideDocument;

/// `network`: what was found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NetworkDocument {
    /// What was measured.
    #[serde(flatten)]
    pub(crate) findings: Findings,
    /// With `--as`: the study's figures, and what was measured beside them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) published: Option<PublishedDocument>,
}

/// A published study's figures, and one's own.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PublishedDocument {
    /// The study.
    pub(crate) study: String,
    /// Figure by figure.
    pub(crate) figures: Vec<BesideDocument>,
}

/// `network --dry-run`: what would be done, and what it would cost.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NetworkPlanDocument {
    /// Decides the order.
    pub(crate) seed: u64,
    /// What would be served.
    pub(crate) served: String,
    /// Whether all that the array holds would be lost.
    pub(crate) overwrites_array: bool,
    /// The links.
    pub(crate) links_bits_per_s: Vec<u64>,
    /// What each transfer would move.
    pub(crate) size_bytes: u64,
    /// How often each would be measured.
    pub(crate) repeats: u32,
    /// The transfers, in order.
    pub(crate) steps: Vec<String>,
    /// What would not be measured, and why.
    pub(crate) left_out: Vec<LeftOut>,
    /// What would be written to the array.
    pub(crate) written_bytes: u64,
    /// What would lie in memory meanwhile.
    pub(crate) memory_bytes: u64,
    /// How long it would take if links are full and the array does 100 MB/s.
    pub(crate) duration_ns: u64,
}

impl NetworkPlanDocument {
    pub(super) fn of(served: String, offer: Offer, options: &Options, plan: &Plan) -> Self {
        Self {
            seed: options.seed,
            served,
            overwrites_array: offer.device,
            links_bits_per_s: options.links.iter().copied().map(LinkSpeed::bits_per_s).collect(),
            size_bytes: options.size_bytes,
            repeats: options.repeats,
            steps: plan.steps.iter().map(ToString::to_string).collect(),
            left_out: plan.left_out.clone(),
            written_bytes: plan.written_bytes,
            memory_bytes: 2 * options.size_bytes,
            duration_ns: u64::try_from(plan.duration.as_nanos()).unwrap_or(u64::MAX),
        }
    }
}
