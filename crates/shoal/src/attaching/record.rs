//! What is attached, written down: a file for each array in the directory of running arrays.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::method::{Method, PassedOver};
use crate::exit::Failure;
use crate::running::{make_runtime_directory, runtime_directory_if_own};

/// How such a file's name ends.
const SUFFIX: &str = ".attached";

/// A process, so told that another that got its number is not taken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ProcessDocument {
    /// Its number.
    pub(crate) process_id: u32,
    /// When it began: clock ticks since the machine was started.
    pub(crate) started_ticks: u64,
}

/// An array that is attached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Attachment {
    /// As md prints it.
    pub(crate) array_uuid: String,
    /// The array's name.
    pub(crate) name: String,
    /// How.
    pub(crate) method: Method,
    /// Better ways that could not be had, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) passed_over: Vec<PassedOver>,
    /// /dev/nbd0, /dev/ublkb0, /dev/loop0, or the file.
    pub(crate) device: PathBuf,
    /// The file that the loop device is of; left out where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<PathBuf>,
    /// The kernel's number of that disk, by which it is known again (`diskseq`); left out where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) disk_sequence: Option<u64>,
    /// What the server says of the array, by which a device of the kernel's nbd is known again; it is in the front's own record.
    #[serde(skip)]
    pub(crate) description: Option<String>,
    /// Whether that is a block device.
    pub(crate) is_block_device: bool,
    /// Bytes.
    pub(crate) size_bytes: u64,
    /// Whether nobody can write.
    pub(crate) read_only: bool,
    /// Drives by which the array was named.
    pub(crate) drives: Vec<PathBuf>,
    /// Where the array is served.
    pub(crate) socket: PathBuf,
    /// The process that keeps the device.
    pub(crate) front: ProcessDocument,
    /// The one that takes its place when it is killed; left out where the device goes with its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) successor: Option<ProcessDocument>,
    /// The process that runs the array, if it was started for this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<ProcessDocument>,
    /// It was attached to be mounted, and is detached when it is unmounted: as the wish of whoever attached it said.
    #[serde(default)]
    pub(crate) until_unmounted: bool,
}

impl Attachment {
    /// Where a file system on it is mounted: by /proc/self/mountinfo, at this moment. Partitions of it count; what is mounted of a device that is
    /// not this array's any more does not.
    pub(crate) fn mounted_at(&self) -> Result<Vec<PathBuf>, Failure> {
        if !self.is_block_device || !self.is_there() {
            return Ok(Vec::new());
        }
        let device = self.device.as_os_str().as_encoded_bytes();
        let is_own = |source: &Path| {
            let rest = source.as_os_str().as_encoded_bytes().strip_prefix(device);
            rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'p')
        };
        let mounts = shoal_drive::mounts().map_err(Failure::failed)?;
        Ok(mounts.into_iter().filter(|mount| is_own(&mount.source)).map(|mount| mount.place).collect())
    }

    /// What is to be typed to have it served again.
    pub(crate) fn attach_command(&self) -> String {
        let mut command = String::from("shoal attach");
        if self.drives.is_empty() {
            command += &format!(" --uuid {}", self.array_uuid);
        }
        self.drives.iter().for_each(|drive| command += &format!(" {}", drive.display()));
        command
    }

    /// Whether the array is run by the process that was started for this.
    pub(crate) fn runs_the_array(&self) -> bool {
        self.server.is_some_and(ProcessDocument::is_alive)
    }
}

/// Who keeps a device at this moment: written by the front, as one follows the other without anybody's command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Fronts {
    pub(super) front: ProcessDocument,
    pub(super) successor: Option<ProcessDocument>,
    /// What the server says of the array: by this a device that has lost both is known again.
    pub(super) description: String,
}

impl Fronts {
    pub(super) fn write(&self, path: &Path) -> Result<(), Failure> {
        replace(path, self)
    }
}

/// The directory with its records.
#[derive(Debug)]
pub(super) struct Records(PathBuf);

impl Records {
    /// Makes the directory if need be.
    pub(super) fn open() -> Result<Self, Failure> {
        make_runtime_directory().map(Self)
    }

    /// None if there is no directory, and so nothing is attached.
    pub(super) fn existing() -> Result<Option<Self>, Failure> {
        Ok(runtime_directory_if_own().map(Self))
    }

    /// All of them, by UUID.
    pub(super) fn all(&self) -> Result<Vec<Attachment>, Failure> {
        let failure = |error: io::Error| Failure::Failed(format!("{}: {error}", self.0.display()));
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.0).map_err(failure)? {
            let path = entry.map_err(failure)?.path();
            if path.as_os_str().as_encoded_bytes().ends_with(SUFFIX.as_bytes()) {
                let Some(attachment) = read::<Attachment>(&path)? else { continue };
                found.push(match self.fronts(&attachment.array_uuid)? {
                    Some(Fronts { front, successor, description }) => {
                        Attachment { front, successor, description: Some(description), ..attachment }
                    }
                    None => attachment,
                });
            }
        }
        found.sort_by(|left, right| left.array_uuid.cmp(&right.array_uuid));
        Ok(found)
    }

    /// Writes one, in place of what was there.
    pub(super) fn keep(&self, attachment: &Attachment) -> Result<(), Failure> {
        replace(&self.path(&attachment.array_uuid, SUFFIX), attachment)
    }

    /// Who keeps its device; none where a front has written nothing, as it has no successor.
    pub(super) fn fronts(&self, array_uuid: &str) -> Result<Option<Fronts>, Failure> {
        read(&self.fronts_path(array_uuid))
    }

    /// Removes one, with what was put beside it.
    pub(super) fn forget(&self, attachment: &Attachment) -> Result<(), Failure> {
        let uuid = &attachment.array_uuid;
        // Logs, and a directory in which nothing is mounted any more.
        let _ = std::fs::remove_dir(self.file_directory(uuid));
        let _ = std::fs::remove_file(self.front_log(uuid));
        let _ = std::fs::remove_file(self.fronts_path(uuid));
        let _ = std::fs::remove_file(self.server_log(uuid));
        let path = self.path(uuid, SUFFIX);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Failure::Failed(format!("{}: {error}", path.display())))
            }
            _ => Ok(()),
        }
    }

    /// Where the file goes that is the array.
    pub(super) fn file_directory(&self, array_uuid: &str) -> PathBuf {
        self.path(array_uuid, ".file")
    }

    /// Where it is written who keeps the device.
    pub(super) fn fronts_path(&self, array_uuid: &str) -> PathBuf {
        self.path(array_uuid, ".front")
    }

    /// What the front has to tell.
    pub(super) fn front_log(&self, array_uuid: &str) -> PathBuf {
        self.path(array_uuid, ".front.log")
    }

    /// What the process that runs the array has to tell.
    pub(super) fn server_log(&self, array_uuid: &str) -> PathBuf {
        self.path(array_uuid, ".server.log")
    }

    fn path(&self, array_uuid: &str, suffix: &str) -> PathBuf {
        self.0.join(format!("{array_uuid}{suffix}"))
    }
}

/// Whoever reads it finds the old or the new.
fn replace(path: &Path, document: &impl Serialize) -> Result<(), Failure> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(".draft");
    let text = serde_json::to_string_pretty(document).map_err(Failure::failed)? + "\n";
    let written = std::fs::write(&draft, text).and_then(|()| std::fs::rename(&draft, path));
    written.map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))
}

/// None if it is not there.
fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>, Failure> {
    let failure = |error: &dyn std::fmt::Display| Failure::Failed(format!("{}: {error}: remove it", path.display()));
    match std::fs::read(path) {
        Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|error| failure(&error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failure(&error)),
    }
}

/// Whoever has it is the only one to attach and detach. It goes with its process.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "held")] File);

impl Lock {
    /// Waits for it.
    pub(super) fn take(records: &Records) -> Result<Self, Failure> {
        let path = records.0.join("attaching.lock");
        let failure = |error: io::Error| Failure::Failed(format!("{}: {error}", path.display()));
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(failure)?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive).map_err(|errno| failure(errno.into()))?;
        Ok(Self(file))
    }
}
