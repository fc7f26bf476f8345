//! The process that runs the array which is attached: found, or started.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use shoal_attach::records::{Attachment, ProcessDocument, Records};
use shoal_documents::protocol::Command;
use shoal_documents::{HealthDocument, StateDocument};
use shoal_inventory::{Environment, named_drives};
use shoal_running::{ArrayAddress, ReachError, reach_running};

use crate::error::AttachError;
use crate::found::uuids_of;
use crate::front::text;
use crate::launch::{Launcher, error_of, told};
use crate::options::AttachOptions;

/// How often it is looked whether an array that was started answers. It answers when it is open,
/// which may take as long as reading the logs and bitmaps of slow drives.
const PAUSE: Duration = Duration::from_millis(50);
/// How long an array may take to come to rest.
const REST_PATIENCE: Duration = Duration::from_secs(120);

/// An array that is served on this machine.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) array_uuid: String,
    pub(super) name: String,
    pub(super) size_bytes: u64,
    pub(super) logical_block_bytes: u32,
    pub(super) socket: PathBuf,
    /// Its drives, if they are real ones.
    pub(super) drives: Vec<PathBuf>,
    /// The process, if it was started now.
    pub(super) started: Option<ProcessDocument>,
}

impl Served {
    fn of(state: &StateDocument, started: Option<ProcessDocument>) -> Result<Self, AttachError> {
        let name = &state.array.name;
        if state.array.health == HealthDocument::Failed {
            return Err(AttachError::TooFew { array: name.clone() });
        }
        let running = state.running.as_ref().ok_or(AttachError::NotRunning)?;
        let socket = running.nbd.iter().find_map(|address| address.strip_prefix("unix:")).ok_or_else(|| {
            let how = if running.nbd.is_empty() { "is not served" } else { "is served at no socket of this machine" };
            AttachError::Unserved { array: name.clone(), how }
        })?;
        Ok(Self {
            array_uuid: state.array.uuid.clone(),
            name: name.clone(),
            size_bytes: state.array.capacity_bytes.unwrap_or(0),
            logical_block_bytes: running.logical_block_bytes,
            socket: socket.into(),
            drives: match state.simulated {
                None => state.array.drives().into_iter().map(PathBuf::from).collect(),
                Some(_) => Vec::new(),
            },
            started,
        })
    }

    /// Undoes the start.
    pub(super) fn stop_if_started(&self) {
        if let Some(process) = self.started {
            process.end(REST_PATIENCE);
        }
    }
}

/// The array as whoever runs it says; started if nobody does, to be served at a socket at which a
/// front waits for it, or at the usual one.
pub(super) fn find_or_start(
    launcher: &Launcher,
    records: &Records,
    array: &ArrayAddress,
    options: &AttachOptions,
    socket: Option<&Path>,
) -> Result<Served, AttachError> {
    match reach_running(&launcher.environment, array)? {
        Some(mut running) => {
            let state = running.execute(Command::Status)?;
            tell_degraded(&launcher.environment, &state);
            Served::of(&state, None)
        }
        None => start(launcher, records, array, &arguments(launcher, array, options, socket)?),
    }
}

/// Tells whoever is going to use an array that it is not whole.
fn tell_degraded(environment: &Environment, state: &StateDocument) {
    if state.array.health == HealthDocument::Degraded {
        environment.tell(&format!("array {} is degraded: `shoal status` says what it lacks", state.array.name));
    }
}

fn start(
    launcher: &Launcher,
    records: &Records,
    array: &ArrayAddress,
    arguments: &[String],
) -> Result<Served, AttachError> {
    let uuid = uuids_of(&launcher.environment, array).into_iter().next();
    let log = records.server_log(uuid.as_deref().unwrap_or("unknown"));
    let mut child = launcher.start(arguments, &log, Stdio::null())?;
    let process = ProcessDocument::of(child.id());
    loop {
        if let Some(status) = child.try_wait().map_err(AttachError::System)? {
            let error = error_of(status, &log);
            // It has been told.
            let _ = std::fs::remove_file(&log);
            return Err(error);
        }
        if let Some(mut running) = reach_running(&launcher.environment, array)? {
            let state = running.execute(Command::Status)?;
            let process = process?;
            let served = Served::of(&state, Some(process)).inspect_err(|_| {
                process.end(REST_PATIENCE);
                let _ = std::fs::remove_file(&log);
            })?;
            // Without whom it was started, and what else is to be known of that.
            launcher.environment.tell_all(&told(&log));
            tell_degraded(&launcher.environment, &state);
            // An array of arrays has a name that no member says.
            let own = records.server_log(&served.array_uuid);
            if own != log {
                std::fs::rename(&log, &own).map_err(AttachError::System)?;
            }
            return Ok(served);
        }
        std::thread::sleep(PAUSE);
    }
}

fn arguments(
    launcher: &Launcher,
    array: &ArrayAddress,
    options: &AttachOptions,
    socket: Option<&Path>,
) -> Result<Vec<String>, AttachError> {
    let mut arguments = launcher.options.clone();
    arguments.extend(["serve", "--launched"].map(str::to_owned));
    arguments.extend(options.force.then(|| "--force".to_owned()));
    arguments.extend(options.read_only.then(|| "--read-only".to_owned()));
    arguments.extend(options.degraded.then(|| "--degraded".to_owned()));
    arguments.extend(options.write_back.map(|bytes| format!("--write-back={bytes}")));
    let absolute = |path: &Path| -> Result<String, AttachError> {
        Ok(text(&std::path::absolute(path).map_err(AttachError::System)?)?.to_owned())
    };
    if let Some(socket) = socket {
        arguments.push(format!("--nbd=unix:{}", text(socket)?));
    }
    if let Some(scan) = &array.named.scan {
        arguments.push(format!("--scan={}", absolute(scan)?));
    }
    arguments.extend(array.named.uuid.map(|uuid| format!("--uuid={uuid}")));
    arguments.push("--".to_owned());
    for drive in drives(launcher, array)? {
        arguments.push(absolute(&drive)?);
    }
    Ok(arguments)
}

/// Those that were given; what a directory alone names is looked for, as no array is served by
/// that.
fn drives(launcher: &Launcher, array: &ArrayAddress) -> Result<Vec<PathBuf>, AttachError> {
    if array.named.uuid.is_some() {
        return Ok(array.named.drives.clone());
    }
    Ok(named_drives(&launcher.environment, &array.named).map_err(ReachError::from)?)
}

/// Brings the array to rest that was started for this.
pub(super) fn stop(attachment: &Attachment) -> Result<(), AttachError> {
    let Some(process) = attachment.server else { return Ok(()) };
    if process.end(REST_PATIENCE) {
        return Ok(());
    }
    Err(AttachError::Restless { array: attachment.name.clone(), process_id: process.process_id })
}

#[cfg(test)]
mod tests {
    use shoal_inventory::Named;

    use super::*;

    #[test]
    fn an_array_that_is_named_by_its_uuid_is_served_by_it() {
        let environment = Environment::from_variables(|_| None, |_| ());
        let launcher = Launcher { environment, program: std::env::current_exe, options: Vec::new() };
        let uuid = "7d15154b:eac72064:e03a5c3b:e0befdd1";
        let named = Named { uuid: uuid.parse().ok(), ..Named::default() };
        let arguments = arguments(&launcher, &ArrayAddress { named, socket: None }, &AttachOptions::default(), None);
        let arguments = arguments.expect("all of it is text");
        assert_eq!(arguments, ["serve", "--launched", &format!("--uuid={uuid}"), "--"]);
    }
}
