//! The page of a study: its place is taken before anything is measured, so that hours of measuring
//! do not end without one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::exit::Failure;
use crate::output;

/// Where a report will be written. An empty file that was made for it is removed if none is.
#[derive(Debug)]
pub(crate) struct ReportFile {
    path: PathBuf,
    file: File,
    state: State,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// The file was made for the report, and is empty.
    Made,
    /// The file was there before, and holds what it held.
    There,
    /// It holds the report.
    Written,
}

impl ReportFile {
    /// Opens the file for writing; what it holds stays until the report is written.
    ///
    /// # Errors
    /// The file cannot be written: a usage error that names it. It is a drive, or holds something
    /// that is no page: refused.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let failure = |error| Failure::Usage(format!("the report cannot be written: {}: {error}", path.display()));
        let (file, state) = match OpenOptions::new().write(true).create_new(true).open(path) {
            Ok(file) => (file, State::Made),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                refuse_content(path, holds_a_page(path).map_err(failure)?)?;
                (OpenOptions::new().write(true).open(path).map_err(failure)?, State::There)
            }
            Err(error) => return Err(failure(error)),
        };
        Ok(Self { path: path.to_owned(), file, state })
    }

    /// Writes the page, and tells where it is.
    ///
    /// # Errors
    /// There is no room for it, or its drive fails.
    pub(crate) fn write(mut self, report: &impl Serialize) -> Result<(), Failure> {
        let page = shoal_study::report::render(report).map_err(Failure::failed)?;
        self.replace_content(page.as_bytes())
            .map_err(|error| Failure::Failed(format!("{}: {error}", self.path.display())))?;
        self.state = State::Written;
        output::warn(&format!("report written to {}", self.path.display()));
        Ok(())
    }

    fn replace_content(&mut self, page: &[u8]) -> io::Result<()> {
        // A pipe or a terminal has no length.
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.file.write_all(page)
    }
}

impl Drop for ReportFile {
    fn drop(&mut self) {
        if self.state == State::Made {
            // It is empty; one that stays tells that no report was written, too.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// With what a page begins.
const BEGINNING: &[u8] = b"<!doctype html>";

/// Whether what is there may be overwritten by a report: a page, an empty file, or what keeps
/// nothing, as a pipe.
fn holds_a_page(path: &Path) -> io::Result<bool> {
    let about = fs::metadata(path)?;
    if about.file_type().is_block_device() {
        return Ok(false);
    }
    if !about.is_file() || about.len() == 0 {
        return Ok(true);
    }
    let mut beginning = Vec::new();
    File::open(path)?.take(BEGINNING.len() as u64).read_to_end(&mut beginning)?;
    Ok(beginning.eq_ignore_ascii_case(BEGINNING))
}

fn refuse_content(path: &Path, is_page: bool) -> Result<(), Failure> {
    if is_page {
        return Ok(());
    }
    Err(Failure::Refused(format!(
        "{} holds something that is no report, perhaps an array's data: name another file for the report",
        path.display()
    )))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_there_keeps_its_content_until_the_report_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.html");
        let older = "<!DOCTYPE html><p>An older and much longer report";
        fs::write(&path, older).unwrap();
        drop(ReportFile::open(&path).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), older);
        let mut file = ReportFile::open(&path).unwrap();
        file.replace_content(b"a new one").unwrap();
        drop(file);
        assert_eq!(fs::read_to_string(&path).unwrap(), "a new one");
    }

    #[test]
    fn what_is_no_page_is_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("drive");
        for content in [&[0; 1 << 20][..], b"<!doctype", b"a letter to a friend, who knows nothing of pages"] {
            fs::write(&path, content).unwrap();
            let refused = ReportFile::open(&path).unwrap_err();
            assert!(matches!(refused, Failure::Refused(_)), "{refused:?}");
            assert_eq!(fs::read(&path).unwrap(), content);
        }
        fs::write(&path, "").unwrap();
        assert!(ReportFile::open(&path).is_ok());
        assert!(ReportFile::open(Path::new("/dev/null")).is_ok());
    }

    #[test]
    fn no_file_is_left_without_a_report() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.html");
        let file = ReportFile::open(&path).unwrap();
        assert!(path.exists());
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn a_place_where_no_file_can_be_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        for path in [directory.path().to_owned(), directory.path().join("absent/report.html")] {
            let refused = ReportFile::open(&path).unwrap_err();
            assert!(refused.to_string().contains(path.to_str().unwrap()), "{refused}");
            assert!(matches!(refused, Failure::Usage(_)), "{refused:?}");
        }
    }
}
