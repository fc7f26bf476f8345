//! A model of drive as a text file says it: its parameters, the facts that a buyer needs, and where each comes from.
//!
//! The text is TOML; `docs/drives.md` is written for those who write one. Each parameter is a table of its own:
//!
//! ```toml
//! [flash]
//! read_rate = { value = 19.68, unit = "MB/s", status = "solved", source = "dd reads 18 to 20 MB/s; middle" }
//! ```
//!
//! What parameters there are is said once, in `fields.rs`, which reading, writing and overriding all walk. So what is
//! written is what is read, and whatever else a text holds is refused.

mod facts;

use crate::DriveModel;
use std::collections::BTreeMap;
use thiserror::Error;

pub use facts::{Facts, Power, Price};

/// A model of drive, with what is known of it and from where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// What the simulation needs.
    pub model: DriveModel,
    /// What a planner needs beside.
    pub facts: Facts,
    /// Where each parameter comes from, by its path in the text, as `flash.read_rate`.
    pub origins: BTreeMap<String, Origin>,
}

/// Where a parameter comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// What kind of knowledge it is.
    pub status: Status,
    /// Whose, when, by what method: one line.
    pub source: String,
    /// Half the range over repeats, in millionths of the value.
    pub spread_ppm: Option<u32>,
}

/// What kind of knowledge a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Measured on a drive.
    Measured,
    /// Printed by its maker or by others.
    Published,
    /// Chosen so that the simulation of one drive gives a figure of one drive; the source says which.
    Solved,
    /// Chosen so that the simulation gives a figure of an array; the source says which.
    Fitted,
    /// Taken from drives of its kind.
    Assumed,
    /// Would have to be measured, and was not; the value stands in for it.
    NotMeasured,
}

/// Why a text describes no drive.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DescriptionError {
    /// It is no TOML.
    #[error("line {line}: {what}; a drive is described in TOML, as in docs/drives.md")]
    Syntax {
        /// From 1.
        line: usize,
        /// What the parser says.
        what: String,
    },
}

/// Reads a description.
pub fn parse_description(_text: &str) -> Result<Description, DescriptionError> {
    todo!()
}

impl Description {
    /// The text that [`parse_description`] reads back as the same description.
    #[must_use]
    pub fn to_text(&self) -> String {
        todo!()
    }
}
