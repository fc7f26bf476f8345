//! The two rings over which the kernel's ublk driver is spoken to, and the memory that it shares
//! with us. All of it that is `unsafe` is here; whoever uses it cannot do harm.
//!
//! What a tag's buffer holds is the kernel's business from the moment at which the tag is handed to
//! it until its request comes, and ours until it is answered. [`QueueRing`] keeps account of that,
//! and shows a buffer only while it is ours.

#![allow(
    unsafe_code,
    reason = "entries of a ring name memory, and the requests' descriptors are mapped from the kernel"
)]

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;

use io_uring::{IoUring, cqueue, opcode, squeue, types};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

use super::protocol::{CommandCode, DESCRIPTOR_BYTES, Descriptor, IoCode, control_bytes, io_bytes};

/// Where commands go.
const CONTROL: &str = "/dev/ublk-control";
/// Marks the wake-up among the ring's entries; tags are smaller.
const WAKE: u64 = u64::MAX;

/// Commands, one at a time.
pub(super) struct ControlRing {
    ring: IoUring<squeue::Entry128, cqueue::Entry>,
    control: File,
    /// The kernel has not told what became of a command: what comes next may be its answer.
    is_lost: bool,
}

impl ControlRing {
    pub(super) fn open() -> io::Result<Self> {
        let control = File::options().read(true).write(true).open(CONTROL)?;
        Ok(Self { ring: IoUring::builder().build(4)?, control, is_lost: false })
    }

    /// Has a command carried out, which reads or writes `buffer`, and waits for it.
    pub(super) fn command(
        &mut self,
        code: CommandCode,
        device: u32,
        data: u64,
        buffer: &mut [u8],
    ) -> Result<(), Errno> {
        if self.is_lost {
            return Err(Errno::IO);
        }
        let length = u16::try_from(buffer.len()).expect("commands have short buffers");
        let mut lent = ManuallyDrop::new(buffer.to_vec());
        let address = if lent.is_empty() { 0 } else { lent.as_mut_ptr().addr() as u64 };
        let bytes = control_bytes(device, length, address, data);
        let control = types::Fd(self.control.as_raw_fd());
        let entry = opcode::UringCmd80::new(control, code.number()).cmd(bytes).build();
        // SAFETY: what is lent is not freed before the completion has been seen, below, and never
        // without one.
        unsafe { self.ring.submission().push(&entry) }.expect("the ring is empty between commands");
        loop {
            match self.ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.is_lost = true;
                    return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO));
                }
            }
            if let Some(completion) = self.ring.completion().next() {
                buffer.copy_from_slice(&ManuallyDrop::into_inner(lent));
                return errno_of(completion.result()).map_or(Ok(()), Err);
            }
        }
    }
}

/// What a queue has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The tag has a request, and is ours.
    Request(u16),
    /// The tag has none any more, as the device is stopped, or for another reason.
    Gone(u16, Errno),
    /// Somebody called [`QueueRing::wake`]'s file.
    Woken,
}

/// The requests of a device's one queue. All calls are made by one thread, the one that made it.
pub(super) struct QueueRing {
    /// The first field: it is dropped first.
    ring: IoUring,
    _device: File,
    wake: Arc<OwnedFd>,
    descriptors: Descriptors,
    /// Not freed while the kernel may write to them.
    buffers: ManuallyDrop<Vec<Vec<u8>>>,
    tags: Vec<Holder>,
}

/// Whose a tag is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    Kernel,
    Us,
    Nobody,
}

impl QueueRing {
    /// Hands all tags to the kernel. `device` is the character device.
    pub(super) fn open(device: File, depth: u16, buffer_bytes: usize, wake: Arc<OwnedFd>) -> io::Result<Self> {
        // As many completions as there can be: one a tag, and the wake-up.
        let entries = (u32::from(depth) + 1).next_power_of_two();
        let ring = IoUring::builder().setup_coop_taskrun().setup_single_issuer().build(entries)?;
        ring.submitter().register_files(&[device.as_raw_fd()])?;
        let descriptors = Descriptors::map(&device, depth)?;
        let buffers = ManuallyDrop::new((0..depth).map(|_| vec![0; buffer_bytes]).collect());
        let tags = vec![Holder::Nobody; usize::from(depth)];
        let mut this = Self { ring, _device: device, wake, descriptors, buffers, tags };
        for tag in 0..depth {
            this.hand_over(tag, IoCode::Fetch, 0);
        }
        this.wait_for_wake();
        this.ring.submit()?;
        Ok(this)
    }

    /// Waits until something happens, and tells all that has.
    pub(super) fn wait(&mut self, events: &mut Vec<Event>) -> io::Result<()> {
        loop {
            match self.ring.submit_and_wait(1) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(_) => break,
            }
        }
        self.look(events);
        Ok(())
    }

    /// Tells what has happened.
    pub(super) fn look(&mut self, events: &mut Vec<Event>) {
        let mut is_woken = false;
        for completion in self.ring.completion() {
            if completion.user_data() == WAKE {
                is_woken = true;
                continue;
            }
            let tag = u16::try_from(completion.user_data()).expect("the others are tags");
            let holder = &mut self.tags[usize::from(tag)];
            events.push(match errno_of(completion.result()) {
                None => {
                    *holder = Holder::Us;
                    Event::Request(tag)
                }
                Some(errno) => {
                    *holder = Holder::Nobody;
                    Event::Gone(tag, errno)
                }
            });
        }
        if is_woken {
            // Emptied before anybody looks for what it was called for, so that no later call is
            // missed.
            let _ = rustix::io::read(&self.wake, &mut [0; 8]);
            self.wait_for_wake();
            events.push(Event::Woken);
        }
    }

    /// What the kernel wants with a tag that is ours.
    pub(super) fn descriptor(&self, tag: u16) -> Descriptor {
        assert_eq!(self.tags[usize::from(tag)], Holder::Us, "a tag's descriptor is valid while it has a request");
        self.descriptors.read(tag)
    }

    /// The content of a write, or the place for that of a read, of a tag that is ours.
    pub(super) fn buffer(&mut self, tag: u16) -> &mut [u8] {
        assert_eq!(self.tags[usize::from(tag)], Holder::Us, "a tag's buffer is ours while it has a request");
        &mut self.buffers[usize::from(tag)]
    }

    /// Answers the request of a tag that is ours, and hands it back for the next.
    pub(super) fn finish(&mut self, tag: u16, result: i32) {
        assert_eq!(self.tags[usize::from(tag)], Holder::Us, "a request is answered once");
        self.hand_over(tag, IoCode::CommitAndFetch, result);
    }

    /// Whether no tag is with the kernel, nor with us.
    pub(super) fn is_over(&self) -> bool {
        self.tags.iter().all(|&holder| holder == Holder::Nobody)
    }

    fn hand_over(&mut self, tag: u16, code: IoCode, result: i32) {
        let buffer = self.buffers[usize::from(tag)].as_mut_ptr().addr() as u64;
        let entry = opcode::UringCmd16::new(types::Fixed(0), code.number()).cmd(io_bytes(tag, result, buffer));
        self.push(&entry.build().user_data(u64::from(tag)));
        self.tags[usize::from(tag)] = Holder::Kernel;
    }

    fn wait_for_wake(&mut self) {
        let readable = u32::from(rustix::event::PollFlags::IN.bits());
        let entry = opcode::PollAdd::new(types::Fd(self.wake.as_raw_fd()), readable);
        self.push(&entry.build().user_data(WAKE));
    }

    fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: the buffer that an entry names lives until its tag has come back (see `drop`),
        // and nobody else looks at it meanwhile (`Holder`); the file of the wake-up lives as long
        // as this.
        unsafe { self.ring.submission().push(entry) }.expect("there is room for every tag and the wake-up");
    }
}

impl Drop for QueueRing {
    fn drop(&mut self) {
        // A ring is taken down in the background. Memory that the kernel may yet write to is given
        // up rather than freed.
        if !self.tags.contains(&Holder::Kernel) {
            // SAFETY: nothing uses the buffers afterwards.
            unsafe { ManuallyDrop::drop(&mut self.buffers) };
        }
    }
}

/// What the kernel says of each tag's request, in memory of its own that we may read.
struct Descriptors {
    start: NonNull<c_void>,
    length_bytes: usize,
}

// SAFETY: it is memory that only the kernel writes to, and may be read from any thread.
unsafe impl Send for Descriptors {}

impl Descriptors {
    fn map(device: &File, depth: u16) -> io::Result<Self> {
        let length_bytes = (usize::from(depth) * DESCRIPTOR_BYTES).next_multiple_of(rustix::param::page_size());
        // SAFETY: a new mapping, where there was none.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                length_bytes,
                ProtFlags::READ,
                MapFlags::SHARED | MapFlags::POPULATE,
                device,
                0,
            )
        }?;
        Ok(Self { start: NonNull::new(start).expect("a mapping is not at zero"), length_bytes })
    }

    fn read(&self, tag: u16) -> Descriptor {
        let offset = usize::from(tag) * DESCRIPTOR_BYTES;
        assert!(offset + DESCRIPTOR_BYTES <= self.length_bytes);
        // SAFETY: within the mapping, whose descriptors are aligned to eight bytes; the kernel does
        // not change that of a request that we have.
        let words =
            unsafe { self.start.as_ptr().byte_add(offset).cast::<[u64; DESCRIPTOR_BYTES / 8]>().read_volatile() };
        Descriptor::parse(words)
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        // SAFETY: nobody has a reference into it.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr(), self.length_bytes) };
    }
}

/// Results below zero are errnos.
fn errno_of(result: i32) -> Option<Errno> {
    (result < 0).then(|| Errno::from_raw_os_error(-result))
}
