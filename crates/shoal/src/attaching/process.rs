//! Processes that go on when the command that started them has ended.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::exit::Failure;

/// Starts this program with other arguments, in a session of its own, so that neither Ctrl-C nor the end of a terminal
/// reaches it. What it has to tell goes to `log`, which is new.
pub(super) fn start(arguments: &[String], log: &Path, stdout: Stdio) -> Result<Child, Failure> {
    let log_failure = |error: io::Error| Failure::Failed(format!("{}: {error}", log.display()));
    let told = File::create(log).map_err(log_failure)?;
    let mut command = Command::new(program()?);
    command.arg("background").arg("--").args(arguments).current_dir("/");
    command.stdin(Stdio::null()).stdout(stdout).stderr(told);
    command.spawn().map_err(Failure::failed)
}

/// This program; the one that has taken its place, if it was replaced since it was started.
pub(super) fn program() -> Result<PathBuf, Failure> {
    let path = std::env::current_exe().map_err(Failure::failed)?;
    // proc_pid_exe(5): so the kernel tells of a file that is gone.
    let replaced = path.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map(PathBuf::from);
    Ok(replaced.unwrap_or(path))
}

/// Becomes the first process of a session of its own, and then this program with other arguments.
pub(crate) fn leave_session(arguments: &[std::ffi::OsString]) -> Result<(), Failure> {
    rustix::process::setsid().map_err(|errno| Failure::Failed(format!("a session of its own: {errno}")))?;
    Err(Failure::failed(Command::new(program()?).args(arguments).exec()))
}

/// The failure that a process ended with, as it told it.
pub(super) fn failure(status: std::process::ExitStatus, log: &Path) -> Failure {
    let told = std::fs::read_to_string(log).unwrap_or_default();
    let last = told.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it ended without a word");
    let message = last.trim_start_matches("shoal: ").to_owned();
    match status.code() {
        Some(2) => Failure::Usage(message),
        Some(3) => Failure::Refused(message),
        Some(4) => Failure::Busy(message),
        _ => Failure::Failed(message),
    }
}
