//! What is attached, written down: a file for each array in the directory of running arrays.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use super::attachment::Attachment;
use super::error::RecordError;
use super::process::ProcessDocument;

/// How such a file's name ends.
const SUFFIX: &str = ".attached";

/// Who keeps a device at this moment: written by the front, as one follows the other without
/// anybody's command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fronts {
    /// The process that keeps the device.
    pub front: ProcessDocument,
    /// The one that takes its place when it is killed, if there is one.
    pub successor: Option<ProcessDocument>,
    /// What the server says of the array: by this a device that has lost both is known again.
    pub description: String,
}

impl Fronts {
    /// Writes it to a file, in place of what was there.
    pub fn write(&self, path: &Path) -> Result<(), RecordError> {
        replace(path, self)
    }
}

/// The directory with its records.
#[derive(Debug)]
pub struct Records(PathBuf);

impl Records {
    /// Those in a directory, which is there and its user's alone.
    pub fn of(directory: PathBuf) -> Self {
        Self(directory)
    }

    /// All of them, by UUID.
    pub fn all(&self) -> Result<Vec<Attachment>, RecordError> {
        let failure = |error: io::Error| RecordError::File { path: self.0.clone(), error };
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
    pub fn keep(&self, attachment: &Attachment) -> Result<(), RecordError> {
        replace(&self.path(&attachment.array_uuid, SUFFIX), attachment)
    }

    /// Who keeps its device; none where a front has written nothing, as it has no successor.
    pub fn fronts(&self, array_uuid: &str) -> Result<Option<Fronts>, RecordError> {
        read(&self.fronts_path(array_uuid))
    }

    /// Removes one, with what was put beside it.
    pub fn forget(&self, attachment: &Attachment) -> Result<(), RecordError> {
        let uuid = &attachment.array_uuid;
        // Logs, and a directory in which nothing is mounted any more.
        let _ = std::fs::remove_dir(self.file_directory(uuid));
        let _ = std::fs::remove_file(self.front_log(uuid));
        let _ = std::fs::remove_file(self.fronts_path(uuid));
        let _ = std::fs::remove_file(self.server_log(uuid));
        let path = self.path(uuid, SUFFIX);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(RecordError::File { path, error }),
            _ => Ok(()),
        }
    }

    /// Where the file goes that is the array.
    pub fn file_directory(&self, array_uuid: &str) -> PathBuf {
        self.path(array_uuid, ".file")
    }

    /// Where it is written who keeps the device.
    pub fn fronts_path(&self, array_uuid: &str) -> PathBuf {
        self.path(array_uuid, ".front")
    }

    /// What the front has to tell.
    pub fn front_log(&self, array_uuid: &str) -> PathBuf {
        self.path(array_uuid, ".front.log")
    }

    /// What the process that runs the array has to tell.
    pub fn server_log(&self, array_uuid: &str) -> PathBuf {
        self.path(array_uuid, ".server.log")
    }

    fn path(&self, array_uuid: &str, suffix: &str) -> PathBuf {
        self.0.join(format!("{array_uuid}{suffix}"))
    }
}

/// Whoever reads it finds the old or the new.
fn replace(path: &Path, document: &impl Serialize) -> Result<(), RecordError> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(".draft");
    let text = serde_json::to_string_pretty(document).map_err(io::Error::from)? + "\n";
    let written = std::fs::write(&draft, text).and_then(|()| std::fs::rename(&draft, path));
    written.map_err(|error| RecordError::File { path: path.to_owned(), error })
}

/// None if it is not there.
fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>, RecordError> {
    match std::fs::read(path) {
        Ok(text) => serde_json::from_slice(&text)
            .map(Some)
            .map_err(|error| RecordError::NotARecord { path: path.to_owned(), error }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(RecordError::File { path: path.to_owned(), error }),
    }
}

/// Whoever has it is the only one to attach and detach. It goes with its process.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held")] File);

impl Lock {
    /// Waits for it.
    pub fn take(records: &Records) -> Result<Self, RecordError> {
        let path = records.0.join("attaching.lock");
        let failure = |error: io::Error| RecordError::File { path: path.clone(), error };
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(failure)?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive).map_err(|errno| failure(errno.into()))?;
        Ok(Self(file))
    }
}
