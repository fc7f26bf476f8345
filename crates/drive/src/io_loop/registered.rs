//! The part of an arena that the kernel has pinned and translated, so that it need not do so with
//! every I/O.
//!
//! Pinned memory is there, whether anybody uses it or not. So it is registered piece by piece, each
//! with the first I/O that goes to it: an array that rests, or whose clients ask for little at a
//! time, takes no memory for the largest requests of as many as there may be.

use io_uring::IoUring;

use crate::limits::REGISTERED_PIECES_MAX;
use crate::{Arena, Memory};

/// So much is registered at a time: a huge page, which the kernel backs as a whole.
const PIECE_BYTES: usize = 2 << 20;

/// How a piece stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Registration {
    /// No I/O has gone to it.
    Untouched,
    Registered,
    /// A limit forbids it. I/O goes to it all the same, at the usual price.
    Refused,
}

/// Which pieces the kernel has.
pub(super) struct Registered(Vec<Registration>);

impl Registered {
    /// Makes an empty table, without the arena's reserve. Kernels before 5.19 cannot fill one
    /// later, and have none.
    pub(super) fn new(ring: &IoUring, arena: &Arena) -> Self {
        let count = arena.registered_bytes().div_ceil(PIECE_BYTES).min(REGISTERED_PIECES_MAX);
        let is_there = ring.submitter().register_buffers_sparse(count as u32).is_ok();
        Self(vec![Registration::Untouched; if is_there { count } else { 0 }])
    }

    /// The place in the kernel's table of the piece in which a run lies; none if it crosses a cut,
    /// or lies in the reserve.
    pub(super) fn piece_of(&mut self, memory: Memory, ring: &IoUring, arena: &Arena) -> Option<u16> {
        let last = memory.offset + (memory.length as usize).saturating_sub(1);
        let number = memory.offset / PIECE_BYTES;
        if last / PIECE_BYTES != number || last >= arena.registered_bytes() {
            return None;
        }
        let piece = self.0.get_mut(number)?;
        if *piece == Registration::Untouched {
            *piece = register(number, ring, arena);
        }
        (*piece == Registration::Registered).then(|| u16::try_from(number).ok()).flatten()
    }
}

fn register(number: usize, ring: &IoUring, arena: &Arena) -> Registration {
    let offset = number * PIECE_BYTES;
    let length = PIECE_BYTES.min(arena.registered_bytes() - offset);
    let pointer = arena.pointer(Memory { offset, length: length as u32 });
    let vector = libc::iovec { iov_base: pointer.cast(), iov_len: length };
    // SAFETY: the piece lies in the arena, and the engine keeps a clone of it for as long as it
    // keeps the ring.
    let answer = unsafe { ring.submitter().register_buffers_update(number as u32, &[vector], None) };
    if answer.is_ok() { Registration::Registered } else { Registration::Refused }
}
