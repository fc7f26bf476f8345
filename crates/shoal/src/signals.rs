//! Signals that stop a running array.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use shoal_running::Stopper;
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};

/// A file that may not become larger (`ulimit -f`) is an error of the write, not the end of the
/// process: an array would be left as by a crash.
pub(crate) fn outlive_file_limits() {
    // Without it the limit ends the process, as it would any other.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// The first Ctrl-C or polite kill stops the array in order; the second ends the process at once,
/// as a crash would.
pub(crate) fn stop_on_signals(stopper: Stopper) -> io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    let wait = move || {
        for (number, _) in signals.forever().enumerate() {
            if number > 0 || !stopper.stop() {
                signal_hook::low_level::exit(130);
            }
        }
    };
    std::thread::Builder::new().name("shoal-signals".to_owned()).spawn(wait).map(drop)
}
