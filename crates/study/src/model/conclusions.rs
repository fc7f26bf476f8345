//! What is concluded from a study's measurements: the types of [`super::Analysis`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shoal_bench::{Pattern, Verdict, Workload};

use super::Configuration;

/// What follows from the measurements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Analysis {
    /// Each drive alone, in the order of [`alone`](super::StudyReport::alone).
    pub drives: Vec<DriveSummary>,
    /// All drives at once.
    pub together: Vec<TogetherSummary>,
    /// Each array, in the order of [`arrays`](super::StudyReport::arrays).
    pub arrays: Vec<ArraySummary>,
    /// Drives that hold the others up.
    pub stragglers: Vec<Straggler>,
    /// The arrays, best first, once for each purpose.
    pub rankings: Vec<Ranking>,
    /// What to do.
    pub recommendation: Recommendation,
}

/// What a workload shows about a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Reads one after the other.
    SequentialRead,
    /// Writes one after the other.
    SequentialWrite,
    /// Reads anywhere.
    RandomRead,
    /// Writes anywhere.
    RandomWrite,
    /// Reads and writes together.
    Mixed,
}

impl Metric {
    /// What a workload shows.
    pub fn of(workload: &Workload) -> Self {
        match (workload.pattern, workload.read_percent) {
            (Pattern::Sequential, 100) => Self::SequentialRead,
            (Pattern::Sequential, 0) => Self::SequentialWrite,
            (Pattern::Random, 100) => Self::RandomRead,
            (Pattern::Random, 0) => Self::RandomWrite,
            _ => Self::Mixed,
        }
    }
}

/// The median of several runs, and how far they lie apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The middle run; between two, their mean rounded down.
    pub median: u64,
    /// The smallest.
    pub min: u64,
    /// The largest.
    pub max: u64,
    /// How many runs.
    pub runs: u32,
}

/// All repeats of one workload on one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadSummary {
    /// What it shows.
    pub metric: Metric,
    /// Size of each request.
    pub block_size_bytes: u32,
    /// Requests in flight.
    pub depth: u32,
    /// Of the repeats counted here, the worst verdict. Invalid repeats are not counted unless there
    /// are no others.
    pub verdict: Verdict,
    /// Throughput.
    pub bytes_per_s: Spread,
    /// Requests a second.
    pub iops: Spread,
    /// Half of the requests took at most this; left out if a repeat does not carry it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_50_ns: Option<Spread>,
    /// 99 of a hundred requests took at most this; left out if a repeat does not carry it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_99_ns: Option<Spread>,
    /// Processor time per request; left out for simulated drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns_per_io: Option<Spread>,
    /// What the drives, measured alone and all at once, would let one expect; arrays only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
}

/// What one would expect of an array, from its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Expected {
    /// Throughput.
    pub bytes_per_s: u64,
    /// What sets the limit.
    pub limit: ExpectedLimit,
    /// Measured over expected, in thousandths.
    pub efficiency_permille: u32,
}

/// What limits an expected speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedLimit {
    /// The slowest member, which every stripe waits for.
    SlowestMember,
    /// What the buses let through when all drives work at once.
    Bus,
}

/// One drive's results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DriveSummary {
    /// Which drive.
    pub drive: u32,
    /// By workload, in the order they were first run.
    pub workloads: Vec<WorkloadSummary>,
}

/// All drives at once, under one workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TogetherSummary {
    /// What it shows.
    pub metric: Metric,
    /// Size of each request.
    pub block_size_bytes: u32,
    /// Requests in flight, per drive.
    pub depth: u32,
    /// The worst verdict of the runs counted here.
    pub verdict: Verdict,
    /// The sum over the drives.
    pub total_bytes_per_s: Spread,
    /// The sum over the drives.
    pub total_iops: Spread,
    /// Each drive's throughput meanwhile.
    pub drives: Vec<DriveShare>,
    /// The sum of what the drives do alone under the same workload; left out if one was not
    /// measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone_bytes_per_s: Option<u64>,
    /// Together they do markedly less than alone: what they share, not they, sets the limit.
    pub bus_limited: bool,
}

/// One drive's throughput while all work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DriveShare {
    /// Which drive.
    pub drive: u32,
    /// Its throughput.
    pub bytes_per_s: Spread,
}

/// One array's results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArraySummary {
    /// Which array.
    pub array: u32,
    /// A short name: level, members, chunk.
    pub name: String,
    /// By workload, in the order they were first run.
    pub workloads: Vec<WorkloadSummary>,
    /// Why it is in no ranking; left out if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excluded: Option<String>,
}

/// A drive that is much slower than the others, and holds up every array it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Straggler {
    /// Which drive.
    pub drive: u32,
    /// At what.
    pub metric: Metric,
    /// What it does alone.
    pub bytes_per_s: u64,
    /// What the drive in the middle does alone.
    pub typical_bytes_per_s: u64,
}

/// What an array may be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// All of the below in balance, among the arrays that survive a failure if there are any.
    Overall,
    /// Large files: sequential reads and writes.
    Throughput,
    /// Databases and system drives: small random reads and writes.
    SmallRequests,
    /// As many bytes as possible.
    Capacity,
    /// As many failures as possible.
    Safety,
}

/// The arrays in order, for one purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ranking {
    /// For what.
    pub purpose: Purpose,
    /// How places were given, in one sentence.
    pub rule: String,
    /// Best first.
    pub entries: Vec<RankingEntry>,
}

/// One array's place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RankingEntry {
    /// Which array.
    pub array: u32,
    /// The purpose's own figure: thousandths of the best in everything (overall), bytes per second
    /// (throughput), requests per second (small requests), bytes (capacity), drives (safety).
    pub score: u64,
    /// It differs from the entry before by no more than the runs of either differ among themselves.
    pub tied: bool,
    /// What speaks for this place, in short phrases.
    pub reasons: Vec<String>,
}

/// What to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recommendation {
    /// Two sentences: what to build and what one gets; what came next and why it did not win.
    pub sentences: Vec<String>,
    /// The array to build; left out if nothing that was measured can be recommended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<u32>,
    /// How it is put together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<Configuration>,
    /// The array that came next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner_up: Option<u32>,
}
