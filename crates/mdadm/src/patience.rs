//! What is asked of the kernel is done a moment later: waited for, and not for ever.

use std::time::{Duration, Instant};

use crate::error::KernelError;

/// How often that is looked at.
pub(crate) const LOOK_DISTANCE: Duration = Duration::from_millis(20);

/// Waits until something is so.
pub(crate) fn patiently(
    patience: Duration,
    mut is_so: impl FnMut() -> bool,
    otherwise: &str,
) -> Result<(), KernelError> {
    let start = Instant::now();
    while !is_so() {
        if start.elapsed() > patience {
            return Err(KernelError::Patience { what: otherwise.to_owned(), seconds: patience.as_secs() });
        }
        std::thread::sleep(LOOK_DISTANCE);
    }
    Ok(())
}
