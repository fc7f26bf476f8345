//! Processes that go on when the command that started them has ended.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::record::ProcessDocument;
use crate::exit::Failure;

/// How often it is looked whether a process has ended.
const PAUSE: Duration = Duration::from_millis(20);

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

impl ProcessDocument {
    /// A process that is there.
    pub(super) fn of(process_id: u32) -> Result<Self, Failure> {
        let started_ticks = started_ticks(process_id);
        let started_ticks = started_ticks.ok_or_else(|| Failure::Failed(format!("process {process_id} is gone")))?;
        Ok(Self { process_id, started_ticks })
    }

    /// Whether it is still there.
    pub(super) fn is_alive(self) -> bool {
        started_ticks(self.process_id) == Some(self.started_ticks)
    }

    /// Asks it to end.
    pub(super) fn ask_to_end(self) {
        if self.is_alive()
            && let Some(id) = i32::try_from(self.process_id).ok().and_then(rustix::process::Pid::from_raw)
        {
            // One that has just gone is what is wanted.
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
    }

    /// Asks it to end, and waits so long for that. Returns whether it has.
    pub(super) fn end(self, patience: Duration) -> bool {
        let start = Instant::now();
        self.ask_to_end();
        while self.is_alive() {
            if start.elapsed() > patience {
                return false;
            }
            std::thread::sleep(PAUSE);
        }
        true
    }
}

/// When a process was started, in clock ticks since the machine was; none if it is gone, or has ended and is not waited for.
fn started_ticks(process_id: u32) -> Option<u64> {
    let line = std::fs::read_to_string(format!("/proc/{process_id}/stat")).ok()?;
    // The name, in parentheses, may hold anything; proc_pid_stat(5): state is the first field behind it, starttime the 20th.
    let (_, fields) = line.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_number_and_its_beginning() {
        let this = ProcessDocument::of(std::process::id()).expect("this process is there");
        assert!(this.is_alive());
        let other = ProcessDocument { started_ticks: this.started_ticks + 1, ..this };
        assert!(!other.is_alive(), "it began at another time");
        assert!(other.end(Duration::ZERO), "and so is left alone");
    }
}
