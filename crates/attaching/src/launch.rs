//! Processes that go on when the command that started them has ended.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use shoal_documents::{ErrorDocument, Fault};
use shoal_inventory::Environment;

use crate::error::AttachError;

/// The program that is started, with other arguments, to serve an array and to keep its device.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// Where things are kept, and who hears what is told.
    pub environment: Environment,
    /// Where the program is at this moment: it may have been replaced since it was started.
    pub program: fn() -> io::Result<PathBuf>,
    /// Options before its command that say how arrays are run.
    pub options: Vec<String>,
}

impl Launcher {
    /// Starts the program with these arguments, in a session of its own, so that neither Ctrl-C nor
    /// the end of a terminal reaches it. What it has to tell goes to `log`, which is new.
    pub(crate) fn start(&self, arguments: &[String], log: &Path, stdout: Stdio) -> Result<Child, AttachError> {
        let told = File::create(log).map_err(|source| AttachError::File { path: log.to_owned(), source })?;
        let mut command = Command::new((self.program)().map_err(AttachError::System)?);
        command.arg("background").arg("--").args(arguments).current_dir("/");
        command.stdin(Stdio::null()).stdout(stdout).stderr(told);
        command.spawn().map_err(AttachError::System)
    }
}

/// What a process has told up to now, a sentence each.
pub(crate) fn told(log: &Path) -> Vec<String> {
    let told = std::fs::read_to_string(log).unwrap_or_default();
    let lines = told.lines().map(|line| line.trim().trim_start_matches("shoal: "));
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// The error that a process ended with, as it told it.
pub(crate) fn error_of(status: ExitStatus, log: &Path) -> AttachError {
    let message = told(log).pop().unwrap_or_else(|| "it ended without a word".to_owned());
    let is_it = |fault: &Fault| status.code() == Some(fault.exit_status().into());
    let kind = [Fault::Usage, Fault::Refused, Fault::Busy].into_iter().find(is_it).unwrap_or(Fault::Failed);
    AttachError::Ended(ErrorDocument { kind, exit_status: kind.exit_status(), message })
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use shoal_documents::HasFault;

    use super::*;

    #[test]
    fn a_process_says_in_its_last_line_and_by_its_status_why_it_ended() {
        let log = std::env::temp_dir().join(format!("shoal-launch-{}", std::process::id()));
        std::fs::write(&log, "shoal: one\nshoal: the drive is busy\n\n").expect("there is room");
        let ended = |code: i32| error_of(ExitStatus::from_raw(code << 8), &log);
        assert_eq!((ended(4).to_string(), ended(4).fault()), ("the drive is busy".to_owned(), Fault::Busy));
        assert_eq!(
            [1, 2, 3, 101].map(|code| ended(code).fault()),
            [Fault::Failed, Fault::Usage, Fault::Refused, Fault::Failed]
        );
        std::fs::remove_file(&log).expect("it is there");
        assert_eq!(ended(1).to_string(), "it ended without a word");
    }
}
