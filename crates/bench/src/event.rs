//! The one record of a request, and who looks at it.
//!
//! Every number comes out of these records: totals, histograms and series are projections of one
//! stream, so they can never disagree about what happened.

use serde::{Deserialize, Serialize};
use shoal_volume::RequestError;

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the target.
    Read,
    /// To the target.
    Write,
}

/// One request, answered. Times are nanoseconds of the run's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it was to be submitted. In a closed loop that is when a place in flight came free.
    pub intended_ns: u64,
    /// When it was submitted.
    pub submitted_ns: u64,
    /// When its answer was seen.
    pub completed_ns: u64,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u32,
    /// Read or write.
    pub direction: Direction,
    /// Done, or why not.
    pub result: Result<(), RequestError>,
}

impl Event {
    /// Submission to completion.
    pub fn latency_ns(&self) -> u64 {
        self.completed_ns.saturating_sub(self.submitted_ns)
    }
}

/// Sees every request of the measured time, in order of completion.
pub trait Observer {
    /// A request was answered.
    fn record(&mut self, event: &Event);
}

/// Sees nothing.
impl Observer for () {
    fn record(&mut self, _event: &Event) {}
}

/// Keeps everything.
impl Observer for Vec<Event> {
    fn record(&mut self, event: &Event) {
        self.push(*event);
    }
}

impl<O: Observer + ?Sized> Observer for &mut O {
    fn record(&mut self, event: &Event) {
        (**self).record(event);
    }
}

/// Both see it.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn record(&mut self, event: &Event) {
        self.0.record(event);
        self.1.record(event);
    }
}
