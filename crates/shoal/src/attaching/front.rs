//! The process that keeps a device: a client of the server on one side, a driver of the kernel on the other.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use shoal_attach::fuse::{self, Access, FileOptions};
use shoal_attach::kernel_nbd::{self, NbdOptions};
use shoal_attach::records::{Attachment, Fronts, Method, ProcessDocument, RecordError, Records, Standing};
use shoal_attach::ublk::{self, UblkOptions};
use shoal_attach::{Client, ClientOptions, Terms};

use super::successor::{Following, Successor};
use super::{process, text};
use crate::exit::Failure;

/// How long whoever still uses a device may take to let go of it.
const END_PATIENCE: Duration = Duration::from_secs(10);

/// How often it is looked whether it has.
const PAUSE: Duration = Duration::from_millis(20);

/// What a front is to do.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Front {
    /// What it makes of the array.
    #[arg(long)]
    pub(crate) method: Method,
    /// Where the array is served.
    #[arg(long)]
    pub(crate) socket: PathBuf,
    /// Where the file goes.
    #[arg(long)]
    pub(crate) directory: PathBuf,
    /// What the file is called.
    #[arg(long)]
    pub(crate) name: String,
    /// Blocks of the device.
    #[arg(long)]
    pub(crate) logical_block_bytes: u32,
    /// After so long a request fails that nobody answered.
    #[arg(long)]
    pub(crate) deadline_s: u64,
    /// A device whose front was killed.
    #[arg(long)]
    pub(crate) recovered: Option<PathBuf>,
    /// What the server promised to that front.
    #[arg(long)]
    pub(crate) terms: Option<Terms>,
    /// Where it is written who keeps the device.
    #[arg(long)]
    pub(crate) record: Option<PathBuf>,
}

impl Front {
    fn arguments(&self) -> Result<Vec<String>, Failure> {
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
    fn following(&self, device: &Path, client: &Client, is_ending: Arc<AtomicBool>) -> Result<Following, Failure> {
        let (recovered, terms) = (Some(device.to_owned()), Some(client.terms().clone()));
        let arguments = Self { recovered, terms, ..self.clone() }.arguments()?;
        Ok(Following {
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
pub(super) fn start(records: &Records, array_uuid: &str, front: &Front) -> Result<Started, Failure> {
    let log = records.front_log(array_uuid);
    if front.method == Method::Fuse {
        // A mount that a killed front left answers nothing, not even that it is there.
        fuse::undo_stale(&front.directory).map_err(Failure::failed)?;
        let made = std::fs::create_dir_all(&front.directory);
        made.map_err(|error| Failure::Failed(format!("{}: {error}", front.directory.display())))?;
    }
    let mut child = process::start(&front.arguments()?, &log, Stdio::piped())?;
    let process = ProcessDocument::of(child.id());
    match first_line(child.stdout.take().expect("it is piped")) {
        Some(device) => Ok(Started { device, process: process? }),
        None => {
            let failure = process::failure(child.wait().map_err(Failure::failed)?, &log);
            // It has been told.
            let _ = std::fs::remove_file(&log);
            let _ = std::fs::remove_dir(&front.directory);
            Err(failure)
        }
    }
}

/// The device that a front tells, unless it ends before it has one.
fn first_line(output: ChildStdout) -> Option<PathBuf> {
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).ok()?;
    line.strip_suffix('\n').map(PathBuf::from)
}

/// Ends the one of an attachment that was found to be so, and clears away what it left if it was killed.
pub(super) fn end(records: &Records, attachment: &Attachment, standing: Standing) -> Result<(), Failure> {
    let Attachment { name, array_uuid, device, .. } = attachment;
    let none = Fronts { front: attachment.front, successor: attachment.successor, description: String::new() };
    let current = || records.fronts(array_uuid).map(|fronts| fronts.unwrap_or_else(|| none.clone()));
    // Without a server nobody can finish what waits for one, and so nobody can close the device: told again, it ends at once.
    let urgency = if standing == Standing::ServerGone { Urgency::AtOnce } else { Urgency::WhenClosed };
    if !(tell_to_end(current, urgency)? || !attachment.has_server() && tell_to_end(current, Urgency::AtOnce)?) {
        let (device, id) = (device.display(), current()?.front.process_id);
        return Err(Failure::Refused(format!(
            "array {name}: {device} is still in use; process {id} ends when it is closed: close it, and detach again"
        )));
    }
    match attachment.method {
        Method::Ublk if attachment.is_there() => ublk::remove(device).map_err(Failure::failed),
        // Whatever is there now is somebody else's.
        Method::Nbd if standing == Standing::Gone => Ok(()),
        Method::Nbd => kernel_nbd::remove(device, &current()?.description).map_err(Failure::failed),
        Method::Ublk => Ok(()),
        Method::Fuse => fuse::undo_stale(&records.file_directory(array_uuid)).map(drop).map_err(Failure::failed),
    }
}

/// Refuses a device of the kernel's nbd that is somebody else's by now, which nobody would look for after this.
pub(super) fn refuse_foreign(attachment: &Attachment) -> Result<(), Failure> {
    match (attachment.method, &attachment.description) {
        (Method::Nbd, Some(description)) => {
            kernel_nbd::is_of(&attachment.device, description).map(drop).map_err(Failure::failed)
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

/// Tells the front to end; and the one that follows, if it was killed before it had. Whether none of them is left in time.
fn tell_to_end(current: impl Fn() -> Result<Fronts, RecordError>, urgency: Urgency) -> Result<bool, Failure> {
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

/// What such a process does.
pub(crate) fn run(front: &Front) -> Result<(), Failure> {
    let is_ending = Arc::new(AtomicBool::new(false));
    let stop = stop_on_signals(Arc::clone(&is_ending))?;
    shoal_attach::stay_out_of_reclaim();
    let deadline = Duration::from_secs(front.deadline_s);
    let options = ClientOptions { export: String::new(), deadline, connections: 1 };
    let client = match &front.terms {
        None => Client::connect(&front.socket, &options),
        Some(terms) => Client::expect(&front.socket, terms.clone(), &options),
    };
    let client = client.map_err(Failure::failed)?;
    let mut successor = None;
    let ready = |device: &Path| {
        successor =
            front.method.can_recover().then(|| front.following(device, &client, is_ending).and_then(Successor::keep));
        tell(device);
    };
    let served = serve(front, &client, ready, stop);
    match successor {
        // What ends in another way is followed.
        Some(Ok(successor)) if served.is_ok() => successor.let_go(),
        Some(Err(failure)) => crate::output::warn(&format!("nobody follows this process: {failure}")),
        _ => {}
    }
    served
}

fn serve(front: &Front, client: &Client, ready: impl FnOnce(&Path), stop: Receiver<()>) -> Result<(), Failure> {
    let (logical_block_bytes, recovered) = (front.logical_block_bytes, front.recovered.clone());
    match front.method {
        Method::Ublk => {
            let options = UblkOptions { logical_block_bytes, recovered };
            ublk::run(client, &options, ready, stop).map_err(Failure::failed)
        }
        Method::Nbd => {
            let options = NbdOptions { logical_block_bytes, recovered };
            kernel_nbd::run(client, &options, ready, stop).map_err(Failure::failed)
        }
        Method::Fuse => {
            let options = FileOptions { name: front.name.clone(), access: Access::Owner };
            fuse::run(client, &front.directory, &options, ready, stop).map_err(Failure::failed)
        }
    }
}

/// Tells whoever started this where the device is.
fn tell(device: &Path) {
    let mut output = std::io::stdout().lock();
    // Whoever does not wait any more finds it in what is attached.
    let _ = writeln!(output, "{}", device.display()).and_then(|()| output.flush());
}

/// The first polite signal ends the device when nobody uses it, the second at once.
fn stop_on_signals(is_ending: Arc<AtomicBool>) -> Result<Receiver<()>, Failure> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]);
    let mut signals = signals.map_err(|error| Failure::Failed(format!("signal handler: {error}")))?;
    let (sender, receiver) = channel();
    let told = move |_| {
        is_ending.store(true, Ordering::Release);
        sender.send(()).is_ok()
    };
    let forward = move || signals.forever().take_while(|&signal| told(signal)).for_each(drop);
    let thread = std::thread::Builder::new().name("shoal-signals".to_owned()).spawn(forward);
    thread.map_err(|error| Failure::Failed(format!("a thread: {error}")))?;
    Ok(receiver)
}
