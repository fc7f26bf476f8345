//! The lab book as a file: what goes in comes out, whatever happens meanwhile.

#![expect(clippy::unwrap_used, reason = "a test may fail by panic")]

mod exchanged;
mod hostile;
mod kept;
mod killed;
mod support;
mod told;
