//! A loop device on the array's file: a block device where the kernel has neither ublk nor nbd.
//!
//! Direct I/O, so that there is one page cache (the file system's, above) and none below it; a
//! flush of the device is an `fsync` of the file. It is let go of only when it is told to be, not
//! when its last user closes it. The driver makes of discards what it makes of writing zeros: holes
//! in the file ([`crate::fuse`] says what those are). An array that cannot discard refuses them,
//! which the driver passes on. They are not turned off at the device: the kernel would keep that
//! for the device's number, whoever has it next, and Linux 6.18 does not take it back.
//!
//! Needs root, or the right to administer devices.

mod requests;

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::io::Errno;
use thiserror::Error;

use requests::{clear, configure, free_number};

/// How often a free number is asked for: somebody else may take it first.
const TRIES: u32 = 16;
/// How long whoever looks at a device that changes (udev, blkid) may hold it.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);

/// How the device is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopOptions {
    /// A power of two from 512 to the size of a page.
    pub logical_block_bytes: u32,
    /// Refuse writes.
    pub is_read_only: bool,
    /// Make devices of the partitions on it.
    pub has_partitions: bool,
}

/// Why there is no loop device, or why it stays.
#[derive(Debug, Error)]
pub enum LoopError {
    /// The kernel has none, or we may not.
    #[error("/dev/loop-control: {0}: loop devices need root and the kernel's module (modprobe loop)")]
    Missing(io::Error),
    /// The file cannot be opened.
    #[error("{path}: {source}")]
    Open {
        /// The file or device.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The kernel refuses this file or these options.
    #[error("{device}: the kernel makes no loop device of {file}: {source}")]
    Configure {
        /// The device.
        device: PathBuf,
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Every free device was taken by others.
    #[error("no loop device is free: others take them as fast as we ask")]
    NoneFree,
    /// It is used.
    #[error("{0} is still in use: unmount it first")]
    InUse(PathBuf),
    /// It is detached, and its file did not take everything.
    #[error("{device} is detached, but what was written to it last is lost: {source}: check its file system")]
    Unflushed {
        /// The device.
        device: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is not what it was.
    #[error("{device} is not a loop device of {file}: it is left alone")]
    Foreign {
        /// The device.
        device: PathBuf,
        /// Whose device it was to be.
        file: PathBuf,
    },
}

/// A loop device on a file. It stays when this value is dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopDevice {
    number: u32,
    file: PathBuf,
}

impl LoopDevice {
    /// Makes one of `file`.
    pub fn attach(file: &Path, options: LoopOptions) -> Result<Self, LoopError> {
        // The kernel tells the file's true path, by which the device is known again.
        let file = file.canonicalize().map_err(|source| LoopError::Open { path: file.to_owned(), source })?;
        let backing = File::options()
            .read(true)
            .write(!options.is_read_only)
            .custom_flags(OFlags::DIRECT.bits().cast_signed())
            .open(&file)
            .map_err(|source| LoopError::Open { path: file.clone(), source })?;
        let control = open("/dev/loop-control".as_ref()).map_err(LoopError::Missing)?;
        for _ in 0..TRIES {
            let number = free_number(&control).map_err(|errno| LoopError::Missing(errno.into()))?;
            let this = Self { number, file: file.clone() };
            let device = open(&this.device()).map_err(|source| LoopError::Open { path: this.device(), source })?;
            match configure(&device, &backing, options) {
                Ok(()) => return Ok(this),
                Err(Errno::BUSY) => {}
                Err(errno) => {
                    let source = errno.into();
                    return Err(LoopError::Configure { device: this.device(), file, source });
                }
            }
        }
        Err(LoopError::NoneFree)
    }

    /// The one at `device`, if it is one of `file`.
    pub fn find(device: &Path, file: &Path) -> Option<Self> {
        let number = device.file_name()?.to_str()?.strip_prefix("loop")?.parse().ok()?;
        let this = Self { number, file: file.to_owned() };
        this.is_attached().then_some(this)
    }

    /// `/dev/loopN`.
    pub fn device(&self) -> PathBuf {
        format!("/dev/loop{}", self.number).into()
    }

    /// Lets go of the file. Everything that was written is in it then, and durable. Refuses while
    /// the device is used, as a detachment would then come at any later time.
    pub fn detach(&self) -> Result<(), LoopError> {
        self.let_go(|device| rustix::fs::fsync(device))
    }

    /// The same where nobody is there who could make anything durable: it is not waited for.
    /// Refuses while the device is used; and what was written by somebody who has closed it has
    /// gone to the file when it was closed.
    pub fn abandon(&self) -> Result<(), LoopError> {
        self.let_go(|_| Ok(()))
    }

    fn let_go(&self, flush: impl FnOnce(&File) -> rustix::io::Result<()>) -> Result<(), LoopError> {
        if !self.is_attached() {
            return Err(LoopError::Foreign { device: self.device(), file: self.file.clone() });
        }
        let opened = |source| LoopError::Open { path: self.device(), source };
        let mut left = PATIENCE;
        // Opened alone, it is mounted nowhere and in no array; and while it is, nobody can mount
        // it.
        let exclusive = OFlags::EXCL.bits().cast_signed();
        let device = loop {
            match File::options().read(true).custom_flags(exclusive).open(self.device()) {
                Ok(device) => break device,
                Err(error) if error.raw_os_error() != Some(Errno::BUSY.raw_os_error()) => return Err(opened(error)),
                Err(_) if left.is_zero() => return Err(LoopError::InUse(self.device())),
                Err(_) => left = pause(left),
            }
        };
        let flushed = flush(&device);
        // Where the file is dead nothing more can be saved, and the device is to go all the same.
        clear(&device).map_err(|errno| opened(errno.into()))?;
        drop(device);
        // Others may have it open without using it, and it goes with the last of them.
        while self.is_attached() {
            if left.is_zero() {
                return Err(LoopError::InUse(self.device()));
            }
            left = pause(left);
        }
        flushed.map_err(|errno| LoopError::Unflushed { device: self.device(), source: errno.into() })
    }

    fn is_attached(&self) -> bool {
        let told = std::fs::read(self.attribute("loop/backing_file")).unwrap_or_default();
        let told = String::from_utf8_lossy(&told);
        Path::new(told.trim_end_matches('\n')) == self.file
    }

    fn attribute(&self, name: &str) -> PathBuf {
        format!("/sys/block/loop{}/{name}", self.number).into()
    }
}

fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).open(path)
}

fn pause(left: Duration) -> Duration {
    std::thread::sleep(PAUSE);
    left.saturating_sub(PAUSE)
}
