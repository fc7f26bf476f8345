//! What `shoal sim swarm --json` prints.

use schemars::JsonSchema;
use serde::Serialize;

/// `sim swarm`: what came of the seeds.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SwarmDocument {
    /// The first seed.
    pub(crate) first_seed: u64,
    /// How many were played; fewer than asked for if many failed, or it was stopped.
    pub(crate) seeds: u64,
    /// Of all that passed between arrays and drives, in hexadecimal: equal for equal seeds, on every machine.
    pub(crate) trace_hash: String,
    /// How long it took.
    pub(crate) duration_ns: u64,
    /// Seeds that fail, ascending.
    pub(crate) failures: Vec<SwarmFailureDocument>,
    /// What happened in all of them.
    pub(crate) counts: SwarmCountsDocument,
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

/// What happened.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SwarmCountsDocument {
    /// Requests of the arrays' users.
    pub(crate) requests: u64,
    /// I/Os of the arrays on their drives.
    pub(crate) member_ios: u64,
    /// Virtual time.
    pub(crate) virtual_ns: u64,
    /// Power cuts.
    pub(crate) power_cuts: u64,
    /// Arrays that had to be forced after one: dirty and degraded.
    pub(crate) forced: u64,
    /// Drives that were pulled.
    pub(crate) unplugged: u64,
    /// Drives that paused.
    pub(crate) stalls: u64,
    /// Reads, writes and flushes that failed.
    pub(crate) errors: u64,
    /// Ranges that could not be read until they were written.
    pub(crate) latent: u64,
    /// Bits flipped, writes lost, misdirected or torn, without a word.
    pub(crate) silent: u64,
    /// Members replaced while they worked.
    pub(crate) replaced: u64,
    /// Faults beyond what the level survives: not done.
    pub(crate) passed_over: u64,
    /// Blocks of 512 bytes in the write hole of a lost member: they may be anything, by the format's design.
    pub(crate) write_hole_blocks: u64,
    /// Blocks of 512 bytes that are wrong by a silent fault, which the format has no way to know.
    pub(crate) silent_wrong_blocks: u64,
    /// What scrubs found of silent faults.
    pub(crate) silent_found_bytes: u64,
}
