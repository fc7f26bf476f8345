//! A client's socket, in the clear or under TLS, without ever waiting for it.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

use openssl::ssl::{ErrorCode, SslStream};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use shoal_volume::{Arena, Memory, SendPiece};

/// Content is handed to the library in portions of so much: what a client does not take stays in
/// buffers, and not here as well.
const PORTION_BYTES: usize = 256 << 10;

/// A client's socket. Every call moves what can be moved now; `Errno::AGAIN` means nothing.
#[derive(Debug)]
pub(crate) enum Transport {
    Plain(Arc<OwnedFd>),
    Tls(Box<Tls>),
}

/// How far a client has ended its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Open,
    /// It will say nothing more, and may or may not listen: over TCP nothing tells one that has
    /// closed its socket from one that has said its last word.
    Silent,
    /// It hears nothing.
    Closed,
}

/// A TLS session over a socket.
#[derive(Debug)]
pub(crate) struct Tls {
    stream: SslStream<Wire>,
    scratch: Vec<u8>,
}

impl Transport {
    /// A socket under a TLS session whose handshake is done.
    pub(crate) fn tls(mut stream: SslStream<Wire>) -> Self {
        stream.get_mut().deadline = None;
        Self::Tls(Box::new(Tls { stream, scratch: Vec::new() }))
    }

    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        match self {
            Self::Plain(socket) => socket.as_fd(),
            Self::Tls(tls) => tls.stream.get_ref().socket.as_fd(),
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

    /// Takes pieces to be sent: how many of their bytes. What was not taken has to be offered
    /// again, from its beginning on.
    pub(crate) fn send(&mut self, arena: &Arena, pieces: &[SendPiece<'_>]) -> Result<usize, Errno> {
        match self {
            Self::Plain(socket) => arena.send_to(socket.as_fd(), pieces),
            Self::Tls(tls) => tls.send(arena, pieces),
        }
    }

    /// How far the client has ended the connection.
    pub(crate) fn end(&self) -> End {
        let mut it = [PollFd::from_borrowed_fd(self.socket(), PollFlags::RDHUP)];
        let told = poll(&mut it, Some(&Timespec::default())).map_or(PollFlags::empty(), |_| it[0].revents());
        // These two are told unasked.
        match (told.intersects(PollFlags::HUP | PollFlags::ERR), told.contains(PollFlags::RDHUP)) {
            (true, _) => End::Closed,
            (false, true) => End::Silent,
            (false, false) => End::Open,
        }
    }

    /// Says goodbye, as far as that can be done without waiting.
    pub(crate) fn close(&mut self) {
        if let Self::Tls(tls) = self {
            let _ = tls.stream.shutdown();
        }
        // One that is closed already needs nothing more.
        let _ = rustix::net::shutdown(self.socket(), rustix::net::Shutdown::Both);
    }
}

impl Tls {
    fn receive(&mut self, bytes: &mut [u8]) -> Result<usize, Errno> {
        match self.stream.ssl_read(bytes) {
            Ok(count) => Ok(count),
            Err(error) => match error.code() {
                ErrorCode::WANT_READ | ErrorCode::WANT_WRITE => Err(Errno::AGAIN),
                // It has gone, with a goodbye or without.
                ErrorCode::ZERO_RETURN => Ok(0),
                _ => Err(error.io_error().and_then(Errno::from_io_error).unwrap_or(Errno::PROTO)),
            },
        }
    }

    /// Puts pieces together to a portion, so that records are full, and encrypts as much of it as
    /// the socket takes.
    fn send(&mut self, arena: &Arena, pieces: &[SendPiece<'_>]) -> Result<usize, Errno> {
        self.scratch.clear();
        for piece in pieces {
            let start = self.scratch.len();
            let length = piece.len_bytes().min(PORTION_BYTES - start);
            match piece {
                SendPiece::Bytes(bytes) => self.scratch.extend_from_slice(&bytes[..length]),
                SendPiece::Memory(memory) => {
                    self.scratch.resize(start + length, 0);
                    arena.read(*memory, &mut self.scratch[start..]);
                }
            }
        }
        let mut taken = 0;
        while taken < self.scratch.len() {
            match self.stream.ssl_write(&self.scratch[taken..]) {
                Ok(count) => taken += count,
                Err(error) => match error.code() {
                    ErrorCode::WANT_READ | ErrorCode::WANT_WRITE if taken > 0 => break,
                    ErrorCode::WANT_READ | ErrorCode::WANT_WRITE => return Err(Errno::AGAIN),
                    _ => return Err(error.io_error().and_then(Errno::from_io_error).unwrap_or(Errno::PIPE)),
                },
            }
        }
        Ok(taken)
    }
}

/// A socket for those who know only readers and writers: it is waited for until a moment, however
/// slowly the bytes move, or never.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: Arc<OwnedFd>,
    deadline: Option<Instant>,
}

impl Wire {
    /// To be waited for until then.
    pub(crate) fn patient(socket: Arc<OwnedFd>, deadline: Instant) -> Self {
        Self { socket, deadline: Some(deadline) }
    }

    fn wait(&self, flags: PollFlags) -> io::Result<()> {
        let Some(deadline) = self.deadline else { return Ok(()) };
        let left = deadline.saturating_duration_since(Instant::now());
        // Whoever always has something to say is not waited for, and has no more time than others.
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&self.socket, flags)], Some(&timeout)) {
            Ok(0) => Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Read for Wire {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.wait(PollFlags::IN)?;
        Ok(rustix::net::recv(&self.socket, bytes, RecvFlags::DONTWAIT)?.0)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wait(PollFlags::OUT)?;
        Ok(rustix::net::send(&self.socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use openssl::ssl::{Ssl, SslContext, SslMethod};

    use super::*;
    use crate::tls::TlsFiles;

    /// What takes longer hangs, however busy the machine is.
    const PATIENCE: Duration = Duration::from_secs(180);
    const LENGTH: usize = 3 << 20;

    /// Reads everything that comes, once it is told to.
    fn client(stream: UnixStream, may_read: std::sync::mpsc::Receiver<()>) -> Vec<u8> {
        let mut context = SslContext::builder(SslMethod::tls_client()).unwrap();
        context.set_cipher_list("PSK").unwrap();
        context.set_psk_client_callback(|_, _, name, key| {
            name[..6].copy_from_slice(b"alice\0");
            key[..16].copy_from_slice(&[0x11; 16]);
            Ok(16)
        });
        let mut stream = SslStream::new(Ssl::new(&context.build()).unwrap(), stream).unwrap();
        stream.connect().unwrap();
        stream.write_all(b"something").unwrap();
        may_read.recv().unwrap();
        let mut bytes = vec![0; LENGTH];
        stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_a_client_does_not_take_under_tls_is_taken_later_whatever_happens_meanwhile() {
        let directory = tempfile::tempdir().unwrap();
        let keys = directory.path().join("keys");
        std::fs::write(&keys, format!("alice:{}", "11".repeat(16))).unwrap();
        std::fs::set_permissions(&keys, Permissions::from_mode(0o600)).unwrap();
        let (mine, theirs) = UnixStream::pair().unwrap();
        let (let_read, may_read) = std::sync::mpsc::channel();
        let client = std::thread::spawn(move || client(theirs, may_read));
        let socket: Arc<OwnedFd> = Arc::new(OwnedFd::from(mine));
        let wire = Wire::patient(Arc::clone(&socket), Instant::now() + PATIENCE);
        let mut stream = SslStream::new(Ssl::new(&TlsFiles::Keys(keys).load().unwrap()).unwrap(), wire).unwrap();
        stream.accept().unwrap();
        let mut transport = Transport::tls(stream);
        let arena = Arena::new(LENGTH).unwrap();
        let content: Vec<u8> = (0..LENGTH).map(|at| (at / 251) as u8).collect();
        arena.write(Memory { offset: 0, length: LENGTH as u32 }, &content);
        let (mut sent, mut is_full) = (0, false);
        while sent < LENGTH {
            // First little is offered, then more, as more requests are answered.
            let length = if is_full { LENGTH - sent } else { (LENGTH - sent).min(100_000) };
            let rest = SendPiece::Memory(Memory { offset: sent, length: length as u32 });
            match transport.send(&arena, &[rest]) {
                Ok(count) => sent += count,
                Err(Errno::AGAIN) if is_full => {
                    poll(&mut [PollFd::new(&*socket, PollFlags::OUT)], None).unwrap();
                }
                Err(Errno::AGAIN) => {
                    is_full = true;
                    let received = transport.receive_into(&arena, Memory { offset: 0, length: 9 });
                    assert_eq!(received, Ok(9));
                    arena.write(Memory { offset: 0, length: 9 }, &content[..9]);
                    let_read.send(()).unwrap();
                }
                Err(error) => panic!("after {sent} bytes: {error}"),
            }
        }
        assert!(client.join().unwrap() == content);
    }
}
