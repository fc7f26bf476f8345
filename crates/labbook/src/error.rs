//! What can be wrong with a lab book, in one line that names the file and the mend.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why a lab book cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LabBookError {
    /// There is none.
    #[error("{}: there is no lab book: nothing was measured yet, or it is elsewhere: name it with --book", path.display())]
    Missing {
        /// Where it would be.
        path: PathBuf,
    },
    /// What is there is something else.
    #[error("{}: this is no lab book: name another file with --book", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A later shoal wrote it.
    #[error(
        "{}: this lab book is of a newer shoal (version {found}; this one knows {known}): update shoal, or name another file \
         with --book",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The latest that is known here.
        known: i64,
    },
    /// It holds what was never written.
    #[error("{}: this lab book is damaged ({what}): move it away, and a new one is begun", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Others write it all the time.
    #[error("{}: this lab book is being written by others: try again later", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The system or SQLite says no.
    #[error("{}: {what}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// What it says.
        what: String,
    },
    /// No run has this number or UUID.
    #[error("{}: there is no run `{run}`: `shoal log` lists them", path.display())]
    NoSuchRun {
        /// The file.
        path: PathBuf,
        /// As it was named.
        run: String,
    },
    /// No drive is known by this.
    #[error("{}: nothing was measured on a drive `{drive}`: `shoal log` lists what was measured", path.display())]
    NoSuchDrive {
        /// The file.
        path: PathBuf,
        /// As it was named.
        drive: String,
    },
    /// More than one drive had this name.
    #[error("several drives were called `{drive}`: name one by what it is: {}", identities.join(", or "))]
    SeveralDrives {
        /// As it was named.
        drive: String,
        /// Those that it may be.
        identities: Vec<String>,
    },
    /// A file that was to be imported is no export.
    #[error("{}: {what}", path.display())]
    NoExport {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

impl LabBookError {
    /// What SQLite says, of a file.
    pub(crate) fn of(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let what = one_line(&error.to_string());
        match error {
            rusqlite::Error::SqliteFailure(failure, _) => match failure.code {
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Busy { path },
                ErrorCode::NotADatabase => Self::Foreign { path },
                ErrorCode::DatabaseCorrupt | ErrorCode::TooBig | ErrorCode::TypeMismatch => {
                    Self::Damaged { path, what }
                }
                ErrorCode::CannotOpen => {
                    Self::System { path, what: format!("{what}: is the directory there, and writable?") }
                }
                ErrorCode::DiskFull => Self::System { path, what: "no room is left on its file system".to_owned() },
                _ => Self::System { path, what },
            },
            // Tables and columns that are not what was written.
            _ => Self::Damaged { path, what },
        }
    }

    pub(crate) fn system(path: &Path, error: &io::Error) -> Self {
        Self::System { path: path.to_owned(), what: error.to_string() }
    }

    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), what: what.into() }
    }
}

/// SQLite puts the statement below its message.
fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
