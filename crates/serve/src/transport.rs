//! A client's socket, in the clear or under TLS, without ever waiting for it.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustls::ServerConnection;
use shoal_volume::{Arena, Memory, Piece};

/// Content is encrypted in portions of so much: what a client does not take stays in buffers, and not here as well.
const PORTION_BYTES: usize = 256 << 10;

/// See the module's documentation. Every call moves what can be moved now; `Errno::AGAIN` means nothing.
#[derive(Debug)]
pub(crate) enum Transport {
    Plain(OwnedFd),
    Tls(Box<Tls>),
}

/// A socket and what TLS keeps for it.
#[derive(Debug)]
pub(crate) struct Tls {
    socket: OwnedFd,
    session: ServerConnection,
    scratch: Vec<u8>,
}

impl Transport {
    /// A socket under a TLS session whose handshake is done.
    pub(crate) fn tls(socket: OwnedFd, mut session: ServerConnection) -> Self {
        session.set_buffer_limit(None); // portions bound it
        Self::Tls(Box::new(Tls { socket, session, scratch: Vec::new() }))
    }

    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        match self {
            Self::Plain(socket) => socket.as_fd(),
            Self::Tls(tls) => tls.socket.as_fd(),
        }
    }

    /// Whether an answer that was shorter than it could have been means that nothing is left.
    pub(crate) fn short_means_empty(&self) -> bool {
        matches!(self, Self::Plain(_))
    }

    /// Receives bytes: how many, 0 if the client has gone.
    pub(crate) fn receive(&mut self, bytes: &mut [u8]) -> Result<usize, Errno> {
        match self {
            Self::Plain(socket) => Ok(rustix::net::recv(socket, bytes, RecvFlags::DONTWAIT)?.0),
            Self::Tls(tls) => tls.receive(bytes),
        }
    }

    /// Receives bytes into a run of the arena.
    pub(crate) fn receive_into(&mut self, arena: &Arena, memory: Memory) -> Result<usize, Errno> {
        match self {
            Self::Plain(socket) => arena.receive_from(socket.as_fd(), memory),
            Self::Tls(tls) => {
                let mut bytes = std::mem::take(&mut tls.scratch);
                bytes.resize(PORTION_BYTES.min(memory.length as usize), 0);
                let received = tls.receive(&mut bytes);
                if let Ok(count) = received {
                    arena.write(memory, &bytes[..count]);
                }
                tls.scratch = bytes;
                received
            }
        }
    }

    /// Takes pieces to be sent: how many of their bytes.
    pub(crate) fn send(&mut self, arena: &Arena, pieces: &[Piece<'_>]) -> Result<usize, Errno> {
        match self {
            Self::Plain(socket) => arena.send_to(socket.as_fd(), pieces),
            Self::Tls(tls) => tls.send(arena, pieces),
        }
    }

    /// Sends what was taken and is still here; false if some of it stays.
    pub(crate) fn flush(&mut self) -> Result<bool, Errno> {
        match self {
            Self::Plain(_) => Ok(true),
            Self::Tls(tls) => tls.flush(),
        }
    }

    /// Says goodbye, as far as that can be done without waiting.
    pub(crate) fn close(&mut self) {
        if let Self::Tls(tls) = self {
            tls.session.send_close_notify();
            let _ = tls.flush();
        }
        // One that is closed already needs nothing more.
        let _ = rustix::net::shutdown(self.socket(), rustix::net::Shutdown::Both);
    }
}

impl Tls {
    fn receive(&mut self, bytes: &mut [u8]) -> Result<usize, Errno> {
        loop {
            match self.session.reader().read(bytes) {
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // It has gone without a goodbye.
                Err(_) => return Ok(0),
            }
            match self.session.read_tls(&mut Socket(self.socket.as_fd())) {
                Ok(0) => return Ok(0),
                Ok(_) => {}
                Err(error) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
            }
            let processed = self.session.process_new_packets();
            // An alert, or an answer to a change of keys.
            self.flush()?;
            processed.map_err(|_| Errno::PROTO)?;
        }
    }

    fn send(&mut self, arena: &Arena, pieces: &[Piece<'_>]) -> Result<usize, Errno> {
        if !self.flush()? {
            return Err(Errno::AGAIN);
        }
        let mut taken = 0;
        for piece in pieces {
            let length = piece.len_bytes().min(PORTION_BYTES - taken);
            let portion = match piece {
                Piece::Bytes(bytes) => &bytes[..length],
                Piece::Memory(memory) => {
                    self.scratch.resize(length, 0);
                    arena.read(*memory, &mut self.scratch);
                    &self.scratch[..]
                }
            };
            taken += self.session.writer().write(portion).map_err(|_| Errno::PIPE)?;
            if taken == PORTION_BYTES {
                break;
            }
        }
        self.flush()?;
        Ok(taken)
    }

    fn flush(&mut self) -> Result<bool, Errno> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut Socket(self.socket.as_fd())) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
            }
        }
        Ok(true)
    }
}

/// A socket for those who know only readers and writers. It never waits.
struct Socket<'a>(BorrowedFd<'a>);

impl Read for Socket<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::net::recv(self.0, bytes, RecvFlags::DONTWAIT)?.0)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(self.0, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
