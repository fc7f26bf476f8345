//! How the owner waits for a client's next bytes: asleep, or, for a moment, awake.
//!
//! To be woken takes a thread longer than a small request takes that memory or a fast drive
//! answers. So an owner that has nothing else to do looks at its sockets for a moment before it
//! sleeps, as long as that pays: as long as what ended the last sleep came soon enough that a
//! moment's look would have found it. A client that thinks between its requests, or is done, costs
//! one moment; QEMU's I/O threads do the same (`poll-max-ns`). With one processor nobody looks, as
//! the client could send nothing meanwhile.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, Event};
use shoal_volume::{Instant, Volume};

/// The longest look. A client on another processor takes 10 to 30 us from an answer to its next
/// request.
const MOMENT: Duration = Duration::from_micros(50);
/// What comes so soon after the owner fell asleep would have been seen by one that looks: being
/// woken takes a while, too.
const SOON: Duration = Duration::from_micros(100);
/// The bound on looks where time does not move by itself.
const LOOKS_MAX: u32 = 1000;

/// Decides how long the owner polls its sockets before it sleeps.
#[derive(Debug)]
pub(super) struct Attention {
    /// Whether a client can run while the owner does.
    has_company: bool,
    /// Whether the last sleep was that short.
    pays: bool,
    /// Since when the owner has had nothing to do, if it sleeps.
    idle_since: Option<Instant>,
}

impl Attention {
    pub(super) fn new() -> Self {
        let has_company = std::thread::available_parallelism().is_ok_and(|processors| processors.get() > 1);
        Self { has_company, pays: false, idle_since: None }
    }

    /// What clients have sent, into `events`; with nothing else to do, waits a moment for it.
    pub(super) fn events(
        &mut self,
        epoll: &OwnedFd,
        volume: &dyn Volume,
        is_idle: bool,
        events: &mut [Event],
    ) -> usize {
        let mut look = || epoll::wait(epoll, &mut *events, Some(&Timespec::default())).unwrap_or(0);
        let count = look();
        let now = volume.now();
        if let Some(since) = self.idle_since.take() {
            self.pays = self.has_company && elapsed(since, now) <= SOON;
        }
        if count > 0 || !is_idle {
            return count;
        }
        self.idle_since = Some(now);
        for _ in 0..if self.pays { LOOKS_MAX } else { 0 } {
            let count = look();
            if count > 0 {
                self.idle_since = None;
                return count;
            }
            if elapsed(now, volume.now()) >= MOMENT {
                break;
            }
        }
        0
    }
}

fn elapsed(since: Instant, now: Instant) -> Duration {
    Duration::from_nanos(now.since_ns(since))
}
