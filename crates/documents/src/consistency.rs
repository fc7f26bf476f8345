//! What makes mirrors or parity agree with the data after a crash, in the words of mdadm's
//! `--consistency-policy`.

use std::fmt;

use serde::{Deserialize, Serialize};
use shoal_volume::Consistency;

/// A consistency policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConsistencyDocument {
    /// All of the array is gone over.
    Resync,
    /// The parts that the write-intent bitmap names are.
    Bitmap,
    /// The rows that the partial parity log holds are.
    Ppl,
    /// What the write journal holds is written.
    Journal,
}

impl fmt::Display for ConsistencyDocument {
    /// As in the document.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Resync => "resync",
            Self::Bitmap => "bitmap",
            Self::Ppl => "ppl",
            Self::Journal => "journal",
        })
    }
}

impl From<&Consistency> for ConsistencyDocument {
    fn from(consistency: &Consistency) -> Self {
        match consistency {
            Consistency::Resync => Self::Resync,
            Consistency::Bitmap => Self::Bitmap,
            Consistency::Ppl => Self::Ppl,
            Consistency::Journal { .. } => Self::Journal,
        }
    }
}

/// The drive that holds the write journal.
pub(crate) fn journal(consistency: &Consistency) -> Option<String> {
    match consistency {
        Consistency::Journal { drive } => drive.clone(),
        Consistency::Resync | Consistency::Bitmap | Consistency::Ppl => None,
    }
}
