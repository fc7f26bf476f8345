//! Who has the file open, and which of them know that a flush has failed.
//!
//! What was written and not flushed may be lost when a flush fails, whoever asked for it. The
//! client says so once; each opener of the file is to hear of it once, as Linux has it for files
//! (`errseq_t`): by its own flush that failed, or by the next one that it asks for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

/// All openers of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Openers(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Flushes that have failed.
    failures: u64,
    /// How many of these each opener knows, or was there before.
    known: HashMap<u64, u64>,
    next: u64,
}

impl Openers {
    fn state(&self) -> MutexGuard<'_, State> {
        // Numbers are never half written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody opens the file: by what it is known.
    pub(super) fn open(&self) -> u64 {
        let mut state = self.state();
        let (opener, failures) = (state.next, state.failures);
        state.next += 1;
        state.known.insert(opener, failures);
        opener
    }

    /// It has closed the file.
    pub(super) fn close(&self, opener: u64) {
        self.state().known.remove(&opener);
    }

    /// A flush that this one asked for has ended so: what it is told.
    pub(super) fn flushed(&self, opener: u64, result: Result<(), Errno>) -> Result<(), Errno> {
        let mut state = self.state();
        state.failures += u64::from(result.is_err());
        let failures = state.failures;
        let known = state.known.insert(opener, failures).unwrap_or(failures);
        result.and(if known < failures { Err(Errno::IO) } else { Ok(()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_opener_is_told_once_of_a_flush_that_failed() {
        let openers = Openers::default();
        let [one, other] = [openers.open(), openers.open()];
        assert_eq!(openers.flushed(one, Ok(())), Ok(()));
        assert_eq!(openers.flushed(one, Err(Errno::TIMEDOUT)), Err(Errno::TIMEDOUT));
        let late = openers.open();
        for (opener, told) in [(one, Ok(())), (other, Err(Errno::IO)), (late, Ok(()))] {
            assert_eq!([openers.flushed(opener, Ok(())), openers.flushed(opener, Ok(()))], [told, Ok(())]);
        }
        openers.close(other);
        assert_eq!(openers.flushed(other, Ok(())), Ok(()), "it has gone before it could hear");
    }
}
