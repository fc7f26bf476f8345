//! What went wrong, and whose fault it was.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose fault it was that something was not done: what a program's exit status says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// It was tried and failed.
    Failed,
    /// What was asked makes no sense.
    Usage,
    /// It would endanger data.
    Refused,
    /// Somebody else has a drive now, or something else goes on in the array. It may be over soon.
    Busy,
}

impl Fault {
    /// The process's exit status.
    pub fn exit_status(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::Busy => 4,
        }
    }
}

/// An error that says whose fault it was. Its text is one line that names the thing and the mend.
pub trait HasFault: fmt::Display {
    /// Whose it was.
    fn fault(&self) -> Fault;
}

/// Any command that failed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FailureDocument {
    /// What went wrong.
    pub error: ErrorDocument,
}

/// What went wrong.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ErrorDocument {
    /// "failed", "usage", "refused" or "busy".
    #[schemars(with = "String")]
    pub kind: Fault,
    /// The process's exit status: 1, 2, 3 or 4.
    pub exit_status: u8,
    /// One line that names the thing and the mend.
    pub message: String,
}

impl ErrorDocument {
    /// An error as it is told.
    pub fn of(error: &dyn HasFault) -> Self {
        let kind = error.fault();
        Self { kind, exit_status: kind.exit_status(), message: error.to_string() }
    }
}

impl fmt::Display for ErrorDocument {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl HasFault for ErrorDocument {
    fn fault(&self) -> Fault {
        self.kind
    }
}
