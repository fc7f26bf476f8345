//! Sockets that are never waited for, but where a moment is given until when.

use std::io::{self, IoSlice};
use std::net::TcpStream;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    sendmsg, socket_with,
};
use shoal_serve::Address;
use shoal_serve::protocol::{REQUEST, REQUEST_BYTES, command};

use super::handshake::{Handshake, HandshakeError, Terms};

/// How long a name may take to be found, and a host to answer.
const TCP_PATIENCE: Duration = Duration::from_secs(10);

/// Why a handshake came to nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShakeError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
}

/// Connects. A Unix socket whose queue is full is as good as none; a TCP connection is waited for.
pub(crate) fn open(address: &Address) -> io::Result<OwnedFd> {
    match address {
        Address::Unix(path) => {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            // More in flight than the system's default, which long writes would wait for; if it is
            // granted.
            let _ = rustix::net::sockopt::set_socket_send_buffer_size(&socket, 1 << 20);
            connect(&socket, &SocketAddrUnix::new(path)?)?;
            Ok(socket)
        }
        Address::Tcp { host, port } => {
            let mut last = io::Error::new(io::ErrorKind::NotFound, "the name leads to no address");
            for address in std::net::ToSocketAddrs::to_socket_addrs(&(host.as_str(), *port))? {
                match TcpStream::connect_timeout(&address, TCP_PATIENCE) {
                    Ok(stream) => {
                        stream.set_nodelay(true)?;
                        stream.set_nonblocking(true)?;
                        return Ok(stream.into());
                    }
                    Err(error) => last = error,
                }
            }
            Err(last)
        }
    }
}

/// Sends what can be sent now of some pieces: how many bytes.
pub(crate) fn send(socket: BorrowedFd<'_>, pieces: &[&[u8]]) -> Result<usize, Errno> {
    let slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    sendmsg(socket, &slices, &mut SendAncillaryBuffer::default(), flags)
}

/// Goes on with a handshake as far as the socket goes.
pub(crate) fn step(
    socket: BorrowedFd<'_>,
    handshake: &mut Handshake,
    output: &mut Vec<u8>,
) -> Result<Option<Terms>, ShakeError> {
    let mut bytes = [0; 4096];
    loop {
        while !output.is_empty() {
            match send(socket, &[output]) {
                Ok(count) => drop(output.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(ShakeError::Io(error.into())),
            }
        }
        match recv(socket, &mut bytes, RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Err(ShakeError::Io(io::ErrorKind::UnexpectedEof.into())),
            Ok((count, _)) => {
                if let Some(terms) = handshake.receive(&bytes[..count], output)? {
                    return Ok(Some(terms));
                }
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(None),
            Err(error) => return Err(ShakeError::Io(error.into())),
        }
    }
}

/// Goes through a handshake, waiting until a moment.
pub(crate) fn shake_hands(
    socket: BorrowedFd<'_>,
    mut handshake: Handshake,
    until: Instant,
) -> Result<Terms, ShakeError> {
    let mut output = Vec::new();
    loop {
        if let Some(terms) = step(socket, &mut handshake, &mut output)? {
            return Ok(terms);
        }
        let out = if output.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::from_borrowed_fd(socket, PollFlags::IN | out)], Some(&timeout)) {
            Ok(0) => return Err(ShakeError::Io(io::ErrorKind::TimedOut.into())),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(ShakeError::Io(error.into())),
        }
    }
}

/// The request that ends a connection in order.
pub(crate) fn goodbye() -> [u8; REQUEST_BYTES] {
    let mut head = [0; REQUEST_BYTES];
    head[..4].copy_from_slice(&REQUEST.to_be_bytes());
    head[6..8].copy_from_slice(&command::DISC.to_be_bytes());
    head
}
