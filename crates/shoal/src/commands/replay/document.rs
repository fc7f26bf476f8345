//! What `replay` prints.

use schemars::JsonSchema;
use serde::Serialize;
use shoal_replay::{Replayed, Study, Summary};

/// What `replay` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReplayDocument {
    /// Every figure of the studies that were played, in the order in which they are printed there.
    pub(crate) figures: Vec<Replayed>,
    /// All of them, counted.
    pub(crate) summary: Summary,
    /// The same for each study.
    pub(crate) studies: Vec<StudyDocument>,
}

/// One study of a replay.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StudyDocument {
    /// Its name.
    pub(crate) study: Study,
    /// What it is about.
    pub(crate) title: String,
    /// Its figures, counted.
    pub(crate) summary: Summary,
    /// The chart that was drawn; left out if none was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) chart: Option<String>,
}
