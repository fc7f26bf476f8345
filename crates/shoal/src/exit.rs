//! How a command ends: its exit status and its one line.

use std::fmt;

use shoal_attach::records::RecordError;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was tried and failed: exit status 1.
    Failed(String),
    /// The same, after standard output has got what there is to tell: a document, or content.
    Shown(String),
    /// What was asked makes no sense: exit status 2.
    Usage(String),
    /// It would endanger data: exit status 3.
    Refused(String),
    /// Somebody else has a drive now, or something else goes on in the array; it may be over soon:
    /// exit status 4.
    Busy(String),
}

impl Failure {
    /// The process's exit status.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Failed(_) | Self::Shown(_) => 1,
            Self::Usage(_) => 2,
            Self::Refused(_) => 3,
            Self::Busy(_) => 4,
        }
    }

    /// The word for it in `--json` documents.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Failed(_) | Self::Shown(_) => "failed",
            Self::Usage(_) => "usage",
            Self::Refused(_) => "refused",
            Self::Busy(_) => "busy",
        }
    }

    /// A failure without a more precise fault.
    pub(crate) fn failed(error: impl fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }

    /// What was asked makes no sense.
    pub(crate) fn usage(error: impl fmt::Display) -> Self {
        Self::Usage(error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(message)
            | Self::Shown(message)
            | Self::Usage(message)
            | Self::Refused(message)
            | Self::Busy(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Failure {}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        Self::failed(error)
    }
}
