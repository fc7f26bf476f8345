//! A kernel that has ublk, in an emulated machine without drives: arrays lie in its memory.
//!
//! As in [`crate::usb`], every instruction is emulated, the guest's root is busybox and programs of
//! the host with their libraries, and starting it takes some ten seconds. `/run/memory` takes
//! direct I/O.

use std::path::PathBuf;

use tempfile::TempDir;

use crate::usb::machine::{Parts, UBLK};
use crate::{Guest, GuestError, Missing};

/// Everything that a machine with ublk is made from.
#[derive(Clone, Debug)]
pub struct UblkLab {
    parts: Parts,
}

/// A machine that runs. Dropping it cuts its power.
#[derive(Debug)]
pub struct UblkGuest {
    guest: Guest,
    /// The root, and what the kernel says.
    directory: TempDir,
}

impl UblkLab {
    /// Finds all that is needed, or says what is missing.
    pub fn find() -> Result<Self, Missing> {
        Ok(Self { parts: Parts::find(&UBLK)? })
    }

    /// Starts a machine, and waits until it takes scripts. `programs`, absolute paths, are there at
    /// the same paths.
    pub fn boot(&self, programs: &[PathBuf]) -> Result<UblkGuest, GuestError> {
        let directory = tempfile::tempdir()?;
        std::fs::write(directory.path().join("root"), self.parts.root(programs, 0)?)?;
        let guest = self.parts.boot(directory.path(), 0, &[], "")?;
        let mut this = UblkGuest { guest, directory };
        // The root cannot take direct I/O, other memory can.
        this.shell().done("mkdir -p /run/memory && mount -t tmpfs memory /run/memory")?;
        Ok(this)
    }
}

impl UblkGuest {
    /// What runs scripts.
    pub fn shell(&mut self) -> &mut Guest {
        &mut self.guest
    }

    /// What the kernel has said so far.
    pub fn kernel_log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("kernel.log")).unwrap_or_default()
    }
}
