//! One open drive: what it is, how large, which blocks, and how it is read and written outside a
//! loop.
//!
//! Facts are found at opening and do not change afterwards. Nothing here ever makes a file longer:
//! I/O beyond [`Drive::size_bytes`] is refused before it reaches the kernel.

mod below;
mod facts;
mod key;
mod lock;
mod order;
mod synchronous;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::Identity;
use crate::identity::hardware;
use crate::survey::in_use;
pub(crate) use key::DeviceNumber;
pub use key::DriveKey;
pub(crate) use lock::{holder_of, patiently};
pub use order::WriteOrder;

/// What a drive is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads only; nothing can be written through it.
    Read,
    /// Reads and writes; a block device is claimed exclusively (O_EXCL), a file is locked against
    /// other writers. So is what lies below a loop device.
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
    /// Nothing is there.
    #[error("{}: not found; check the path, or plug the drive in", path.display())]
    NotFound {
        /// As given.
        path: PathBuf,
    },
    /// The user may not.
    #[error("{}: permission denied; run as root, or join the group that owns it (disk, for devices)", path.display())]
    PermissionDenied {
        /// As given.
        path: PathBuf,
    },
    /// Somebody else has it.
    #[error("{}: busy: {holder}; release it first", path.display())]
    Busy {
        /// As given.
        path: PathBuf,
        /// Who has it, as a clause: `mounted on /media/x`.
        holder: String,
    },
    /// A directory, terminal, socket, ...
    #[error("{}: is a {what}; a drive is a block device or a regular file", path.display())]
    NotADrive {
        /// As given.
        path: PathBuf,
        /// What it is instead.
        what: &'static str,
    },
    /// Not one block fits.
    #[error("{}: holds less than one block ({size_bytes} B); insert the medium, or make the file larger", path.display())]
    Empty {
        /// As given.
        path: PathBuf,
        /// What it holds.
        size_bytes: u64,
    },
    /// The system says no.
    #[error("{}: {source}", path.display())]
    System {
        /// As given.
        path: PathBuf,
        /// The error as it came.
        source: io::Error,
    },
}

/// An open drive. Facts are found at opening, not assumed.
#[derive(Debug)]
pub struct Drive {
    path: PathBuf,
    access: Access,
    file: Arc<File>,
    lock: Option<lock::FileLock>,
    /// Kept for as long as the drive is.
    below: Vec<below::Claim>,
    key: DriveKey,
    hardware: Option<String>,
    facts: facts::Facts,
    /// It was in a directory when it was opened.
    had_a_name: bool,
    /// What a flush has found to have happened to its file.
    loss: OnceLock<Loss>,
}

/// How a file lost content while it was open.
#[derive(Clone, Copy, Debug)]
enum Loss {
    /// The next write fills the gap with zeros.
    CutShort,
    /// Its content is gone when it is closed.
    Deleted,
}

impl Loss {
    fn error(self, path: &Path) -> io::Error {
        let (kind, what) = match self {
            Self::CutShort => (io::ErrorKind::UnexpectedEof, "was cut short while it was in use"),
            Self::Deleted => (io::ErrorKind::NotFound, "was deleted while it was in use"),
        };
        io::Error::new(kind, format!("{}: {what}", path.display()))
    }
}

impl Drive {
    /// Opens a drive with O_DIRECT where it can be had.
    pub fn open(path: &Path, access: Access) -> Result<Self, OpenError> {
        let refused = |errno| OpenError::from_errno(path, errno);
        let kind = kind_of(path, rustix::fs::stat(path).map_err(refused)?.st_mode)?;
        let file = File::from(open_descriptor(path, access, kind).map_err(refused)?);
        let stat = rustix::fs::fstat(&file).map_err(refused)?;
        let kind = kind_of(path, stat.st_mode)?; // the path may lead elsewhere by now
        let system = |source| OpenError::System { path: path.into(), source };
        let facts = facts::Facts::find(&file, kind, &stat).map_err(system)?;
        if facts.size_bytes == 0 {
            let size_bytes = u64::try_from(stat.st_size).unwrap_or(0);
            return Err(OpenError::Empty { path: path.into(), size_bytes });
        }
        let key = DriveKey::from_stat(&stat);
        let hardware = key.device_number().map_or_else(|| hardware::of_file(&file), hardware::of_device);
        let (path, file, below) = (path.to_owned(), Arc::new(file), Vec::new());
        let had_a_name = stat.st_nlink > 0;
        let loss = OnceLock::new();
        let mut drive = Self { path, access, file, lock: None, below, key, hardware, facts, had_a_name, loss };
        if access == Access::Write {
            drive.lock(lock::Kind::Alone)?;
            drive.claim_below()?;
        }
        Ok(drive)
    }

    /// Keeps writers that open drives as this crate does away while this drive is open, or says who
    /// is there. For what is only right while nothing changes, like a comparison of members. Block
    /// devices are not held: a claim for reading would keep other readers away too.
    pub fn keep_writers_out(&mut self) -> Result<(), OpenError> {
        if self.lock.is_some() { Ok(()) } else { self.lock(lock::Kind::Shared) }
    }

    /// The process that has this file alone, as whoever runs an array of files does; none of block
    /// devices, and where it cannot be told.
    pub fn holder(&self) -> Option<u32> {
        let stat = (self.kind() == DriveKind::File).then(|| rustix::fs::fstat(&self.file).ok())??;
        lock::holder_of(&stat)
    }

    fn lock(&mut self, kind: lock::Kind) -> Result<(), OpenError> {
        if self.kind() == DriveKind::File {
            let locked = lock::FileLock::take(&self.file, kind);
            self.lock = locked.map_err(|errno| OpenError::from_errno(&self.path, errno))?;
        }
        Ok(())
    }

    fn claim_below(&mut self) -> Result<(), OpenError> {
        if let Some(number) = self.key.device_number() {
            self.below = below::claim(number).map_err(|below::Taken { path: below }| OpenError::Busy {
                path: self.path.clone(),
                holder: format!("{}, which it is a loop device over, is in use by another program", below.display()),
            })?;
        }
        Ok(())
    }

    /// The path as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it was opened for.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Capacity in bytes, in whole logical blocks.
    pub fn size_bytes(&self) -> u64 {
        self.facts.size_bytes
    }

    /// Finds anew how large it is: a device may grow while it is open.
    pub fn measure(&mut self) -> io::Result<()> {
        self.facts.size_bytes = facts::size_bytes(&self.file, self.facts.logical_block_bytes)?;
        Ok(())
    }

    /// Smallest unit of I/O: offset, length and memory are multiples of it.
    pub fn logical_block_bytes(&self) -> u32 {
        self.facts.logical_block_bytes
    }

    /// The drive's own unit: smaller writes cost it a read. For a file, the file system's.
    pub fn physical_block_bytes(&self) -> u32 {
        self.facts.physical_block_bytes
    }

    /// File or device.
    pub fn kind(&self) -> DriveKind {
        self.facts.kind
    }

    /// Whether I/O bypasses the page cache.
    pub fn is_direct(&self) -> bool {
        self.facts.is_direct
    }

    /// Whether it is a file whose content is in memory and nowhere else (tmpfs), so that I/O on it
    /// waits for nothing.
    pub fn is_in_memory(&self) -> bool {
        self.facts.is_in_memory
    }

    /// Whether whoever submits I/O of this file waits for another process or machine: FUSE, and
    /// file systems of the network.
    pub(crate) fn waits_in_submission(&self) -> bool {
        self.facts.waits_in_submission
    }

    /// In which order it is to be given writes that are under way at the same time.
    pub fn write_order(&self) -> WriteOrder {
        self.facts.write_order
    }

    /// Whether discard does anything here. What was discarded reads as zeroes.
    pub fn can_discard(&self) -> bool {
        self.facts.can_discard
    }

    /// What the system knows of the thing behind the path. Files have no identity of their own.
    pub fn identity(&self) -> Identity {
        self.key.device_number().map(Identity::of_device).unwrap_or_default()
    }

    /// By what the drive is known again wherever it is plugged in, whatever leads to it: its maker,
    /// model and serial number, or a file's number and age. None if nothing does. Cheap sticks
    /// share theirs with their whole batch. Whoever asks waits for nobody.
    pub fn hardware(&self) -> Option<String> {
        self.hardware.clone()
    }

    /// Tells drives apart whatever the paths are.
    pub fn key(&self) -> DriveKey {
        self.key
    }

    /// Whether both are one and the same file or device, reached by whatever paths.
    pub fn same_drive_as(&self, other: &Self) -> bool {
        self.key == other.key
    }

    /// The open file, for engines that outlive a borrow of the drive.
    pub(crate) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Puts another file under the drive: one that stalls, or fails.
    #[cfg(test)]
    pub(crate) fn replace_file(&mut self, file: File) {
        self.file = Arc::new(file);
    }

    /// Why I/O there cannot be: outside the drive, or a change to what was opened for reading or
    /// has lost content.
    pub(crate) fn refusal(&self, offset: u64, length: u64, changes: bool) -> Option<io::Error> {
        if changes && self.access == Access::Read {
            let why = format!("{}: opened for reading only", self.path.display());
            return Some(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        if changes && let Some(loss) = self.loss.get() {
            return Some(loss.error(&self.path));
        }
        let inside = offset.checked_add(length).is_some_and(|end| end <= self.size_bytes());
        (!inside).then(|| {
            let (path, size_bytes) = (self.path.display(), self.size_bytes());
            let why = format!("{path}: {length} bytes at {offset} are not within its {size_bytes} bytes");
            io::Error::new(io::ErrorKind::UnexpectedEof, why)
        })
    }

    /// Whether a flush or a read has found the file cut short or deleted since it was opened,
    /// whatever it is by now.
    pub fn has_lost_content(&self) -> bool {
        self.loss.get().is_some()
    }

    /// Why a flush must fail: the file has lost content since it was opened. From then on it takes
    /// no changes either: what is written to it again stands beside what nobody has any more.
    pub fn flush_refusal(&self) -> Option<io::Error> {
        match self.look_for_loss() {
            Ok(()) => self.loss.get().map(|loss| loss.error(&self.path)),
            Err(errno) => Some(errno.into()),
        }
    }

    /// Looks whether the file has lost content since it was opened; what is found once stays.
    pub(crate) fn look_for_loss(&self) -> Result<(), Errno> {
        if self.kind() == DriveKind::BlockDevice || self.has_lost_content() {
            return Ok(());
        }
        let stat = rustix::fs::fstat(&self.file)?;
        let is_shorter = u64::try_from(stat.st_size).unwrap_or(0) < self.size_bytes();
        let loss = match (is_shorter, self.had_a_name && stat.st_nlink == 0) {
            (true, _) => Loss::CutShort,
            (false, true) => Loss::Deleted,
            (false, false) => return Ok(()),
        };
        self.loss.get_or_init(|| loss);
        Ok(())
    }
}

impl AsFd for Drive {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl OpenError {
    /// Sorts what the system said by what the user can do about it.
    fn from_errno(path: &Path, errno: Errno) -> Self {
        let path = PathBuf::from(path);
        match errno {
            Errno::NOENT | Errno::NXIO | Errno::NODEV | Errno::NOTDIR => Self::NotFound { path },
            Errno::ACCESS | Errno::PERM => Self::PermissionDenied { path },
            Errno::BUSY => {
                let holder = in_use::describe(&path).or_else(|| in_use::describe_program(&path));
                let holder = holder.unwrap_or_else(|| "in use by another program".to_owned());
                Self::Busy { path, holder }
            }
            other => Self::System { path, source: other.into() },
        }
    }
}

/// File, device, or neither.
fn kind_of(path: &Path, mode: u32) -> Result<DriveKind, OpenError> {
    let what = match FileType::from_raw_mode(mode) {
        FileType::RegularFile => return Ok(DriveKind::File),
        FileType::BlockDevice => return Ok(DriveKind::BlockDevice),
        FileType::Directory => "directory",
        FileType::CharacterDevice => "character device",
        FileType::Fifo => "pipe",
        FileType::Socket => "socket",
        _ => "special file",
    };
    Err(OpenError::NotADrive { path: path.into(), what })
}

/// Opens with O_DIRECT, or without where the file system refuses it.
fn open_descriptor(path: &Path, access: Access, kind: DriveKind) -> Result<std::os::fd::OwnedFd, Errno> {
    let mut flags = OFlags::CLOEXEC
        | match access {
            Access::Read => OFlags::RDONLY,
            Access::Write => OFlags::RDWR,
        };
    if kind == DriveKind::BlockDevice && access == Access::Write {
        flags |= OFlags::EXCL; // on a device without O_CREAT: a claim that mounts and md respect
    }
    lock::patiently(|| match rustix::fs::open(path, flags | OFlags::DIRECT, Mode::empty()) {
        Err(Errno::INVAL) => rustix::fs::open(path, flags, Mode::empty()),
        opened => opened,
    })
}

#[cfg(test)]
mod tests;
