//! What `shoal network --json` prints, and what its report shows.

use schemars::JsonSchema;
use serde::Serialize;
use shoal_network::{Findings, LeftOut, LinkSpeed, Offer, Options, TransferPlan};
use shoal_study::model::Machine;
use shoal_study::run::Heading;

use super::published::BesideDocument;
use super::small::SmallDocument;

/// The value of `format`.
const FORMAT: &str = "shoal-network";
/// The value of `format_version`.
const FORMAT_VERSION: u32 = 1;

/// `network`: what was found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NetworkDocument {
    /// Always "shoal-network".
    pub(crate) format: String,
    /// Version of this document's format, 1.
    pub(crate) format_version: u32,
    /// Version of the program that wrote it.
    pub(crate) tool_version: String,
    /// The command line as it was given, program and arguments.
    pub(crate) command_line: Vec<String>,
    /// When it started, in nanoseconds since 1970 UTC; left out where the clock is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) started_unix_ns: Option<u64>,
    /// How long all of it took.
    pub(crate) elapsed_ns: u64,
    /// The machine, which is client and server.
    pub(crate) host: Machine,
    /// What was measured.
    #[serde(flatten)]
    pub(crate) findings: Findings,
    /// Blocks of 4 KiB one after the other, without a network: of each drive alone, and of what is
    /// served. With `--as pi-zero`.
    pub(crate) small: Vec<SmallDocument>,
    /// With `--as`: the study's figures, and what was measured beside them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) published: Option<PublishedDocument>,
}

impl NetworkDocument {
    pub(super) fn of(
        heading: Heading,
        elapsed_ns: u64,
        findings: Findings,
        small: Vec<SmallDocument>,
        published: Option<PublishedDocument>,
    ) -> Self {
        let Heading { tool_version, command_line, started_unix_ns, host } = heading;
        let format = FORMAT.to_owned();
        Self {
            format,
            format_version: FORMAT_VERSION,
            tool_version,
            command_line,
            started_unix_ns,
            elapsed_ns,
            host,
            findings,
            small,
            published,
        }
    }
}

/// A published study's figures, and one's own.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PublishedDocument {
    /// The study.
    pub(crate) study: String,
    /// Figure by figure.
    pub(crate) figures: Vec<BesideDocument>,
}

/// `network --dry-run`: what would be done, and what it would cost.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NetworkPlanDocument {
    /// Decides the order.
    pub(crate) seed: u64,
    /// What would be served.
    pub(crate) served: String,
    /// Whether all that the array or the drives hold would be lost.
    pub(crate) overwrites_array: bool,
    /// Who would serve NFS, and who would be its client; left out if nothing goes by NFS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) nfs: Option<String>,
    /// The links.
    pub(crate) links_bits_per_s: Vec<u64>,
    /// What each transfer would move.
    pub(crate) size_bytes: u64,
    /// How often each would be measured.
    pub(crate) repeats: u32,
    /// The transfers, in order.
    pub(crate) steps: Vec<String>,
    /// What would not be measured, and why.
    pub(crate) left_out: Vec<LeftOut>,
    /// What would be written to the array, or to its drives by way of it.
    pub(crate) written_bytes: u64,
    /// Written and read in blocks of 4 KiB beside that, on each drive alone and on what is served;
    /// 0 unless `--as pi-zero`.
    pub(crate) small_bytes: u64,
    /// What would lie in memory meanwhile.
    pub(crate) memory_bytes: u64,
    /// How long it would take if links are full and the array does 100 MB/s, without blocks of 4
    /// KiB.
    pub(crate) duration_ns: u64,
}

impl NetworkPlanDocument {
    pub(super) fn of(served: String, offer: Offer, options: &Options, plan: &TransferPlan, small_bytes: u64) -> Self {
        Self {
            seed: options.seed,
            served,
            overwrites_array: offer.device,
            nfs: plan.nfs.clone(),
            links_bits_per_s: options.links.iter().copied().map(LinkSpeed::bits_per_s).collect(),
            size_bytes: options.size_bytes,
            repeats: options.repeats,
            steps: plan.steps.iter().map(ToString::to_string).collect(),
            left_out: plan.left_out.clone(),
            written_bytes: plan.written_bytes,
            small_bytes,
            memory_bytes: 2 * options.size_bytes,
            duration_ns: u64::try_from(plan.duration.as_nanos()).unwrap_or(u64::MAX),
        }
    }
}
