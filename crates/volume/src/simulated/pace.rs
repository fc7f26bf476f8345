//! Virtual time that passes as the machine's does.
//!
//! A paced world never runs ahead: it lets virtual time pass up to the machine's, looks when
//! something happens next, and sleeps until then. So an I/O that a client hands in meanwhile meets
//! the drives as they are at that moment.

use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The machine's clock, and what ends a sleep early.
#[derive(Debug)]
pub(super) struct Pace {
    /// When virtual time was 0.
    began: Instant,
    watched: Option<Arc<OwnedFd>>,
}

impl Pace {
    /// Virtual time is `now_ns` now.
    pub(super) fn new(now_ns: u64) -> Self {
        // Linux lets sleeps of a thread end up to 50 us late, half an I/O of a fast drive. Where it
        // refuses, they do.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let now = Instant::now();
        Self { began: now.checked_sub(Duration::from_nanos(now_ns)).unwrap_or(now), watched: None }
    }

    /// What virtual time should be.
    pub(super) fn now_ns(&self) -> u64 {
        super::duration_ns(self.began.elapsed())
    }

    pub(super) fn watch(&mut self, file: Arc<OwnedFd>) {
        self.watched = Some(file);
    }

    /// Sleeps until virtual time should be so late. Returns whether it is: not if it may be woken,
    /// and what is watched can be read from.
    pub(super) fn sleep_until(&self, due_ns: u64, may_wake: bool) -> bool {
        let left = Duration::from_nanos(due_ns.saturating_sub(self.now_ns()));
        let Some(file) = self.watched.as_ref().filter(|_| may_wake) else {
            std::thread::sleep(left);
            return true;
        };
        // A longer sleep than a timespec can say is cut, and its end taken for something to look
        // at.
        let timeout = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
        let ready = poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&timeout));
        ready.is_ok_and(|ready| ready == 0) && self.now_ns() >= due_ns
    }
}
