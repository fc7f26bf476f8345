//! How a command ends: its exit status and its one line.

use std::fmt;

use shoal_documents::{ErrorDocument, Fault, HasFault};

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was tried and failed: exit status 1.
    Failed(String),
    /// The same, after standard output has got what there is to tell: a document, or content.
    Shown(String),
    /// Nothing failed: the exit status is what was asked for, and all else has been told.
    Verdict(u8),
    /// What was asked makes no sense: exit status 2.
    Usage(String),
    /// It would endanger data: exit status 3.
    Refused(String),
    /// Somebody else has a drive now, or something else goes on in the array; it may be over soon:
    /// exit status 4.
    Busy(String),
}

impl Failure {
    /// Whose fault it was.
    fn fault(&self) -> Fault {
        match self {
            Self::Failed(_) | Self::Shown(_) | Self::Verdict(_) => Fault::Failed,
            Self::Usage(_) => Fault::Usage,
            Self::Refused(_) => Fault::Refused,
            Self::Busy(_) => Fault::Busy,
        }
    }

    /// The process's exit status.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Verdict(status) => *status,
            _ => self.fault().exit_status(),
        }
    }

    /// As it is told to programs.
    pub(crate) fn document(&self) -> ErrorDocument {
        ErrorDocument { kind: self.fault(), exit_status: self.code(), message: self.to_string() }
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
            Self::Verdict(_) => Ok(()),
            Self::Failed(message)
            | Self::Shown(message)
            | Self::Usage(message)
            | Self::Refused(message)
            | Self::Busy(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Failure {}

/// Libraries say whose fault it was.
impl<E: HasFault> From<E> for Failure {
    fn from(error: E) -> Self {
        let message = error.to_string();
        match error.fault() {
            Fault::Failed => Self::Failed(message),
            Fault::Usage => Self::Usage(message),
            Fault::Refused => Self::Refused(message),
            Fault::Busy => Self::Busy(message),
        }
    }
}
