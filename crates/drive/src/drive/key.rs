//! Tells whether two paths lead to the same drive.

use std::io;
use std::path::Path;

use rustix::fs::{FileType, Stat};

/// What stays the same whichever path leads to a drive: symbolic links, hard links,
/// `/dev/disk/by-id`. It tells drives apart while they are plugged in, and means nothing
/// afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DriveKey(Key);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Key {
    /// A block device, by its number.
    Device(DeviceNumber),
    /// A file, by its file system and inode.
    File { file_system: DeviceNumber, inode: u64 },
}

/// A block device as the kernel numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DeviceNumber {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

impl DeviceNumber {
    pub(crate) fn from_raw(device: u64) -> Self {
        Self { major: rustix::fs::major(device), minor: rustix::fs::minor(device) }
    }
}

impl std::fmt::Display for DeviceNumber {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}", self.major, self.minor)
    }
}

impl DriveKey {
    /// The key of what a path leads to, without opening it: a claimed device cannot be opened
    /// twice.
    pub fn of_path(path: &Path) -> io::Result<Self> {
        Ok(Self::from_stat(&rustix::fs::stat(path)?))
    }

    pub(crate) fn from_stat(stat: &Stat) -> Self {
        if FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice {
            Self(Key::Device(DeviceNumber::from_raw(stat.st_rdev)))
        } else {
            Self(Key::File { file_system: DeviceNumber::from_raw(stat.st_dev), inode: stat.st_ino })
        }
    }

    /// The number of the file system that a file is in.
    pub(crate) fn file_system(self) -> Option<DeviceNumber> {
        match self.0 {
            Key::Device(_) => None,
            Key::File { file_system, .. } => Some(file_system),
        }
    }

    pub(crate) fn device_number(self) -> Option<DeviceNumber> {
        match self.0 {
            Key::Device(number) => Some(number),
            Key::File { .. } => None,
        }
    }
}
