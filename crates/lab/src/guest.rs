//! A kernel that runs, and the scripts that it is given.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use thiserror::Error;

use crate::console::{Console, Silence};
use crate::kernel::Lab;

/// Where the guest's scripts are, in the shared directory.
const SCRIPTS: &str = ".guest";
const INIT: &str = include_str!("init.sh");
const PRELUDE: &str = include_str!("prelude.sh");
/// How long a script may take, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(300);

/// A kernel that runs. Dropping it cuts its power.
#[derive(Debug)]
pub struct Guest {
    process: Child,
    console: Console,
    delivery: Delivery,
    /// What is put before every script.
    prelude: &'static str,
    step: u32,
}

/// How scripts reach the guest.
#[derive(Debug)]
enum Delivery {
    /// As files in a directory that it shares; their numbers are sent.
    Directory(PathBuf),
    /// Behind their numbers, in base64.
    Console,
}

/// What came of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The exit status: that of the first command that failed, or 0.
    pub status: i32,
    /// What was printed, errors included.
    pub output: String,
}

/// Why a guest did not do what it was told.
#[derive(Debug, Error)]
pub enum GuestError {
    /// It could not be started.
    #[error("the guest does not start: {0}")]
    Start(#[from] io::Error),
    /// It went away, or did not answer in time.
    #[error("the guest {what} during:\n{script}\nafter printing:\n{output}")]
    Lost {
        /// "is gone" or "does not answer".
        what: &'static str,
        /// What it was to do.
        script: String,
        /// What it printed.
        output: String,
    },
    /// A command failed.
    #[error("status {status} of:\n{script}\nwhich printed:\n{output}")]
    Failed {
        /// Its status.
        status: i32,
        /// What it was to do.
        script: String,
        /// What it printed.
        output: String,
    },
}

impl Guest {
    pub(crate) fn boot(lab: &Lab, directory: &Path) -> Result<Self, GuestError> {
        let scripts = directory.join(SCRIPTS);
        std::fs::create_dir_all(&scripts)?;
        let init = scripts.join("init");
        std::fs::write(&init, INIT)?;
        std::fs::set_permissions(&init, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        Self::over(lab.start(directory, &init)?, Delivery::Directory(scripts), PRELUDE)
    }

    /// A guest that takes its scripts from its console.
    pub(crate) fn over_console(process: Child, prelude: &'static str) -> Result<Self, GuestError> {
        Self::over(process, Delivery::Console, prelude)
    }

    /// Everything that a machine says which takes no scripts, until it switches itself off.
    pub(crate) fn until_off(mut process: Child, story: &str) -> Result<Vec<String>, GuestError> {
        let input = process.stdin.take().expect("it is piped");
        let output = process.stdout.take().expect("it is piped");
        // Owned by a guest, so that it does not outlive its test.
        let guest =
            Self { process, console: Console::new(input, output), delivery: Delivery::Console, prelude: "", step: 0 };
        let deadline = Instant::now() + PATIENCE;
        let mut lines = Vec::new();
        loop {
            match guest.console.next_line(deadline) {
                Ok(line) => lines.push(line),
                Err(Silence::Gone) => return Ok(lines),
                Err(silence) => return Err(lost(silence, story, lines.join("\n"))),
            }
        }
    }

    /// Waits until the kernel that has been started takes scripts.
    fn over(mut process: Child, delivery: Delivery, prelude: &'static str) -> Result<Self, GuestError> {
        let input = process.stdin.take().expect("it is piped");
        let output = process.stdout.take().expect("it is piped");
        let guest = Self { process, console: Console::new(input, output), delivery, prelude, step: 0 };
        let booted = guest.outcome("starting")?;
        if booted.status == 0 { Ok(guest) } else { Err(booted.failure("starting")) }
    }

    /// Runs a shell script to its end, which is its last line or the first command that fails.
    pub fn run(&mut self, script: &str) -> Result<Ran, GuestError> {
        self.start(script)?;
        self.outcome(script)
    }

    /// Runs a script that has to succeed, and gives what it printed.
    pub fn done(&mut self, script: &str) -> Result<String, GuestError> {
        let ran = self.run(script)?;
        if ran.status == 0 { Ok(ran.output) } else { Err(ran.failure(script)) }
    }

    /// Starts a script and returns at once: whatever it is at when the power is cut.
    pub fn start(&mut self, script: &str) -> Result<(), GuestError> {
        self.step += 1;
        let (step, script) = (self.step, format!("{}\n{script}\n", self.prelude));
        match &self.delivery {
            Delivery::Directory(directory) => {
                std::fs::write(directory.join(step.to_string()), script)?;
                self.console.send(&step.to_string());
            }
            Delivery::Console => self.console.send(&format!("{step} {}", base64(script.as_bytes()))),
        }
        Ok(())
    }

    /// The next line that the script under way prints.
    pub fn next_line(&mut self) -> Result<String, GuestError> {
        let deadline = Instant::now() + PATIENCE;
        self.console.next_line(deadline).map_err(|silence| lost(silence, "waiting for a line", String::new()))
    }

    /// Cuts the power: what is under way ends where it stands. Gives the lines that had been
    /// printed and not yet taken.
    pub fn cut_power(mut self) -> Vec<String> {
        self.kill();
        let console = &self.console;
        std::iter::from_fn(|| console.next_line(Instant::now() + PATIENCE).ok()).collect()
    }

    fn kill(&mut self) {
        // The kernel, its threads, and its processes, which are the host's too.
        let group = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw).expect("a process has a number");
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.process.wait();
    }

    /// Everything up to the end of the present step.
    fn outcome(&self, script: &str) -> Result<Ran, GuestError> {
        let deadline = Instant::now() + PATIENCE;
        let end = format!("end {} ", self.step);
        let mut output = String::new();
        loop {
            match self.console.next_line(deadline) {
                Ok(line) => {
                    if let Some(status) = line.strip_prefix(&end).and_then(|status| status.parse().ok()) {
                        let output = output.trim_end_matches('\n').to_owned();
                        return Ok(Ran { status, output });
                    }
                    output.push_str(&line);
                    output.push('\n');
                }
                Err(silence) => return Err(lost(silence, script, output)),
            }
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Ran {
    fn failure(self, script: &str) -> GuestError {
        GuestError::Failed { status: self.status, script: script.to_owned(), output: self.output }
    }
}

fn lost(silence: Silence, script: &str, output: String) -> GuestError {
    let what = match silence {
        Silence::Timeout => "does not answer",
        Silence::Gone => "is gone",
    };
    GuestError::Lost { what, script: script.to_owned(), output }
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = |three: &[u8]| {
        let bits = three.iter().fold(0, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - three.len()));
        let digit = |place: usize| char::from(DIGITS[(bits >> (18 - 6 * place)) as usize & 63]);
        [0, 1, 2, 3].map(|place| if place <= three.len() { digit(place) } else { '=' })
    };
    bytes.chunks(3).flat_map(digits).collect()
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_is_that_of_the_standard() {
        for (text, expected) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }
}
