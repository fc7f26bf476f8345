//! What `shoal sim swarm --json` prints.

use schemars::JsonSchema;
use serde::Serialize;
use shoal_swarm::Counts;

/// `sim swarm`: what came of the seeds.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SwarmDocument {
    /// The first seed.
    pub(crate) first_seed: u64,
    /// How many were played; fewer than asked for if many failed, or it was stopped.
    pub(crate) seeds: u64,
    /// Of all that passed between arrays and drives, in hexadecimal: equal for equal seeds, on
    /// every machine.
    pub(crate) trace_hash: String,
    /// How long it took.
    pub(crate) duration_ns: u64,
    /// Seeds that fail, ascending.
    pub(crate) failures: Vec<SwarmFailureDocument>,
    /// What happened in all of them.
    pub(crate) counts: Counts,
}

/// A seed that fails.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SwarmFailureDocument {
    /// Which.
    pub(crate) seed: u64,
    /// Who objected.
    pub(crate) checker: String,
    /// To what.
    pub(crate) problem: String,
    /// What plays it again.
    pub(crate) replay: String,
    /// What the smallest world that fails in this way is, and what happens in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shrunk: Option<String>,
}
