//! Finds members: on files and devices, in directories of them, in the partitions of whole-disk
//! images, in images that were cut off or copied with holes.

use std::collections::HashSet;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use shoal_documents::{Fault, HasFault};
use shoal_drive::{Access, Drive, DriveKey, OpenError, Partition, partitions};
use shoal_inventory::{Silence, asked};
use shoal_md::SECTOR_BYTES;
use shoal_volume::{ProbeError, Superblock, SuperblockError, read_superblock};

use crate::rescue_map::{MapError, holes_of};
use crate::seen::Seen;

/// Why it is not looked for members any further.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// What was named does not open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A directory cannot be read.
    #[error("{}: {source}", directory.display())]
    Directory {
        /// Which.
        directory: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// What was named does not answer.
    #[error(transparent)]
    Silent(#[from] Silence),
    /// It is not known what of an image was copied.
    #[error(transparent)]
    Map(#[from] MapError),
}

impl HasFault for SearchError {
    fn fault(&self) -> Fault {
        match self {
            Self::Silent(error) => error.fault(),
            Self::Open(_) | Self::Directory { .. } | Self::Map(_) => Fault::Usage,
        }
    }
}

/// A member that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The file or device.
    pub path: PathBuf,
    /// What people call it: the path, and the partition if it is in one.
    pub name: String,
    /// Where on the file or device it starts.
    pub offset: u64,
    /// Its size, as its superblock wants it; the file may end before.
    pub size_bytes: u64,
    /// How much of it is there.
    pub present_bytes: u64,
    /// Ranges of it that could not be copied.
    pub holes: Vec<Range<u64>>,
    /// What it says of itself.
    pub superblock: Superblock,
    /// This host has seen its file cut short or deleted while the array ran, however long it is
    /// now.
    pub is_spoilt: bool,
    /// What tells later that it has been written to.
    pub(crate) seen: Seen,
}

impl Found {
    /// What of it is cut off.
    pub fn cut_off_bytes(&self) -> u64 {
        self.size_bytes - self.present_bytes
    }

    /// What of it could not be copied.
    pub fn hole_bytes(&self) -> u64 {
        self.holes.iter().map(|hole| hole.end - hole.start).sum()
    }

    /// Whether part of its data is not there: cut off, or not copied.
    pub fn is_incomplete(&self) -> bool {
        let start = self.superblock.data_offset_bytes();
        let is_data = |hole: &Range<u64>| hole.end > start;
        self.cut_off_bytes() > 0 || self.holes.iter().any(is_data)
    }

    pub(crate) fn missing_bytes(&self) -> u64 {
        self.cut_off_bytes() + self.hole_bytes()
    }
}

/// What was found, and what could not be looked at.
#[derive(Debug, Default)]
pub struct Search {
    /// The members, in the order in which they were found.
    pub found: Vec<Found>,
    /// Name and problem of what carries a damaged superblock, or cannot be read though it was
    /// named.
    pub problems: Vec<(String, String)>,
    seen: HashSet<DriveKey>,
}

impl Search {
    /// Looks at all that is named, and at everything in directories. What does not answer is not
    /// waited for: an error if it was named, else a problem.
    pub fn of(paths: &[PathBuf]) -> Result<Self, SearchError> {
        let mut search = Self::default();
        for path in paths {
            if asked(path, Path::is_dir)? {
                search.directory(path)?;
            } else {
                let drive = asked(path, OnDrive::of)??;
                search.take(drive);
            }
        }
        Ok(search)
    }

    fn directory(&mut self, directory: &Path) -> Result<(), SearchError> {
        let listed = asked(directory, entries_of)?;
        let entries = listed.map_err(|source| SearchError::Directory { directory: directory.to_owned(), source })?;
        for (path, is_directory) in entries {
            // Links are not followed: they could lead in circles.
            if is_directory {
                self.directory(&path)?;
                continue;
            }
            match asked(&path, OnDrive::of) {
                Ok(Ok(drive)) => self.take(drive),
                Ok(Err(SearchError::Open(_))) => {}
                Ok(Err(error)) => return Err(error),
                Err(silence) => self.problems.push((path.display().to_string(), silence.to_string())),
            }
        }
        Ok(())
    }

    /// Adds what a drive holds, once.
    fn take(&mut self, drive: OnDrive) {
        if self.seen.insert(drive.key) {
            self.found.extend(drive.found);
            self.problems.extend(drive.problems);
        }
    }
}

/// What lies in a directory, in order, and whether it is a directory itself.
fn entries_of(directory: &Path) -> io::Result<Vec<(PathBuf, bool)>> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        entries.push((entry.path(), entry.file_type()?.is_dir()));
    }
    entries.sort();
    Ok(entries)
}

/// What was found on a drive.
#[derive(Debug)]
struct OnDrive {
    key: DriveKey,
    found: Vec<Found>,
    problems: Vec<(String, String)>,
}

impl OnDrive {
    /// Looks at the drive at a path, and at its partitions.
    fn of(path: &Path) -> Result<Self, SearchError> {
        let drive = Drive::open(path, Access::Read)?;
        let mut it = Self { key: drive.key(), found: Vec::new(), problems: Vec::new() };
        let holes = holes_of(drive.path())?;
        let name = drive.path().display().to_string();
        let whole = Partition { number: 0, offset: 0, size_bytes: drive.size_bytes() };
        if it.window(&drive, &holes, &whole, &name) {
            return Ok(it);
        }
        let mut read_at = |offset, bytes: &mut [u8]| drive.read_at(offset, bytes);
        for partition in partitions(&mut read_at).unwrap_or_default() {
            it.window(&drive, &holes, &partition, &format!("{name}, partition {}", partition.number));
        }
        Ok(it)
    }

    /// Looks for a superblock in a part of a drive; whether there is one.
    fn window(&mut self, drive: &Drive, holes: &[Range<u64>], window: &Partition, name: &str) -> bool {
        let there = drive.size_bytes().saturating_sub(window.offset).min(window.size_bytes);
        let probed = superblock_of(window.size_bytes, |offset, bytes| {
            if offset + bytes.len() as u64 > there {
                bytes.fill(0); // cut off; nothing is there
                return Ok(());
            }
            drive.read_at(window.offset + offset, bytes)
        });
        match probed {
            Ok((superblock, size_bytes)) => match Seen::now(drive, window.offset, &superblock) {
                Ok(seen) => {
                    let holes = holes_within(holes, window.offset, size_bytes);
                    let present_bytes = there.min(size_bytes);
                    let (path, name, offset) = (drive.path().to_owned(), name.to_owned(), window.offset);
                    let is_spoilt = false; // who has the memory of this host finds out
                    self.found.push(Found {
                        path,
                        name,
                        offset,
                        size_bytes,
                        present_bytes,
                        holes,
                        superblock,
                        is_spoilt,
                        seen,
                    });
                    true
                }
                Err(problem) => self.has_problem(name, &problem),
            },
            Err(ProbeError::Superblock(SuperblockError::NoMagic)) => false,
            Err(problem) => self.has_problem(name, &problem),
        }
    }

    /// Writes down why something is no member that can be used.
    fn has_problem(&mut self, name: &str, problem: &dyn std::fmt::Display) -> bool {
        self.problems.push((name.to_owned(), problem.to_string()));
        false
    }
}

/// What of a drive's holes lies in a member that starts at `offset`, by the member's own count.
fn holes_within(holes: &[Range<u64>], offset: u64, size_bytes: u64) -> Vec<Range<u64>> {
    let shift = |hole: &Range<u64>| hole.start.saturating_sub(offset)..hole.end.saturating_sub(offset).min(size_bytes);
    holes.iter().map(shift).filter(|hole| !hole.is_empty()).collect()
}

/// The superblock of a window of `size_bytes`, and the size that it wants: an image that was cut
/// off lacks the end of its data, and is taken for as long as the superblock says.
fn superblock_of(
    size_bytes: u64,
    mut read: impl FnMut(u64, &mut [u8]) -> io::Result<()>,
) -> Result<(Superblock, u64), ProbeError<io::Error>> {
    match read_superblock(size_bytes, &mut read) {
        Ok(superblock) => Ok((superblock, size_bytes)),
        Err(ProbeError::Superblock(SuperblockError::DataArea { data_offset, data_size, drive })) => {
            let wanted = data_offset.saturating_add(data_size).saturating_mul(SECTOR_BYTES);
            let superblock = read_superblock(wanted, |offset, bytes: &mut [u8]| {
                if offset + bytes.len() as u64 > size_bytes {
                    bytes.fill(0);
                    return Ok(());
                }
                read(offset, bytes)
            });
            let as_it_is = SuperblockError::DataArea { data_offset, data_size, drive };
            superblock.map(|superblock| (superblock, wanted)).map_err(|_| ProbeError::Superblock(as_it_is))
        }
        Err(problem) => Err(problem),
    }
}
