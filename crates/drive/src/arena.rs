//! One aligned region of memory, cut into buffers, registered with the kernel once.
//!
//! Drives write into this memory while the program runs, so no reference into it is ever made: it
//! is reached through raw pointers and whole copies. Who may touch which run when is the owner's
//! book-keeping: a run that was handed to an [`IoLoop`](crate::IoLoop) is the loop's until its I/O
//! has finished.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// A run of bytes in an [`Arena`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// First byte, from the arena's start.
    pub offset: usize,
    /// Bytes.
    pub length: u32,
}

/// A part of what is sent: bytes from anywhere, or a run of the arena, which nobody writes to
/// meanwhile.
#[derive(Clone, Copy, Debug)]
pub enum SendPiece<'a> {
    /// Bytes.
    Bytes(&'a [u8]),
    /// A run.
    Memory(Memory),
}

impl SendPiece<'_> {
    /// More pieces than this are not sent in one go.
    pub const AT_ONCE: usize = 64;

    /// Bytes in it.
    pub fn len_bytes(&self) -> usize {
        match self {
            SendPiece::Bytes(bytes) => bytes.len(),
            SendPiece::Memory(memory) => memory.length as usize,
        }
    }
}

/// What memory is compared with.
const ZEROS: [u8; 512] = [0; 512];

/// Page-aligned, zeroed memory that I/O goes to and from. Cheap to clone: clones share the memory.
#[derive(Clone, Debug)]
pub struct Arena {
    mapping: Arc<Mapping>,
}

/// The region itself, unmapped when the last clone goes.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    len_bytes: usize,
    /// Without the reserve.
    registered_bytes: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and only `drop` changes the struct.
unsafe impl Send for Mapping {}
// SAFETY: shared access hands out addresses and copies; exclusion between them is the contract of
// `Arena`.
unsafe impl Sync for Mapping {}

/// Regions are rounded up to this, so that the kernel can back them with huge pages: fewer entries
/// per I/O.
const ROUNDING_BYTES: usize = 2 << 20;

impl Arena {
    /// Maps a region of at least `bytes`.
    pub fn new(bytes: usize) -> io::Result<Self> {
        Self::with_reserve(bytes, 0)
    }

    /// Maps a region of at least `bytes`, and `reserve_bytes` behind them that are seldom used:
    /// those take addresses, but no memory before they are written to, and I/O to them is not
    /// registered with the kernel.
    pub fn with_reserve(bytes: usize, reserve_bytes: usize) -> io::Result<Self> {
        let registered_bytes = bytes.max(1);
        let len_bytes = registered_bytes.checked_add(reserve_bytes);
        let len_bytes = len_bytes.and_then(|bytes| bytes.checked_next_multiple_of(ROUNDING_BYTES));
        let len_bytes = len_bytes.ok_or(io::ErrorKind::OutOfMemory)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the kernel picks the place, so that no existing mapping is replaced.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), len_bytes, protection, flags) }?;
        // SAFETY: the range was mapped above. Advice never changes content, and may be refused
        // without harm.
        let _ = unsafe { madvise(start, len_bytes, Advice::LinuxHugepage) };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { mapping: Arc::new(Mapping { start, len_bytes, registered_bytes }) })
    }

    /// Size of the region.
    pub fn len_bytes(&self) -> usize {
        self.mapping.len_bytes
    }

    /// The part from the start that is worth registering with the kernel: all but the reserve.
    pub(crate) fn registered_bytes(&self) -> usize {
        self.mapping.registered_bytes
    }

    /// The address of a run, for the kernel and for kernels of arithmetic. Panics if it lies
    /// outside.
    pub fn pointer(&self, memory: Memory) -> *mut u8 {
        let inside = memory.offset.checked_add(memory.length as usize).is_some_and(|end| end <= self.len_bytes());
        assert!(inside, "{memory:?} lies outside an arena of {} bytes", self.len_bytes());
        // SAFETY: the offset was just checked to lie within the mapping.
        unsafe { self.mapping.start.as_ptr().add(memory.offset) }
    }

    /// Copies `bytes` into the run's start. The caller makes sure that no I/O is in flight on it.
    pub fn write(&self, memory: Memory, bytes: &[u8]) {
        assert!(bytes.len() <= memory.length as usize, "{} bytes do not fit {memory:?}", bytes.len());
        let to = self.pointer(memory);
        // SAFETY: `to` is good for `memory.length` bytes, and nothing borrows arena memory, so
        // `bytes` is elsewhere.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) }
    }

    /// Copies the run's start out into `bytes`. The caller makes sure that no I/O is in flight on
    /// it.
    pub fn read(&self, memory: Memory, bytes: &mut [u8]) {
        assert!(bytes.len() <= memory.length as usize, "{} bytes are not in {memory:?}", bytes.len());
        let from = self.pointer(memory);
        // SAFETY: `from` is good for `memory.length` bytes, and nothing borrows arena memory, so
        // `bytes` is elsewhere.
        unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len()) }
    }

    /// Whether the run holds nothing but zeros. The caller makes sure that no I/O is in flight on
    /// it.
    pub fn holds_zeros(&self, memory: Memory) -> bool {
        let from = self.pointer(memory).cast_const();
        let mut window = [0; ZEROS.len()];
        (0..memory.length as usize).step_by(ZEROS.len()).all(|done| {
            let length = ZEROS.len().min(memory.length as usize - done);
            // SAFETY: `from` is good for `memory.length` bytes, of which `done + length` are no
            // more; the window is elsewhere.
            unsafe { std::ptr::copy_nonoverlapping(from.add(done), window.as_mut_ptr(), length) };
            window[..length] == ZEROS[..length]
        })
    }

    /// Receives from a socket into a run, once and without waiting: bytes moved, 0 if the other end
    /// has closed.
    pub fn receive_from(&self, socket: BorrowedFd<'_>, memory: Memory) -> Result<usize, Errno> {
        let (pointer, length) = (self.pointer(memory).cast(), memory.length as usize);
        // SAFETY: the pointer is good for `length` bytes, and no reference to them exists.
        let moved = unsafe { libc::recv(socket.as_raw_fd(), pointer, length, libc::MSG_DONTWAIT) };
        bytes_moved(moved).map(|bytes| bytes as usize)
    }

    /// Sends pieces to a socket, one after the other, once and without waiting: bytes moved, over
    /// all pieces.
    pub fn send_to(&self, socket: BorrowedFd<'_>, pieces: &[SendPiece<'_>]) -> Result<usize, Errno> {
        let mut vectors = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; SendPiece::AT_ONCE];
        let count = pieces.len().min(SendPiece::AT_ONCE);
        for (vector, piece) in vectors.iter_mut().zip(pieces) {
            *vector = match piece {
                SendPiece::Bytes(bytes) => {
                    libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
                }
                SendPiece::Memory(memory) => {
                    libc::iovec { iov_base: self.pointer(*memory).cast(), iov_len: memory.length as usize }
                }
            };
        }
        // SAFETY: a message of zeros is an empty one: no name, no vectors, no control data.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        (message.msg_iov, message.msg_iovlen) = (vectors.as_mut_ptr(), count as _);
        // SAFETY: each vector is good for its length, and is only read from; `pieces` and the arena
        // outlive the call.
        let moved = unsafe { libc::sendmsg(socket.as_raw_fd(), &message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) };
        bytes_moved(moved).map(|bytes| bytes as usize)
    }

    /// Reads from a file into a run, once: bytes moved.
    pub(crate) fn read_from(&self, file: &File, offset: u64, memory: Memory) -> Result<u32, Errno> {
        let offset = libc::off64_t::try_from(offset).map_err(|_| Errno::INVAL)?;
        let (pointer, length) = (self.pointer(memory).cast(), memory.length as usize);
        // SAFETY: the pointer is good for `length` bytes, and no reference to them exists.
        bytes_moved(unsafe { libc::pread64(file.as_raw_fd(), pointer, length, offset) })
    }

    /// Writes a run to a file, once: bytes moved.
    pub(crate) fn write_to(&self, file: &File, offset: u64, memory: Memory) -> Result<u32, Errno> {
        let offset = libc::off64_t::try_from(offset).map_err(|_| Errno::INVAL)?;
        let (pointer, length) = (self.pointer(memory).cast_const().cast(), memory.length as usize);
        // SAFETY: the pointer is good for `length` bytes, which are initialised: the mapping began
        // as zeroes.
        bytes_moved(unsafe { libc::pwrite64(file.as_raw_fd(), pointer, length, offset) })
    }
}

/// Sorts out the answer of calls that never move more than 2 GiB.
fn bytes_moved(answer: isize) -> Result<u32, Errno> {
    u32::try_from(answer).map_err(|_negative| Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO))
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `Arena::new`, and the last clone that could hand out its
        // addresses is gone; loops keep a clone until their last I/O has ended.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn memory_is_zeroed_aligned_and_shared_by_clones() {
        let arena = Arena::new(10_000).unwrap();
        assert!(arena.len_bytes() >= 10_000);
        assert_eq!(arena.pointer(Memory { offset: 0, length: 1 }) as usize % 4096, 0);
        let mut bytes = [9; 4];
        arena.read(Memory { offset: 5000, length: 8 }, &mut bytes);
        assert_eq!(bytes, [0; 4]);
        let clone = arena.clone();
        std::thread::spawn(move || clone.write(Memory { offset: 5000, length: 4 }, b"fish")).join().unwrap();
        arena.read(Memory { offset: 5000, length: 4 }, &mut bytes);
        assert_eq!(&bytes, b"fish");
    }

    #[test]
    fn pieces_are_sent_in_order_and_received_into_a_run() {
        let arena = Arena::new(8192).unwrap();
        let (left, right) = std::os::unix::net::UnixStream::pair().unwrap();
        let fish = Memory { offset: 100, length: 4 };
        arena.write(fish, b"fish");
        assert!(!arena.holds_zeros(fish));
        let pieces = [SendPiece::Bytes(b"many "), SendPiece::Memory(fish)];
        assert_eq!(arena.send_to(left.as_fd(), &pieces), Ok(9));
        let to = Memory { offset: 4096, length: 1024 };
        assert!(arena.holds_zeros(to));
        assert_eq!(arena.receive_from(right.as_fd(), to), Ok(9));
        assert_eq!(arena.receive_from(right.as_fd(), to), Err(Errno::AGAIN));
        assert!(!arena.holds_zeros(to));
        let mut bytes = [0; 9];
        arena.read(to, &mut bytes);
        assert_eq!(&bytes, b"many fish");
        drop(left);
        assert_eq!(arena.receive_from(right.as_fd(), to), Ok(0));
    }

    #[test]
    #[should_panic(expected = "lies outside")]
    fn a_run_past_the_end_has_no_address() {
        let arena = Arena::new(4096).unwrap();
        arena.pointer(Memory { offset: arena.len_bytes() - 4, length: 8 });
    }

    #[test]
    #[should_panic(expected = "lies outside")]
    fn an_offset_that_overflows_has_no_address() {
        Arena::new(4096).unwrap().pointer(Memory { offset: usize::MAX, length: 8 });
    }
}
