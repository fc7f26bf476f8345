//! A program that writes in order, and the kernel that writes its pages back.

use shoal_bench::Direction;

use super::{PAGE_BYTES, Requests};
use crate::ReplayError;
use crate::rig::Timed;

/// What write-back keeps in flight: the 128 requests of a queue (`nr_requests`), of at most 120 KiB
/// on USB 2.0.
const IN_FLIGHT_BYTES: u64 = 16 << 20;
/// It asks for pages by the batch.
const BATCH_BYTES: u64 = 8 << 20;

/// Writes from the start of a volume, a batch at a time, while the program is ahead by what may be
/// dirty.
pub(crate) struct WriteBack<V> {
    requests: Requests<V>,
    dirty_limit_bytes: u64,
    /// Up to where the program has written.
    position: u64,
    /// Up to where batches have been submitted.
    submitted: u64,
}

impl<V: Timed> WriteBack<V> {
    /// The program may be ahead by so much, and by what is in flight at least.
    pub(crate) fn new(volume: V, dirty_limit_bytes: u64) -> Self {
        let dirty_limit_bytes = dirty_limit_bytes.max(IN_FLIGHT_BYTES + BATCH_BYTES);
        Self { requests: Requests::new(volume), dirty_limit_bytes, position: 0, submitted: 0 }
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.requests.now_ns()
    }

    /// What is in memory and not on the drives.
    fn dirty_bytes(&self) -> u64 {
        self.position - self.submitted + self.requests.in_flight_bytes()
    }

    /// Takes the next `length` bytes from the program: at once, unless too much is dirty.
    pub(crate) fn write(&mut self, length: u64) -> Result<(), ReplayError> {
        self.position += length;
        self.submit_batches(BATCH_BYTES)?;
        while self.dirty_bytes() > self.dirty_limit_bytes {
            self.requests.wait(1)?;
            self.submit_batches(BATCH_BYTES)?;
        }
        Ok(())
    }

    /// Waits until all is written, as fsync does.
    pub(crate) fn sync(&mut self) -> Result<(), ReplayError> {
        while self.dirty_bytes() > 0 {
            self.submit_batches(1)?;
            self.requests.wait(1)?;
        }
        Ok(())
    }

    fn submit_batches(&mut self, at_least: u64) -> Result<(), ReplayError> {
        loop {
            let batch = (self.position - self.submitted).min(BATCH_BYTES);
            if batch < at_least || self.requests.in_flight_bytes() + batch > IN_FLIGHT_BYTES {
                return Ok(());
            }
            self.requests.submit(Direction::Write, self.submitted, batch)?;
            self.submitted += batch;
        }
    }
}

/// Writes `length` bytes from the start of a volume as onto a mount with `-o sync`: page by page,
/// each waited for. Returns how long that takes.
pub(crate) fn write_pages_in_step<V: Timed>(volume: V, length: u64) -> Result<u64, ReplayError> {
    let mut requests = Requests::new(volume);
    let begun_ns = requests.now_ns();
    let page = u64::from(PAGE_BYTES);
    for number in 0..length / page {
        requests.submit(Direction::Write, number * page, page)?;
        requests.wait_for_all()?;
    }
    Ok(requests.now_ns() - begun_ns)
}
