//! A process that runs an array, and says nothing: what is known of it, and what to do.
//!
//! What is known of it the kernel tells, by proc_pid_status(5) and proc_pid_io(5). A process that a
//! signal has stopped answers nobody until it is let go on. One that is traced is stopped at every
//! turn, and works all the same, unless its tracer holds it: then it is never scheduled.

use std::time::{Duration, Instant};

/// How long a process may take over taking a connection, or over saying how it is.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// A process that is to end may write for as long as there is something to write; a drive that
/// flushes its cache meanwhile takes none of it.
pub(super) const END_PATIENCE: Duration = Duration::from_secs(120);
/// A tracer that goes on does so before that.
const TRACER_PATIENCE: Duration = Duration::from_secs(5);

/// Why nothing comes from the process at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Silence {
    /// It was stopped by a signal.
    #[error("is stopped: let it go on with `kill -CONT {0}`")]
    Stopped(i32),
    /// Whoever traces it does not let it go on.
    #[error("is held by process {tracer}, which traces it: let {process} go on there, or end {tracer}")]
    Traced {
        /// The process.
        process: i32,
        /// Who traces it.
        tracer: i32,
    },
    /// It has been asked for long.
    #[error(
        "has not answered for {seconds} s: it is shutting down, or hangs; if it does not end by itself, `kill -9 {0}` leaves the array as a \
         power cut does",
        seconds = PATIENCE.as_secs()
    )]
    TooLong(i32),
    /// It was asked to end, and does nothing that could be seen.
    #[error(
        "(process {process}) was asked to end, and has neither answered nor written anything for {} s: a drive does not answer it, or it hangs; \
         it may still end by itself, and `kill -9 {process}` leaves the array as a power cut does",
        waited.as_secs()
    )]
    NoEnd {
        /// The process.
        process: i32,
        /// For so long.
        waited: Duration,
    },
    /// Nobody knows which it is.
    #[error("has not answered for {} s", PATIENCE.as_secs())]
    Unknown,
}

/// What an answer is waited for with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// As long as it takes: drives may be slow.
    AsLongAsItTakes,
    /// For so long.
    For(Duration),
    /// As long as the process writes, and for so long after that.
    WhileItWrites(Duration),
}

/// A process that is waited for, as it was seen so far.
pub(super) struct Waited {
    /// None if it is one of another PID namespace.
    process: Option<i32>,
    begun: Instant,
    /// How often it had been scheduled, and since when it has not been again.
    scheduled: (u64, Instant),
    /// How much it had written, and since when nothing more.
    written: (u64, Instant),
}

impl Waited {
    pub(super) fn new(process: Option<i32>) -> Self {
        let now = Instant::now();
        Self { process, begun: now, scheduled: (0, now), written: (0, now) }
    }

    /// Why it is not waited for any longer; none if it is.
    pub(super) fn look(&mut self, wait: Wait) -> Option<Silence> {
        if let Some(process) = self.process
            && let Some(halt) = self.halt(process)
        {
            return Some(halt);
        }
        match (wait, self.process) {
            (Wait::AsLongAsItTakes, _) => None,
            (Wait::For(patience), process) => {
                let is_over = self.begun.elapsed() >= patience;
                is_over.then(|| process.map_or(Silence::Unknown, Silence::TooLong))
            }
            (Wait::WhileItWrites(patience), Some(process)) => {
                note(&mut self.written, written_bytes(process));
                let waited = self.written.1.elapsed();
                (waited >= patience).then_some(Silence::NoEnd { process, waited })
            }
            (Wait::WhileItWrites(patience), None) => (self.begun.elapsed() >= patience).then_some(Silence::Unknown),
        }
    }

    /// Whether it cannot go on, and why.
    fn halt(&mut self, process: i32) -> Option<Silence> {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let State { is_stopped, tracer, scheduled } = State::of(&status);
        note(&mut self.scheduled, scheduled);
        match tracer {
            _ if !is_stopped => None,
            None => Some(Silence::Stopped(process)),
            Some(tracer) => {
                let is_held = self.scheduled.1.elapsed() >= TRACER_PATIENCE;
                is_held.then_some(Silence::Traced { process, tracer })
            }
        }
    }
}

/// Takes in a count that goes up as something goes on.
fn note(last: &mut (u64, Instant), count: u64) {
    if last.0 != count {
        *last = (count, Instant::now());
    }
}

/// What the kernel says of a process in its `status`.
#[derive(Debug, PartialEq, Eq)]
struct State {
    is_stopped: bool,
    tracer: Option<i32>,
    /// How often it was scheduled.
    scheduled: u64,
}

impl State {
    fn of(status: &str) -> Self {
        let value =
            |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
        let count = |name| value(name).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        Self {
            is_stopped: value("State").is_some_and(|state| state.starts_with(['T', 't'])),
            tracer: value("TracerPid").and_then(|text| text.parse().ok()).filter(|&tracer| tracer > 0),
            scheduled: count("voluntary_ctxt_switches") + count("nonvoluntary_ctxt_switches"),
        }
    }
}

/// How much a process has had written; always the same if that cannot be seen.
fn written_bytes(process: i32) -> u64 {
    let io = std::fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
    // Files on a file system in memory count as characters alone.
    let count =
        |name: &str| io.lines().find_map(|line| line.strip_prefix(name)).and_then(|text| text.trim().parse().ok());
    count("write_bytes:").unwrap_or(0) + count("wchar:").unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_traced_is_told_from_who_is_stopped() {
        let status = |state: &str, tracer: i32| {
            State::of(&format!(
                "Name:\tState: T\nState:\t{state}\nTracerPid:\t{tracer}\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t2\n"
            ))
        };
        let state = |is_stopped, tracer| State { is_stopped, tracer, scheduled: 7 };
        assert_eq!(status("T (stopped)", 0), state(true, None));
        assert_eq!(status("t (tracing stop)", 9), state(true, Some(9)));
        assert_eq!(status("S (sleeping)", 9), state(false, Some(9)));
    }

    #[test]
    fn who_is_to_end_is_waited_for_as_long_as_it_writes() {
        let patience = Duration::from_millis(200);
        let this = i32::try_from(std::process::id()).unwrap();
        let mut waited = Waited::new(Some(this));
        let directory = tempfile::tempdir().unwrap();
        for number in 0..4_u8 {
            std::thread::sleep(patience / 2);
            std::fs::write(directory.path().join("a"), [number]).unwrap();
            assert_eq!(waited.look(Wait::WhileItWrites(patience)), None, "it writes");
        }
        std::thread::sleep(patience);
        let silence = waited.look(Wait::WhileItWrites(patience)).unwrap();
        assert!(matches!(silence, Silence::NoEnd { process, .. } if process == this), "{silence}");
        assert_eq!(waited.look(Wait::AsLongAsItTakes), None);
    }
}
