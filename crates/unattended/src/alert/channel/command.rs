//! A program that is run for each message: it has all of it as JSON on its standard input, and the
//! gist in its environment.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::super::configuration::CommandConfiguration;
use super::super::kind::Message;
use super::{PATIENCE, SendError};

/// From one look whether it has ended to the next.
const DISTANCE: Duration = Duration::from_millis(20);

pub(in crate::alert) struct Program(pub(in crate::alert) CommandConfiguration);

impl Program {
    pub(super) fn send(&self, message: &Message) -> Result<(), SendError> {
        let worst = message.alerts.iter().max_by_key(|alert| alert.severity);
        let mut command = Command::new(&self.0.program);
        command.args(&self.0.arguments);
        command.env("SHOAL_HOST", &message.host).env("SHOAL_SUMMARY", &message.summary);
        command.env("SHOAL_SEVERITY", word(&message.severity)?);
        if let Some(worst) = worst {
            command.env("SHOAL_ARRAY", &worst.array).env("SHOAL_ARRAY_UUID", &worst.array_uuid);
            command.env("SHOAL_HEALTH", &worst.health).env("SHOAL_KIND", word(&worst.kind)?);
        }
        feed(command, &serde_json::to_vec(message)?)
    }
}

/// The word for it in documents.
fn word(value: &impl serde::Serialize) -> Result<String, SendError> {
    Ok(serde_json::to_value(value)?.as_str().unwrap_or_default().to_owned())
}

/// Runs a program to its end, with this on its standard input. What it prints goes to the log of
/// this process.
pub(super) fn feed(mut command: Command, input: &[u8]) -> Result<(), SendError> {
    let program = std::path::PathBuf::from(command.get_program());
    // A group of its own, so that whatever it has started can be ended with it.
    command.stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
    let start = Instant::now();
    let mut child = command.spawn().map_err(|source| SendError::Start { program: program.clone(), source })?;
    let mut stdin = child.stdin.take().expect("it is piped");
    let input = input.to_vec();
    // A program that does not read would hold this up. It ends with the program, whose end of the
    // pipe is closed then.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let ended = wait(&mut child, start + PATIENCE);
    let Ok(Some(status)) = ended else {
        end(&mut child);
        let _ = writer.join();
        return Err(SendError::Time { program });
    };
    let _ = writer.join();
    if status.success() { Ok(()) } else { Err(SendError::Status { program, status }) }
}

fn wait(child: &mut Child, deadline: Instant) -> std::io::Result<Option<ExitStatus>> {
    loop {
        match child.try_wait()? {
            None if Instant::now() < deadline => std::thread::sleep(DISTANCE),
            ended => return Ok(ended),
        }
    }
}

fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}
