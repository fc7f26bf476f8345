//! A file system that is about to be unmounted: its shares wait, although it is still there.
//!
//! Servers hold what they share, in namespaces that nobody else sees. So they have to let go before
//! it is unmounted, not after. Whoever unmounts writes down where and holds a lock on that for as
//! long as it takes; if it fails, or is killed, the lock is gone, and what is mounted is served
//! again.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::directories::Machine;
use super::error::{MachineError, at};
use super::record::{Record, State};

/// Holds what is about to be unmounted; over when nobody has a lock on it.
const LEAVING: &str = "leaving.json";

/// How long servers may take to let go.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// Holds the shares of some mounts back until it is dropped.
#[derive(Debug)]
pub struct Leaving(#[expect(dead_code, reason = "held")] File);

impl Leaving {
    /// Waits until nothing is served of what is below these places.
    pub fn of(machine: &Machine, places: &[PathBuf]) -> Result<Self, MachineError> {
        let path = machine.runtime(LEAVING);
        machine.make_runtime()?;
        let file = fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = file.map_err(at(&path))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| MachineError::Unmounting)?;
        file.set_len(0).map_err(at(&path))?;
        let text = serde_json::to_string(places).map_err(io::Error::from)?;
        (&file).write_all(text.as_bytes()).map_err(at(&path))?;
        let leaving = Self(file);
        machine.call_keeper()?;
        for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
            if machine.served_below(places)?.is_empty() {
                return Ok(leaving);
            }
            std::thread::sleep(PAUSE);
        }
        Err(MachineError::Held { seconds: PATIENCE.as_secs() })
    }
}

impl Machine {
    /// The names of shares below some places which servers have at this moment.
    pub fn served_below(&self, places: &[PathBuf]) -> Result<Vec<String>, MachineError> {
        if self.keeper_process().is_none() {
            return Ok(Vec::new());
        }
        let status = self.status();
        let is_held = |record: &Record| {
            let told = status.iter().find(|told| told.revision == record.revision);
            told.is_some_and(|told| matches!(told.state, State::Served | State::Failed))
        };
        let is_below = |record: &Record| places.iter().any(|place| record.directory.starts_with(place));
        let held = self.records()?.into_iter().filter(|record| is_below(record) && is_held(record));
        Ok(held.map(|record| record.name).collect())
    }

    /// What is about to be unmounted at this moment.
    pub(super) fn leaving(&self) -> Vec<PathBuf> {
        let path = self.runtime(LEAVING);
        let Ok(file) = File::open(&path) else { return Vec::new() };
        // Who can have the lock too knows that nobody has it alone: what is written there is over.
        if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
            return Vec::new();
        }
        serde_json::from_str(&fs::read_to_string(path).unwrap_or_default()).unwrap_or_default()
    }
}

/// Whether a directory is on what is about to be unmounted.
pub(super) fn refuse_leaving(directory: &Path, leaving: &[PathBuf]) -> Result<(), String> {
    let place = leaving.iter().find(|place| directory.starts_with(place));
    place.map_or(Ok(()), |place| Err(format!("{} is being unmounted", place.display())))
}
