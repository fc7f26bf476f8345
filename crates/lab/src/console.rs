//! The guest's console: lines come out of it, and only the names of steps go in.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The host's ends of the console.
#[derive(Debug)]
pub(crate) struct Console {
    input: ChildStdin,
    lines: Receiver<String>,
}

/// Why no line came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// The time is up.
    Timeout,
    /// The guest is gone.
    Gone,
}

impl Console {
    pub(crate) fn new(input: ChildStdin, output: ChildStdout) -> Self {
        let (sender, lines) = channel();
        // Ends when the guest does: the pipe is then at its end. A console that nobody reads would
        // block the guest.
        std::thread::spawn(move || {
            for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { input, lines }
    }

    /// Sends a line; a guest that is gone is noticed when its answer is waited for.
    pub(crate) fn send(&mut self, line: &str) {
        let _ = writeln!(self.input, "{line}").and_then(|()| self.input.flush());
    }

    /// The next line, until `deadline`.
    pub(crate) fn next_line(&self, deadline: Instant) -> Result<String, Silence> {
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        self.lines.recv_timeout(left).map_err(|error| match error {
            RecvTimeoutError::Timeout => Silence::Timeout,
            RecvTimeoutError::Disconnected => Silence::Gone,
        })
    }
}
