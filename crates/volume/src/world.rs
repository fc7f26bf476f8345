//! The seam between a volume and its drives: the one place where the real world and a simulated one differ.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use shoal_array::Instant;
use shoal_drive::{Arena, Drive, DriveId, Finished, Io, IoLoop, LoopError};

/// Drives, the memory that I/O goes to and from, and a clock.
///
/// A world answers every I/O exactly once. Its clock never goes back. The engine above it is the same whether the
/// world is real or simulated.
pub trait World {
    /// The memory that I/O goes to and from.
    fn arena(&self) -> &Arena;
    /// All drives that are present, in the order in which they were given.
    fn drives(&self) -> Vec<DriveId>;
    /// What is known of a drive.
    fn facts(&self, drive: DriveId) -> DriveFacts;
    /// Queues an I/O; it starts at the next [`World::wait`] at the latest.
    fn submit(&mut self, io: Io);
    /// Starts what is queued, waits until at least `at_least` I/Os have finished or `timeout` is over, and appends all that
    /// have finished.
    fn wait(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
    ) -> Result<(), LoopError>;
    /// I/Os queued or in flight.
    fn pending(&self) -> usize;
    /// The time, for measuring.
    fn now(&self) -> Instant;
    /// The time, for the record: seconds since 1970.
    fn unix_time_s(&self) -> u64;
    /// Lets so much time pass while nothing is in flight.
    fn sleep(&mut self, duration: Duration);
    /// [`World::wait`], and ends early if what is [watched](World::watch) can be read from.
    fn wait_or_wake(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
    ) -> Result<(), LoopError> {
        self.wait(at_least, timeout, finished)
    }
    /// [`World::sleep`], and ends early if what is [watched](World::watch) can be read from.
    fn sleep_or_wake(&mut self, duration: Duration) {
        self.sleep(duration);
    }
    /// From now on those who may be woken are, whenever the file can be read from, so that whoever runs an array is there
    /// for its clients too; who waits for drives alone is not. A world whose time is not the machine's never waits, and has
    /// nothing to do.
    fn watch(&mut self, file: Arc<OwnedFd>) -> Result<(), LoopError> {
        let _ = file;
        Ok(())
    }
    /// Bytes that nobody else draws, for UUIDs.
    fn random_bytes(&mut self) -> [u8; 16];
}

/// What a volume needs to know of a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriveFacts {
    /// What people call it: its path.
    pub name: String,
    /// Capacity.
    pub size_bytes: u64,
    /// Smallest unit of I/O.
    pub logical_block_bytes: u32,
    /// Whether writes are possible.
    pub writable: bool,
    /// Whether I/O bypasses the page cache.
    pub direct: bool,
}

/// The real world: drives behind an [`IoLoop`] and the machine's monotonic clock.
#[derive(Debug)]
pub struct RealWorld {
    io_loop: IoLoop,
    arena: Arena,
    drives: Vec<DriveId>,
    origin: std::time::Instant,
}

impl RealWorld {
    /// Joins a loop, made over `arena`, to the machine's clock.
    pub fn new(io_loop: IoLoop, arena: Arena) -> Self {
        Self { io_loop, arena, drives: Vec::new(), origin: std::time::Instant::now() }
    }

    /// Takes a drive in.
    pub fn add_drive(&mut self, drive: Drive) -> Result<DriveId, LoopError> {
        let id = self.io_loop.add_drive(drive)?;
        self.drives.push(id);
        Ok(id)
    }

    /// Gives a drive back, once nothing is in flight on it. Its id is never used again.
    pub fn remove_drive(&mut self, id: DriveId) -> Option<Drive> {
        let drive = self.io_loop.remove_drive(id)?;
        self.drives.retain(|&other| other != id);
        Some(drive)
    }

    /// Finds anew how large a drive is: devices such as md's may grow while they are open.
    pub fn measure_drive(&mut self, id: DriveId) -> std::io::Result<()> {
        self.io_loop.measure_drive(id)
    }

    /// The open drive behind an id.
    pub fn drive(&self, id: DriveId) -> &Drive {
        self.io_loop.drive(id)
    }

    /// The loop.
    pub fn io_loop(&self) -> &IoLoop {
        &self.io_loop
    }
}

impl World for RealWorld {
    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn drives(&self) -> Vec<DriveId> {
        self.drives.clone()
    }

    fn facts(&self, drive: DriveId) -> DriveFacts {
        let drive = self.io_loop.drive(drive);
        DriveFacts {
            name: drive.path().display().to_string(),
            size_bytes: drive.size_bytes(),
            logical_block_bytes: drive.logical_block_bytes(),
            writable: drive.access() == shoal_drive::Access::Write,
            direct: drive.is_direct(),
        }
    }

    fn submit(&mut self, io: Io) {
        self.io_loop.submit(io);
    }

    fn wait(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
    ) -> Result<(), LoopError> {
        self.io_loop.wait(at_least, timeout, finished)
    }

    fn pending(&self) -> usize {
        self.io_loop.pending()
    }

    fn now(&self) -> Instant {
        let ns = self.origin.elapsed().as_nanos();
        Instant { ns: u64::try_from(ns).unwrap_or(u64::MAX) }
    }

    fn unix_time_s(&self) -> u64 {
        let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since_1970.map_or(0, |duration| duration.as_secs())
    }

    fn sleep(&mut self, duration: Duration) {
        std::thread::sleep(duration);
    }

    fn wait_or_wake(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
    ) -> Result<(), LoopError> {
        self.io_loop.wait_or_wake(at_least, timeout, finished)
    }

    fn sleep_or_wake(&mut self, duration: Duration) {
        // What a sleep that is cut short means is for the caller, who looks at the clock.
        let _ = self.io_loop.rest_or_wake(duration);
    }

    fn watch(&mut self, file: Arc<OwnedFd>) -> Result<(), LoopError> {
        self.io_loop.watch(file)
    }

    fn random_bytes(&mut self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let count = rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty());
        assert_eq!(count, Ok(bytes.len()), "Linux gives up to 256 random bytes at once");
        bytes
    }
}
