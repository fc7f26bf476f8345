//! Drives that are to be overwritten: what speaks against it is told before anything is opened for writing, and must still
//! be so once nobody else can write to them any more.

use std::path::{Path, PathBuf};

use shoal_bench::Fill;
use shoal_drive::{Access, Drive, FileContent, Finding, survey, survey_file};
use shoal_volume::Superblock;

use crate::drives::{open_drives, probe};
use crate::exit::Failure;

/// Drives that may be overwritten, as they were when that was found.
#[derive(Debug)]
pub(crate) struct Wipeable {
    drives: Vec<Held>,
}

/// What a drive held.
#[derive(Debug)]
struct Held {
    path: PathBuf,
    signatures: Vec<Finding>,
    superblock: Option<Superblock>,
}

impl Wipeable {
    /// Opens the drives for writing, and confirms them.
    pub(crate) fn open(&self) -> Result<Vec<Drive>, Failure> {
        let paths: Vec<_> = self.drives.iter().map(|held| held.path.clone()).collect();
        let drives = open_drives(&paths, Access::Write)?;
        self.confirm(&drives)?;
        Ok(drives)
    }

    /// Refuses drives that hold something else by now. They are among `drives`, which are open for writing: nobody else
    /// changes them any more. Two commands may have found the same drive free, and the first one has taken it.
    pub(crate) fn confirm(&self, drives: &[Drive]) -> Result<(), Failure> {
        for held in &self.drives {
            let Some(drive) = drives.iter().find(|drive| drive.path() == held.path) else { continue };
            let (signatures, superblock) = (signatures(&held.path)?, probe(drive).ok());
            if signatures != held.signatures || superblock != held.superblock {
                return Err(Failure::Refused(format!(
                    "{} was changed by another command just now: see what it is with `shoal examine`",
                    held.path.display()
                )));
            }
        }
        Ok(())
    }
}

/// Refuses drives that are in use, and drives and files that hold something unless `force`. Whoever destroys what a drive
/// holds asks this before it is opened for writing.
pub(crate) fn check_wipeable(paths: &[PathBuf], force: bool) -> Result<Wipeable, Failure> {
    let check = |path: &PathBuf| {
        // First what it is, or a change between the two looks would pass for what was found fit.
        let superblock = Drive::open(path, Access::Read).ok().and_then(|drive| probe(&drive).ok());
        let signatures = check_signatures(path, force)?;
        if !force {
            refuse_ordinary_file(path)?;
        }
        Ok(Held { path: path.clone(), signatures, superblock })
    };
    let drives: Result<_, Failure> = paths.iter().map(check).collect();
    Ok(Wipeable { drives: drives? })
}

/// What a drive carries, if nobody uses it, and nothing is lost or that is meant.
fn check_signatures(path: &Path, force: bool) -> Result<Vec<Finding>, Failure> {
    let findings = find(path)?;
    for finding in &findings {
        match finding {
            Finding::InUse { how } => {
                return Err(Failure::Refused(format!("{} is in use: {how}: release it first", path.display())));
            }
            Finding::Signature { what, offset } if !force => {
                return Err(Failure::Refused(format!(
                    "{} holds {what} (at byte {offset}), which would be lost: take another drive, or use --force",
                    path.display()
                )));
            }
            Finding::Signature { .. } => {}
        }
    }
    Ok(findings)
}

/// What a drive carries, whoever uses it.
fn signatures(path: &Path) -> Result<Vec<Finding>, Failure> {
    let mut findings = find(path)?;
    findings.retain(|finding| matches!(finding, Finding::Signature { .. }));
    Ok(findings)
}

fn find(path: &Path) -> Result<Vec<Finding>, Failure> {
    let survey = survey(path).map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
    Ok(survey.findings)
}

/// Refuses a regular file that holds something, unless that is what shoal itself writes to files that are measured.
fn refuse_ordinary_file(path: &Path) -> Result<(), Failure> {
    // A load may have written any of the sectors, and none before.
    let is_own = |bytes: &[u8]| {
        let first = bytes.chunks(512).find(|sector| sector.iter().any(|byte| *byte != 0));
        first.is_some_and(|sector| Fill::wrote(sector) || shoal_profile::wrote(sector))
    };
    let content = survey_file(path, is_own).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
    let Some(FileContent::Foreign { what, offset }) = content else { return Ok(()) };
    Err(Failure::Refused(format!(
        "{} is a file that holds {what} (from byte {offset} on), which would be lost: take another file, or use --force",
        path.display()
    )))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    /// A blank file, and what is written to it between the look and the opening.
    fn opens(force: bool, meanwhile: Option<(&[u8], u64)>) -> Result<(), Failure> {
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
    fn what_another_command_has_taken_meanwhile_is_refused_by_force_too() {
        for force in [false, true] {
            assert!(opens(force, None).is_ok());
            // The mark of LUKS.
            let refused = opens(force, Some((b"LUKS\xba\xbe\0\x02", 0)));
            assert!(matches!(&refused, Err(Failure::Refused(why)) if why.contains("another command")), "{refused:?}");
        }
    }
}
