//! What commands on arrays print beside the array itself.

use schemars::JsonSchema;
use serde::Serialize;

use crate::array::ArrayDocument;
use crate::state::FindingsDocument;

/// `write` and `read`: the bytes moved. As content has standard output, `read` prints it on
/// standard error.
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
    /// What was found.
    #[serde(flatten)]
    pub findings: FindingsDocument,
    /// The array afterwards.
    pub array: ArrayDocument,
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
