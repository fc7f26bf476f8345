//! What the service manager hears of a process: that it is ready, how it is, that it stops, and,
//! again and again, that it lives.
//!
//! The protocol is systemd's (`sd_notify(3)`): datagrams to the socket that `NOTIFY_SOCKET` names.
//! Where nobody listens nothing is sent.
//!
//! A watchdog is only worth something if the thing that may hang is the thing that beats. So
//! nothing here has a thread or a timer: the loop that owns the array asks how long it may wait at
//! most ([`ServiceManager::patience`]), and says after each turn that it has come round
//! ([`ServiceManager::beat`]). A loop that hangs beats no more, however well the process's other
//! threads are, and the manager ends and restarts it.

use std::time::{Duration, Instant};

use sd_notify::NotifyState;

/// Beats in the time that the manager waits for one: two may be late before it acts.
const BEATS_IN_TIME: u32 = 3;

/// Sends `sd_notify(3)` messages: ready, status, stopping, and the watchdog's beat at half of its
/// interval.
#[derive(Debug)]
pub struct ServiceManager {
    /// From one beat to the next; none if nobody waits for them.
    interval: Option<Duration>,
    beat_at: Option<Instant>,
    status: String,
}

impl ServiceManager {
    /// As the manager that started this process wants it (`WATCHDOG_USEC`).
    pub fn of_this_process() -> Self {
        Self::with(sd_notify::watchdog_enabled())
    }

    fn with(watchdog: Option<Duration>) -> Self {
        Self { interval: watchdog.map(|time| time / BEATS_IN_TIME), beat_at: None, status: String::new() }
    }

    /// Everything is there that clients need.
    pub fn is_ready(&mut self, status: &str) {
        status.clone_into(&mut self.status);
        tell(&[NotifyState::Ready, NotifyState::Status(status)]);
    }

    /// Says in a few words how it is, if that is not what was said last.
    pub fn is(&mut self, status: &str) {
        if self.status != status {
            status.clone_into(&mut self.status);
            tell(&[NotifyState::Status(status)]);
        }
    }

    /// The end has begun: no beat is waited for any more.
    pub fn stops(&mut self) {
        self.interval = None;
        tell(&[NotifyState::Stopping]);
    }

    /// How long the loop may wait at `now` before it has to come round.
    pub fn patience(&self, now: Instant) -> Duration {
        match (self.interval, self.beat_at) {
            (None, _) => Duration::MAX,
            (Some(_), None) => Duration::ZERO,
            (Some(interval), Some(last)) => (last + interval).saturating_duration_since(now),
        }
    }

    /// The loop has come round.
    pub fn beat(&mut self, now: Instant) {
        if self.patience(now).is_zero() {
            tell(&[NotifyState::Watchdog]);
            self.beat_at = Some(now);
        }
    }
}

/// A manager that does not hear is no reason to stop.
fn tell(state: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(state);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_comes_round_thrice_in_the_time_that_it_is_given() {
        let mut service_manager = ServiceManager::with(Some(Duration::from_secs(9)));
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(service_manager.patience(start), Duration::ZERO, "the first beat is due at once");
        service_manager.beat(start);
        assert_eq!(service_manager.patience(start), Duration::from_secs(3));
        service_manager.beat(after(1));
        assert_eq!(service_manager.patience(after(1)), Duration::from_secs(2), "a beat before its time is none");
        service_manager.beat(after(5));
        assert_eq!(service_manager.patience(after(5)), Duration::from_secs(3));
        assert_eq!(service_manager.patience(after(60)), Duration::ZERO);
    }

    #[test]
    fn nobody_waits_for_a_loop_without_a_watchdog_or_at_its_end() {
        let mut service_manager = ServiceManager::with(None);
        assert_eq!(service_manager.patience(Instant::now()), Duration::MAX);
        service_manager = ServiceManager::with(Some(Duration::from_secs(9)));
        service_manager.stops();
        assert_eq!(service_manager.patience(Instant::now()), Duration::MAX);
    }
}
