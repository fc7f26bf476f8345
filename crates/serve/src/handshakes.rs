//! Where clients come in: a thread for each shakes hands with its client, and then leaves it to the
//! owner.
//!
//! Nobody else waits for a client that is slow to come to an agreement. It has
//! [`HANDSHAKE_PATIENCE`] for all of it, and if there are too many like it, the one that has been
//! at it for longest makes room.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use openssl::ssl::{Ssl, SslContext, SslStream};
use rustix::net::{AddressFamily, Shutdown, shutdown};

use crate::Bell;
use crate::export::Exports;
use crate::limits::{CLIENTS_MAX, HANDSHAKES_MAX, NETWORK_CLIENTS_MAX};
use crate::negotiation::{Agreement, Negotiation, Step, TlsStage};
use crate::transport::{Transport, Wire};

/// A client may take so long to come to an agreement, TLS included.
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(10);

/// A client with whom everything is agreed on.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) transport: Transport,
    pub(crate) agreement: Agreement,
    /// What it has already said beyond the handshake.
    pub(crate) rest: Vec<u8>,
    pub(crate) seat: Seat,
    /// What it was told of.
    pub(crate) exports: Arc<Exports>,
}

/// Where a client comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// A socket in the file system, which its owner alone can open.
    Local,
    /// A port.
    Network,
}

impl Origin {
    fn of(socket: &OwnedFd) -> Self {
        match rustix::net::getsockname(socket).map(|address| address.address_family()) {
            Ok(AddressFamily::UNIX) => Self::Local,
            _ => Self::Network,
        }
    }
}

/// A client's place among those that are served; given up when this is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    origin: Origin,
    seats: Seats,
}

/// Of those who are served, where each comes from.
#[derive(Clone, Debug, Default)]
struct Seats(Arc<Mutex<Vec<Origin>>>);

impl Seats {
    fn taken(&self) -> MutexGuard<'_, Vec<Origin>> {
        // Nothing is left half done in there.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place, if there is one for clients of this kind.
    fn take(&self, origin: Origin) -> Option<Seat> {
        let mut taken = self.taken();
        let from_network = taken.iter().filter(|&&other| other == Origin::Network).count();
        let is_full = taken.len() >= CLIENTS_MAX || (origin == Origin::Network && from_network >= NETWORK_CLIENTS_MAX);
        if is_full {
            return None;
        }
        taken.push(origin);
        Some(Seat { origin, seats: self.clone() })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.taken();
        if let Some(place) = taken.iter().position(|&other| other == self.origin) {
            taken.swap_remove(place);
        }
    }
}

/// A client that shakes hands: its number, and its socket, by which it can be sent away.
type Greeted = (u64, Arc<OwnedFd>);

/// Accepts connections: a thread for each does the handshake and hands the client over to the
/// owner.
#[derive(Clone, Debug)]
pub struct Handshakes {
    arrivals: Sender<Arrival>,
    bell: Bell,
    /// As they are now; who is shaking hands has them as they were then.
    exports: Arc<Mutex<Arc<Exports>>>,
    seats: Seats,
    is_closed: Arc<AtomicBool>,
    patience: Duration,
    /// Of the next client.
    number: Arc<AtomicU64>,
    /// Clients that are shaking hands, the earliest first.
    greeted: Arc<Mutex<Vec<Greeted>>>,
}

impl Handshakes {
    pub(crate) fn new(arrivals: Sender<Arrival>, bell: Bell, exports: Arc<Exports>) -> Self {
        Self {
            arrivals,
            bell,
            exports: Arc::new(Mutex::new(exports)),
            seats: Seats::default(),
            is_closed: Arc::default(),
            patience: HANDSHAKE_PATIENCE,
            number: Arc::default(),
            greeted: Arc::default(),
        }
    }

    /// Refuses all further clients.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// Replaces what clients are shown.
    pub(crate) fn show(&self, exports: Arc<Exports>) {
        *self.exports.lock().unwrap_or_else(PoisonError::into_inner) = exports;
    }

    /// Lets a client in who has just connected; over TLS, if there is a configuration for it.
    pub fn let_in(&self, socket: impl Into<OwnedFd>, tls: Option<SslContext>) {
        if self.is_closed.load(Ordering::Relaxed) {
            return;
        }
        let socket = Arc::new(socket.into());
        let origin = Origin::of(&socket);
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        {
            let mut greeted = self.greeted();
            if greeted.len() >= HANDSHAKES_MAX {
                let (_, slowest) = greeted.remove(0);
                let _ = shutdown(&slowest, Shutdown::Both);
            }
            greeted.push((number, Arc::clone(&socket)));
        }
        let handshakes = self.clone();
        let thread = std::thread::Builder::new().name("shoal-handshake".to_owned()).stack_size(256 << 10);
        // A client for whom there is no thread is gone with its socket.
        let started = thread.spawn(move || {
            let exports = Arc::clone(&handshakes.exports.lock().unwrap_or_else(PoisonError::into_inner));
            let agreed = handshakes.shake_hands(&exports, socket, tls);
            // Whoever made room for another need not come in.
            if let (true, Ok(Some((transport, agreement, rest)))) = (handshakes.see_off(number), agreed) {
                handshakes.hand_over(origin, transport, agreement, rest, exports);
            }
        });
        if started.is_err() {
            self.see_off(number);
        }
    }

    /// A client has shaken hands, or does not want to. Returns whether it was still at it.
    fn see_off(&self, number: u64) -> bool {
        let mut greeted = self.greeted();
        let place = greeted.iter().position(|(other, _)| *other == number);
        place.map(|place| greeted.remove(place)).is_some()
    }

    fn greeted(&self) -> MutexGuard<'_, Vec<Greeted>> {
        // Nothing is left half done in there.
        self.greeted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hand_over(
        &self,
        origin: Origin,
        transport: Transport,
        agreement: Agreement,
        rest: Vec<u8>,
        exports: Arc<Exports>,
    ) {
        let Some(seat) = self.seats.take(origin) else { return };
        if self.arrivals.send(Arrival { transport, agreement, rest, seat, exports }).is_ok() {
            self.bell.ring();
        }
    }

    /// Comes to an agreement; nothing if the client does not want to.
    fn shake_hands(
        &self,
        exports: &Exports,
        socket: Arc<OwnedFd>,
        tls: Option<SslContext>,
    ) -> io::Result<Option<(Transport, Agreement, Vec<u8>)>> {
        let mut wire = Wire::patient(Arc::clone(&socket), Instant::now() + self.patience);
        let stage = if tls.is_some() { TlsStage::Required } else { TlsStage::Absent };
        let mut negotiation = Negotiation::new(exports, stage);
        wire.write_all(&Negotiation::greeting())?;
        let step = negotiate(&mut negotiation, &mut wire)?;
        let (step, transport) = match (step, tls) {
            (Step::StartTls, Some(context)) => {
                let mut stream = SslStream::new(Ssl::new(&context)?, wire)?;
                stream.accept().map_err(io::Error::other)?;
                negotiation.is_secured();
                (negotiate(&mut negotiation, &mut stream)?, Transport::tls(stream))
            }
            (step, _) => (step, Transport::Plain(socket)),
        };
        match step {
            Step::Transmit(agreement) => Ok(Some((transport, agreement, negotiation.into_rest()))),
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

/// A connection over the network answers at once, and finds out in time when the other end is gone.
pub(crate) fn prepare_tcp(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    rustix::net::sockopt::set_socket_keepalive(stream, true)?;
    rustix::net::sockopt::set_tcp_keepidle(stream, Duration::from_secs(60))?;
    Ok(rustix::net::sockopt::set_tcp_keepintvl(stream, Duration::from_secs(10))?)
}

/// A local connection has more in flight than the system's default, which long reads would wait
/// for.
pub(crate) fn prepare_unix(stream: &UnixStream) {
    // What the system does not grant is no loss but of speed.
    let _ = rustix::net::sockopt::set_socket_send_buffer_size(stream, 1 << 20);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::export::Export;
    use crate::protocol::{OPTION, option};

    /// What takes longer hangs, however busy the machine is.
    const SLACK: Duration = Duration::from_secs(180);

    fn handshakes(patience: Duration) -> Handshakes {
        let exports = Exports::new(vec![Export::whole("pond", "", 1 << 20, false)], 1 << 20, 512).unwrap();
        let (arrivals, _) = channel();
        Handshakes { patience, ..Handshakes::new(arrivals, Bell::new().unwrap(), Arc::new(exports)) }
    }

    #[test]
    fn a_client_has_the_time_that_is_promised() {
        let (arrivals, _) = channel();
        let exports = Exports::new(vec![Export::whole("pond", "", 1 << 20, false)], 1 << 20, 512).unwrap();
        let handshakes = Handshakes::new(arrivals, Bell::new().unwrap(), Arc::new(exports));
        assert_eq!(handshakes.patience, Duration::from_secs(10), "ARCHITECTURE.md says so");
    }

    #[test]
    fn clients_over_the_network_leave_places_for_those_of_this_machine() {
        let (seats, mut taken) = (Seats::default(), Vec::new());
        while let Some(seat) = seats.take(Origin::Network) {
            taken.push(seat);
        }
        assert_eq!(taken.len(), NETWORK_CLIENTS_MAX);
        while let Some(seat) = seats.take(Origin::Local) {
            taken.push(seat);
        }
        assert_eq!(taken.len(), CLIENTS_MAX);
        drop(taken.swap_remove(0));
        assert!(seats.take(Origin::Network).is_some(), "whoever goes makes room");
    }

    #[test]
    fn where_a_client_comes_from_is_seen_by_its_socket() {
        let (local, _other) = UnixStream::pair().unwrap();
        assert_eq!(Origin::of(&local.into()), Origin::Local);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let network = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!(Origin::of(&network.into()), Origin::Network);
    }

    #[test]
    fn one_deadline_is_for_all_of_a_handshake_however_much_is_said() {
        let (mut stream, theirs) = UnixStream::pair().unwrap();
        stream.set_read_timeout(Some(SLACK)).unwrap();
        let begun = Instant::now();
        handshakes(Duration::from_millis(300)).let_in(theirs, None);
        stream.write_all(&3_u32.to_be_bytes()).unwrap();
        // There is always something to be read: nobody is ever waited for.
        let head = [&OPTION.to_be_bytes()[..], &option::LIST.to_be_bytes(), &(u32::MAX).to_be_bytes()].concat();
        let mut talker = stream.try_clone().unwrap();
        let talk = std::thread::spawn(move || {
            let said = talker.write_all(&head);
            while said.is_ok() && talker.write_all(&[0; 512]).is_ok() && begun.elapsed() < SLACK {}
        });
        let mut heard = Vec::new();
        // However it ends: cut, or closed.
        let _ = stream.read_to_end(&mut heard);
        drop(stream);
        talk.join().unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(300) && begun.elapsed() < SLACK, "{:?}", begun.elapsed());
    }
}
