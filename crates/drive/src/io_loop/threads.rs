//! The thread engine: a pool that reads and writes with pread and pwrite, for where io_uring is
//! refused.
//!
//! Jobs go to the pool in batches, under one lock, at each turn; threads are made when there are
//! jobs for them. A worker lets go of a job's file before it tells that the job is done.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{DriveId, FAREWELL, Finished, Io, IoKind, transfer, wait_until_ready};
use crate::limits::{THREADS_MAX, THREADS_ON_ONE_MAX};
use crate::{Arena, Drive, DriveKind, Memory};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};

/// A worker's stack: it calls the kernel and little else.
const STACK_BYTES: usize = 256 << 10;

/// The engine.
#[derive(Debug)]
pub(super) struct Threads {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    max_workers: usize,
    /// Started since the last turn.
    starting: Vec<Job>,
    in_flight: usize,
    /// By the drive's number, what of `in_flight` is on it.
    in_flight_on: Vec<usize>,
    /// What ends a wait early.
    watched: Option<Arc<OwnedFd>>,
}

#[derive(Debug)]
struct Job {
    io: Io,
    /// What is written together, one after the other; empty if it is a single I/O.
    parts: Vec<Memory>,
    file: Arc<File>,
    kind: DriveKind,
}

/// A finished job.
#[derive(Debug)]
struct Done {
    drive: DriveId,
    finished: Finished,
}

/// What the owner and the workers share.
#[derive(Debug)]
struct Shared {
    arena: Arena,
    state: Mutex<State>,
    /// There are jobs, or the end has come.
    jobs_came: Condvar,
    /// As many have finished as the owner waits for.
    enough_finished: Condvar,
    /// Rings at the same time, once the owner watches something beside.
    bell: OnceLock<OwnedFd>,
}

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<Job>,
    finished: Vec<Done>,
    /// How many finished I/Os the owner waits for.
    wanted: usize,
    /// Workers that are at a job.
    busy: usize,
    is_ending: bool,
}

impl Threads {
    pub(super) fn new(arena: Arena, depth: u32) -> Self {
        let shared = Shared {
            arena,
            state: Mutex::default(),
            jobs_came: Condvar::new(),
            enough_finished: Condvar::new(),
            bell: OnceLock::new(),
        };
        Self {
            shared: Arc::new(shared),
            workers: Vec::new(),
            max_workers: depth.min(THREADS_MAX) as usize,
            starting: Vec::new(),
            in_flight: 0,
            in_flight_on: Vec::new(),
            watched: None,
        }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Makes `file` a wake source: waits end early while it is readable.
    pub(super) fn watch(&mut self, file: Arc<OwnedFd>) -> io::Result<()> {
        if self.shared.bell.get().is_none() {
            let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            self.shared.bell.get_or_init(|| bell);
        }
        self.watched = Some(file);
        Ok(())
    }

    /// Whether a thread may be had for one more I/O on a drive.
    pub(super) fn has_room(&self, id: DriveId) -> bool {
        self.in_flight_on.get(id.0 as usize).is_none_or(|&count| count < THREADS_ON_ONE_MAX)
    }

    pub(super) fn uses(&self, id: DriveId) -> bool {
        self.in_flight_on.get(id.0 as usize).is_some_and(|&count| count > 0)
    }

    /// Takes an I/O; [`Threads::turn`] hands it to the pool.
    pub(super) fn start(&mut self, io: Io, parts: &[Memory], drive: &Drive) {
        let drive_index = io.drive.0 as usize;
        if self.in_flight_on.len() <= drive_index {
            self.in_flight_on.resize(drive_index + 1, 0);
        }
        self.in_flight_on[drive_index] += 1;
        self.in_flight += 1;
        self.starting.push(Job { io, parts: parts.to_vec(), file: Arc::clone(drive.file()), kind: drive.kind() });
    }

    /// Hands over what was started, waits until `at_least` have finished or the time is over, and
    /// takes all finished. If it may be woken: returns whether what is watched can be read from.
    pub(super) fn turn(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
        may_wake: bool,
    ) -> io::Result<bool> {
        self.hire()?;
        let mut is_woken = false;
        let mut state = self.shared.lock();
        for job in self.starting.drain(..) {
            state.jobs.push_back(job);
            self.shared.jobs_came.notify_one();
        }
        state.wanted = at_least;
        let mut state = match self.watched.as_ref().filter(|_| may_wake) {
            None => self.shared.wait_for_finished(state, timeout),
            Some(watched) => {
                let is_enough = state.finished.len() >= at_least;
                drop(state);
                if !is_enough {
                    is_woken = self.shared.wait_for_bell(watched, timeout)?;
                }
                self.shared.lock()
            }
        };
        self.in_flight -= state.finished.len();
        for done in state.finished.drain(..) {
            self.in_flight_on[done.drive.0 as usize] -= 1;
            finished.push(done.finished);
        }
        Ok(is_woken)
    }

    /// Allows so many threads, even none.
    #[cfg(test)]
    pub(super) fn limit_workers(&mut self, max_workers: usize) {
        self.max_workers = max_workers;
    }

    /// Makes a thread for every I/O in flight, up to the limit. With at least one, the work gets
    /// done.
    fn hire(&mut self) -> io::Result<()> {
        while self.workers.len() < self.in_flight.min(self.max_workers) {
            let shared = Arc::clone(&self.shared);
            let builder = std::thread::Builder::new().name("shoal-io".to_owned()).stack_size(STACK_BYTES);
            match builder.spawn(move || shared.work()) {
                Ok(worker) => self.workers.push(worker),
                Err(error) if self.workers.is_empty() => return Err(error),
                Err(_too_many_threads) => self.max_workers = self.workers.len(),
            }
        }
        Ok(())
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_ending = true;
        state.jobs.clear();
        drop(state);
        self.shared.jobs_came.notify_all();
        let state = self.shared.lock();
        let are_busy = |state: &mut State| state.busy > 0;
        let waited = self.shared.enough_finished.wait_timeout_while(state, FAREWELL, are_busy);
        let are_stuck = waited.unwrap_or_else(PoisonError::into_inner).1.timed_out();
        for worker in self.workers.drain(..).filter(|_| !are_stuck) {
            // A worker that panicked is not doing I/O any more, which is all that matters here.
            // Those that are stuck in the kernel are left there, with the memory that they share.
            let _ = worker.join();
        }
    }
}

impl Job {
    fn perform(&self, arena: &Arena) -> io::Result<()> {
        if self.parts.is_empty() {
            return transfer::perform(self.io, self.kind, &self.file, arena);
        }
        let mut offset = self.io.offset;
        self.parts.iter().try_for_each(|&memory| {
            let io = Io { kind: IoKind::Write(memory), offset, ..self.io };
            offset += u64::from(memory.length);
            transfer::perform(io, self.kind, &self.file, arena)
        })
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for_finished<'a>(&self, state: MutexGuard<'a, State>, timeout: Option<Duration>) -> MutexGuard<'a, State> {
        let missing = |state: &mut State| state.finished.len() < state.wanted;
        let Some(timeout) = timeout else {
            return self.enough_finished.wait_while(state, missing).unwrap_or_else(PoisonError::into_inner);
        };
        self.enough_finished.wait_timeout_while(state, timeout, missing).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits until the bell rings or `watched` can be read from; whether that was so.
    fn wait_for_bell(&self, watched: &OwnedFd, timeout: Option<Duration>) -> io::Result<bool> {
        let bell = self.bell.get().expect("it was made when something was given to watch");
        let mut files = [PollFd::new(bell, PollFlags::IN), PollFd::new(watched, PollFlags::IN)];
        wait_until_ready(&mut files, timeout)?;
        if !files[0].revents().is_empty() {
            // It counts how often it rang; whether it did is all that matters.
            let _ = rustix::io::read(bell, &mut [0; 8]);
        }
        Ok(!files[1].revents().is_empty())
    }

    /// A worker's life.
    fn work(&self) {
        let mut state = self.lock();
        loop {
            if state.is_ending {
                return;
            }
            let Some(job) = state.jobs.pop_front() else {
                state = self.jobs_came.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            state.busy += 1;
            drop(state);
            let Io { token, drive, .. } = job.io;
            let result = job.perform(&self.arena);
            // The file is let go of before anybody hears that it is not needed.
            drop(job);
            state = self.lock();
            state.busy -= 1;
            state.finished.push(Done { drive, finished: Finished { token, result } });
            if state.is_ending {
                self.enough_finished.notify_one();
            } else if state.finished.len() == state.wanted {
                self.enough_finished.notify_one();
                if let Some(bell) = self.bell.get() {
                    // Full only if nobody has looked for 2^64 times.
                    let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
                }
            }
        }
    }
}
