//! One connection, made again whenever it breaks, and its thread.
//!
//! ```text
//!   down ──► shaking hands ──► up ──┐         and over, where a connection is not made again
//!    ▲            │                 │
//!    └────────────┴─────────────────┘
//! ```
//!
//! Whoever submits sends at once, as far as the socket takes it; the thread receives, sends what
//! was left, watches the time and gives answers. Nothing is called while the lock is held, and
//! nothing that holds it waits.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, Shutdown, shutdown};
use shoal_serve::{Address, Bell};
use shoal_volume::Unflushed;

use super::handshake::{Handshake, Terms};
use super::incoming::{Incoming, Nonsense, Requests};
use super::ledger::Ledger;
use super::operation::{Done, Operation};
use super::room::Share;
use super::socket;

/// How long a server that lets us in may take over the handshake before another attempt is made.
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(5);
/// Between two attempts.
const RETRY: Duration = Duration::from_millis(50);
/// With something under way, the time is looked at no more often than this.
const TICK: Duration = Duration::from_millis(20);
/// A connection that has nothing to do for so long rests until it is woken.
const REST_AFTER: Duration = Duration::from_secs(1);
/// Receives in one go, after which whoever waits for the lock has a turn.
const RECEIVES: usize = 64;

/// A connection to a server and the thread that keeps it: connects, sends, receives, and connects
/// again.
#[derive(Debug)]
pub(super) struct Line {
    /// Where to connect again; nowhere, if a connection that breaks stays broken.
    again: Option<Again>,
    bell: Bell,
    state: Mutex<State>,
}

/// How a connection is made again.
#[derive(Clone, Debug)]
pub(super) struct Again {
    pub(super) address: Address,
    pub(super) export: String,
    /// What was agreed on first: another array is not taken for this one.
    pub(super) terms: Terms,
}

#[derive(Debug)]
struct State {
    link: Link,
    ledger: Ledger,
    trouble: Option<String>,
    is_closing: bool,
    /// The thread sleeps until the bell is rung.
    is_resting: bool,
    /// Since when something waits for a server that is gone.
    waits_since: Option<Instant>,
}

#[derive(Debug)]
enum Link {
    Down { again_at: Instant },
    Shaking { socket: Arc<OwnedFd>, handshake: Handshake, output: Vec<u8>, give_up_at: Instant },
    Up { socket: Arc<OwnedFd>, incoming: Incoming },
    Over,
}

/// What a thread waits for.
struct Waiting {
    socket: Option<Arc<OwnedFd>>,
    interest: PollFlags,
    until: Option<Instant>,
}

impl Line {
    /// On a socket on which everything is agreed, and whether answers are structured there; without
    /// one it is to be connected.
    pub(super) fn start(
        agreed: Option<(OwnedFd, bool)>,
        again: Option<Again>,
        unflushed: Arc<Unflushed>,
    ) -> std::io::Result<Arc<Self>> {
        let ledger = Ledger::new(again.is_some(), unflushed);
        let link = match agreed {
            Some((socket, is_structured)) => {
                Link::Up { socket: Arc::new(socket), incoming: Incoming::new(is_structured) }
            }
            None => Link::Down { again_at: Instant::now() },
        };
        let state = State { link, ledger, trouble: None, is_closing: false, is_resting: false, waits_since: None };
        let line = Arc::new(Self { again, bell: Bell::new()?, state: Mutex::new(state) });
        let own = Arc::clone(&line);
        std::thread::Builder::new().name("shoal-client".to_owned()).spawn(move || own.run())?;
        Ok(line)
    }

    /// Takes an operation, which may take so long, and sends it at once if that can be done.
    pub(super) fn submit(&self, operation: Operation, done: Done, patience: Duration, share: Share) {
        let mut state = self.state();
        let deadline = state.waits_since(Instant::now()) + patience;
        if let Link::Over = state.link {
            drop(share);
            state.ledger.refuse(done, Errno::IO);
            return self.bell.ring();
        }
        let has_waiting = state.ledger.has_unsent();
        state.ledger.enter(operation, done, deadline, share);
        let is_sent = !has_waiting && state.send().is_ok() && !state.ledger.has_unsent();
        if std::mem::take(&mut state.is_resting) || !is_sent {
            self.bell.ring();
        }
    }

    /// Answers what is no operation, from the thread.
    pub(super) fn refuse(&self, done: Done, errno: Errno) {
        self.state().ledger.refuse(done, errno);
        self.bell.ring();
    }

    /// Ends the thread once everything is answered.
    pub(super) fn close(&self) {
        self.state().is_closing = true;
        self.bell.ring();
    }

    /// Why it is not connected, if it is not.
    pub(super) fn trouble(&self) -> Option<String> {
        self.state().trouble.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every step leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut idle_since = None;
        loop {
            let (finished, waiting) = {
                let mut state = self.state();
                state.advance(self.again.as_ref(), Instant::now());
                let finished = state.ledger.take_finished();
                if finished.is_empty() && state.is_closing && state.ledger.is_empty() {
                    return state.say_goodbye();
                }
                (finished, state.waiting(&mut idle_since))
            };
            if finished.is_empty() {
                self.wait(waiting);
            }
            for (done, answer) in finished {
                done(answer);
            }
        }
    }

    fn wait(&self, waiting: Waiting) {
        let left = waiting.until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.map(|left| Timespec::try_from(left).expect("deadlines are near"));
        let bell = self.bell.file();
        let mut files = vec![PollFd::new(&*bell, PollFlags::IN)];
        files.extend(waiting.socket.as_ref().map(|socket| PollFd::new(socket, waiting.interest)));
        // Whatever it says, everything is looked at again.
        let _ = poll(&mut files, timeout.as_ref());
        self.bell.silence();
    }
}

impl State {
    /// From when on the time of an operation counts that is submitted now: of what waits for a
    /// server that is gone, from when the first began to.
    fn waits_since(&mut self, now: Instant) -> Instant {
        if let Link::Up { .. } | Link::Over = self.link { now } else { *self.waits_since.get_or_insert(now) }
    }

    /// Does all that can be done now.
    fn advance(&mut self, again: Option<&Again>, now: Instant) {
        if self.ledger.expire(now) {
            // What was asked may still be carried out, unless the server hears that nobody waits
            // for it.
            self.lose(again, now, "no answer came in time");
        }
        match &self.link {
            Link::Down { again_at } if *again_at <= now && !self.is_closing_idle() => self.connect(again, now),
            Link::Shaking { .. } => self.shake(again, now),
            Link::Up { .. } => self.exchange(again, now),
            Link::Down { .. } | Link::Over => {}
        }
    }

    fn is_closing_idle(&self) -> bool {
        self.is_closing && self.ledger.is_empty()
    }

    /// The connection is over. What was not answered is sent on the next one, or fails if there is
    /// none.
    fn lose(&mut self, again: Option<&Again>, now: Instant, why: &str) {
        if let Link::Up { socket, .. } | Link::Shaking { socket, .. } = &self.link {
            // The server sees this before it sees that we have come again.
            let _ = shutdown(socket, Shutdown::Both);
        }
        self.trouble = Some(why.to_owned());
        if again.is_some() {
            self.link = Link::Down { again_at: now + RETRY };
            self.ledger.forget_connection();
            if !self.ledger.is_empty() {
                self.waits_since.get_or_insert(now);
            }
        } else {
            self.link = Link::Over;
            self.ledger.fail_all(Errno::IO);
        }
    }

    fn connect(&mut self, again: Option<&Again>, now: Instant) {
        let Some(again) = again else { return };
        match socket::open(&again.address) {
            Ok(socket) => {
                let socket = Arc::new(socket);
                let handshake = Handshake::new(&again.export, true);
                let give_up_at = now + HANDSHAKE_PATIENCE;
                self.link = Link::Shaking { socket, handshake, output: Vec::new(), give_up_at };
                self.shake(Some(again), now);
            }
            Err(error) => {
                self.trouble = Some(error.to_string());
                self.link = Link::Down { again_at: now + RETRY };
            }
        }
    }

    /// Goes on with the handshake.
    fn shake(&mut self, again: Option<&Again>, now: Instant) {
        let Link::Shaking { socket, handshake, output, give_up_at } = &mut self.link else { return };
        let stepped = if *give_up_at <= now {
            Err("the server does not shake hands".to_owned())
        } else {
            socket::step(socket.as_fd(), handshake, output).map_err(|error| error.to_string())
        };
        match (stepped, again) {
            (Ok(None), _) => {}
            (Ok(Some(terms)), Some(again)) => match difference(&again.terms, &terms) {
                None => self.rise(&terms, Some(again), now),
                Some(why) => self.lose(Some(again), now, why),
            },
            (Ok(Some(_)), None) => unreachable!("who does not connect again does not shake hands here"),
            (Err(why), _) => self.lose(again, now, &why),
        }
    }

    /// The connection is there again.
    fn rise(&mut self, terms: &Terms, again: Option<&Again>, now: Instant) {
        let Link::Shaking { socket, .. } = std::mem::replace(&mut self.link, Link::Over) else { return };
        // Before anything is asked again: a flush among it has to know.
        self.ledger.unflushed().meet(&terms.incarnation);
        self.waits_since = None;
        self.link = Link::Up { socket, incoming: Incoming::new(terms.is_structured) };
        self.trouble = None;
        self.exchange(again, now);
    }

    /// Sends and receives what can be sent and received now.
    fn exchange(&mut self, again: Option<&Again>, now: Instant) {
        let went = self.send().map_err(|error| error.to_string());
        if let Err(why) = went.and_then(|()| self.receive()) {
            self.lose(again, now, &why);
        }
    }

    fn send(&mut self) -> Result<(), Errno> {
        let Link::Up { socket, .. } = &self.link else { return Ok(()) };
        while self.ledger.has_unsent() {
            match self.ledger.send(|pieces| socket::send(socket.as_fd(), pieces)) {
                Ok(()) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<(), String> {
        let Link::Up { socket, incoming } = &mut self.link else { return Ok(()) };
        for _ in 0..RECEIVES {
            let missing = incoming.missing();
            let room = match missing {
                Some(missing) => &mut self.ledger.content(missing.cookie)[missing.at..][..missing.bytes],
                None => incoming.room(),
            };
            match rustix::net::recv(&**socket, room, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err("the server has ended the connection".to_owned()),
                Ok((count, _)) => match missing {
                    Some(_) => incoming.received_content(&mut self.ledger, count),
                    None => incoming.received(&mut self.ledger, count),
                }
                .map_err(|nonsense: Nonsense| nonsense.to_string())?,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }

    /// What to wait for until it can go on.
    fn waiting(&mut self, idle_since: &mut Option<Instant>) -> Waiting {
        let (socket, mut interest, mut until) = match &self.link {
            Link::Down { again_at } => (None, PollFlags::empty(), Some(*again_at)),
            Link::Shaking { socket, output, give_up_at, .. } => {
                let out = if output.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
                (Some(socket), PollFlags::IN | out, Some(*give_up_at))
            }
            Link::Up { socket, .. } => (Some(socket), PollFlags::IN, None),
            Link::Over => (None, PollFlags::empty(), None),
        };
        if let (Link::Up { .. }, true) = (&self.link, self.ledger.has_unsent()) {
            interest |= PollFlags::OUT;
        }
        let now = Instant::now();
        if let Some(deadline) = self.ledger.first_deadline() {
            *idle_since = None;
            let tick = deadline.max(now + TICK);
            until = Some(until.map_or(tick, |until| until.min(tick)));
        } else {
            // Whoever submits now and then need not ring each time.
            let rest_at = *idle_since.get_or_insert(now) + REST_AFTER;
            self.is_resting = rest_at <= now;
            if !self.is_resting {
                until = Some(until.map_or(rest_at, |until| until.min(rest_at)));
            }
        }
        Waiting { socket: socket.cloned(), interest, until }
    }

    fn say_goodbye(&mut self) {
        if let Link::Up { socket, .. } = &self.link {
            // A server that does not hear it sees the end of the connection.
            let _ = socket::send(socket.as_fd(), &[&socket::goodbye()]);
        }
        self.link = Link::Over;
    }
}

/// Why what is served now is not what was served at first.
fn difference(then: &Terms, now: &Terms) -> Option<&'static str> {
    if now.description != then.description {
        Some("another array is served there now")
    } else if now.size_bytes != then.size_bytes {
        Some("the array has another size now")
    } else if now.flags != then.flags {
        Some("the array can do other things now")
    } else {
        None
    }
}
