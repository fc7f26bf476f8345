//! A process that runs an array, and says nothing: what is known of it, and what to do.

use std::time::Duration;

/// How long a process may take over taking a connection, or over saying how it is.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Why nothing comes from the process at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Silence {
    /// It was stopped by a signal.
    #[error("is stopped: let it go on with `kill -CONT {0}`")]
    Stopped(i32),
    /// It has been asked for long.
    #[error(
        "has not answered for {seconds} s: it is shutting down, or hangs; if it does not end by itself, `kill -9 {0}` leaves the array as a \
         power cut does",
        seconds = PATIENCE.as_secs()
    )]
    TooLong(i32),
    /// Nobody knows which it is.
    #[error("has not answered for {} s", PATIENCE.as_secs())]
    Unknown,
}
