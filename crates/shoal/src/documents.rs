//! What `--json` prints: one document a command, all sizes in bytes and all times in nanoseconds.

mod swarm;

use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;
use shoal_bench::Measurement;
use shoal_documents::protocol::{Answer, RequestLine};
use shoal_documents::{
    AlertTestDocument, AttachDocument, ExamineDocument, FailureDocument, FormatDocument, MdadmConfDocument,
    MountDocument, ScrubDocument, ServiceDocument, StateDocument, TransferDocument, UnmountDocument,
};

use crate::commands::check::CheckDocument;
use crate::commands::compare::CompareDocument;
use crate::commands::drives::catalogue::CatalogueDocument;
use crate::commands::drives::document::DrivesDocument;
use crate::commands::list::ListDocument;
use crate::commands::log::LogDocument;
use crate::commands::network::{NetworkDocument, NetworkPlanDocument};
use crate::commands::profile::ProfileDocument;
use crate::commands::recover::RecoverDocument;
use crate::commands::replay::ReplayDocument;
use crate::commands::share::{ConfigurationDocument, SharesDocument};
use crate::commands::show::ShowDocument;
use crate::commands::wipe::WipeDocument;

pub(crate) use swarm::{SwarmDocument, SwarmFailureDocument};

/// `man`, `schemas` and `log --export`: what was written.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FilesDocument {
    /// Paths of the files.
    pub(crate) files: Vec<String>,
}

/// `completions`: a script for a shell.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CompletionsDocument {
    /// The shell.
    pub(crate) shell: String,
    /// What the shell is to run.
    pub(crate) script: String,
}

/// `bench`: its measurements.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BenchDocument {
    /// One entry a target and repeat.
    pub(crate) results: Vec<Measurement>,
    /// Directories: what was written into them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) directories: Vec<DirectoryDocument>,
}

/// What a benchmark wrote into a directory.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DirectoryDocument {
    /// The directory.
    pub(crate) directory: String,
    /// As the kernel calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file_system: Option<String>,
    /// The file that was measured, which is deleted.
    pub(crate) file_bytes: u64,
    /// What was written in all: the file once, and what was measured. Warm-ups and the file
    /// system's own writes come on top.
    pub(crate) written_bytes: u64,
    /// What that is on the members of the array below, if it was written in whole stripes; left out
    /// where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) member_bytes_least: Option<u64>,
    /// The same if every write was small.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) member_bytes_most: Option<u64>,
}

/// `study --dry-run`: what a study would do, and what it would cost.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PlanDocument {
    /// Decides the order of the steps and all they do.
    pub(crate) seed: u64,
    /// How many arrays would be built.
    pub(crate) arrays: u32,
    /// How many steps there are.
    pub(crate) steps: u32,
    /// Combinations that make no array, a sentence each.
    pub(crate) left_out: Vec<String>,
    /// What the drives are taken to do.
    pub(crate) assumed_bytes_per_s: u64,
    /// How long it would take then.
    pub(crate) duration_ns: u64,
    /// What would be written to each drive then, if it is no faster.
    pub(crate) drives: Vec<PlannedDriveDocument>,
}

/// A drive of a planned study.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PlannedDriveDocument {
    /// The drive.
    pub(crate) drive: String,
    /// What would be written to it.
    pub(crate) written_bytes: u64,
}

/// The schema of every document, by the name of its file. Commands that change or show an array
/// print an `array`; every command prints a `failure` when it fails. `request` and `answer` are
/// what goes over a running array's socket.
pub(crate) fn schemas() -> Vec<(&'static str, Schema)> {
    let mut schemas = vec![
        ("alert", schema_for!(shoal_unattended::alert::Message)),
        ("alert-test", schema_for!(AlertTestDocument)),
        ("answer", schema_for!(Answer)),
        ("array", schema_for!(StateDocument)),
        ("attach", schema_for!(AttachDocument)),
        ("bench", schema_for!(BenchDocument)),
        ("catalogue", schema_for!(CatalogueDocument)),
        ("check", schema_for!(CheckDocument)),
        ("completions", schema_for!(CompletionsDocument)),
        ("examine", schema_for!(ExamineDocument)),
        ("failure", schema_for!(FailureDocument)),
        ("files", schema_for!(FilesDocument)),
        ("network", schema_for!(NetworkDocument)),
        ("network-plan", schema_for!(NetworkPlanDocument)),
        ("format", schema_for!(FormatDocument)),
        ("mount", schema_for!(MountDocument)),
        ("drives", schema_for!(DrivesDocument)),
        ("list", schema_for!(ListDocument)),
        ("mdadm-conf", schema_for!(MdadmConfDocument)),
        ("plan", schema_for!(shoal_plan::document::Plan)),
        ("profile", schema_for!(ProfileDocument)),
        ("recover", schema_for!(RecoverDocument)),
        ("replay", schema_for!(ReplayDocument)),
        ("request", schema_for!(RequestLine)),
        ("scrub", schema_for!(ScrubDocument)),
        ("service", schema_for!(ServiceDocument)),
        ("share", schema_for!(SharesDocument)),
        ("share-configuration", schema_for!(ConfigurationDocument)),
        ("study", shoal_study::model::schema()),
        ("study-plan", schema_for!(PlanDocument)),
        ("swarm", schema_for!(SwarmDocument)),
        ("transfer", schema_for!(TransferDocument)),
        ("unmount", schema_for!(UnmountDocument)),
        ("wipe", schema_for!(WipeDocument)),
    ];
    schemas.extend(of_lab_book());
    schemas
}

/// Those of the lab book.
fn of_lab_book() -> [(&'static str, Schema); 6] {
    [
        ("compare", schema_for!(CompareDocument)),
        ("lab-book", schema_for!(shoal_labbook::Export)),
        ("log", schema_for!(LogDocument)),
        ("log-import", schema_for!(shoal_labbook::Imported)),
        ("show", schema_for!(ShowDocument)),
        ("trend", schema_for!(shoal_labbook::Trend)),
    ]
}
