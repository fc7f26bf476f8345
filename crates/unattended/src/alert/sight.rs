//! What an array was like at one moment, as far as people are told of it.

use serde::{Deserialize, Serialize};

/// An array's condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// All members are in sync.
    Optimal,
    /// Members are missing or rebuilding; all content can be had.
    Degraded,
    /// Its drives have gone away together, and requests wait for them. Of the members nothing is
    /// seen.
    Paused,
    /// More members are missing than the level survives.
    Failed,
}

impl Health {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Optimal => "optimal",
            Self::Degraded => "degraded",
            Self::Paused => "paused",
            Self::Failed => "failed",
        }
    }
}

/// A member's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemberState {
    /// It holds all its data.
    InSync,
    /// It is being filled.
    Rebuilding,
    /// There is none.
    Missing,
}

/// One role of the array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberSight {
    /// Its state.
    pub state: MemberState,
    /// The drive or array that has the role.
    pub on: Option<String>,
    /// It works, and is much slower than its peers or than it was, or silent.
    #[serde(default)]
    pub suspect: bool,
}

/// The scrub under way, or the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScrubSight {
    /// Whether it is not over.
    pub under_way: bool,
    /// What disagreed.
    pub mismatched_bytes: u64,
    /// What could not be had.
    pub unreadable_bytes: u64,
}

/// One array; arrays inside arrays have sights of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArraySight {
    /// As md prints it.
    pub uuid: String,
    /// The array's name.
    pub name: String,
    /// Its condition.
    pub health: Health,
    /// Whether parity or copies may disagree with the data.
    pub needs_resync: bool,
    /// By role.
    pub members: Vec<MemberSight>,
    /// Drives that wait to take a role.
    pub spares: usize,
    /// What a scrub found.
    pub scrub: Option<ScrubSight>,
    /// Ranges of content that were found to be lost, since the array was opened.
    pub lost_ranges: u64,
}
