//! One open drive.

use std::path::{Path, PathBuf};

/// What a drive is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads only; nothing can be written through it.
    Read,
    /// Reads and writes; a block device is claimed exclusively (O_EXCL).
    Write,
}

/// What is behind the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriveKind {
    /// A regular file.
    File,
    /// A block device.
    BlockDevice,
}

/// Why a drive cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The system says no.
    #[error("{}: {source}", path.display())]
    System { path: PathBuf, source: std::io::Error },
}

/// An open drive. Facts are found at opening, not assumed.
#[derive(Debug)]
pub struct Drive {}

impl Drive {
    /// Opens a drive with O_DIRECT where it can be had.
    pub fn open(_path: &Path, _access: Access) -> Result<Self, OpenError> {
        todo!()
    }
    /// The path as given.
    pub fn path(&self) -> &Path {
        todo!()
    }
    /// Capacity in bytes.
    pub fn size_bytes(&self) -> u64 {
        todo!()
    }
    /// Smallest unit of I/O: offset, length and memory are multiples of it.
    pub fn logical_block_bytes(&self) -> u32 {
        todo!()
    }
    /// The drive's own unit.
    pub fn physical_block_bytes(&self) -> u32 {
        todo!()
    }
    /// File or device.
    pub fn kind(&self) -> DriveKind {
        todo!()
    }
    /// Whether I/O bypasses the page cache.
    pub fn is_direct(&self) -> bool {
        todo!()
    }
    /// Whether discard does anything here.
    pub fn can_discard(&self) -> bool {
        todo!()
    }
    /// Reads synchronously, outside any loop (superblocks, signatures): any offset, any length.
    pub fn read_at(&self, _offset: u64, _bytes: &mut [u8]) -> std::io::Result<()> {
        todo!()
    }
    /// Writes synchronously, outside any loop, any offset and length; durable only after [`Drive::sync`].
    pub fn write_at(&self, _offset: u64, _bytes: &[u8]) -> std::io::Result<()> {
        todo!()
    }
    /// Makes everything written durable.
    pub fn sync(&self) -> std::io::Result<()> {
        todo!()
    }
}
