//! One of the driver's devices, as sysfs shows it: whose it is, how large, and how often its
//! requests are looked at.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::NbdError;

/// How long the device may take to show.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);
const SECTOR_BYTES: u64 = 512;

/// `/dev/nbdN`, by its number. Numbers are used again, so that one says nothing of whose the device
/// is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Device(pub(super) u32);

impl Device {
    pub(super) fn of(path: &Path) -> Result<Self, NbdError> {
        let number = path.file_name().and_then(|name| name.to_str()?.strip_prefix("nbd")?.parse().ok());
        number.map(Self).ok_or_else(|| NbdError::Name(path.to_owned()))
    }

    pub(super) fn path(self) -> PathBuf {
        format!("/dev/nbd{}", self.0).into()
    }

    /// Whether it is what a front of this array made of it, with or without a front at this moment;
    /// false if nothing is connected there. An error if it is somebody else's. The driver keeps the
    /// identifier from the making of a device to its end (since Linux 5.14).
    pub(super) fn is_of(self, identifier: &str) -> Result<bool, NbdError> {
        match (self.attribute("backend"), self.attribute("pid")) {
            (Some(backend), _) if backend == identifier => Ok(true),
            (None, None) => Ok(false),
            (Some(backend), _) => Err(NbdError::Foreign { device: self.path(), whose: format!("of \"{backend}\"") }),
            (None, Some(process)) => {
                let whose = format!("made by process {process}, of nobody knows what");
                Err(NbdError::Foreign { device: self.path(), whose })
            }
        }
    }

    pub(super) fn size_bytes(self) -> Option<u64> {
        self.attribute("size")?.parse::<u64>().ok()?.checked_mul(SECTOR_BYTES)
    }

    /// Waits until the device is there, with its size.
    pub(super) fn wait_for(self, size_bytes: u64) -> Result<(), NbdError> {
        let begun = Instant::now();
        let whole = size_bytes / SECTOR_BYTES * SECTOR_BYTES;
        while self.size_bytes() != Some(whole) || !self.path().exists() {
            if begun.elapsed() > PATIENCE {
                return Err(NbdError::NoDevice { device: self.path() });
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Has the driver look so often at requests without an answer. A kernel that cannot (before
    /// Linux 5.0) looks every 30 s.
    pub(super) fn look_every(self, interval: Duration) -> Result<(), NbdError> {
        let path = format!("/sys/block/nbd{}/queue/io_timeout", self.0);
        match std::fs::write(path, interval.as_millis().to_string()) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn attribute(self, name: &str) -> Option<String> {
        let text = std::fs::read_to_string(format!("/sys/block/nbd{}/{name}", self.0)).ok()?;
        Some(text.trim_end_matches('\n').to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_as_the_kernel_names_it() {
        assert_eq!(Device::of(&Device(7).path()).unwrap(), Device(7));
        for path in ["/dev/nbd", "/dev/nbd7p1", "/dev/sda", "/dev/ublkb7"] {
            assert!(matches!(Device::of(Path::new(path)), Err(NbdError::Name(_))), "{path}");
        }
    }

    #[test]
    fn what_is_not_connected_is_nobodys() {
        assert!(!Device(u32::MAX).is_of("array").unwrap());
        assert_eq!(Device(u32::MAX).size_bytes(), None);
    }
}
