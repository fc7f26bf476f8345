//! An array that is attached, as it is written down and printed.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shoal_text::shell_word;

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
    /// The kernel's number of that disk, by which it is known again (`diskseq`); left out where
    /// there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_sequence: Option<u64>,
    /// What the server says of the array, by which a device of the kernel's nbd is known again; it
    /// is in the front's own record.
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
    /// All of its drives when it was attached; left out where its UUID is enough to find them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<PathBuf>,
    /// Where the array is served.
    pub socket: PathBuf,
    /// The process that keeps the device.
    pub front: ProcessDocument,
    /// The one that takes its place when it is killed; left out where the device goes with its
    /// process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<ProcessDocument>,
    /// The process that runs the array, if it was started for this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ProcessDocument>,
    /// It was attached to be mounted, and is detached when it is unmounted: as whoever attached it
    /// wanted.
    #[serde(default)]
    pub until_unmounted: bool,
}

impl Attachment {
    /// Where a file system on it is mounted: by /proc/self/mountinfo, at this moment. Partitions of
    /// it count; what is mounted of a device that is not this array's any more does not.
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

    /// What is to be typed to have it served again: with all of its drives, as one is enough only
    /// where somebody runs it.
    pub fn attach_command(&self) -> String {
        let mut command = String::from("shoal attach");
        if self.read_only {
            command += " --read-only";
        }
        let drives = if self.members.is_empty() { &self.drives } else { &self.members };
        if drives.is_empty() {
            command += &format!(" --uuid {}", self.array_uuid);
        }
        drives.iter().for_each(|drive| command += &format!(" {}", shell_word(&drive.display().to_string())));
        command
    }

    /// Whether the array is run by the process that was started for this.
    pub fn runs_the_array(&self) -> bool {
        self.server.is_some_and(ProcessDocument::is_alive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attachment(drives: &[&str], members: &[&str]) -> Attachment {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect();
        Attachment {
            array_uuid: "1:2:3:4".to_owned(),
            name: "pond".to_owned(),
            method: Method::Fuse,
            passed_over: Vec::new(),
            device: "/dev/loop0".into(),
            file: None,
            disk_sequence: None,
            description: None,
            is_block_device: true,
            size_bytes: 0,
            read_only: false,
            drives: paths(drives),
            members: paths(members),
            socket: "/run/shoal/pond.nbd".into(),
            front: ProcessDocument::of(std::process::id()).unwrap(),
            successor: None,
            server: None,
            until_unmounted: false,
        }
    }

    #[test]
    fn what_is_to_be_typed_names_what_it_takes_to_run_the_array() {
        let command = |drives: &[&str], members: &[&str]| attachment(drives, members).attach_command();
        assert_eq!(command(&["/a"], &["/a", "/b"]), "shoal attach /a /b");
        assert_eq!(command(&["/a", "/b"], &[]), "shoal attach /a /b");
        assert_eq!(command(&[], &[]), "shoal attach --uuid 1:2:3:4");
        let read_only = Attachment { read_only: true, ..attachment(&["/a", "/b"], &[]) };
        assert_eq!(read_only.attach_command(), "shoal attach --read-only /a /b");
        assert_eq!(command(&[], &["/my drives/it's"]), r"shoal attach '/my drives/it'\''s'");
    }
}
