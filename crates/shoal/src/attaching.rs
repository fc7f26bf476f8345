//! Arrays that are attached to this machine, as arguments name them; and the processes that keep
//! them so.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};

use shoal_attach::records::Attachment;
use shoal_attaching::{AttachOptions, Front, Launcher};
use shoal_inventory::Wipeable;

use crate::args::{ArrayArgs, Cli};
use crate::exit::Failure;
use crate::setup::environment;

/// This program; the one that has taken its place, if it was replaced since it was started.
fn program() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    // proc_pid_exe(5): so the kernel tells of a file that is gone.
    let replaced = path.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map(PathBuf::from);
    Ok(replaced.unwrap_or(path))
}

/// How this program is started again, to run arrays as it was told to.
fn launcher(cli: &Cli) -> Launcher {
    let engine = clap::ValueEnum::to_possible_value(&cli.io_engine).expect("every engine has a name");
    let options = vec![format!("--io-engine={}", engine.get_name()), format!("--parity-kernel={}", cli.parity_kernel)];
    Launcher { environment: environment().clone(), program, options }
}

/// Makes the array a device or file, or finds that it is one. Starts a process that runs the array
/// if nobody does.
pub(crate) fn attach(cli: &Cli, array: &ArrayArgs, options: &AttachOptions) -> Result<Attachment, Failure> {
    let options = AttachOptions { degraded: array.degraded, ..*options };
    Ok(shoal_attaching::attach(&launcher(cli), &array.address(), &options)?)
}

/// Undoes it: refused while it is mounted or used. Stops the array only if it was started for this.
pub(crate) fn detach(attachment: &Attachment) -> Result<(), Failure> {
    Ok(shoal_attaching::detach(environment(), attachment)?)
}

/// How the array is attached, if it is.
pub(crate) fn attachment_of(array: &ArrayArgs) -> Result<Option<Attachment>, Failure> {
    Ok(shoal_attaching::attachment_of(environment(), &array.address())?)
}

/// All that is attached by this user.
pub(crate) fn attachments() -> Result<Vec<Attachment>, Failure> {
    Ok(shoal_attaching::attachments(environment())?)
}

/// Refuses an array that is mounted or attached.
pub(crate) fn refuse_occupied(array: &ArrayArgs) -> Result<(), Failure> {
    Ok(shoal_attaching::refuse_occupied(environment(), &array.address())?)
}

/// Refuses drives that are members of an array that is mounted or attached, and not of this one.
pub(crate) fn refuse_members_in_use(paths: &[PathBuf], own: &ArrayArgs) -> Result<(), Failure> {
    Ok(shoal_attaching::refuse_members_in_use(environment(), paths, &own.address())?)
}

/// Refuses drives that are in use, and drives and files that hold something unless `force`.
pub(crate) fn check_overwritable(paths: &[PathBuf], own: &ArrayArgs, force: bool) -> Result<Wipeable, Failure> {
    Ok(shoal_attaching::check_overwritable(environment(), paths, &own.address(), force)?)
}

/// Refuses drives that are in use, and files that hold something and are no members of arrays
/// unless `force`.
pub(crate) fn check_erasable(paths: &[PathBuf], force: bool) -> Result<Wipeable, Failure> {
    Ok(shoal_attaching::check_erasable(environment(), paths, force)?)
}

/// Keeps an array's device, and tells on standard output which.
pub(crate) fn run_front(cli: &Cli, front: &Front) -> Result<(), Failure> {
    let is_ending = Arc::new(AtomicBool::new(false));
    let stop = stop_on_signals(Arc::clone(&is_ending))?;
    Ok(shoal_attaching::run_front(&launcher(cli), front, is_ending, stop, tell)?)
}

/// Waits for the end of a front that does not say goodbye, and takes its place.
pub(crate) fn wait_to_follow(cli: &Cli, front: u32, arguments: &[OsString]) -> Result<(), Failure> {
    Ok(shoal_attaching::wait_to_follow(&launcher(cli), front, arguments)?)
}

/// Becomes the first process of a session of its own, and then this program with other arguments.
pub(crate) fn leave_session(arguments: &[OsString]) -> Result<(), Failure> {
    rustix::process::setsid().map_err(|errno| Failure::Failed(format!("a session of its own: {errno}")))?;
    Err(Failure::failed(Command::new(program().map_err(Failure::failed)?).args(arguments).exec()))
}

/// Tells whoever started this where the device is.
fn tell(device: &Path) {
    let mut output = io::stdout().lock();
    // Whoever does not wait any more finds it in what is attached.
    let _ = writeln!(output, "{}", device.display()).and_then(|()| output.flush());
}

/// Passes polite signals on.
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
