//! A process, known by its number and when it began.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::RecordError;

/// How often it is looked whether a process has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// A process, so told that another that got its number is not taken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessDocument {
    /// Its number.
    pub process_id: u32,
    /// When it began: clock ticks since the machine was started.
    pub started_ticks: u64,
}

impl ProcessDocument {
    /// A process that is there.
    pub fn of(process_id: u32) -> Result<Self, RecordError> {
        let started_ticks = started_ticks(process_id);
        let started_ticks = started_ticks.ok_or(RecordError::ProcessGone { process_id })?;
        Ok(Self { process_id, started_ticks })
    }

    /// Whether it is still there.
    pub fn is_alive(self) -> bool {
        started_ticks(self.process_id) == Some(self.started_ticks)
    }

    /// Asks it to end.
    pub fn ask_to_end(self) {
        if self.is_alive()
            && let Some(id) = i32::try_from(self.process_id).ok().and_then(Pid::from_raw)
        {
            // One that has just gone is what is wanted.
            let _ = kill_process(id, Signal::TERM);
        }
    }

    /// Asks it to end, and waits so long for that. Returns whether it has.
    pub fn end(self, patience: Duration) -> bool {
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
