//! Signals that stop a running array.

use std::io;

use shoal_running::Stopper;
use signal_hook::consts::{SIGINT, SIGTERM};

/// The first Ctrl-C or polite kill stops the array in order; the second ends the process at once, as a crash would.
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
