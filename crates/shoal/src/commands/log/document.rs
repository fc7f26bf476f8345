//! What `shoal log` prints.

use schemars::JsonSchema;
use serde::Serialize;
use shoal_labbook::Entry;

/// `log`: runs, newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LogDocument {
    /// One entry a run.
    pub(crate) runs: Vec<Entry>,
}
