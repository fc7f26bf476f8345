//! How other threads wake the one that owns a volume.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};

/// An event file: it can be read from once somebody has rung, until it is silenced. Clones are the
/// same bell.
#[derive(Clone, Debug)]
pub struct Bell(Arc<OwnedFd>);

impl Bell {
    /// A silent one.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    /// For whoever watches it.
    pub fn file(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.0)
    }

    /// Wakes whoever watches it. What it is rung for has to be there before.
    pub fn ring(&self) {
        // Full only after 2^64 rings that nobody heard, and then it can be read from as it should.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Heard. What it was rung for is to be looked for after this.
    pub fn silence(&self) {
        // Nothing to read means that nobody has rung.
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}
