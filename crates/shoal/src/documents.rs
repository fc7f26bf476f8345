//! What `--json` prints: one document a command, all sizes in bytes and all times in nanoseconds.

mod array;
mod attach;
mod filesystem;
mod service;
mod state;
mod swarm;

use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};
use shoal_bench::Measurement;

use crate::running::{Answer, RequestLine};

use crate::commands::network::{NetworkDocument, NetworkPlanDocument};
use crate::commands::profile::ProfileDocument;
use crate::commands::recover::RecoverDocument;
use crate::commands::replay::ReplayDocument;
use crate::commands::share::{ConfigurationDocument, SharesDocument};
pub(crate) use array::{array_document, verdict_text};
pub(crate) use attach::{AttachDocument, AttachedDocument};
pub(crate) use filesystem::{
    ArgumentDocument, FormatDocument, GeometryDocument, MadeDocument, MountDocument, MountOptionDocument,
    UnmountDocument,
};
pub(crate) use service::{AlertTestDocument, MdadmConfDocument, ServiceDocument, ServiceFileDocument, WayOutDocument};
pub(crate) use state::{
    BackgroundDocument, BlameDocument, EngineDocument, FindingsDocument, MatterDocument, MismatchDocument,
    NewsDocument, PauseDocument, RangeDocument, RunningDocument, SimulatedDocument, StateDocument,
};
pub(crate) use swarm::{SwarmDocument, SwarmFailureDocument};

/// Any command that failed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FailureDocument {
    /// What went wrong.
    pub(crate) error: ErrorDocument,
}

/// What went wrong.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ErrorDocument {
    /// "failed", "usage", "refused" or "busy".
    pub(crate) kind: String,
    /// The process's exit status: 1, 2, 3 or 4.
    pub(crate) exit_status: u8,
    /// One line that names the thing and the mend.
    pub(crate) message: String,
}

/// An array: what it is and how it is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ArrayDocument {
    /// The array's name.
    pub(crate) name: String,
    /// As md prints it.
    pub(crate) uuid: String,
    /// In md's words: "raid5".
    pub(crate) level: String,
    /// In md's words: "left-symmetric"; left out where the level has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) layout: Option<String>,
    /// Left out where the level has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) chunk_bytes: Option<u64>,
    /// Bytes of content; left out if a `problem` hides it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) capacity_bytes: Option<u64>,
    /// "optimal", "degraded" or "failed".
    pub(crate) health: String,
    /// How many members may be lost in any combination, when all are there.
    pub(crate) redundancy: u32,
    /// Whether parity or mirrors may disagree with the data, until a resync has gone over all of it.
    pub(crate) needs_resync: bool,
    /// The freshest members' count of updates.
    pub(crate) events: u64,
    /// When the superblocks were last written: seconds since 1970.
    pub(crate) update_time_unix_s: u64,
    /// Members in role order, the missing ones too.
    pub(crate) members: Vec<MemberDocument>,
    /// Drives that wait to replace a member.
    pub(crate) spares: Vec<String>,
    /// Drives that carry this array's superblock but are not used, and why.
    pub(crate) left_out: Vec<LeftOutDocument>,
    /// Why the content can be neither read nor written, beside members that are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
    /// Arrays given along that may be members, but lack too many members themselves to say so.
    pub(crate) unattached: Vec<Self>,
}

/// One member of an array.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MemberDocument {
    /// The role.
    pub(crate) role: u16,
    /// The drive; left out if it is missing, and for arrays as members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) drive: Option<String>,
    /// "in-sync", "rebuilding" or "missing".
    pub(crate) state: String,
    /// Rebuilding: bytes of the member that are rebuilt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rebuilt_bytes: Option<u64>,
    /// It works, and is much slower than its peers, or silent while they answer: reads go round it. Left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) suspect: bool,
    /// The drive that it is being copied to, which takes its place then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) replacement: Option<ReplacementDocument>,
    /// The array that is this member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) array: Option<Box<ArrayDocument>>,
}

/// A drive that a member is being copied to.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ReplacementDocument {
    /// The drive.
    pub(crate) drive: String,
    /// Bytes of the member that are copied.
    pub(crate) copied_bytes: u64,
}

/// A drive that belongs to an array and is not used.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LeftOutDocument {
    /// The drive.
    pub(crate) drive: String,
    /// Why.
    pub(crate) reason: String,
}

/// `write` and `read`: the bytes moved. As content has standard output, `read` prints it on standard error.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TransferDocument {
    /// First byte of the content.
    pub(crate) offset: u64,
    /// Bytes moved.
    pub(crate) bytes: u64,
    /// How long it took.
    pub(crate) elapsed_ns: u64,
}

/// `scrub`: what was found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ScrubDocument {
    /// What was found.
    #[serde(flatten)]
    pub(crate) findings: FindingsDocument,
    /// The array afterwards.
    pub(crate) array: ArrayDocument,
}

/// `examine`: one entry a drive.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExamineDocument {
    /// In the order in which they were given.
    pub(crate) drives: Vec<ExaminedDocument>,
}

/// One drive's superblock.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExaminedDocument {
    /// The drive.
    pub(crate) drive: String,
    /// What its superblock says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) superblock: Option<SuperblockDocument>,
    /// Why there is no superblock to show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
}

/// A superblock's fields, in mdadm's words.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SuperblockDocument {
    /// "1.0", "1.1" or "1.2".
    pub(crate) version: String,
    /// Names of the features that a reader must understand.
    pub(crate) features: Vec<String>,
    /// The array.
    pub(crate) array_uuid: String,
    /// `homehost:name`.
    pub(crate) name: String,
    /// Seconds since 1970.
    pub(crate) creation_time_unix_s: u64,
    /// "raid5".
    pub(crate) level: String,
    /// Where the level has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) layout: Option<String>,
    /// Where the level has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) chunk_bytes: Option<u64>,
    /// Active members of the complete array.
    pub(crate) raid_devices: u32,
    /// Bytes that the array uses on each member; 0 for linear and RAID0.
    pub(crate) used_member_bytes: u64,
    /// Where this member's data starts.
    pub(crate) data_offset_bytes: u64,
    /// Room for data on this member.
    pub(crate) data_bytes: u64,
    /// Where the superblock lies.
    pub(crate) super_offset_bytes: u64,
    /// This member.
    pub(crate) device_uuid: String,
    /// Its number, which is not its role.
    pub(crate) dev_number: u32,
    /// "role 2", "spare", "faulty", "journal".
    pub(crate) role: String,
    /// Rebuilding: bytes that are rebuilt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recovery_offset_bytes: Option<u64>,
    /// Whether parity and mirrors are known to agree with the data.
    pub(crate) clean: bool,
    /// Seconds since 1970.
    pub(crate) update_time_unix_s: u64,
    /// Count of updates.
    pub(crate) events: u64,
}

/// `man` and `schemas`: what was written.
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
    /// What was written in all: the file once, and what was measured. Warm-ups and the file system's own writes come on top.
    pub(crate) written_bytes: u64,
    /// What that is on the members of the array below, if it was written in whole stripes; left out where there is none.
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
    /// What would be written to each drive then.
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

/// The schema of every document, by the name of its file. Commands that change or show an array print an `array`; every
/// command prints a `failure` when it fails. `request` and `answer` are what goes over a running array's socket.
pub(crate) fn schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("alert", schema_for!(shoal_unattended::alert::Message)),
        ("alert-test", schema_for!(AlertTestDocument)),
        ("answer", schema_for!(Answer)),
        ("array", schema_for!(StateDocument)),
        ("attach", schema_for!(AttachDocument)),
        ("bench", schema_for!(BenchDocument)),
        ("completions", schema_for!(CompletionsDocument)),
        ("examine", schema_for!(ExamineDocument)),
        ("failure", schema_for!(FailureDocument)),
        ("files", schema_for!(FilesDocument)),
        ("network", schema_for!(NetworkDocument)),
        ("network-plan", schema_for!(NetworkPlanDocument)),
        ("format", schema_for!(FormatDocument)),
        ("mount", schema_for!(MountDocument)),
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
    ]
}
