//! An array and what goes on in it: what the commands on arrays print, and what a running array
//! answers.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shoal_volume::{Blame, Matter};

use crate::array::ArrayDocument;
use crate::attach::AttachedDocument;

/// `create`, `status`, `fail`, `add`, `remove`, `re-add`, `replace`, `rebuild`, `speed`, `stop`,
/// `run`: the array afterwards.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StateDocument {
    /// What it is, and how it is.
    #[serde(flatten)]
    pub array: ArrayDocument,
    /// What runs it; left out for shoal's own engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineDocument>,
    /// The resync, rebuild or scrub under way; left out if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<BackgroundDocument>,
    /// The scrub under way, or the last one since the array was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrub: Option<FindingsDocument>,
    /// The process that runs the array; left out if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<RunningDocument>,
    /// The process that has its image files, and that cannot be asked from here: another user's,
    /// one with another runtime directory, or a command that is at work. Left out if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<u32>,
    /// That its requests wait for drives which have gone away; left out while it can be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<PauseDocument>,
    /// As what it is attached to this machine, `status`; left out where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<AttachedDocument>,
    /// Simulated drives: all of this follows from their models. Left out where drives are real.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<SimulatedDocument>,
}

impl StateDocument {
    /// An array of which nothing but itself is known: no process runs it, and nothing goes on in
    /// it.
    pub fn at_rest(array: ArrayDocument) -> Self {
        Self {
            array,
            engine: None,
            background: None,
            scrub: None,
            running: None,
            held_by: None,
            paused: None,
            attached: None,
            simulated: None,
        }
    }

    /// Whether nobody runs it.
    pub fn is_at_rest(&self) -> bool {
        self.running.is_none() && self.engine.is_none() && self.held_by.is_none()
    }
}

/// An engine that is not shoal's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineDocument {
    /// What it is, with its version, as "Linux md 6.1.0".
    pub name: String,
    /// The array as a block device of this machine.
    pub device: String,
    /// How it keeps parity and copies consistent, in its own words: "resync", "bitmap", "ppl",
    /// "journal" or "none".
    pub consistency_policy: String,
}

/// That an array waits for its drives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PauseDocument {
    /// Since when: seconds since 1970.
    pub since_unix_s: u64,
    /// The drives that are not back, as they were called; none if those that are back cannot be
    /// used yet.
    pub waits_for: Vec<String>,
    /// In so many seconds what waits fails, and the array with it; left out while nothing waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fails_in_s: Option<u64>,
}

/// That an array's drives are simulated.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedDocument {
    /// Models of drives on buses, as they were named.
    pub drives: String,
    /// `create`: what the resync took, of virtual time, on drives that were blank. Left out if none
    /// was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resync_ns: Option<u64>,
}

/// Work that an array does beside requests.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BackgroundDocument {
    /// "resync", "rebuild", "replacement", "reshape" or "scrub".
    #[schemars(with = "String")]
    pub work: WorkDocument,
    /// Bytes of each member done.
    pub done_bytes: u64,
    /// Bytes of each member in all.
    pub total_bytes: u64,
    /// Over the last seconds; left out where it has just begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<u64>,
}

/// What kind of work that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkDocument {
    /// Parity and copies are made to agree with the data.
    Resync,
    /// A member is filled.
    Rebuild,
    /// A member is copied to the drive that takes its place.
    Replacement,
    /// Content is moved to another shape.
    Reshape,
    /// Parity and copies are compared with the data.
    Scrub,
}

impl fmt::Display for WorkDocument {
    /// As in the document.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Resync => "resync",
            Self::Rebuild => "rebuild",
            Self::Replacement => "replacement",
            Self::Reshape => "reshape",
            Self::Scrub => "scrub",
        })
    }
}

/// The process that runs an array.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunningDocument {
    /// Its number.
    pub process_id: u32,
    /// Where it is administered.
    pub socket: String,
    /// Since when it runs: seconds since 1970.
    pub started_unix_s: u64,
    /// Offsets and lengths of reads and writes are multiples of this.
    pub logical_block_bytes: u32,
    /// The longest read or write that it takes in one request.
    pub transfer_bytes_max: u32,
    /// Requests that it works on at a time for one client.
    pub requests_max: u32,
    /// Background work goes on at least this fast while requests are served.
    pub speed_min_bytes_per_s: u64,
    /// Background work never goes faster; left out if there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_max_bytes_per_s: Option<u64>,
    /// Where it is served as a network block device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nbd: Vec<String>,
    /// Clients that it is served to there at this moment; left out if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nbd_clients: u64,
    /// I/Os that drives which were taken out have not answered, and that nobody waits for; left out
    /// if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_behind: u64,
    /// What happened lately, oldest first.
    pub news: Vec<NewsDocument>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Something that happened in a running array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewsDocument {
    /// Seconds since 1970.
    pub time_unix_s: u64,
    /// The array, or the array inside it.
    pub array: String,
    /// What happened, in a few words.
    pub text: String,
}

/// What a scrub found.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FindingsDocument {
    /// Whether it made parity and copies agree: with the data, with what most copies hold, or with
    /// the first.
    pub keep_data: bool,
    /// Whether everything was compared.
    pub complete: bool,
    /// Bytes of parity or copies that do not agree with the data.
    pub mismatched_bytes: u64,
    /// As many of them as it was to make agree and could not; left out if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unrepaired_bytes: u64,
    /// Where, by member; at most a thousand places.
    pub mismatches: Vec<MismatchDocument>,
    /// Bytes that could not be read and were written anew from redundancy.
    pub healed_bytes: u64,
    /// Where; at most a thousand places.
    pub healed: Vec<RangeDocument>,
    /// Bytes that could not be read, and were left so though others have them: the array is open
    /// for reading only, or the others do not agree there. Left out if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unhealed_bytes: u64,
    /// Where; at most a thousand places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unhealed: Vec<RangeDocument>,
    /// Bytes that could not be read, and could not be had from redundancy.
    pub unreadable_bytes: u64,
    /// Where; at most a thousand places.
    pub unreadable: Vec<RangeDocument>,
}

/// How it is known whose block is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BlameDocument {
    /// One block stands against those that agree without it; a rebuild from a drive that had
    /// rotted, or a write over rot, looks the same.
    Likely,
    /// It is not known.
    #[default]
    Unknown,
}

impl From<Blame> for BlameDocument {
    fn from(blame: Blame) -> Self {
        match blame {
            Blame::Likely => Self::Likely,
            Blame::Unknown => Self::Unknown,
        }
    }
}

/// What a block is that a scrub compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MatterDocument {
    /// Data of a stripe.
    Data,
    /// Parity of a stripe.
    Parity,
    /// A copy of mirrored data.
    Copy,
}

impl From<Matter> for MatterDocument {
    fn from(matter: Matter) -> Self {
        match matter {
            Matter::Data => Self::Data,
            Matter::Parity => Self::Parity,
            Matter::Copy => Self::Copy,
        }
    }
}

/// A place where parity or copies do not agree with the data.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MismatchDocument {
    /// Where on the member.
    pub range: RangeDocument,
    /// First byte of the array's content in the stripe or mirror concerned.
    pub content_offset: u64,
    /// How it is known that it is this member's block that is wrong.
    #[serde(default)]
    pub blame: BlameDocument,
    /// What that block is.
    pub matter: MatterDocument,
    /// Whether it was repaired: all agree there now. Data are kept, and both parities written anew.
    pub repaired: bool,
}

/// A range of a member's data area.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RangeDocument {
    /// The array inside whose member it is; left out for the array's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<String>,
    /// The member's role.
    pub role: u16,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u64,
}
