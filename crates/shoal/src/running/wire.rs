//! The client's end of a socket: lines of JSON, and content between them.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::place;
use super::protocol::{Answer, Request};
use crate::exit::Failure;

/// No answer is longer: a state with all the places that are listed in it stays far below.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// The client's end of a running array's socket. Reads and writes lines of JSON, and content of a
/// length that a line told.
pub(super) struct Wire {
    socket: PathBuf,
    stream: UnixStream,
    answers: BufReader<UnixStream>,
}

impl Wire {
    /// Reaches whoever listens at a socket; none if nobody does.
    pub(super) fn connect(socket: &Path) -> Result<Option<Self>, Failure> {
        let failure = |error: io::Error| match error.kind() {
            io::ErrorKind::PermissionDenied => Failure::Refused(format!(
                "{}: another user runs this array: only that user and root may administer it",
                socket.display()
            )),
            _ => Failure::Failed(format!("{}: {error}", socket.display())),
        };
        let stream = match UnixStream::connect(socket) {
            Ok(stream) => stream,
            // Never there, or left behind by a process that was killed.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                return Ok(None);
            }
            Err(error) => return Err(failure(error)),
        };
        if !place::may_be_believed(&stream) {
            return Err(Failure::Refused(format!("{}: it is another user's: remove it", socket.display())));
        }
        let answers = BufReader::new(stream.try_clone().map_err(failure)?);
        Ok(Some(Self { socket: socket.to_owned(), stream, answers }))
    }

    /// Where it was reached.
    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Sends a request, and the content that goes with it.
    pub(super) fn send<C: Serialize>(&mut self, id: u64, command: C, content: &[u8]) -> io::Result<()> {
        let mut line = serde_json::to_vec(&Request { id, command })?;
        line.push(b'\n');
        self.stream.write_all(&line)?;
        self.stream.write_all(content)
    }

    /// Waits until there is something to receive; not for longer than `timeout`.
    pub(super) fn is_readable(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
        // No time at all cannot be asked for.
        self.stream.set_read_timeout(timeout.map(|timeout| timeout.max(Duration::from_micros(1))))?;
        let filled = self.answers.fill_buf().map(|_| true);
        self.stream.set_read_timeout(None)?;
        match filled {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Ok(false),
            filled => filled,
        }
    }

    /// Waits for an answer's line.
    pub(super) fn receive(&mut self) -> io::Result<Answer> {
        let mut line = Vec::new();
        self.answers.by_ref().take(ANSWER_BYTES_MAX).read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the process that ran it has ended"));
        }
        Ok(serde_json::from_slice(&line)?)
    }

    /// Takes the content that follows an answer's line.
    pub(super) fn receive_content(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.answers.read_exact(bytes)
    }
}
