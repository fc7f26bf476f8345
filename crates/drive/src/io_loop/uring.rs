//! The io_uring engine: files and memory registered, and one system call to submit a batch and
//! wait.
//!
//! A place in `places` belongs to an I/O from [`Uring::start`] until its last completion was
//! reaped; its index travels through the kernel as user data. There are no more places than entries
//! in the submission ring, and the completion ring has twice as many, so that neither can overflow.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{Fd, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::registered::Registered;
use super::transfer::{Step, Transfer};
use super::{DriveId, FAREWELL, Finished, Io, IoKind};
use crate::{Arena, Drive, DriveKind, Memory};

/// Drives with a place in the kernel's table; further ones are reached by their descriptors.
const REGISTERED_FILES: u32 = 64;

// The io-uring crate has the kernel's types as they are for 64 bits; their size on others is the
// same.
const _: () = assert!(size_of::<Entry>() == 64 && size_of::<Timespec>() == 16);

/// Kernel workers that a ring may have: more than one drive is given at a time.
const WORKERS: u32 = 512;

/// poll(2): there is something to read.
const POLLIN: u32 = libc::POLLIN as u32;

/// The user data of the one entry that is no I/O: the wait for what is watched.
const WATCH: u64 = u64::MAX;

/// So many I/Os are told to the kernel without waiting for more: drives that sit idle until a large
/// batch is complete cost more than the calls (4 KiB reads at depth 32: a seventh of the IOPS).
const SLICE: usize = 4;

/// The engine.
pub(super) struct Uring {
    ring: IoUring,
    arena: Arena,
    registered: Registered,
    files_are_registered: bool,
    /// In the submission ring, and the kernel has not been told.
    untold: usize,
    places: Vec<Place>,
    free_places: Vec<u32>,
    watch: Option<Watch>,
}

/// What ends a wait early.
struct Watch {
    file: Arc<OwnedFd>,
    /// The kernel has been asked, and has not answered.
    is_armed: bool,
    has_fired: bool,
}

/// One I/O in flight, or room for one.
#[derive(Clone, Debug)]
struct Place {
    transfer: Transfer,
    /// What is left of a write that is put together; empty if its bytes lie in one piece.
    parts: Vec<libc::iovec>,
    file: Target,
    is_taken: bool,
}

/// How the kernel finds the file.
#[derive(Clone, Copy, Debug)]
struct Target {
    /// The descriptor, or the place in the table of registered files.
    number: RawFd,
    is_registered: bool,
    kind: DriveKind,
    /// The kernel's workers are to begin its I/O: who submits would wait for it.
    is_for_workers: bool,
}

impl std::fmt::Debug for Uring {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Uring").field("in_flight", &self.in_flight()).finish_non_exhaustive()
    }
}

impl Uring {
    /// Makes a ring with room for `depth` I/Os. Memory is registered as it is used, as far as
    /// limits allow.
    pub(super) fn new(arena: Arena, depth: u32) -> io::Result<Self> {
        let ring = build_ring(depth)?;
        if !ring.params().is_feature_ext_arg() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "needs Linux 5.11"));
        }
        let files_are_registered = ring.submitter().register_files(&[-1; REGISTERED_FILES as usize]).is_ok();
        let registered = Registered::new(&ring, &arena);
        // What cannot be begun without waiting (flushes, some files' reads and writes) is done by
        // the kernel's own workers, a few for each processor. Those that a drive keeps are to leave
        // some to the others; older kernels do not ask.
        let _ = ring.submitter().register_iowq_max_workers(&mut [depth.min(WORKERS), 0]);
        let nothing = Io { token: 0, drive: DriveId(0), kind: IoKind::Flush, offset: 0 };
        let file = Target { number: -1, is_registered: false, kind: DriveKind::File, is_for_workers: false };
        let room = Place { transfer: Transfer::new(nothing), parts: Vec::new(), file, is_taken: false };
        Ok(Self {
            ring,
            arena,
            registered,
            files_are_registered,
            untold: 0,
            places: vec![room; depth as usize],
            free_places: (0..depth).rev().collect(),
            watch: None,
        })
    }

    /// Makes `file` a wake source: waits end early while it is readable.
    pub(super) fn watch(&mut self, file: Arc<OwnedFd>) {
        self.watch = Some(Watch { file, is_armed: false, has_fired: false });
    }

    /// Asks the kernel for a completion when what is watched can be read from, unless it was asked
    /// already, or has told.
    fn arm_watch(&mut self) {
        let Some(watch) = &mut self.watch else { return };
        if watch.has_fired || std::mem::replace(&mut watch.is_armed, true) {
            return;
        }
        let file = Fd(watch.file.as_raw_fd());
        let entry = opcode::PollAdd::new(file, POLLIN).build().user_data(WATCH);
        // SAFETY: the entry names no memory, and `watch` keeps the file open.
        unsafe { self.ring.submission().push(&entry) }.expect("the ring has an entry for the watch");
    }

    /// Puts the drive's file into the kernel's table, if it has room.
    pub(super) fn add_drive(&mut self, id: DriveId, drive: &Drive) {
        self.update_file(id, drive.file().as_raw_fd());
    }

    /// Makes the kernel let go of the drive's file.
    pub(super) fn remove_drive(&mut self, id: DriveId) {
        self.update_file(id, -1);
    }

    fn update_file(&mut self, id: DriveId, descriptor: RawFd) {
        if self.files_are_registered && id.0 < REGISTERED_FILES {
            // A table that cannot be kept up to date is not used any more: the descriptors do as
            // well.
            self.files_are_registered = self.ring.submitter().register_files_update(id.0, &[descriptor]).is_ok();
        }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.places.len() - self.free_places.len()
    }

    pub(super) fn uses(&self, id: DriveId) -> bool {
        self.places.iter().any(|place| place.is_taken && place.transfer.io.drive == id)
    }

    /// Puts an I/O into the submission ring; [`Uring::turn`] hands it to the kernel.
    pub(super) fn start(&mut self, io: Io, parts: &[Memory], drive: &Drive) {
        let index = self.free_places.pop().expect("the loop starts no more than `depth`");
        let is_registered = self.files_are_registered && io.drive.0 < REGISTERED_FILES;
        let number = if is_registered { io.drive.0 as RawFd } else { drive.file().as_raw_fd() };
        let is_for_workers = drive.waits_in_submission();
        let file = Target { number, is_registered, kind: drive.kind(), is_for_workers };
        let vector = |&memory: &Memory| libc::iovec {
            iov_base: self.arena.pointer(memory).cast(),
            iov_len: memory.length as usize,
        };
        let parts = parts.iter().map(vector).collect();
        self.places[index as usize] = Place { transfer: Transfer::new(io), parts, file, is_taken: true };
        self.push(index);
        if self.untold >= SLICE {
            // An error shows again in `turn`, which can tell it.
            let _ = self.enter(0, None);
        }
    }

    /// Submits what was started, waits until `at_least` completions have come or the time is over,
    /// and reaps all. If it may be woken, it waits for one at most; returns whether what is watched
    /// could be read from.
    pub(super) fn turn(
        &mut self,
        at_least: usize,
        timeout: Option<Duration>,
        finished: &mut Vec<Finished>,
        may_wake: bool,
    ) -> io::Result<bool> {
        let may_wake = may_wake && self.watch.is_some();
        let is_told = self.watch.as_ref().is_some_and(|watch| watch.has_fired);
        let at_least = match may_wake {
            true if is_told => 0,
            // What is watched may come first, and the caller is to look at it then.
            true => at_least.min(1),
            false => at_least,
        };
        if may_wake && at_least > 0 {
            self.arm_watch();
        }
        let nothing_to_submit = self.ring.submission().is_empty();
        if nothing_to_submit && self.in_flight() == 0 && at_least == 0 {
            return Ok(self.take_told(may_wake));
        }
        let ready = self.ring.completion().len();
        if !nothing_to_submit || ready == 0 || ready < at_least {
            self.enter(at_least, timeout)?;
        }
        self.reap(finished);
        Ok(self.take_told(may_wake))
    }

    /// Whether what is watched could be read from, if that is of interest; then it counts as told.
    fn take_told(&mut self, may_wake: bool) -> bool {
        may_wake && self.watch.as_mut().is_some_and(|watch| std::mem::take(&mut watch.has_fired))
    }

    /// The one system call. Being interrupted, or out of time or memory, is no error: the caller
    /// looks and comes again.
    fn enter(&mut self, at_least: usize, timeout: Option<Duration>) -> io::Result<()> {
        self.untold = 0;
        let submitter = self.ring.submitter();
        let entered = match timeout {
            Some(timeout) if at_least > 0 => {
                let timespec = Timespec::new().sec(timeout.as_secs()).nsec(timeout.subsec_nanos());
                submitter.submit_with_args(at_least, &SubmitArgs::new().timespec(&timespec))
            }
            _ => submitter.submit_and_wait(at_least),
        };
        match entered.map_err(|error| Errno::from_io_error(&error).ok_or(error)) {
            Ok(_) | Err(Ok(Errno::TIME | Errno::INTR)) => Ok(()),
            Err(Ok(Errno::AGAIN | Errno::BUSY)) => {
                std::thread::yield_now();
                Ok(())
            }
            Err(Ok(errno)) => Err(errno.into()),
            Err(Err(error)) => Err(error),
        }
    }

    fn reap(&mut self, finished: &mut Vec<Finished>) {
        // One batch; what arrives meanwhile is the next turn's. Continued transfers go back into
        // the submission ring.
        let ready = self.ring.completion().len();
        for _ in 0..ready {
            let Some(completion) = self.ring.completion().next() else { return };
            if completion.user_data() == WATCH {
                if let Some(watch) = &mut self.watch {
                    (watch.is_armed, watch.has_fired) = (false, true);
                }
                continue;
            }
            let index = completion.user_data() as u32;
            let answer = u32::try_from(completion.result())
                .map_err(|_negative| Errno::from_raw_os_error(completion.result().wrapping_neg()));
            let place = &mut self.places[index as usize];
            match place.transfer.advance(answer) {
                Step::Continue => {
                    skip(&mut place.parts, answer.unwrap_or(0));
                    self.push(index);
                }
                Step::End(result) => {
                    place.is_taken = false;
                    self.free_places.push(index);
                    finished.push(Finished { token: place.transfer.io.token, result });
                }
            }
        }
    }

    fn push(&mut self, index: u32) {
        self.untold += 1;
        let place = &self.places[index as usize];
        let piece = match place.transfer.io.kind {
            IoKind::Write(_) if !place.parts.is_empty() => None,
            IoKind::Read(memory) | IoKind::Write(memory) => self.registered.piece_of(memory, &self.ring, &self.arena),
            IoKind::Flush | IoKind::Discard(_) => None,
        };
        let entry = self.entry_for(&self.places[index as usize], piece).user_data(u64::from(index));
        // SAFETY: the memory that the entry names lies in `arena`, which outlives the I/O: `drop`
        // waits for the last completion; the list of a write's parts lies in its place, untouched
        // until then. The owner leaves it alone until then by the contract of `Io`. The file is
        // open or registered, for a drive leaves only when nothing is in flight on it.
        unsafe { self.ring.submission().push(&entry) }.expect("the ring has an entry for every place");
    }

    /// What to ask the kernel for, of a registered piece or of memory that it has to look up.
    fn entry_for(&self, place: &Place, piece: Option<u16>) -> Entry {
        let Transfer { io, done_bytes } = place.transfer;
        let fd = Fd(place.file.number);
        let offset = io.offset + u64::from(done_bytes);
        let entry = match io.kind {
            IoKind::Read(memory) => {
                let (pointer, length) = self.rest_of(memory, done_bytes);
                match piece {
                    Some(piece) => opcode::ReadFixed::new(fd, pointer, length, piece).offset(offset).build(),
                    None => opcode::Read::new(fd, pointer, length).offset(offset).build(),
                }
            }
            IoKind::Write(_) if !place.parts.is_empty() => {
                opcode::Writev::new(fd, place.parts.as_ptr(), place.parts.len() as u32).offset(offset).build()
            }
            IoKind::Write(memory) => {
                let (pointer, length) = self.rest_of(memory, done_bytes);
                match piece {
                    Some(piece) => opcode::WriteFixed::new(fd, pointer, length, piece).offset(offset).build(),
                    None => opcode::Write::new(fd, pointer, length).offset(offset).build(),
                }
            }
            IoKind::Flush => {
                let data_only = place.file.kind == DriveKind::File;
                let flags = if data_only { FsyncFlags::DATASYNC } else { FsyncFlags::empty() };
                opcode::Fsync::new(fd).flags(flags).build()
            }
            IoKind::Discard(bytes) => {
                let mode = (FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE).bits();
                opcode::Fallocate::new(fd, bytes).offset(offset).mode(mode as i32).build()
            }
        };
        let mut flags = Flags::empty();
        flags.set(Flags::FIXED_FILE, place.file.is_registered);
        flags.set(Flags::ASYNC, place.file.is_for_workers);
        entry.flags(flags)
    }

    fn rest_of(&self, memory: Memory, done_bytes: u32) -> (*mut u8, u32) {
        let length = memory.length - done_bytes;
        (self.arena.pointer(Memory { offset: memory.offset + done_bytes as usize, length }), length)
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        let mut forgotten = Vec::new();
        let end = Instant::now() + FAREWELL;
        while self.in_flight() > 0 {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || self.turn(1, Some(left), &mut forgotten, false).is_err() {
                // The ring is broken, or a drive does not answer: the kernel may still write, so
                // the memory is never given back. The files of the other drives are.
                std::mem::forget(self.arena.clone());
                (0..REGISTERED_FILES).for_each(|number| self.update_file(DriveId(number), -1));
                return;
            }
        }
        if self.files_are_registered {
            // The kernel takes a ring down after its owner has gone on, and a claim on a device
            // would last as long.
            let _ = self.ring.submitter().unregister_files();
        }
    }
}

/// Takes away what was moved.
fn skip(parts: &mut Vec<libc::iovec>, moved_bytes: u32) {
    let mut left = moved_bytes as usize;
    parts.retain_mut(|part| {
        let here = left.min(part.iov_len);
        left -= here;
        part.iov_base = part.iov_base.wrapping_byte_add(here);
        part.iov_len -= here;
        part.iov_len > 0
    });
}

/// Makes the cheapest ring that the kernel knows: completions are worked off when this thread asks
/// for them, else at least without interrupting it.
fn build_ring(depth: u32) -> io::Result<IoUring> {
    let entries = (depth + 1).next_power_of_two(); // one for the watch
    let mut deferred = IoUring::builder();
    deferred.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().setup_submit_all();
    let mut cooperative = IoUring::builder();
    cooperative.setup_coop_taskrun().setup_taskrun_flag().setup_submit_all();
    let unknown_flags = |error: &io::Error| error.raw_os_error() == Some(Errno::INVAL.raw_os_error());
    match deferred.build(entries) {
        Err(error) if unknown_flags(&error) => match cooperative.build(entries) {
            Err(error) if unknown_flags(&error) => IoUring::new(entries),
            built => built,
        },
        built => built,
    }
}
