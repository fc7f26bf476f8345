//! One processor for each guest.
//!
//! Linux as a process takes turns with the processes of its guest: at each of their system calls
//! and page faults one stops and wakes the other through ptrace(2). They never run at the same
//! time. Left to the host, they are put on two processors, each of which falls asleep and is woken
//! at every turn; on one, a system call takes a quarter of the time.

use std::io;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// How many guests this process has started.
static STARTED: AtomicUsize = AtomicUsize::new(0);

/// Keeps this thread, and all that it starts, on one of the processors that it may use: each guest
/// on the next one.
pub(crate) fn keep_to_one() -> io::Result<()> {
    let allowed = sched_getaffinity(None)?;
    let processors: Vec<_> = (0..CpuSet::MAX_CPU).filter(|&number| allowed.is_set(number)).collect();
    let guest = first() + STARTED.fetch_add(1, Ordering::Relaxed);
    if let Some(&number) = processors.get(guest % processors.len().max(1)) {
        let mut chosen = CpuSet::new();
        chosen.set(number);
        sched_setaffinity(None, &chosen)?;
    }
    Ok(())
}

/// Where this process begins to count: guests of tests that run at the same time are to use
/// different processors. cargo-nextest numbers the tests that it runs at once.
fn first() -> usize {
    let slot = std::env::var("NEXTEST_TEST_GLOBAL_SLOT").ok().and_then(|slot| slot.parse().ok());
    slot.unwrap_or(process::id() as usize)
}
