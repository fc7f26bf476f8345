//! Drives that are to be overwritten: what speaks against it is told before anything is opened for
//! writing, and must still be so once nobody else can write to them any more.

use std::io;
use std::path::{Path, PathBuf};

use shoal_bench::Fill;
use shoal_documents::{Fault, HasFault};
use shoal_drive::{
    Access, Drive, FileContent, Finding, survey, survey_content, survey_data, survey_file, survey_signatures,
};
use shoal_volume::transfer::read_to;
use shoal_volume::{Superblock, Volume};

use crate::asked::{Silence, asked};
use crate::drives::{DrivesError, open_drives, probe};

/// Why a drive, or an array's content, is not overwritten.
#[derive(Debug, thiserror::Error)]
pub enum WipeError {
    /// It does not open.
    #[error(transparent)]
    Drives(#[from] DrivesError),
    /// It does not answer.
    #[error(transparent)]
    Silent(#[from] Silence),
    /// Nobody can say what it holds.
    #[error("{}: {source}", path.display())]
    Survey {
        /// The drive.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is a file that cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Somebody uses it.
    #[error("{} is in use: {how}: release it first", path.display())]
    InUse {
        /// The drive.
        path: PathBuf,
        /// By whom.
        how: String,
    },
    /// It holds something that is known by its signature.
    #[error("{} holds {what} (at byte {offset}), which would be lost: take another drive, or use --force", path.display())]
    Signature {
        /// The drive.
        path: PathBuf,
        /// What it holds.
        what: String,
        /// Where the signature lies.
        offset: u64,
    },
    /// It is a member of an array.
    #[error("{} is or was a member of array {array}, and would be lost to it: take another drive, or use --force", path.display())]
    Member {
        /// The drive.
        path: PathBuf,
        /// The array's name.
        array: String,
    },
    /// It is a file that holds something.
    #[error(
        "{} is a file that holds {what} (from byte {offset} on), which would be lost: take another file, or use --force",
        path.display()
    )]
    File {
        /// The file.
        path: PathBuf,
        /// What it holds.
        what: String,
        /// Where that begins.
        offset: u64,
    },
    /// It was fit to be overwritten, and is another one now.
    #[error("{} was changed by another command just now: see what it is with `shoal examine`", path.display())]
    Changed {
        /// The drive.
        path: PathBuf,
    },
    /// An array's content holds something.
    #[error("array {array} {finding}, which would be lost: take another one, or use --force")]
    Content {
        /// The array's name.
        array: String,
        /// What it holds.
        finding: Finding,
    },
    /// An array's content is not blank.
    #[error(
        "array {array} holds {what} (from byte {offset} on), which would be lost: measure reads alone, take another array, or \
         use --force"
    )]
    Data {
        /// The array's name.
        array: String,
        /// What it holds.
        what: &'static str,
        /// Where that begins.
        offset: u64,
    },
    /// An array's content cannot be read.
    #[error(transparent)]
    Read(io::Error),
}

impl HasFault for WipeError {
    fn fault(&self) -> Fault {
        match self {
            Self::Drives(error) => error.fault(),
            Self::Silent(error) => error.fault(),
            Self::Survey { .. } => Fault::Usage,
            Self::Unreadable { .. } | Self::Read(_) => Fault::Failed,
            Self::InUse { .. }
            | Self::Signature { .. }
            | Self::Member { .. }
            | Self::File { .. }
            | Self::Changed { .. }
            | Self::Content { .. }
            | Self::Data { .. } => Fault::Refused,
        }
    }
}

/// Drives that may be overwritten, as they were when that was found.
#[derive(Debug)]
pub struct Wipeable {
    drives: Vec<Former>,
}

/// What a drive held.
#[derive(Clone, Debug)]
pub struct Former {
    /// The drive.
    pub path: PathBuf,
    /// What it is known by.
    pub signatures: Vec<Finding>,
    /// The superblock of the array that it is a member of, if it is one.
    pub superblock: Option<Superblock>,
}

impl Wipeable {
    /// What each drive held when it was looked at.
    pub fn former(&self) -> &[Former] {
        &self.drives
    }

    /// Opens the drives for writing, and confirms them.
    pub fn open(&self) -> Result<Vec<Drive>, WipeError> {
        let paths: Vec<_> = self.drives.iter().map(|held| held.path.clone()).collect();
        let drives = open_drives(&paths, Access::Write)?;
        self.confirm(&drives)?;
        Ok(drives)
    }

    /// Refuses drives that hold something else by now. They are among `drives`, which are open for
    /// writing: nobody else changes them any more. Two commands may have found the same drive free,
    /// and the first one has taken it.
    pub fn confirm(&self, drives: &[Drive]) -> Result<(), WipeError> {
        for held in &self.drives {
            let Some(drive) = drives.iter().find(|drive| drive.path() == held.path) else { continue };
            let (signatures, superblock) = (signatures(&held.path)?, probe(drive).ok());
            if signatures != held.signatures || superblock != held.superblock {
                return Err(WipeError::Changed { path: held.path.clone() });
            }
        }
        Ok(())
    }
}

/// Refuses drives that are in use, and drives and files that hold something unless `force`. Whoever
/// destroys what a drive holds asks this before it is opened for writing.
pub fn check_wipeable(paths: &[PathBuf], force: bool) -> Result<Wipeable, WipeError> {
    let drives: Result<_, _> = paths.iter().map(|path| check(path, force, |_| !force)).collect();
    Ok(Wipeable { drives: drives? })
}

/// Refuses drives that are in use, and files that hold something and are no members of arrays
/// unless `force`. Whoever ends what a drive was, and tells people first what that is, asks this.
pub fn check_erasable(paths: &[PathBuf], force: bool) -> Result<Wipeable, WipeError> {
    let is_ordinary = |superblock: &Option<Superblock>| !force && superblock.is_none();
    let drives: Result<_, _> = paths.iter().map(|path| check(path, true, is_ordinary)).collect();
    Ok(Wipeable { drives: drives? })
}

/// What a drive holds, if it may lose that: signatures of it if `force`, and a file's content if it
/// is not to be kept.
fn check(path: &Path, force: bool, keeps_file: impl Fn(&Option<Superblock>) -> bool) -> Result<Former, WipeError> {
    // First what it is, or a change between the two looks would pass for what was found fit.
    let superblock = asked(path, |path| Drive::open(path, Access::Read).ok().and_then(|drive| probe(&drive).ok()))?;
    let signatures = check_signatures(path, force || superblock.is_some())?;
    if let Some(member) = superblock.as_ref().filter(|_| !force) {
        return Err(WipeError::Member { path: path.to_owned(), array: member.name() });
    }
    if keeps_file(&superblock) {
        refuse_ordinary_file(path)?;
    }
    Ok(Former { path: path.to_owned(), signatures, superblock })
}

/// What a drive carries, if nobody uses it, and nothing is lost or that is meant.
fn check_signatures(path: &Path, force: bool) -> Result<Vec<Finding>, WipeError> {
    let findings = find(path)?;
    for finding in &findings {
        let path = path.to_owned();
        match finding {
            Finding::InUse { how } => return Err(WipeError::InUse { path, how: how.clone() }),
            Finding::Signature { what, offset } if !force => {
                return Err(WipeError::Signature { path, what: what.to_string(), offset: *offset });
            }
            Finding::Signature { .. } => {}
        }
    }
    Ok(findings)
}

/// What a drive carries, whoever uses it.
fn signatures(path: &Path) -> Result<Vec<Finding>, WipeError> {
    let mut findings = find(path)?;
    findings.retain(|finding| matches!(finding, Finding::Signature { .. }));
    Ok(findings)
}

fn find(path: &Path) -> Result<Vec<Finding>, WipeError> {
    let survey = survey(path).map_err(|source| WipeError::Survey { path: path.to_owned(), source })?;
    Ok(survey.findings)
}

/// Refuses a regular file that holds something, unless that is what shoal itself writes to files
/// that are measured.
fn refuse_ordinary_file(path: &Path) -> Result<(), WipeError> {
    let content =
        survey_file(path, is_measured).map_err(|source| WipeError::Unreadable { path: path.to_owned(), source })?;
    let Some(FileContent::Foreign { what, offset }) = content else { return Ok(()) };
    Err(WipeError::File { path: path.to_owned(), what: what.to_string(), offset })
}

/// Whether shoal wrote this to measure.
fn is_measured(bytes: &[u8]) -> bool {
    // A load may have written any of the sectors, and none before.
    let first = bytes.chunks(512).find(|sector| sector.iter().any(|byte| *byte != 0));
    first.is_some_and(|sector| Fill::wrote(sector) || shoal_profile::wrote(sector) || shoal_check::wrote(sector))
}

/// Refuses an array, so named, whose content is known by a signature, or begins as files do that
/// people keep.
pub fn check_content(content: &mut dyn Volume, array: &str) -> Result<(), WipeError> {
    let found = survey_content(content.size_bytes(), |offset, bytes| read_content(content, offset, bytes));
    match found.map_err(WipeError::Read)?.into_iter().next() {
        None => Ok(()),
        Some(finding) => Err(WipeError::Content { array: array.to_owned(), finding }),
    }
}

/// What an array's content is known as by a signature: a file system, say.
///
/// # Errors
/// It cannot be read.
pub fn find_signature(content: &mut dyn Volume) -> io::Result<Option<Finding>> {
    let found = survey_signatures(content.size_bytes(), |offset, bytes| read_content(content, offset, bytes));
    Ok(found?.into_iter().next())
}

/// Refuses an array, so named, that holds anything but what shoal writes to measure: what is
/// written to measure destroys what nobody can name, too.
pub fn check_measurable(content: &mut dyn Volume, array: &str) -> Result<(), WipeError> {
    check_content(content, array)?;
    let size_bytes = content.size_bytes();
    let read = |offset, bytes: &mut [u8]| read_content(content, offset, bytes);
    match survey_data(size_bytes, is_measured, read).map_err(WipeError::Read)? {
        FileContent::Blank | FileContent::Own => Ok(()),
        FileContent::Foreign { what, offset } => Err(WipeError::Data { array: array.to_owned(), what, offset }),
    }
}

fn read_content(content: &mut dyn Volume, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
    let mut sink: &mut [u8] = bytes;
    let length = sink.len() as u64;
    read_to(content, offset, length, &mut sink).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    /// A blank file, and what is written to it between the look and the opening.
    fn opens(force: bool, meanwhile: Option<(&[u8], u64)>) -> Result<(), WipeError> {
        let directory = tempfile::tempdir().expect("there is room");
        let path = directory.path().join("drive");
        let file = std::fs::File::create(&path).expect("there is room");
        file.set_len(1 << 20).expect("it is sparse");
        let paths = [path];
        let wipeable = check_wipeable(&paths, force)?;
        if let Some((bytes, offset)) = meanwhile {
            file.write_all_at(bytes, offset).expect("there is room");
        }
        wipeable.open().map(drop)
    }

    #[test]
    fn a_file_that_is_no_arrays_is_not_erased_unless_that_is_meant() {
        let directory = tempfile::tempdir().expect("there is room");
        let paths = [directory.path().join("drive")];
        let file = std::fs::File::create(&paths[0]).expect("there is room");
        file.set_len(1 << 20).expect("it is sparse");
        assert_eq!(check_erasable(&paths, false).expect("it is blank").former()[0].signatures, []);
        // The mark of XFS.
        file.write_all_at(b"XFSB", 0).expect("there is room");
        let refused = check_erasable(&paths, false);
        assert!(matches!(&refused, Err(WipeError::File { .. })), "{refused:?}");
        assert_eq!(check_erasable(&paths, true).expect("it is meant").former()[0].signatures.len(), 1);
    }

    #[test]
    fn what_another_command_has_taken_meanwhile_is_refused_by_force_too() {
        for force in [false, true] {
            assert!(opens(force, None).is_ok());
            // The mark of LUKS.
            let refused = opens(force, Some((b"LUKS\xba\xbe\0\x02", 0)));
            assert!(matches!(&refused, Err(WipeError::Changed { .. })), "{refused:?}");
        }
    }
}
