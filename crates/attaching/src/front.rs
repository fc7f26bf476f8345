//! The process that keeps a device: a client of the server on one side, a driver of the kernel on
//! the other.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use shoal_attach::fuse::{self, Access, FileOptions};
use shoal_attach::kernel_nbd::{self, NbdOptions};
use shoal_attach::records::{Attachment, Fronts, Method, ProcessDocument, RecordError, Records, Standing};
use shoal_attach::ublk::{self, UblkOptions};
use shoal_attach::{Client, ClientOptions, Terms};

use crate::error::AttachError;
use crate::launch::{Launcher, error_of};
use crate::successor::{Following, Successor};

/// How long whoever still uses a device may take to let go of it.
const END_PATIENCE: Duration = Duration::from_secs(10);

/// How often it is looked whether it has.
const PAUSE: Duration = Duration::from_millis(20);

/// What a front is to do.
#[derive(Clone, Debug)]
pub struct Front {
    /// What it makes of the array.
    pub method: Method,
    /// Where the array is served.
    pub socket: PathBuf,
    /// Where the file goes.
    pub directory: PathBuf,
    /// What the file is called.
    pub name: String,
    /// Blocks of the device.
    pub logical_block_bytes: u32,
    /// After so long a request fails that nobody answered.
    pub deadline_s: u64,
    /// A device whose front was killed.
    pub recovered: Option<PathBuf>,
    /// What the server promised to that front.
    pub terms: Option<Terms>,
    /// Where it is written who keeps the device.
    pub record: Option<PathBuf>,
}

impl Front {
    fn arguments(&self) -> Result<Vec<String>, AttachError> {
        let mut arguments = vec![
            "front".to_owned(),
            format!("--method={}", self.method),
            format!("--socket={}", text(&self.socket)?),
            format!("--directory={}", text(&self.directory)?),
            format!("--name={}", self.name),
            format!("--logical-block-bytes={}", self.logical_block_bytes),
            format!("--deadline-s={}", self.deadline_s),
        ];
        if let Some(device) = &self.recovered {
            arguments.push(format!("--recovered={}", text(device)?));
        }
        if let Some(terms) = &self.terms {
            arguments.push(format!("--terms={terms}"));
        }
        if let Some(record) = &self.record {
            arguments.push(format!("--record={}", text(record)?));
        }
        Ok(arguments)
    }

    /// How another is to follow this one, which serves `device`.
    fn following(
        &self,
        device: &Path,
        client: &Client,
        is_ending: Arc<AtomicBool>,
        launcher: Launcher,
    ) -> Result<Following, AttachError> {
        let (recovered, terms) = (Some(device.to_owned()), Some(client.terms().clone()));
        let arguments = Self { recovered, terms, ..self.clone() }.arguments()?;
        Ok(Following {
            launcher,
            arguments,
            record: self.record.clone(),
            description: client.description().to_owned(),
            is_ending,
        })
    }
}

/// A front that serves its device.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) device: PathBuf,
    pub(super) process: ProcessDocument,
}

/// Starts one, and waits for its device.
pub(super) fn start(
    launcher: &Launcher,
    records: &Records,
    array_uuid: &str,
    front: &Front,
) -> Result<Started, AttachError> {
    let log = records.front_log(array_uuid);
    if front.method == Method::Fuse {
        // A mount that a killed front left answers nothing, not even that it is there.
        fuse::undo_stale(&front.directory)?;
        let made = std::fs::create_dir_all(&front.directory);
        made.map_err(|source| AttachError::File { path: front.directory.clone(), source })?;
    }
    let mut child = launcher.start(&front.arguments()?, &log, Stdio::piped())?;
    let process = ProcessDocument::of(child.id());
    match first_line(child.stdout.take().expect("it is piped")) {
        Some(device) => Ok(Started { device, process: process? }),
        None => {
            let error = error_of(child.wait().map_err(AttachError::System)?, &log);
            // It has been told.
            let _ = std::fs::remove_file(&log);
            let _ = std::fs::remove_dir(&front.directory);
            Err(error)
        }
    }
}

/// The device that a front tells, unless it ends before it has one.
fn first_line(output: ChildStdout) -> Option<PathBuf> {
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).ok()?;
    line.strip_suffix('\n').map(PathBuf::from)
}

/// Ends the one of an attachment that was found to be so, and clears away what it left if it was
/// killed.
pub(super) fn end(records: &Records, attachment: &Attachment, standing: Standing) -> Result<(), AttachError> {
    let Attachment { name, array_uuid, device, .. } = attachment;
    let none = Fronts { front: attachment.front, successor: attachment.successor, description: String::new() };
    let current = || records.fronts(array_uuid).map(|fronts| fronts.unwrap_or_else(|| none.clone()));
    // Without a server nobody can finish what waits for one, and so nobody can close the device:
    // told again, it ends at once.
    let urgency = if standing == Standing::ServerGone { Urgency::AtOnce } else { Urgency::WhenClosed };
    if !(tell_to_end(current, urgency)? || !attachment.has_server() && tell_to_end(current, Urgency::AtOnce)?) {
        let process_id = current()?.front.process_id;
        return Err(AttachError::StillOpen { array: name.clone(), device: device.clone(), process_id });
    }
    match attachment.method {
        Method::Ublk if attachment.is_there() => ublk::remove(device).map_err(AttachError::from),
        // Whatever is there now is somebody else's.
        Method::Nbd if standing == Standing::Gone => Ok(()),
        Method::Nbd => kernel_nbd::remove(device, &current()?.description).map_err(AttachError::from),
        Method::Ublk => Ok(()),
        Method::Fuse => fuse::undo_stale(&records.file_directory(array_uuid)).map(drop).map_err(AttachError::from),
    }
}

/// Refuses what is attached while the process that keeps it is stopped: all that touches the device
/// waits uninterruptibly.
pub fn refuse_stopped(attachment: &Attachment) -> Result<(), AttachError> {
    let Attachment { name, device, front, .. } = attachment;
    if !front.is_stopped() {
        return Ok(());
    }
    Err(AttachError::FrontStopped { array: name.clone(), device: device.clone(), process_id: front.process_id })
}

/// Refuses a device of the kernel's nbd that is somebody else's by now, which nobody would look for
/// after this.
pub(super) fn refuse_foreign(attachment: &Attachment) -> Result<(), AttachError> {
    match (attachment.method, &attachment.description) {
        (Method::Nbd, Some(description)) => {
            kernel_nbd::is_of(&attachment.device, description).map(drop).map_err(AttachError::from)
        }
        _ => Ok(()),
    }
}

/// When a front is to end: it is told once, or more often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Urgency {
    WhenClosed,
    AtOnce,
}

/// Tells the front to end; and the one that follows, if it was killed before it had. Whether none
/// of them is left in time.
fn tell_to_end(current: impl Fn() -> Result<Fronts, RecordError>, urgency: Urgency) -> Result<bool, AttachError> {
    let (begun, mut told) = (Instant::now(), None);
    loop {
        let Fronts { front, successor, .. } = current()?;
        if !front.is_alive() && !successor.is_some_and(ProcessDocument::is_alive) {
            return Ok(true);
        }
        if told != Some(front) || urgency == Urgency::AtOnce {
            front.ask_to_end();
            told = Some(front);
        }
        if begun.elapsed() > END_PATIENCE {
            return Ok(false);
        }
        std::thread::sleep(PAUSE);
    }
}

/// What such a process does: it keeps a device, and says to `tell` which. The first word on `stop`
/// ends the device when nobody uses it, the second at once; `is_ending` says that there was one.
pub fn run(
    launcher: &Launcher,
    front: &Front,
    is_ending: Arc<AtomicBool>,
    stop: Receiver<()>,
    tell: impl FnOnce(&Path),
) -> Result<(), AttachError> {
    shoal_attach::stay_out_of_reclaim();
    let deadline = Duration::from_secs(front.deadline_s);
    let options = ClientOptions { export: String::new(), deadline, connections: 1 };
    let client = match &front.terms {
        None => Client::connect(&front.socket, &options),
        Some(terms) => Client::expect(&front.socket, terms.clone(), &options),
    };
    let client = client?;
    let mut successor = None;
    let ready = |device: &Path| {
        successor = front
            .method
            .can_recover()
            .then(|| front.following(device, &client, is_ending, launcher.clone()).and_then(Successor::keep));
        tell(device);
    };
    let served = serve(front, &client, ready, stop);
    match successor {
        // What ends in another way is followed.
        Some(Ok(successor)) if served.is_ok() => successor.let_go(),
        Some(Err(error)) => launcher.environment.tell(&format!("nobody follows this process: {error}")),
        _ => {}
    }
    served
}

fn serve(front: &Front, client: &Client, ready: impl FnOnce(&Path), stop: Receiver<()>) -> Result<(), AttachError> {
    let (logical_block_bytes, recovered) = (front.logical_block_bytes, front.recovered.clone());
    match front.method {
        Method::Ublk => {
            let options = UblkOptions { logical_block_bytes, recovered };
            ublk::run(client, &options, ready, stop).map_err(AttachError::from)
        }
        Method::Nbd => {
            let options = NbdOptions { logical_block_bytes, recovered };
            kernel_nbd::run(client, &options, ready, stop).map_err(AttachError::from)
        }
        Method::Fuse => {
            let options = FileOptions { name: front.name.clone(), access: Access::Owner };
            fuse::run(client, &front.directory, &options, ready, stop).map_err(AttachError::from)
        }
    }
}

/// A path as text, for the arguments of a process.
pub(super) fn text(path: &Path) -> Result<&str, AttachError> {
    path.to_str().ok_or_else(|| AttachError::NotText { path: path.to_owned() })
}
