//! Where records, statuses and the servers' own files are.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::error::{MachineError, at};
use super::record::{Record, ShareStatus};
use crate::Places;

/// This machine's shares: the directories in which all that is known of them lies, and the program
/// that keeps their servers.
#[derive(Clone, Debug)]
pub struct Machine {
    state: PathBuf,
    runtime: PathBuf,
    pub(super) program: PathBuf,
}

impl Machine {
    /// `state` outlives a restart of the machine, `runtime` does not; they need not be there yet.
    /// `program share --serve` becomes the keeper.
    pub fn new(state: &Path, runtime: &Path, program: &Path) -> Self {
        Self { state: state.to_owned(), runtime: runtime.join("sharing"), program: program.to_owned() }
    }

    /// All shares that are written down, by name. A file that is no record is an error: nobody
    /// knows what it was to say.
    pub fn records(&self) -> Result<Vec<Record>, MachineError> {
        let directory = self.state.join("shares");
        let entries = match fs::read_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(at(&directory))?,
        };
        let mut records = Vec::<Record>::new();
        for entry in entries {
            let path = entry.map_err(at(&directory))?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let text = fs::read_to_string(&path).map_err(at(&path))?;
                let record = serde_json::from_str(&text);
                records.push(record.map_err(|error| MachineError::NotARecord { path, error })?);
            }
        }
        records.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(records)
    }

    /// Keeps a record, durably, in place of the one of that name.
    pub fn keep(&self, record: &Record) -> Result<(), MachineError> {
        let path = self.record(&record.name);
        make_private(path.parent().unwrap_or(&path)).map_err(at(&path))?;
        let text = serde_json::to_string_pretty(record).map_err(io::Error::from)? + "\n";
        write_whole(&path, &text).map_err(at(&path))
    }

    /// Forgets it, durably.
    pub fn forget(&self, record: &Record) -> Result<(), MachineError> {
        let path = self.record(&record.name);
        fs::remove_file(&path).and_then(|()| settle_directory_of(&path)).map_err(at(&path))
    }

    fn record(&self, name: &str) -> PathBuf {
        self.state.join("shares").join(format!("{name}.json"))
    }

    /// What the keeper wrote last.
    pub fn status(&self) -> Vec<ShareStatus> {
        let text = fs::read_to_string(self.runtime("status.json")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Writes what everybody may know of how shares are.
    pub(super) fn write_status(&self, status: &[ShareStatus]) -> Result<(), MachineError> {
        let text = serde_json::to_string_pretty(status).map_err(io::Error::from)? + "\n";
        let path = self.runtime("status.json");
        write_whole(&path, &text).map_err(at(&path))
    }

    /// Where the servers keep their own; the directories are made if need be.
    pub fn places(&self) -> Result<Places, MachineError> {
        for directory in [self.state.join("servers"), self.runtime("servers")] {
            make_private(&directory).map_err(at(&directory))?;
        }
        self.places_unmade()
    }

    /// The same, without looking at them.
    pub fn places_unmade(&self) -> Result<Places, MachineError> {
        Ok(Places::new(&self.state.join("servers"), &self.runtime("servers"))?)
    }

    /// A file of the keeper's, which is gone when the machine starts again.
    pub(super) fn runtime(&self, name: &str) -> PathBuf {
        self.runtime.join(name)
    }

    /// Makes the directory of such files.
    pub(super) fn make_runtime(&self) -> Result<(), MachineError> {
        make_private(&self.runtime).map_err(at(&self.runtime))
    }
}

/// Makes a directory for root alone, and those above it.
fn make_private(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Writes a file so that it is there whole or as it was, even after a power cut.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_extension("new");
    let file = fs::File::create(&new)?;
    io::Write::write_all(&mut &file, text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    settle_directory_of(path)
}

/// Makes names in a directory durable.
fn settle_directory_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |directory| fs::File::open(directory)?.sync_all())
}
