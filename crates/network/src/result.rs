//! What a network study finds, as data: integers, bytes and nanoseconds. Rates are rounded down.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shoal_bench::{Spread, Validity};

/// All of a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    /// Decides the order of the runs, and what is transferred.
    pub seed: u64,
    /// What each run transfers.
    pub size_bytes: u64,
    /// How often each row was measured.
    pub repeats: u32,
    /// What was served.
    pub served: String,
    /// The links, each as it was found to be before anything else went over it.
    pub links: Vec<Calibration>,
    /// What was measured.
    pub rows: Vec<Row>,
    /// What was not measured, and why.
    pub left_out: Vec<LeftOut>,
}

/// What a link is: what it should carry, and what it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// Its speed.
    pub link_bits_per_s: u64,
    /// What a TCP stream gets of a real link of that speed.
    pub expected_bytes_per_s: u64,
    /// What a plain TCP stream got, from the client to the server.
    pub to_server_bytes_per_s: u64,
    /// And from the server to the client.
    pub to_client_bytes_per_s: u64,
    /// The median time of a byte there and back, over an idle link.
    pub round_trip_ns: u64,
}

/// A way to transfer content, over one link or over none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The workload's name, as "nfs-sync-put".
    pub workload: String,
    /// What happens, in one line.
    pub method: String,
    /// The link; left out for the array itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_bits_per_s: Option<u64>,
    /// Who took or gave the content.
    pub client: String,
    /// Who had the array.
    pub server: String,
    /// The repeats, in the order in which they ran.
    pub runs: Vec<Run>,
    /// Their rates, as the client saw them.
    pub bytes_per_s: Spread,
    /// Their rates until all was on the drives; for what was written only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durable_bytes_per_s: Option<Spread>,
    /// The median rate in thousandths of that of the array itself, by the same measure: on the
    /// drives, for what was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_array_per_mille: Option<u64>,
    /// The median rate, as the client saw it, in thousandths of what a TCP stream gets of the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_link_per_mille: Option<u64>,
    /// What set the pace, as far as it can be told.
    pub bound_by: Bound,
    /// Whether the rates can be trusted.
    pub validity: Validity,
}

/// What sets the pace of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The link was full.
    Link,
    /// The array was no faster by itself.
    Array,
    /// The machine's processors were busy.
    Processor,
    /// None of these: the protocol, the client or the server waited.
    Protocol,
}

/// One transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Until the client was done.
    pub elapsed_ns: u64,
    /// What it took after that until all was on the drives; for what was written only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle_ns: Option<u64>,
    /// Processor time meanwhile.
    pub cpu: CpuUse,
}

/// Processor time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuUse {
    /// Of the server's processes.
    pub server_ns: u64,
    /// Of the client's.
    pub client_ns: u64,
    /// Of all processors on anything, the kernel's network included, which belongs to no process.
    pub machine_ns: u64,
}

/// Something that was not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Which workload, or "smb" for all of a protocol.
    pub what: String,
    /// One line: why, and how to mend it.
    pub reason: String,
}
