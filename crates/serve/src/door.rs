//! Where clients come in: a thread for each shakes hands with its client, and then leaves it to the owner.
//!
//! Nobody else waits for a client that is slow to come to an agreement. It has [`HANDSHAKE_PATIENCE`] for all of it, and
//! if there are too many like it, the one that has been at it for longest makes room.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, SendFlags, Shutdown, shutdown};
use rustls::{ServerConfig, ServerConnection};

use crate::Bell;
use crate::export::Exports;
use crate::negotiation::{Agreement, Negotiation, Step, TlsStage};
use crate::transport::Transport;

/// A client may take so long to come to an agreement.
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(10);
/// So many may be at it at a time.
const HANDSHAKES_MAX: usize = 32;
/// So many may be served at a time.
pub const CLIENTS_MAX: usize = 32;

/// A client with whom everything is agreed on.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) transport: Transport,
    pub(crate) agreement: Agreement,
    /// What it has already said beyond the handshake.
    pub(crate) rest: Vec<u8>,
    pub(crate) seat: Seat,
}

/// A client's place among those that are served; given up when this is dropped.
#[derive(Debug)]
pub(crate) struct Seat(Arc<AtomicUsize>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A client that shakes hands: its number, and its socket, by which it can be sent away.
type Greeted = (u64, Arc<OwnedFd>);

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct Door {
    arrivals: Sender<Arrival>,
    bell: Bell,
    exports: Arc<Exports>,
    seats: Arc<AtomicUsize>,
    is_closed: Arc<AtomicBool>,
    /// Of the next client.
    number: Arc<AtomicU64>,
    /// Clients that are shaking hands, the earliest first.
    greeted: Arc<Mutex<Vec<Greeted>>>,
}

impl Door {
    pub(crate) fn new(arrivals: Sender<Arrival>, bell: Bell, exports: Arc<Exports>) -> Self {
        Self {
            arrivals,
            bell,
            exports,
            seats: Arc::default(),
            is_closed: Arc::default(),
            number: Arc::default(),
            greeted: Arc::default(),
        }
    }

    /// From now on nobody comes in.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// Lets a client in who has just connected; over TLS, if there is a configuration for it.
    pub fn let_in(&self, socket: impl Into<OwnedFd>, tls: Option<Arc<ServerConfig>>) {
        if self.is_closed.load(Ordering::Relaxed) {
            return;
        }
        let socket = Arc::new(socket.into());
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        {
            let mut greeted = self.greeted();
            if greeted.len() >= HANDSHAKES_MAX {
                let (_, slowest) = greeted.remove(0);
                let _ = shutdown(&slowest, Shutdown::Both);
            }
            greeted.push((number, Arc::clone(&socket)));
        }
        let door = self.clone();
        let thread = std::thread::Builder::new().name("shoal-handshake".to_owned()).stack_size(256 << 10);
        // A client for whom there is no thread is gone with its socket.
        let started = thread.spawn(move || {
            let agreed = door.shake_hands(&socket, tls);
            door.greeted().retain(|(other, _)| *other != number);
            if let Ok(Some((session, agreement, rest))) = agreed {
                door.hand_over(socket, session, agreement, rest);
            }
        });
        if started.is_err() {
            self.greeted().retain(|(other, _)| *other != number);
        }
    }

    fn greeted(&self) -> MutexGuard<'_, Vec<Greeted>> {
        // Nothing is left half done in there.
        self.greeted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hand_over(&self, socket: Arc<OwnedFd>, session: Option<ServerConnection>, agreement: Agreement, rest: Vec<u8>) {
        // Whoever made room for another is shut down, and need not come in.
        let Some(socket) = Arc::into_inner(socket) else { return };
        let seat = Seat(Arc::clone(&self.seats));
        if self.seats.fetch_add(1, Ordering::Relaxed) >= CLIENTS_MAX {
            return;
        }
        let transport = match session {
            None => Transport::Plain(socket),
            Some(session) => Transport::tls(socket, session),
        };
        if self.arrivals.send(Arrival { transport, agreement, rest, seat }).is_ok() {
            self.bell.ring();
        }
    }

    /// Comes to an agreement; nothing if the client does not want to.
    #[expect(clippy::type_complexity, reason = "what a handshake comes to has no other use")]
    fn shake_hands(
        &self,
        socket: &OwnedFd,
        tls: Option<Arc<ServerConfig>>,
    ) -> io::Result<Option<(Option<ServerConnection>, Agreement, Vec<u8>)>> {
        let mut wire = Patient { socket, deadline: Instant::now() + HANDSHAKE_PATIENCE };
        let stage = if tls.is_some() { TlsStage::Required } else { TlsStage::Absent };
        let mut negotiation = Negotiation::new(&self.exports, stage);
        wire.write_all(&Negotiation::greeting())?;
        let step = negotiate(&mut negotiation, &mut wire)?;
        let (step, session) = match (step, tls) {
            (Step::StartTls, Some(config)) => {
                let mut session = ServerConnection::new(config).map_err(io::Error::other)?;
                while session.is_handshaking() {
                    session.complete_io(&mut wire)?;
                }
                negotiation.is_secured();
                let step = negotiate(&mut negotiation, &mut rustls::Stream::new(&mut session, &mut wire))?;
                (step, Some(session))
            }
            (step, _) => (step, None),
        };
        match step {
            Step::Transmit(agreement) => Ok(Some((session, agreement, negotiation.into_rest()))),
            _ => Ok(None),
        }
    }
}

/// Goes on until something else is to be done than to talk.
fn negotiate<W: Read + Write>(negotiation: &mut Negotiation<'_>, wire: &mut W) -> io::Result<Step> {
    let mut bytes = [0; 4096];
    let mut replies = Vec::new();
    loop {
        let count = wire.read(&mut bytes)?;
        if count == 0 {
            return Ok(Step::End);
        }
        let step = negotiation.receive(&bytes[..count], &mut replies);
        wire.write_all(&replies)?;
        wire.flush()?;
        replies.clear();
        if step != Step::Receive {
            return Ok(step);
        }
    }
}

/// A socket that is read and written until a moment, however slowly the bytes move.
struct Patient<'a> {
    socket: &'a OwnedFd,
    deadline: Instant,
}

impl Patient<'_> {
    fn wait(&self, flags: PollFlags) -> io::Result<()> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(self.socket, flags)], Some(&timeout)) {
            Ok(0) => Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Read for Patient<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.wait(PollFlags::IN)?;
        Ok(rustix::net::recv(self.socket.as_fd(), bytes, RecvFlags::DONTWAIT)?.0)
    }
}

impl Write for Patient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wait(PollFlags::OUT)?;
        Ok(rustix::net::send(self.socket.as_fd(), bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connection over the network answers at once, and finds out in time when the other end is gone.
pub(crate) fn prepare_tcp(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    rustix::net::sockopt::set_socket_keepalive(stream, true)?;
    rustix::net::sockopt::set_tcp_keepidle(stream, Duration::from_secs(60))?;
    Ok(rustix::net::sockopt::set_tcp_keepintvl(stream, Duration::from_secs(10))?)
}

/// A local connection has more in flight than the system's default, which long reads would wait for.
pub(crate) fn prepare_unix(stream: &UnixStream) {
    // What the system does not grant is no loss but of speed.
    let _ = rustix::net::sockopt::set_socket_send_buffer_size(stream, 1 << 20);
}
