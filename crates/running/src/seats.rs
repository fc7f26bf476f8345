//! Who is connected to a running array: a bounded number of clients, of which the one that has been
//! silent for longest makes room for one more.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Clients at a time.
const CLIENTS_MAX: usize = 16;
/// A client that has been silent for so long may be sent away.
const SILENCE: Duration = Duration::from_secs(1);

/// A client's place among them. It is given up when this is dropped.
pub(super) struct Seat {
    number: u64,
    clients: Clients,
}

/// All of them.
#[derive(Clone, Default)]
pub(super) struct Clients(Arc<Mutex<Vec<Connected>>>);

struct Connected {
    number: u64,
    stream: UnixStream,
    silent_since: Option<Instant>,
}

impl Seat {
    /// Notes that the client has been served and is silent.
    pub(super) fn is_idle(&self) {
        self.set(Some(Instant::now()));
    }

    /// The client asks for something.
    pub(super) fn is_busy(&self) {
        self.set(None);
    }

    fn set(&self, silent_since: Option<Instant>) {
        let mut connected = self.clients.lock();
        if let Some(it) = connected.iter_mut().find(|it| it.number == self.number) {
            it.silent_since = silent_since;
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.clients.lock().retain(|it| it.number != self.number);
    }
}

impl Clients {
    fn lock(&self) -> MutexGuard<'_, Vec<Connected>> {
        // Nothing is left half done in there.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A seat for a client; none if all are taken by clients that are being served.
    pub(super) fn seat(&self, number: u64, stream: &UnixStream) -> Option<Seat> {
        let mut connected = self.lock();
        if connected.len() >= CLIENTS_MAX {
            let silent = |it: &&Connected| it.silent_since.is_some_and(|since| since.elapsed() >= SILENCE);
            let longest = connected.iter().filter(silent).min_by_key(|it| it.silent_since)?.number;
            let place = connected.iter().position(|it| it.number == longest)?;
            let _ = connected.swap_remove(place).stream.shutdown(Shutdown::Both);
        }
        connected.push(Connected { number, stream: stream.try_clone().ok()?, silent_since: None });
        Some(Seat { number, clients: self.clone() })
    }
}
