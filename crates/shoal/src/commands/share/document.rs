//! What `share` and `unshare` print.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use shoal_share::machine::{Record, State};

/// `share` and `unshare`: the machine's shares afterwards.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SharesDocument {
    /// By name.
    pub(crate) shares: Vec<ShareDocument>,
    /// What was done beside: to the directory, or what is left to be done.
    pub(crate) notes: Vec<String>,
}

/// A share.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ShareDocument {
    /// What it is.
    #[serde(flatten)]
    pub(crate) share: Record,
    /// How it is.
    pub(crate) state: State,
    /// Why it is not served, or not by all servers.
    pub(crate) problems: Vec<String>,
    /// What to type on a client.
    pub(crate) clients: Vec<ClientLine>,
}

/// What to type on a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ClientLine {
    /// Where: "Linux", "Windows, macOS", ...
    pub(crate) system: String,
    /// What.
    pub(crate) line: String,
}

/// `share --configuration-only`: files that were written, and where they belong.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ConfigurationDocument {
    /// The files.
    pub(crate) files: Vec<ConfigurationFile>,
    /// What root has to do, in this order.
    pub(crate) steps: Vec<Step>,
    /// What to type on a client, then.
    pub(crate) clients: Vec<ClientLine>,
}

/// Something to be done by hand.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Step {
    /// What for.
    pub(crate) purpose: String,
    /// What to type.
    pub(crate) command: String,
}

/// A file of a configuration.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ConfigurationFile {
    /// Where it was written.
    pub(crate) path: PathBuf,
    /// Where it belongs.
    pub(crate) belongs_at: PathBuf,
}
