//! Who is connected to a running array: a bounded number of clients, of which an idle one makes
//! room for one more. The first to go is who has never asked for anything, and of those the oldest;
//! then who has been silent for longest, but not between two questions.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::limits::CLIENTS_MAX;

/// A client that has been served and is silent for so long may be sent away.
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
    talk: Talk,
}

/// What a client has said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Talk {
    /// Nothing since it came.
    Mute(Instant),
    /// It was served, and has been silent since then.
    Silent(Instant),
    /// It asks, or is being served.
    Asking,
}

impl Connected {
    /// Whether it can go: what it says is on its way to nobody.
    fn is_idle(&self) -> bool {
        let is_over = match self.talk {
            Talk::Mute(_) => true,
            Talk::Silent(since) => since.elapsed() >= SILENCE,
            Talk::Asking => false,
        };
        is_over && rustix::io::ioctl_fionread(&self.stream).is_ok_and(|bytes| bytes == 0)
    }
}

impl Seat {
    /// Notes that the client has been served, if it has asked, and is silent.
    pub(super) fn is_idle(&self) {
        self.change(|talk| if talk == Talk::Asking { Talk::Silent(Instant::now()) } else { talk });
    }

    /// The client asks for something.
    pub(super) fn is_busy(&self) {
        self.change(|_| Talk::Asking);
    }

    fn change(&self, change: impl FnOnce(Talk) -> Talk) {
        let mut connected = self.clients.lock();
        if let Some(it) = connected.iter_mut().find(|it| it.number == self.number) {
            it.talk = change(it.talk);
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

    /// A seat for a client; none if all are taken by clients that ask.
    pub(super) fn seat(&self, number: u64, stream: &UnixStream) -> Option<Seat> {
        let mut connected = self.lock();
        if connected.len() >= CLIENTS_MAX {
            let idle = connected.iter().enumerate().filter(|(_, it)| it.is_idle());
            let (first, _) = idle.min_by_key(|(_, it)| it.talk)?;
            let _ = connected.swap_remove(first).stream.shutdown(Shutdown::Both);
        }
        connected.push(Connected { number, stream: stream.try_clone().ok()?, talk: Talk::Mute(Instant::now()) });
        Some(Seat { number, clients: self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn who_has_never_asked_goes_first_and_who_asks_stays() {
        let clients = Clients::default();
        let mut all: Vec<_> = (0..CLIENTS_MAX as u64)
            .map(|number| {
                let (theirs, own) = UnixStream::pair().unwrap();
                (clients.seat(number, &own).unwrap(), theirs)
            })
            .collect();
        // The first has asked, the second is asking, and what the third asks is on its way.
        all[0].0.is_busy();
        all[0].0.is_idle();
        all[1].0.is_busy();
        all[2].1.write_all(b"{").unwrap();
        let mut seats = Vec::new();
        let mut come = |number| {
            let (theirs, own) = UnixStream::pair().unwrap();
            let seat = clients.seat(number, &own);
            seat.iter().for_each(Seat::is_busy);
            seats.push((seat, theirs));
            seats.last().unwrap().0.is_some()
        };
        for (number, (_, oldest)) in (100..).zip(&mut all[3..]) {
            assert!(come(number));
            assert_eq!(oldest.read(&mut [0]).unwrap(), 0, "it is the oldest that has never asked");
        }
        std::thread::sleep(SILENCE);
        assert!(come(201));
        assert_eq!(all[0].1.read(&mut [0]).unwrap(), 0);
        assert!(!come(202), "all ask");
    }
}
