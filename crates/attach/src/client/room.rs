//! How much may be under way at a time: whoever submits more waits, so memory is bounded by this
//! and not by who asks.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::limits::{OPERATION_BYTES_MAX, OPERATIONS_MAX};

#[derive(Debug, Default)]
struct Taken {
    operations: usize,
    bytes: usize,
}

/// Limits the operations and bytes under way; `take` blocks until there is room.
#[derive(Debug, Default)]
pub(super) struct Room {
    taken: Mutex<Taken>,
    freed: Condvar,
}

/// An operation's share of the room, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    room: Arc<Room>,
    bytes: usize,
}

impl Room {
    /// Waits until there is room. As every operation is answered within its deadline, nobody waits
    /// for longer than that.
    pub(super) fn enter(self: &Arc<Self>, bytes: usize) -> Share {
        let mut taken = self.taken();
        while taken.operations >= OPERATIONS_MAX || (taken.operations > 0 && taken.bytes + bytes > OPERATION_BYTES_MAX)
        {
            taken = self.freed.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        taken.operations += 1;
        taken.bytes += bytes;
        Share { room: Arc::clone(self), bytes }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        // Nothing is left half done in there.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.room.taken();
        taken.operations -= 1;
        taken.bytes -= self.bytes;
        drop(taken);
        self.room.freed.notify_all();
    }
}
