//! What was named to be measured, and whether it can be.

use std::path::PathBuf;

use shoal_documents::StateDocument;
use shoal_drive::Access;
use shoal_inventory::{is_member, open_drives};
use shoal_text::format_size;

use crate::args::{ArrayArgs, Cli, NetworkArgs};
use crate::commands::status::at_rest;
use crate::exit::Failure;
use crate::host::memory_available_bytes;
use crate::setup::{member_paths, reach_running};

/// What a file system may take for itself: an eighth, and so much.
const FILESYSTEM_BYTES: u64 = 32 << 20;

/// What is to be served.
pub(super) enum Target {
    /// A directory.
    Directory(PathBuf),
    /// An array that nobody runs.
    Array {
        /// Its members.
        members: Vec<PathBuf>,
        /// What it is.
        state: Box<StateDocument>,
    },
}

impl Target {
    /// Finds out what was named.
    pub(super) fn of(cli: &Cli, args: &NetworkArgs) -> Result<Self, Failure> {
        if let [directory] = args.targets.as_slice()
            && directory.is_dir()
            && args.scan.is_none()
        {
            let absolute = std::fs::canonicalize(directory);
            let absolute = absolute.map_err(|error| Failure::Usage(format!("{}: {error}", directory.display())))?;
            return Ok(Self::Directory(absolute));
        }
        let named = ArrayArgs { drives: args.targets.clone(), scan: args.scan.clone(), ..ArrayArgs::default() };
        if let Some(mut running) = reach_running(&named)? {
            let name = running.execute(shoal_documents::protocol::Command::Status)?.array.name;
            return Err(Failure::Refused(format!("array {name} runs: stop it first, or give a directory on it")));
        }
        let drives = open_drives(&args.targets, Access::Read)?;
        if let Some(other) = drives.iter().find(|drive| !is_member(drive)) {
            let path = other.path().display();
            return Err(Failure::Usage(format!(
                "{path} is no member of an array: --level makes one of drives, for the time of the study"
            )));
        }
        drop(drives);
        Self::at_rest(cli, &named)
    }

    /// An array that nobody runs.
    pub(super) fn at_rest(cli: &Cli, named: &ArrayArgs) -> Result<Self, Failure> {
        let state = Box::new(at_rest(cli, named)?);
        Ok(Self::Array { members: absolute(&member_paths(named)?)?, state })
    }

    /// What it is, for people.
    pub(super) fn description(&self) -> String {
        match self {
            Self::Directory(path) => format!("the directory {}", path.display()),
            Self::Array { state, .. } => {
                let array = &state.array;
                format!("array {}, {} of {}, as ext4", array.name, array.level, array.members.len())
            }
        }
    }

    /// Refuses what has no room.
    pub(super) fn check_room(&self, size_bytes: u64) -> Result<(), Failure> {
        let (free, wanted) = match self {
            Self::Directory(path) => {
                let statistics = rustix::fs::statvfs(path);
                let statistics = statistics.map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
                (statistics.f_bavail.saturating_mul(statistics.f_frsize), size_bytes.saturating_mul(2))
            }
            Self::Array { state, .. } => (state.array.capacity_bytes.unwrap_or(0), on_array(size_bytes)),
        };
        check_room(&self.description(), free, wanted, size_bytes)
    }
}

/// What transfers take of an array: one as blocks, two as files, and the file system.
pub(super) fn on_array(size_bytes: u64) -> u64 {
    let files = size_bytes.saturating_mul(2);
    size_bytes.saturating_add(files).saturating_add(files / 8 + FILESYSTEM_BYTES)
}

pub(super) fn check_room(what: &str, free: u64, wanted: u64, size_bytes: u64) -> Result<(), Failure> {
    if free < wanted {
        let (free, wanted, size) = (format_size(free), format_size(wanted), format_size(size_bytes));
        return Err(Failure::Usage(format!(
            "{what} has {free} of room, and transfers of {size} take {wanted}: transfer less (--size)"
        )));
    }
    check_memory(size_bytes)
}

/// Refuses more than memory holds twice.
fn check_memory(size_bytes: u64) -> Result<(), Failure> {
    match memory_available_bytes() {
        Some(available) if available / 2 < size_bytes => Err(Failure::Usage(format!(
            "the client's files lie in memory, and {} are free: transfer at most half of that (--size)",
            format_size(available)
        ))),
        _ => Ok(()),
    }
}

/// The same files, wherever a program that is given them runs.
pub(super) fn absolute(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    paths
        .iter()
        .map(|path| std::fs::canonicalize(path).map_err(|error| Failure::Usage(format!("{}: {error}", path.display()))))
        .collect()
}
