//! Submission and completion of I/O on many drives from one thread: io_uring, or threads where it
//! is refused.
//!
//! Every I/O that is submitted finishes exactly once, in any order. At most `depth` I/Os are in
//! flight, the others wait inside; so the rings can never overflow. On one drive no more are in
//! flight than leave something to the others: a drive that does not answer holds up nobody else.
//! What can be seen to fail (outside the drive, a change to a drive that was opened for reading, a
//! drive that is gone) never reaches the kernel. Dropping the loop forgets what has not been
//! started and waits for the rest, but not for ever: what a drive has not answered by then is left
//! behind, with the memory of all, which is never given back, so that no drive writes into memory
//! that is gone.
//!
//! Files that live in memory (tmpfs) are read and written on the spot, in [`IoLoop::submit`],
//! unless an engine was asked for: nothing is waited for there but the copy itself. io_uring hands
//! each such I/O to a worker thread, as those file systems cannot say that they would not block,
//! and two switches of threads cost more than a copy of 4 KiB. What takes longer to copy than to
//! switch is the workers' all the same, where there is a second processor for them.

mod registered;
mod request;
mod threads;
mod together;
mod transfer;
mod uring;

use std::collections::VecDeque;
use std::io;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::limits::{AT_ONCE_BYTES_MAX, QUEUE_DEPTH_MAX};
use crate::{Arena, Drive, Memory};

pub use request::{DriveId, Finished, Io, IoKind, LoopError};
use together::{Together, memory_of};

/// Which mechanism carries the I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoEngine {
    /// io_uring with registered buffers and files.
    Uring,
    /// A pool of threads with pread and pwrite.
    Threads,
}

/// Drives, memory and the I/O between them. One owner, one thread: it stays where it was made.
#[derive(Debug)]
pub struct IoLoop {
    /// Goes first when dropped: it waits for what is in flight.
    engine: Engine,
    arena: Arena,
    /// By number; a drive that was given back leaves its place empty.
    drives: Vec<Option<Drive>>,
    depth: usize,
    /// Waits for a place among the `depth` in flight.
    queued: VecDeque<Io>,
    together: Together,
    /// Failed before it was started, or done on the spot.
    settled: Vec<Finished>,
    /// I/O of up to so many bytes on files that live in memory needs no engine.
    at_once_bytes_max: u32,
    watched: Option<Arc<OwnedFd>>,
    /// io_uring completes I/O on the thread that submitted it, so the loop cannot be sent to
    /// another.
    stays_on_its_thread: PhantomData<*mut ()>,
}

/// How long drives may take over what they have when a loop is dropped.
const FAREWELL: Duration = Duration::from_secs(5);

#[derive(Debug)]
enum Engine {
    Uring(Box<uring::Uring>),
    Threads(threads::Threads),
}

impl IoLoop {
    /// Makes a loop over `arena` for up to `depth` I/Os in flight (more are queued inside). `None`
    /// probes: io_uring on systems of 64 bits, if the kernel lets us, else threads.
    pub fn new(engine: Option<IoEngine>, arena: Arena, depth: u32) -> Result<Self, LoopError> {
        let depth = depth.clamp(1, QUEUE_DEPTH_MAX);
        let at_once_bytes_max = if engine.is_some() { 0 } else { at_once_bytes_max() };
        let uring = || uring::Uring::new(arena.clone(), depth).map(|uring| Engine::Uring(Box::new(uring)));
        let threads = || Engine::Threads(threads::Threads::new(arena.clone(), depth));
        let engine = match engine {
            Some(IoEngine::Uring) => uring().map_err(|source| LoopError::UringRefused { source })?,
            Some(IoEngine::Threads) => threads(),
            // What was never tried is for whoever asks for it.
            None if cfg!(target_pointer_width = "32") => threads(),
            None => uring().unwrap_or_else(|_refused| threads()),
        };
        Ok(Self {
            engine,
            arena,
            drives: Vec::new(),
            depth: depth as usize,
            queued: VecDeque::new(),
            together: Together::default(),
            settled: Vec::new(),
            at_once_bytes_max,
            watched: None,
            stays_on_its_thread: PhantomData,
        })
    }

    /// The mechanism in use.
    pub fn engine(&self) -> IoEngine {
        match self.engine {
            Engine::Uring(_) => IoEngine::Uring,
            Engine::Threads(_) => IoEngine::Threads,
        }
    }

    /// Takes a drive in.
    pub fn add_drive(&mut self, drive: Drive) -> Result<DriveId, LoopError> {
        let id = DriveId(u32::try_from(self.drives.len()).map_err(io::Error::other)?);
        if let Engine::Uring(uring) = &mut self.engine {
            uring.add_drive(id, &drive);
        }
        self.drives.push(Some(drive));
        Ok(id)
    }

    /// A drive that was taken in. Panics if it was never, or was given back.
    pub fn drive(&self, id: DriveId) -> &Drive {
        self.present(id).expect("the owner knows which drives it took in")
    }

    /// Finds anew how large a drive is that was taken in. Panics if it was never, or was given
    /// back.
    pub fn measure_drive(&mut self, id: DriveId) -> io::Result<()> {
        let drive = self.drives.get_mut(id.0 as usize).and_then(Option::as_mut);
        drive.expect("the owner knows which drives it took in").measure()
    }

    /// Gives a drive back, once nothing is in flight on it.
    pub fn remove_drive(&mut self, id: DriveId) -> Option<Drive> {
        self.present(id)?;
        let in_flight = match &self.engine {
            Engine::Uring(uring) => uring.uses(id),
            Engine::Threads(threads) => threads.uses(id),
        };
        if in_flight || self.queued.iter().any(|io| io.drive == id) {
            return None;
        }
        if let Engine::Uring(uring) = &mut self.engine {
            uring.remove_drive(id);
        }
        self.drives[id.0 as usize].take()
    }

    /// Queues an I/O; it starts at the next wait at the latest. Panics if its memory is outside the
    /// arena.
    pub fn submit(&mut self, io: Io) {
        if let Some(refusal) = self.refusal(&io) {
            self.settled.push(Finished { token: io.token, result: Err(refusal) });
        } else if let Some(result) = self.do_at_once(&io) {
            let finished = Finished { token: io.token, result };
            transfer::look_for_losses(std::slice::from_ref(&finished), &self.drives);
            self.settled.push(finished);
        } else {
            self.start_or_queue(io);
        }
    }

    /// Queues writes on one drive, each of which goes on where the one before it ends: the drive
    /// gets them in their order, in one request where that can be. Each finishes by itself.
    ///
    /// # Panics
    /// If they are something else, or their memory is outside the arena.
    pub fn submit_together(&mut self, ios: &[Io]) {
        let Some((first, others)) = ios.split_first() else { return };
        let mut end = first.offset + u64::from(memory_of(first).length);
        for io in others {
            assert!(io.drive == first.drive && io.offset == end, "{io:?} does not go on where the one before it ends");
            end += u64::from(memory_of(io).length);
        }
        let length = u32::try_from(end - first.offset).ok().filter(|_| !others.is_empty());
        let is_refused = ios.iter().any(|io| self.refusal(io).is_some());
        let is_simple = self.present(first.drive).is_none_or(Drive::is_in_memory);
        let Some(length) = length.filter(|_| !is_refused && !is_simple) else {
            return ios.iter().for_each(|&io| self.submit(io));
        };
        self.together.put(ios);
        let whole = Memory { length, ..memory_of(first) };
        self.start_or_queue(Io { kind: IoKind::Write(whole), ..*first });
    }

    fn start_or_queue(&mut self, io: Io) {
        if self.has_room(io.drive) {
            self.start(io);
        } else {
            self.queued.push_back(io);
        }
    }

    /// Makes `file` a wake source: [`IoLoop::wait_or_wake`] and [`IoLoop::rest_or_wake`] end early
    /// while it is readable. One thread can so wait for drives and for whatever else an epoll or
    /// event file stands for.
    pub fn watch(&mut self, file: Arc<OwnedFd>) -> Result<(), LoopError> {
        self.watched = Some(Arc::clone(&file));
        match &mut self.engine {
            Engine::Uring(uring) => uring.watch(file),
            Engine::Threads(threads) => threads.watch(file)?,
        }
        Ok(())
    }

    /// Lets so much time pass while nothing is pending, or less if what is [watched](IoLoop::watch)
    /// can be read from.
    pub fn rest_or_wake(&self, duration: Duration) -> Result<(), LoopError> {
        match &self.watched {
            None => std::thread::sleep(duration),
            Some(file) => wait_until_ready(&mut [PollFd::new(file, PollFlags::IN)], Some(duration))?,
        }
        Ok(())
    }

    /// I/Os queued or in flight, or finished and not yet told.
    pub fn pending(&self) -> usize {
        self.queued.len() + self.in_flight() + self.settled.len() + self.together.hidden()
    }

    /// Starts what is queued, waits until at least `at_least` I/Os have finished or `timeout` is
    /// over, and appends everything that has finished to `finished`. With `at_least` 0 it never
    /// blocks; it never waits for more than is pending.
    pub fn wait(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
    ) -> Result<(), LoopError> {
        self.wait_for(at_least, timeout, finished, false)
    }

    /// [`IoLoop::wait`], and ends early if what is [watched](IoLoop::watch) can be read from.
    pub fn wait_or_wake(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
    ) -> Result<(), LoopError> {
        self.wait_for(at_least, timeout, finished, true)
    }

    fn wait_for(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
        may_wake: bool,
    ) -> Result<(), LoopError> {
        let goal = finished.len() + at_least.min(self.pending());
        finished.append(&mut self.settled);
        let deadline =
            timeout.filter(|_| finished.len() < goal).and_then(|timeout| Instant::now().checked_add(timeout));
        let mut left = deadline.and(timeout);
        loop {
            let missing = goal.saturating_sub(finished.len()).min(self.in_flight());
            let known = finished.len();
            let is_woken = match &mut self.engine {
                Engine::Uring(uring) => uring.turn(missing, left, finished, may_wake)?,
                Engine::Threads(threads) => threads.turn(missing, left, finished, may_wake)?,
            };
            self.take_apart(known, finished);
            transfer::look_for_losses(&finished[known..], &self.drives);
            self.start_queued();
            finished.append(&mut self.settled);
            if finished.len() >= goal || is_woken {
                return Ok(());
            }
            left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(());
            }
        }
    }

    /// Answers for each what was done as one, of what has finished since there were so many.
    pub(super) fn take_apart(&mut self, known: usize, finished: &mut Vec<Finished>) {
        if self.together.is_empty() {
            return;
        }
        for Finished { token, result } in finished.split_off(known) {
            match (self.together.take(token), result) {
                (None, result) => finished.push(Finished { token, result }),
                (Some(ios), Ok(())) => {
                    finished.extend(ios.iter().map(|io| Finished { token: io.token, result: Ok(()) }))
                }
                (Some(ios), Err(error)) if is_gone(&error) => {
                    let gone = |io: &Io| Finished { token: io.token, result: Err(Errno::NODEV.into()) };
                    finished.extend(ios.iter().map(gone));
                }
                (Some(ios), Err(_)) => ios.into_iter().for_each(|io| self.submit(io)),
            }
        }
    }

    /// Reads or writes a little of a file that lives in memory; nothing if it does not, or if
    /// something else is asked for.
    fn do_at_once(&self, io: &Io) -> Option<io::Result<()>> {
        let (IoKind::Read(memory) | IoKind::Write(memory)) = io.kind else { return None };
        let drive = self.present(io.drive)?;
        (memory.length <= self.at_once_bytes_max && drive.is_in_memory())
            .then(|| transfer::perform(*io, drive.kind(), drive.file(), &self.arena))
    }

    fn present(&self, id: DriveId) -> Option<&Drive> {
        self.drives.get(id.0 as usize)?.as_ref()
    }

    fn in_flight(&self) -> usize {
        match &self.engine {
            Engine::Uring(uring) => uring.in_flight(),
            Engine::Threads(threads) => threads.in_flight(),
        }
    }

    /// Why an I/O fails without being tried.
    fn refusal(&self, io: &Io) -> Option<io::Error> {
        let Some(drive) = self.present(io.drive) else { return Some(Errno::NODEV.into()) };
        match io.kind {
            IoKind::Read(memory) | IoKind::Write(memory) => {
                self.arena.pointer(memory);
                drive.refusal(io.offset, u64::from(memory.length), matches!(io.kind, IoKind::Write(_)))
            }
            IoKind::Discard(bytes) => drive.refusal(io.offset, bytes, true),
            IoKind::Flush => drive.flush_refusal(),
        }
    }

    /// Hands an I/O to the engine. There is room, and the drive is present.
    fn start(&mut self, io: Io) {
        let drive = self.drives[io.drive.0 as usize].as_ref().expect("a drive leaves when nothing is queued for it");
        let parts = self.together.parts(&io);
        match &mut self.engine {
            Engine::Uring(uring) => uring.start(io, &parts, drive),
            Engine::Threads(threads) => threads.start(io, &parts, drive),
        }
    }

    /// Whether one more I/O on a drive can be started now.
    fn has_room(&self, drive: DriveId) -> bool {
        let engine_has_room = match &self.engine {
            Engine::Uring(_) => true,
            Engine::Threads(threads) => threads.has_room(drive),
        };
        engine_has_room && self.in_flight() < self.depth
    }

    /// Starts what there is room for, in the order of submission on each drive.
    fn start_queued(&mut self) {
        let mut place = 0;
        while let Some(io) = self.queued.get(place).filter(|_| self.in_flight() < self.depth) {
            if self.has_room(io.drive) {
                let io = self.queued.remove(place).expect("it was just looked at");
                self.start(io);
            } else {
                place += 1;
            }
        }
    }
}

/// The most bytes of an I/O on content in memory that the owner's thread copies itself: no limit
/// where there is no other processor to hand it to.
fn at_once_bytes_max() -> u32 {
    let has_company = std::thread::available_parallelism().is_ok_and(|processors| processors.get() > 1);
    if has_company { AT_ONCE_BYTES_MAX } else { u32::MAX }
}

/// Waits until one of the files is ready or the time is over. Being interrupted is no error: the
/// caller looks again.
fn wait_until_ready(files: &mut [PollFd<'_>], timeout: Option<Duration>) -> io::Result<()> {
    // More than poll takes is for ever.
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    match poll(files, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a drive has said that it is not there any more: none of what it was asked together is
/// worth another try.
fn is_gone(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NODEV | Errno::NXIO))
}

#[cfg(test)]
mod tests;
