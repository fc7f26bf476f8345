//! The seam between a volume and its drives: the one place where the real world and a simulated one
//! differ.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use shoal_array::Instant;
use shoal_drive::{Arena, Drive, DriveId, DriveKind, Finished, Io, IoLoop, LoopError, WriteOrder};

/// Drives, the memory that I/O goes to and from, and a clock.
///
/// A world answers every I/O exactly once. Its clock never goes back. The engine above it is the
/// same whether the world is real or simulated.
pub trait World {
    /// The memory that I/O goes to and from.
    fn arena(&self) -> &Arena;
    /// All drives that are present, in the order in which they were given.
    fn drives(&self) -> Vec<DriveId>;
    /// What is known of a drive.
    fn facts(&self, drive: DriveId) -> DriveFacts;
    /// By what a drive is known again wherever it is plugged in; none if nothing does.
    fn hardware(&self, drive: DriveId) -> Option<String> {
        let _ = drive;
        None
    }
    /// Whether a flush or a read has found a drive to be a file that was cut short or deleted: what
    /// was on it is lost, whatever it holds by now.
    fn has_lost_content(&self, drive: DriveId) -> bool {
        let _ = drive;
        false
    }
    /// Whether a flush of a drive would fail without being tried: asked where it is left out, as
    /// the drive has nothing new.
    fn refuses_flushes(&self, drive: DriveId) -> bool {
        let _ = drive;
        false
    }
    /// Queues an I/O; it starts at the next [`World::wait`] at the latest.
    fn submit(&mut self, io: Io);
    /// Queues writes on one drive, each of which goes on where the one before it ends: the drive
    /// gets them in their order, in one request where that can be. Each finishes by itself.
    fn submit_together(&mut self, writes: &[Io]) {
        writes.iter().for_each(|&write| self.submit(write));
    }
    /// Starts what is queued, waits until at least `at_least` I/Os have finished or `timeout` is
    /// over, and appends all that have finished.
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
    /// Fails once the world has ended, with what every later [`World::wait`] says too: what was in
    /// flight is answered to nobody then, so whoever is about to sleep asks first.
    fn go_on(&self) -> Result<(), LoopError> {
        Ok(())
    }
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
    /// Makes `file` a wake source: the waits named `..._or_wake` return early while it is readable,
    /// so that an array's owner serves its clients too. Waits for drives alone do not. A world of
    /// virtual time never waits and ignores it.
    fn watch(&mut self, file: Arc<OwnedFd>) -> Result<(), LoopError> {
        let _ = file;
        Ok(())
    }
    /// What answering a request from memory takes beyond what it takes anyway: nothing in the real
    /// world, where computing takes its time; a simulated one says what a processor would need, so
    /// that time passes at all.
    fn answer_from_memory_ns(&self) -> u64 {
        0
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
    /// In which order it is to be given writes that are under way at the same time.
    pub write_order: WriteOrder,
}

/// The real world: drives behind an [`IoLoop`] and the machine's monotonic clock.
#[derive(Debug)]
pub struct RealWorld {
    io_loop: IoLoop,
    arena: Arena,
    drives: Vec<DriveId>,
    /// Nobody wants them any more, and they have not answered everything.
    leaving: Vec<DriveId>,
    /// A file whose file system took no more. Nothing goes on then.
    full: Option<PathBuf>,
    origin: std::time::Instant,
}

impl RealWorld {
    /// Joins a loop, made over `arena`, to the machine's clock.
    pub fn new(io_loop: IoLoop, arena: Arena) -> Self {
        let origin = std::time::Instant::now();
        Self { io_loop, arena, drives: Vec::new(), leaving: Vec::new(), full: None, origin }
    }

    /// Takes a drive in.
    pub fn add_drive(&mut self, drive: Drive) -> Result<DriveId, LoopError> {
        let id = self.io_loop.add_drive(drive)?;
        self.drives.push(id);
        Ok(id)
    }

    /// Gives a drive back. One that has not answered everything is none of the world's any more all
    /// the same, and is closed once it has. Its id is never used again.
    pub fn remove_drive(&mut self, id: DriveId) -> Option<Drive> {
        let is_here = self.drives.contains(&id);
        self.drives.retain(|&other| other != id);
        let drive = self.io_loop.remove_drive(id);
        if drive.is_none() && is_here {
            self.leaving.push(id);
        }
        drive
    }

    /// Closes drives that have answered everything since nobody wants them any more.
    fn close_leaving(&mut self) {
        let io_loop = &mut self.io_loop;
        self.leaving.retain(|&id| io_loop.remove_drive(id).is_none());
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

    /// A file system that is full is no fault of the file that met it, and one file after the other
    /// would. So the world ends as if power were cut, which arrays survive: what ended then is told
    /// to nobody, and no member is taken for broken.
    fn check_room(&mut self, known: usize, finished: &mut Vec<Finished>) -> Result<(), LoopError> {
        let is_full = |error: &std::io::Error| matches!(Errno::from_io_error(error), Some(Errno::NOSPC | Errno::DQUOT));
        if finished[known..].iter().any(|finished| finished.result.as_ref().is_err_and(is_full)) {
            let drives = self.drives.iter().map(|&drive| self.io_loop.drive(drive));
            let files = drives.filter(|drive| drive.kind() == DriveKind::File);
            let room = |file: &&Drive| {
                rustix::fs::fstatvfs(file).map_or(u64::MAX, |it| it.f_bavail.saturating_mul(it.f_frsize))
            };
            // A device may have a file system of its own behind it; it is for its maker to say
            // which.
            self.full = files.min_by_key(room).map(|file| file.path().to_owned());
        }
        if self.full.is_some() {
            finished.truncate(known);
        }
        self.go_on()
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
            write_order: drive.write_order(),
        }
    }

    fn hardware(&self, drive: DriveId) -> Option<String> {
        self.io_loop.drive(drive).hardware()
    }

    fn has_lost_content(&self, drive: DriveId) -> bool {
        self.io_loop.drive(drive).has_lost_content()
    }

    fn refuses_flushes(&self, drive: DriveId) -> bool {
        !self.drives.contains(&drive) || self.io_loop.drive(drive).flush_refusal().is_some()
    }

    fn submit(&mut self, io: Io) {
        self.io_loop.submit(io);
    }

    fn submit_together(&mut self, writes: &[Io]) {
        self.io_loop.submit_together(writes);
    }

    fn wait(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
    ) -> Result<(), LoopError> {
        self.go_on()?;
        let known = finished.len();
        self.io_loop.wait(at_least, timeout, finished)?;
        self.close_leaving();
        self.check_room(known, finished)
    }

    fn pending(&self) -> usize {
        self.io_loop.pending()
    }

    fn go_on(&self) -> Result<(), LoopError> {
        self.full.clone().map_or(Ok(()), |file| Err(LoopError::Full { file }))
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
        self.go_on()?;
        let known = finished.len();
        self.io_loop.wait_or_wake(at_least, timeout, finished)?;
        self.close_leaving();
        self.check_room(known, finished)
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
