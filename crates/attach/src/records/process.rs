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
        let stat = Stat::of(process_id).ok_or(RecordError::ProcessGone { process_id })?;
        Ok(Self { process_id, started_ticks: stat.started_ticks })
    }

    /// Whether it is still there.
    pub fn is_alive(self) -> bool {
        self.stat().is_some()
    }

    /// Whether it is there, and a signal has stopped it: it answers nobody until it is let go on.
    pub fn is_stopped(self) -> bool {
        self.stat().is_some_and(|stat| stat.is_stopped)
    }

    fn stat(self) -> Option<Stat> {
        Stat::of(self.process_id).filter(|stat| stat.started_ticks == self.started_ticks)
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

/// What the kernel says of a process.
struct Stat {
    /// When it was started, in clock ticks since the machine was.
    started_ticks: u64,
    /// A signal has stopped it.
    is_stopped: bool,
}

impl Stat {
    /// None if it is gone, or has ended and is not waited for.
    fn of(process_id: u32) -> Option<Self> {
        let line = std::fs::read_to_string(format!("/proc/{process_id}/stat")).ok()?;
        // The name, in parentheses, may hold anything; proc_pid_stat(5): state is the first field
        // behind it, starttime the 20th.
        let (_, fields) = line.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace();
        let state = fields.next()?;
        if matches!(state, "Z" | "X") {
            return None;
        }
        Some(Self { started_ticks: fields.nth(18)?.parse().ok()?, is_stopped: state == "T" })
    }
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

    #[test]
    fn a_process_that_a_signal_has_stopped_is_told() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let process = ProcessDocument::of(child.id()).unwrap();
        assert!(!process.is_stopped());
        kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
        while !process.is_stopped() {
            std::thread::sleep(PAUSE);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!process.is_stopped(), "it is gone");
    }
}
