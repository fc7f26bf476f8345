//! A program that reads in order, and the kernel that reads ahead for it.

use shoal_bench::Direction;

use super::Requests;
use crate::ReplayError;
use crate::rig::Timed;

/// Reads from the start of a volume, window by window.
pub(crate) struct ReadAhead<V> {
    requests: Requests<V>,
    window_bytes: u64,
    turn_ns: u64,
    /// Where the program is.
    position: u64,
    /// Up to where windows have come in.
    cached: u64,
}

impl<V: Timed> ReadAhead<V> {
    pub(crate) fn new(volume: V, window_bytes: u32, turn_ns: u64) -> Self {
        Self { requests: Requests::new(volume), window_bytes: u64::from(window_bytes), turn_ns, position: 0, cached: 0 }
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.requests.now_ns()
    }

    /// Reads the next `length` bytes. Copying them to the program overlaps with the drives' work,
    /// or costs what the turn costs.
    pub(crate) fn read(&mut self, length: u64) -> Result<(), ReplayError> {
        self.position += length;
        while self.cached < self.position {
            if self.cached > 0 {
                self.requests.pass(self.turn_ns);
            }
            let window = self.window_bytes.min(self.requests.size_bytes() - self.cached);
            self.requests.submit(Direction::Read, self.cached, window)?;
            self.requests.wait_for_all()?;
            self.cached += window;
        }
        Ok(())
    }
}
