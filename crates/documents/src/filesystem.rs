//! File systems on arrays: what `format`, `mount` and `unmount` print.

use schemars::JsonSchema;
use serde::Serialize;

/// `format`: the plan, and what came of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FormatDocument {
    /// The array's name.
    pub array: String,
    /// The array.
    pub array_uuid: String,
    /// "ext4", "xfs", "btrfs", "f2fs", "vfat", "exfat" or "ntfs".
    pub kind: String,
    /// What the file system was made to fit.
    pub geometry: GeometryDocument,
    /// The program that makes it, and its options; the device follows them.
    pub program: String,
    /// Its options, with their reasons.
    pub arguments: Vec<ArgumentDocument>,
    /// What cannot be done, a sentence each.
    pub notes: Vec<String>,
    /// The file system that was made; left out with `--dry-run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made: Option<MadeDocument>,
}

/// An array as a file system's place.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GeometryDocument {
    /// All content.
    pub size_bytes: u64,
    /// The smallest unit of I/O.
    pub logical_block_bytes: u32,
    /// The chunk; left out where the level has no stripes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_bytes: Option<u64>,
    /// The data of a stripe; left out where the level has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stripe_bytes: Option<u64>,
    /// What the members' flash erases at a time; left out where nobody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub erase_unit_bytes: Option<u64>,
}

/// An option with its value.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ArgumentDocument {
    /// As the program gets them.
    pub words: Vec<String>,
    /// Why.
    pub reason: String,
    /// Where that is written.
    pub source: String,
}

/// A file system that was made.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MadeDocument {
    /// Its own number, by which it can be mounted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The device or file on which it was made.
    pub device: String,
}

/// `mount`: what is where.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MountDocument {
    /// The array's name.
    pub array: String,
    /// The array.
    pub array_uuid: String,
    /// How the array became a device: "ublk", "nbd" or "fuse".
    pub method: String,
    /// That device.
    pub device: String,
    /// Where its file system is seen.
    pub directory: String,
    /// As the kernel calls it.
    pub kind: String,
    /// The options that it was mounted with.
    pub options: Vec<MountOptionDocument>,
}

/// An option of a mount.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MountOptionDocument {
    /// As mount(8) takes it.
    pub option: String,
    /// Why; left out for those that were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `unmount`: what was undone.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnmountDocument {
    /// Where it was mounted.
    pub directories: Vec<String>,
    /// Shares of it, which wait until it is mounted again.
    pub waiting_shares: Vec<String>,
    /// The device that it was mounted from.
    pub device: String,
    /// Whether the array was detached: it is if it was attached to be mounted.
    pub detached: bool,
}
