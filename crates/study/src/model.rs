//! The document that a study leaves behind: what ran, on what, what was measured, and what follows
//! from it.
//!
//! `--json` prints it, the report page shows it, and its JSON Schema is generated from these types.
//! All quantities are integers: bytes, nanoseconds, counts, thousandths; whoever shows a number
//! formats it. What was observed (`drives`, `alone`, `together`, `arrays`, `fault`) is kept apart
//! from what was concluded (`analysis`), which [`crate::analysis::analyse`] computes from the rest
//! and from nothing else.
//!
//! Places are indices: a *drive* is an index into [`StudyReport::drives`], an *array* into
//! [`StudyReport::arrays`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shoal_bench::{Measurement, TargetKind};

mod conclusions;

pub use conclusions::{
    Analysis, ArraySummary, DriveShare, DriveSummary, Expected, ExpectedLimit, Metric, Purpose, Ranking, RankingEntry,
    Recommendation, Spread, Straggler, TogetherSummary, WorkloadSummary,
};

/// The value of [`StudyReport::format`].
pub const FORMAT: &str = "shoal-study";

/// The value of [`StudyReport::format_version`]: raised when a reader of the older version would go
/// wrong.
pub const FORMAT_VERSION: u32 = 1;

/// One past the largest seed: every reader of JSON holds integers below 2^53 exactly.
pub const SEED_LIMIT: u64 = 1 << 53;

/// A whole study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudyReport {
    /// Always "shoal-study".
    pub format: String,
    /// Version of this document's format, 1.
    pub format_version: u32,
    /// Version of the program that wrote it.
    pub tool_version: String,
    /// The command line as it was given, program and arguments.
    pub command_line: Vec<String>,
    /// When the study started, in nanoseconds since 1970 UTC; left out where the clock is not known
    /// (simulations).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_unix_ns: Option<u64>,
    /// How long the drives were at work, by their own time.
    pub elapsed_ns: u64,
    /// False if the study was stopped before its plan was done; what had been measured by then is
    /// here.
    pub complete: bool,
    /// Decides the order of the runs and everything random in them; below 2^53.
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    pub seed: u64,
    /// Simulated drives: the models and buses that every figure in this document follows from;
    /// nothing of it was measured. Left out where the drives are real.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<String>,
    /// Who ran the arrays, as "Linux md 6.1.0". Left out where that is shoal's own engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// The machine.
    pub host: Machine,
    /// The drives.
    pub drives: Vec<DriveDescription>,
    /// Each drive measured alone, in the order of `drives`.
    pub alone: Vec<DriveMeasurements>,
    /// All drives measured at the same time: what the buses between them and the machine let
    /// through.
    pub together: Vec<TogetherRun>,
    /// The arrays that were built, measured and verified.
    pub arrays: Vec<ArrayResult>,
    /// A member failed and rebuilt under load, if the plan had that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<FaultRecord>,
    /// What follows from the above.
    pub analysis: Analysis,
    /// What the reader should know about the study as a whole, a sentence each.
    pub warnings: Vec<String>,
}

/// The machine that a study ran on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Operating system, as it calls itself.
    pub os: String,
    /// Kernel name and release.
    pub kernel: String,
    /// Processor model; empty where the system does not tell.
    pub cpu_model: String,
    /// Logical processors.
    pub cores: u32,
    /// Main memory.
    pub memory_bytes: u64,
    /// What carried the I/O: "io_uring" or "threads".
    pub io_engine: String,
}

/// A thing one can buy, or an image file that stands for one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DriveDescription {
    /// A short name for tables and charts, unique within the study.
    pub name: String,
    /// Where it was found.
    pub path: String,
    /// File or device.
    pub kind: TargetKind,
    /// Capacity.
    pub size_bytes: u64,
    /// Smallest unit of I/O.
    pub logical_block_bytes: u32,
    /// Maker and model, where the drive tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The bus and port it hangs on, where the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus: Option<String>,
}

/// One drive's measurements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DriveMeasurements {
    /// Which drive.
    pub drive: u32,
    /// Every run of every workload.
    pub measurements: Vec<Measurement>,
}

/// One run of one workload on all drives at the same time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TogetherRun {
    /// One measurement per drive.
    pub drives: Vec<DriveMeasurement>,
    /// The drives' bytes over the time in which they ran together.
    pub total_bytes_per_s: u64,
    /// The drives' requests over the same time.
    pub total_iops: u64,
}

/// One drive's part in a [`TogetherRun`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DriveMeasurement {
    /// Which drive.
    pub drive: u32,
    /// What it did meanwhile.
    pub measurement: Measurement,
}

/// How an array is put together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Configuration {
    /// The level, in md's words: "linear", "0", "1", "4", "5", "6", "10".
    pub level: String,
    /// The layout, in md's words ("left-symmetric", "near=2"), for levels that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// The chunk size, for levels that stripe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_bytes: Option<u64>,
    /// The drives, in the order of their roles.
    pub members: Vec<u32>,
    /// What it holds on all of its drives, whatever part of them is measured.
    pub capacity_bytes: u64,
    /// How many drives may fail, in any combination, without loss.
    pub redundancy: u32,
}

/// One array and what was measured on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArrayResult {
    /// How it was put together.
    pub configuration: Configuration,
    /// Every run of every workload.
    pub measurements: Vec<Measurement>,
    /// What reading everything back showed; left out if the study was stopped before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
}

/// What comparing an array's content with what was written showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// Bytes compared.
    pub bytes: u64,
    /// Logical blocks that were not as written, or could not be read.
    pub wrong_blocks: u64,
}

/// A member failed in the middle of writing and was rebuilt, all under load. Times count from the
/// record's start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultRecord {
    /// The array.
    pub configuration: Configuration,
    /// The drive that was failed.
    pub failed_drive: u32,
    /// The drive that took its place; the same one if it was wiped and put back.
    pub replacement_drive: u32,
    /// When it was failed.
    pub failed_at_ns: u64,
    /// When the rebuild started.
    pub rebuild_started_ns: u64,
    /// How long the rebuild took.
    pub rebuild_ns: u64,
    /// Bytes written to the replacement by the rebuild.
    pub rebuild_bytes: u64,
    /// `rebuild_bytes` over `rebuild_ns`.
    pub rebuild_bytes_per_s: u64,
    /// Bytes that were written to the array while the member was out or being rebuilt.
    pub written_while_degraded_bytes: u64,
    /// Reading everything back after the rebuild.
    pub verification: Verification,
    /// Bytes of parity or mirrors that a scrub after the rebuild found to disagree with the data.
    pub scrub_mismatched_bytes: u64,
    /// The load's measurements, in the order of time.
    pub phases: Vec<FaultPhase>,
}

/// A stretch of a [`FaultRecord`] and the load's measurement in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultPhase {
    /// The array's state during it.
    pub state: FaultState,
    /// When the measurement started.
    pub start_ns: u64,
    /// The load's view.
    pub measurement: Measurement,
}

/// An array's states around a fault, in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultState {
    /// All members in sync, before the fault.
    Healthy,
    /// A member fails in the middle of this phase.
    Failing,
    /// A member is out.
    Degraded,
    /// The replacement is being filled.
    Rebuilding,
    /// All members in sync again.
    Rebuilt,
}

/// The JSON Schema of the document.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(StudyReport)
}
