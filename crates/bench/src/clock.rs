//! Where the time comes from: the system, or a test.

use std::time::Instant;

/// Nanoseconds since an origin of its own; never goes back.
pub trait Clock {
    /// Now.
    fn now_ns(&self) -> u64;
}

/// The system's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    /// A clock that starts at 0.
    pub fn new() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now_ns(&self) -> u64 {
        let since = self.origin.elapsed();
        since.as_secs() * 1_000_000_000 + u64::from(since.subsec_nanos())
    }
}
