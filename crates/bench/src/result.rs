//! What a measurement is, as data: the types behind `--json`, the study's store and the report.
//!
//! Everything is an integer: bytes, nanoseconds, counts. Rates are rounded down, and whoever shows
//! a number formats it. A number never travels without its [`Validity`].

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shoal_volume::MemberTraffic;

/// One run of one workload on one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// What was measured.
    pub target: TargetDescription,
    /// What was done to it.
    pub workload: Workload,
    /// Which repetition this is, from 1.
    pub repeat: u32,
    /// Bytes transferred within the measured time, both directions.
    pub bytes: u64,
    /// Requests answered without error within the measured time, both directions.
    pub ios: u64,
    /// The measured time: from the first submission after the warm-up to the last completion and,
    /// if anything was written, to the end of the flush that made it durable.
    pub elapsed_ns: u64,
    /// `bytes` over `elapsed_ns`.
    pub bytes_per_s: u64,
    /// `ios` over `elapsed_ns`.
    pub iops: u64,
    /// Time from submission to completion, both directions together.
    pub latency_ns: Latency,
    /// The process's CPU time, user and system, per request. Left out for simulated drives, as
    /// `cpu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns_per_io: Option<u64>,
    /// CPU time during the measured time. Left out for simulated drives: what a processor spends is
    /// no part of their time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Cpu>,
    /// The final flush alone; part of `elapsed_ns`. Left out if nothing was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_ns: Option<u64>,
    /// The reads alone, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<DirectionResult>,
    /// The writes alone, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<DirectionResult>,
    /// What the drives of an array were asked meanwhile, the final flush included. Left out where
    /// there are no members, or somebody else runs the array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<Members>,
    /// Throughput over time, in intervals of one length, gaps included.
    pub series: Vec<Interval>,
    /// How far the numbers can be trusted.
    pub validity: Validity,
}

/// What a benchmark ran on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetDescription {
    /// A path, or a name for the array.
    pub name: String,
    /// File, device or array.
    pub kind: TargetKind,
    /// Capacity.
    pub size_bytes: u64,
    /// Requests are multiples of this.
    pub logical_block_bytes: u32,
    /// Arrays: the level, in md's words ("0", "5", "10", "linear").
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// Arrays: the layout, in md's words ("left-symmetric", "near=2").
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Striped arrays: the chunk size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_bytes: Option<u64>,
    /// Arrays: the number of members, spares apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member_count: Option<u32>,
    /// Simulated drives: which models of drive on which buses. All that is told of such a target is
    /// computed from them, and nothing of it was measured. Left out where drives are real.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<String>,
    /// Arrays: who runs it, as "Linux md 6.1.0". Left out where that is shoal's own engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
}

/// The kinds of target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// A regular file.
    File,
    /// A block device.
    Device,
    /// An array, made of members of any kind.
    Array,
    /// A directory, through a file in it.
    Directory,
    /// A drive on a virtual clock.
    Simulated,
}

/// What a benchmark does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// In which order blocks are visited.
    pub pattern: Pattern,
    /// How many of a hundred requests are reads: 100 reads only, 0 writes only.
    pub read_percent: u8,
    /// Size of each request.
    pub block_size_bytes: u32,
    /// Requests kept in flight.
    pub depth: u32,
    /// When a run ends.
    pub limit: Limit,
    /// Time run before measuring starts; counted nowhere.
    pub warm_up_ns: u64,
    /// First byte of the range that is visited.
    pub range_offset: u64,
    /// Length of the range; 0 for everything from `range_offset` on.
    pub range_bytes: u64,
    /// Random only: visit every block of the range once before any is visited twice.
    pub visit_once: bool,
    /// Decides the blocks visited, the order of reads and writes, and the bytes written.
    pub seed: u64,
}

/// The order in which blocks are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// One after the other, from the start again at the end.
    Sequential,
    /// Any block, all equally likely.
    Random,
}

/// What ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// No request is submitted after this time (the warm-up apart).
    DurationNs(u64),
    /// So many bytes are submitted (the warm-up apart), rounded up to whole requests.
    Bytes(u64),
}

/// The requests of one direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionResult {
    /// Requests answered without error.
    pub ios: u64,
    /// Bytes they carried.
    pub bytes: u64,
    /// `bytes` over the measurement's `elapsed_ns`.
    pub bytes_per_s: u64,
    /// `ios` over the measurement's `elapsed_ns`.
    pub iops: u64,
    /// Requests answered with an error; they count nowhere else.
    pub errors: u64,
    /// Time from submission to completion.
    pub latency_ns: Latency,
    /// The distribution behind `latency_ns`: empty buckets are left out, and buckets are at most 1
    /// % wide.
    pub histogram: Vec<Bucket>,
}

/// Latencies in nanoseconds. All zero if there were no requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// The fastest request, exact.
    pub min: u64,
    /// The mean, exact, rounded down.
    pub mean: u64,
    /// The slowest request, exact.
    pub max: u64,
    /// By percentile ("50", "90", "95", "99", "99.9", "99.99"): so many of a hundred requests took
    /// at most this, to 0.1 %. A percentile that fewer than ten requests lie beyond says nothing,
    /// and is left out.
    pub percentiles: BTreeMap<String, u64>,
}

/// One bar of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bucket {
    /// Latencies up to and including this, and above those of the bucket before.
    pub up_to_ns: u64,
    /// How many requests.
    pub count: u64,
}

/// CPU time spent during the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// This process, in user mode.
    pub user_ns: u64,
    /// This process, in the kernel, its io_uring workers included.
    pub system_ns: u64,
    /// All processes and interrupts on the whole machine, to a hundredth of a second; left out
    /// where the system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_busy_ns: Option<u64>,
    /// User and system time of this process per request.
    pub cpu_ns_per_io: u64,
    /// User and system time of this process per MiB transferred.
    pub cpu_ns_per_mib: u64,
}

/// What the drives of an array were asked, all together: requests' data, parity and copies,
/// superblocks, background work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Members {
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Writes out of sequence: those that neither go on where a drive was left, in one of the two
    /// units of 4 MiB that it was written in last, nor begin a unit. Each costs flash a copy.
    pub out_of_sequence_writes: u64,
    /// How many of these a drive had for each 1000 MiB that it was written.
    pub out_of_sequence_per_1000_mib: u64,
}

impl Members {
    /// What came of it.
    pub fn new(traffic: MemberTraffic) -> Self {
        let MemberTraffic { reads, read_bytes, writes, written_bytes, out_of_sequence, .. } = traffic;
        let milli = u128::from(out_of_sequence) * 1000 * (1 << 20);
        let per_1000_mib = milli.checked_div(u128::from(written_bytes)).unwrap_or(0);
        Self {
            reads,
            read_bytes,
            writes,
            written_bytes,
            out_of_sequence_writes: out_of_sequence,
            out_of_sequence_per_1000_mib: u64::try_from(per_1000_mib).unwrap_or(u64::MAX),
        }
    }
}

/// What happened within one interval of the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Since the start of the measured time.
    pub start_ns: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Requests completed.
    pub ios: u64,
    /// The slowest of them.
    pub latency_max_ns: u64,
}

/// How far a measurement can be trusted, and why not further.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Validity {
    /// The worst that any reason says.
    pub verdict: Verdict,
    /// Why; empty if valid.
    pub reasons: Vec<Reason>,
}

/// The verdicts, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing speaks against it.
    Valid,
    /// It may not show what it seems to show.
    Suspect,
    /// It does not show what it seems to show.
    Invalid,
}

/// One thing that speaks against a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// For programs.
    pub code: ReasonCode,
    /// How bad it is.
    pub verdict: Verdict,
    /// For people: what was seen, and what to do about it, in one sentence.
    pub text: String,
}

/// What can speak against a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonCode {
    /// Nothing was transferred.
    NothingDone,
    /// Requests were answered with errors.
    Errors,
    /// The run was stopped from outside before its limit.
    Interrupted,
    /// Too few requests for the latencies to mean much.
    TooFewSamples,
    /// The run was too short for the rate to mean much.
    TooShort,
    /// The load generator, not the target, set the speed.
    GeneratorBound,
    /// A whole processor was busy with the load: it may have set the speed.
    CpuBound,
    /// The page cache stood between the benchmark and the drive.
    Buffered,
    /// Faster than anything but memory: a cache answered.
    Cached,
    /// The reads hit areas that were never written, which the drive need not look up.
    Unwritten,
    /// A member of the array is missing or failed.
    Degraded,
    /// A rebuild or scrub shared the members.
    Resyncing,
}
