//! An array that is attached, as it is written down and printed.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::RecordError;
use super::method::{Method, PassedOver};
use super::process::ProcessDocument;

/// An array that is attached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attachment {
    /// As md prints it.
    pub array_uuid: String,
    /// The array's name.
    pub name: String,
    /// How.
    pub method: Method,
    /// Better ways that could not be had, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_over: Vec<PassedOver>,
    /// /dev/nbd0, /dev/ublkb0, /dev/loop0, or the file.
    pub device: PathBuf,
    /// The file that the loop device is of; left out where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The kernel's number of that disk, by which it is known again (`diskseq`); left out where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_sequence: Option<u64>,
    /// What the server says of the array, by which a device of the kernel's nbd is known again; it is in the front's own record.
    #[serde(skip)]
    pub description: Option<String>,
    /// Whether that is a block device.
    pub is_block_device: bool,
    /// Bytes.
    pub size_bytes: u64,
    /// Whether nobody can write.
    pub read_only: bool,
    /// Drives by which the array was named.
    pub drives: Vec<PathBuf>,
    /// Where the array is served.
    pub socket: PathBuf,
    /// The process that keeps the device.
    pub front: ProcessDocument,
    /// The one that takes its place when it is killed; left out where the device goes with its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<ProcessDocument>,
    /// The process that runs the array, if it was started for this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ProcessDocument>,
    /// It was attached to be mounted, and is detached when it is unmounted: as the wish of whoever attached it said.
    #[serde(default)]
    pub until_unmounted: bool,
}

impl Attachment {
    /// Where a file system on it is mounted: by /proc/self/mountinfo, at this moment. Partitions of it count; what is mounted of a device that is
    /// not this array's any more does not.
    pub fn mounted_at(&self) -> Result<Vec<PathBuf>, RecordError> {
        if !self.is_block_device || !self.is_there() {
            return Ok(Vec::new());
        }
        let device = self.device.as_os_str().as_encoded_bytes();
        let is_own = |source: &Path| {
            let rest = source.as_os_str().as_encoded_bytes().strip_prefix(device);
            rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'p')
        };
        let mounts = shoal_drive::mounts().map_err(RecordError::from)?;
        Ok(mounts.into_iter().filter(|mount| is_own(&mount.source)).map(|mount| mount.place).collect())
    }

    /// What is to be typed to have it served again.
    pub fn attach_command(&self) -> String {
        let mut command = String::from("shoal attach");
        if self.drives.is_empty() {
            command += &format!(" --uuid {}", self.array_uuid);
        }
        self.drives.iter().for_each(|drive| command += &format!(" {}", drive.display()));
        command
    }

    /// Whether the array is run by the process that was started for this.
    pub fn runs_the_array(&self) -> bool {
        self.server.is_some_and(ProcessDocument::is_alive)
    }
}
