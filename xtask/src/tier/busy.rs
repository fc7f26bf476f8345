//! Something else for the machine to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// A loop on each processor, until this is dropped.
pub(super) struct Busy {
    is_over: Arc<AtomicBool>,
    loops: Vec<JoinHandle<()>>,
}

impl Busy {
    /// Starts the loops.
    pub(super) fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let spin = |_| {
            let is_over = Arc::clone(&is_over);
            thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        let loops = (0..processors).map(spin).collect();
        Self { is_over, loops }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for spinning in self.loops.drain(..) {
            // A loop cannot panic.
            let _ = spinning.join();
        }
    }
}
