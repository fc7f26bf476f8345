//! The client's end of a socket: lines of JSON, and content between them.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use serde::Serialize;
use shoal_documents::protocol::{Answer, Request};
use shoal_documents::{Fault, HasFault};

use crate::handle::ExecuteError;
use crate::limits::ANSWER_BYTES_MAX;
use crate::place;
use crate::silence::{PATIENCE, Silence, Wait, Waited};

/// Why a running array is not reached.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// This user may not.
    #[error("{}: another user runs this array: only that user and root may administer it", socket.display())]
    OtherUser {
        /// Where it is administered.
        socket: PathBuf,
    },
    /// Whoever listens there is not to be believed.
    #[error(
        "{}: whoever listens there is another user, who may have been there first: remove it, or ask as that user",
        socket.display()
    )]
    Stranger {
        /// Where they listen.
        socket: PathBuf,
    },
    /// The system says no.
    #[error("{}: {source}", socket.display())]
    System {
        /// Where it is administered.
        socket: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It does not say how it is.
    #[error(transparent)]
    Greeting(#[from] ExecuteError),
    /// There is no memory for its content.
    #[error(transparent)]
    Memory(io::Error),
}

impl HasFault for ConnectError {
    fn fault(&self) -> Fault {
        match self {
            Self::OtherUser { .. } | Self::Stranger { .. } => Fault::Refused,
            Self::System { .. } | Self::Memory(_) => Fault::Failed,
            Self::Greeting(error) => error.fault(),
        }
    }
}

/// How often it is looked whether the process can answer at all.
const GLANCE: Duration = Duration::from_secs(1);
/// Connections that a process has not taken fill its queue: it is tried again after so long.
const CONNECT_AGAIN: Duration = Duration::from_millis(50);

/// The client's end of a running array's socket. Reads and writes lines of JSON, and content of a
/// length that a line told.
pub(super) struct Wire {
    socket: PathBuf,
    stream: UnixStream,
    answers: BufReader<UnixStream>,
    /// The process that listens there.
    process: Option<i32>,
}

impl Wire {
    /// Reaches whoever listens at a socket; none if nobody does.
    pub(super) fn connect(socket: &Path) -> Result<Option<Self>, ConnectError> {
        let failure = |source: io::Error| {
            let socket = socket.to_owned();
            match source.kind() {
                io::ErrorKind::PermissionDenied => ConnectError::OtherUser { socket },
                _ => ConnectError::System { socket, source },
            }
        };
        let stream = match open(socket) {
            Ok(stream) => stream,
            // Never there, or left behind by a process that was killed.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                return Ok(None);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let silent = ExecuteError::Silent { socket: socket.to_owned(), how: Silence::Unknown };
                return Err(silent.into());
            }
            Err(error) => return Err(failure(error)),
        };
        if !place::may_be_believed(&stream, socket) {
            return Err(ConnectError::Stranger { socket: socket.to_owned() });
        }
        let process = place::process_at(&stream);
        let answers = BufReader::new(stream.try_clone().map_err(failure)?);
        Ok(Some(Self { socket: socket.to_owned(), stream, answers, process }))
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

    /// Waits for an answer; but not for a process that cannot go on.
    pub(super) fn wait(&mut self, wait: Wait) -> Result<(), ExecuteError> {
        let mut waited = Waited::new(self.process);
        // Closed, or broken: whoever receives finds out how.
        while matches!(self.is_readable(Some(GLANCE)), Ok(false)) {
            if let Some(how) = waited.look(wait) {
                return Err(ExecuteError::Silent { socket: self.socket.clone(), how });
            }
        }
        Ok(())
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

/// Connects, without waiting for ever for a process that takes no connections.
fn open(socket: &Path) -> io::Result<UnixStream> {
    let begun = Instant::now();
    let address = SocketAddrUnix::new(socket)?;
    loop {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let stream = UnixStream::from(socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?);
        match connect(&stream, &address) {
            Ok(()) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(Errno::AGAIN) if begun.elapsed() < PATIENCE => std::thread::sleep(CONNECT_AGAIN),
            Err(error) => return Err(error.into()),
        }
    }
}
