//! The process that runs the array which is attached: found, or started.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use shoal_attach::records::{Attachment, ProcessDocument, Records};
use shoal_documents::protocol::Command;
use shoal_documents::{HealthDocument, StateDocument};

use super::{Wish, process, text, uuids_of};
use crate::args::{ArrayArgs, Cli};
use crate::exit::Failure;
use crate::setup::reach_running;

/// How often it is looked whether an array that was started answers. It answers when it is open, which may take as long as reading
/// the logs and bitmaps of slow drives.
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
    /// The process, if it was started now.
    pub(super) started: Option<ProcessDocument>,
}

impl Served {
    fn of(state: &StateDocument, started: Option<ProcessDocument>) -> Result<Self, Failure> {
        let name = &state.array.name;
        if state.array.health == HealthDocument::Failed {
            return Err(Failure::Refused(format!(
                "array {name} has too few members to be used: name the others as well, or where they are with --scan DIR"
            )));
        }
        let running = state.running.as_ref().ok_or_else(|| Failure::failed("the array does not say how it runs"))?;
        let socket = running.nbd.iter().find_map(|address| address.strip_prefix("unix:")).ok_or_else(|| {
            let served =
                if running.nbd.is_empty() { "is not served" } else { "is served at no socket of this machine" };
            Failure::Refused(format!(
                "array {name} runs and {served}: stop it, or run it with `shoal serve`, and attach it then"
            ))
        })?;
        Ok(Self {
            array_uuid: state.array.uuid.clone(),
            name: name.clone(),
            size_bytes: state.array.capacity_bytes.unwrap_or(0),
            logical_block_bytes: running.logical_block_bytes,
            socket: socket.into(),
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

/// The array as whoever runs it says; started if nobody does, to be served at a socket at which a front waits for it, or at the usual one.
pub(super) fn find_or_start(
    cli: &Cli,
    records: &Records,
    array: &ArrayArgs,
    wish: &Wish,
    socket: Option<&Path>,
) -> Result<Served, Failure> {
    match reach_running(array)? {
        Some(mut running) => Served::of(&running.execute(Command::Status)?, None),
        None => start(records, array, &arguments(cli, array, wish, socket)?),
    }
}

/// What the array is called that runs, if it does.
pub(super) fn uuid_of_running(array: &ArrayArgs) -> Result<Option<String>, Failure> {
    let Some(mut running) = reach_running(array)? else { return Ok(None) };
    Ok(Some(running.execute(Command::Status)?.array.uuid))
}

fn start(records: &Records, array: &ArrayArgs, arguments: &[String]) -> Result<Served, Failure> {
    let uuid = uuids_of(array).into_iter().next();
    let log = records.server_log(uuid.as_deref().unwrap_or("unknown"));
    let mut child = process::start(arguments, &log, Stdio::null())?;
    let process = ProcessDocument::of(child.id());
    loop {
        if let Some(status) = child.try_wait().map_err(Failure::failed)? {
            let failure = process::failure(status, &log);
            // It has been told.
            let _ = std::fs::remove_file(&log);
            return Err(failure);
        }
        if let Some(mut running) = reach_running(array)? {
            let state = running.execute(Command::Status)?;
            let process = process?;
            let served = match Served::of(&state, Some(process)) {
                Ok(served) => served,
                Err(failure) => {
                    process.end(REST_PATIENCE);
                    let _ = std::fs::remove_file(&log);
                    return Err(failure);
                }
            };
            // An array of arrays has a name that no member says.
            let own = records.server_log(&served.array_uuid);
            if own != log {
                std::fs::rename(&log, &own).map_err(Failure::failed)?;
            }
            return Ok(served);
        }
        std::thread::sleep(PAUSE);
    }
}

fn arguments(cli: &Cli, array: &ArrayArgs, wish: &Wish, socket: Option<&Path>) -> Result<Vec<String>, Failure> {
    let engine = clap::ValueEnum::to_possible_value(&cli.io_engine).expect("every engine has a name");
    let mut arguments = vec![
        format!("--io-engine={}", engine.get_name()),
        format!("--parity-kernel={}", cli.parity_kernel),
        "serve".to_owned(),
    ];
    arguments.extend(wish.force.then(|| "--force".to_owned()));
    arguments.extend(wish.read_only.then(|| "--read-only".to_owned()));
    arguments.extend(array.degraded.then(|| "--degraded".to_owned()));
    let absolute = |path: &Path| -> Result<String, Failure> {
        Ok(text(&std::path::absolute(path).map_err(Failure::failed)?)?.to_owned())
    };
    if let Some(socket) = socket {
        arguments.push(format!("--nbd=unix:{}", text(socket)?));
    }
    if let Some(scan) = &array.scan {
        arguments.push(format!("--scan={}", absolute(scan)?));
    }
    arguments.push("--".to_owned());
    for drive in &array.drives {
        arguments.push(absolute(drive)?);
    }
    Ok(arguments)
}

/// Brings the array to rest that was started for this.
pub(super) fn stop(attachment: &Attachment) -> Result<(), Failure> {
    let Some(process) = attachment.server else { return Ok(()) };
    if process.end(REST_PATIENCE) {
        return Ok(());
    }
    let (name, id) = (&attachment.name, process.process_id);
    Err(Failure::Failed(format!("array {name} does not come to rest: it is run by process {id}")))
}
