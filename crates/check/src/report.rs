//! What a check says of a drive.

use schemars::JsonSchema;
use serde::Serialize;

/// Whether a drive is what it claims to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It has its capacity.
    Genuine,
    /// It has less.
    Fake,
    /// It fails, or does not give back what was written, and not because it ends early.
    Damaged,
    /// What was done does not tell.
    Unsure,
}

/// What kind of drive shows what was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Nothing is wrong.
    Good,
    /// What is written beyond the real end is lost.
    Limbo,
    /// Addresses repeat: what is written beyond the real end overwrites what was written before.
    Wraparound,
    /// Both: addresses repeat after more than the real capacity, and what lies between is lost.
    Chain,
    /// Places are wrong that no early end explains.
    Damaged,
}

/// What became of all bytes in a full check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tally {
    /// Bytes that held what was written.
    pub held_bytes: u64,
    /// Bytes that held what was written elsewhere.
    pub overwritten_bytes: u64,
    /// Bytes in blocks of which parts were changed.
    pub changed_bytes: u64,
    /// Bytes that held nothing of what was written.
    pub lost_bytes: u64,
    /// Bytes in blocks that could not be read.
    pub failed_bytes: u64,
    /// The first place that was wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_wrong_offset: Option<u64>,
}

/// A place, and what was read there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Evidence {
    /// The place.
    pub offset: u64,
    /// "held", "elsewhere", "lost", "changed" or "failed".
    pub found: String,
    /// For "elsewhere": the place for which it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_at_offset: Option<u64>,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Report {
    /// Whether the drive is what it claims to be.
    pub verdict: Verdict,
    /// What kind of drive it is, if that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// How sure that is, in millionths; 0 where it is unsure.
    pub confidence_ppm: u32,
    /// What that follows from, in a sentence.
    pub confidence_from: String,
    /// Genuine: with that confidence, no more of the drive is bad, in millionths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bad_at_most_ppm: Option<u32>,
    /// What the drive claims to have.
    pub claimed_bytes: u64,
    /// What can be used of it, from the start on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usable_bytes: Option<u64>,
    /// It has no more than this; the same as usable if the end was found to the block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real_at_most_bytes: Option<u64>,
    /// Addresses are the same after so many bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat_bytes: Option<u64>,
    /// The unit of what was written, and to which the real end is known.
    pub block_bytes: u32,
    /// A cache of the drive of up to this can have hidden nothing; left out if nothing was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defeated_cache_bytes: Option<u64>,
    /// A full check: what became of all bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tally: Option<Tally>,
    /// Places and what was read there: the wrong ones first, not all of them.
    pub evidence: Vec<Evidence>,
    /// What to do now.
    pub advice: String,
    /// What else is worth knowing, a sentence each.
    pub remarks: Vec<String>,
    /// Bytes that were written.
    pub written_bytes: u64,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// How long it took.
    pub duration_ns: u64,
}
