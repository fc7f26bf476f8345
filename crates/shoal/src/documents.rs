//! What `--json` prints: one document a command, all sizes in bytes and all times in nanoseconds.

use schemars::JsonSchema;
use serde::Serialize;
use shoal_bench::Measurement;

/// Any command that failed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FailureDocument {
    /// What went wrong.
    pub error: ErrorDocument,
}

/// What went wrong.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ErrorDocument {
    /// "failed", "usage" or "refused".
    pub kind: String,
    /// The process's exit status: 1, 2 or 3.
    pub exit_status: u8,
    /// One line that names the thing and the mend.
    pub message: String,
}

/// `create`, `status`, `fail`, `add`, `rebuild`: the array afterwards.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ArrayDocument {
    /// The array's name.
    pub name: String,
    /// As md prints it.
    pub uuid: String,
    /// In md's words: "raid5".
    pub level: String,
    /// In md's words: "left-symmetric"; left out where the level has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Left out where the level has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_bytes: Option<u64>,
    /// Bytes of content.
    pub capacity_bytes: u64,
    /// "optimal", "degraded" or "failed".
    pub health: String,
    /// How many members may be lost in any combination, when all are there.
    pub redundancy: u32,
    /// Whether parity or mirrors may disagree with the data, until `scrub --repair` has gone over all of it.
    pub needs_resync: bool,
    /// The freshest members' count of updates.
    pub events: u64,
    /// When the superblocks were last written: seconds since 1970.
    pub update_time_unix_s: u64,
    /// Members in role order, the missing ones too.
    pub members: Vec<MemberDocument>,
    /// Drives that wait to replace a member.
    pub spares: Vec<String>,
    /// Drives that carry this array's superblock but are not used, and why.
    pub left_out: Vec<LeftOutDocument>,
}

/// One member of an array.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MemberDocument {
    /// The role.
    pub role: u16,
    /// The drive; left out if it is missing, and for arrays as members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drive: Option<String>,
    /// "in-sync", "rebuilding" or "missing".
    pub state: String,
    /// Rebuilding: bytes of the member that are rebuilt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuilt_bytes: Option<u64>,
    /// The array that is this member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub array: Option<Box<ArrayDocument>>,
}

/// A drive that belongs to an array and is not used.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LeftOutDocument {
    /// The drive.
    pub drive: String,
    /// Why.
    pub reason: String,
}

/// `read` and `write`: the bytes moved. `read` prints it on standard error's place only with `--json` and no content.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TransferDocument {
    /// First byte of the content.
    pub offset: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// How long it took.
    pub elapsed_ns: u64,
}

/// `scrub`: what was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ScrubDocument {
    /// Whether everything was compared.
    pub complete: bool,
    /// Bytes of parity or copies that do not agree with the data.
    pub mismatched_bytes: u64,
    /// Where, by member; at most a thousand places.
    pub mismatches: Vec<MismatchDocument>,
    /// Ranges that could not be read and were written anew from redundancy.
    pub healed: Vec<RangeDocument>,
    /// Ranges that could not be read, and could not be had from redundancy.
    pub unreadable: Vec<RangeDocument>,
    /// The array afterwards.
    pub array: ArrayDocument,
}

/// A place where parity or a copy does not agree with the data.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MismatchDocument {
    /// Where on the member.
    pub range: RangeDocument,
    /// First byte of the array's content in the stripe or mirror concerned.
    pub content_offset: u64,
    /// Whether it was repaired.
    pub repaired: bool,
}

/// A range of a member's data area.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RangeDocument {
    /// The member's role.
    pub role: u16,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u64,
}

/// `examine`: one entry a drive.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExamineDocument {
    /// In the order in which they were given.
    pub drives: Vec<ExaminedDocument>,
}

/// One drive's superblock.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExaminedDocument {
    /// The drive.
    pub drive: String,
    /// What its superblock says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superblock: Option<SuperblockDocument>,
    /// Why there is no superblock to show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A superblock's fields, in mdadm's words.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SuperblockDocument {
    /// "1.0", "1.1" or "1.2".
    pub version: String,
    /// Names of the features that a reader must understand.
    pub features: Vec<String>,
    /// The array.
    pub array_uuid: String,
    /// `homehost:name`.
    pub name: String,
    /// Seconds since 1970.
    pub creation_time_unix_s: u64,
    /// "raid5".
    pub level: String,
    /// Where the level has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Where the level has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_bytes: Option<u64>,
    /// Active members of the complete array.
    pub raid_devices: u32,
    /// Bytes that the array uses on each member; 0 for linear and RAID0.
    pub used_member_bytes: u64,
    /// Where this member's data starts.
    pub data_offset_bytes: u64,
    /// Room for data on this member.
    pub data_bytes: u64,
    /// Where the superblock lies.
    pub super_offset_bytes: u64,
    /// This member.
    pub device_uuid: String,
    /// Its number, which is not its role.
    pub dev_number: u32,
    /// "role 2", "spare", "faulty", "journal".
    pub role: String,
    /// Rebuilding: bytes that are rebuilt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_offset_bytes: Option<u64>,
    /// Whether parity and mirrors are known to agree with the data.
    pub clean: bool,
    /// Seconds since 1970.
    pub update_time_unix_s: u64,
    /// Count of updates.
    pub events: u64,
}

/// `bench`: its measurements.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BenchDocument {
    /// One entry a target and repeat.
    pub results: Vec<Measurement>,
}
