//! A model of drive as a text file says it: its parameters, the facts that a buyer needs, and where
//! each comes from.
//!
//! The text is TOML; `docs/drives.md` is written for those who write one. Each parameter is a table
//! of its own:
//!
//! ```toml
//! [flash]
//! read_rate = { value = 19.68, unit = "MB/s", status = "solved", source = "dd reads 18 to 20 MB/s; middle" }
//! ```
//!
//! What parameters there are is said once, in `fields.rs`, which reading, writing and overriding
//! all walk. So what is written is what is read, and whatever else a text holds is refused.

mod change;
mod check;
mod facts;
mod fields;
mod read;
#[cfg(test)]
mod tests;
mod units;
mod words;
mod write;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;
use thiserror::Error;

use crate::DriveModel;
use crate::limits::{LIST_PARTS_MAX, TEXT_BYTES_MAX};

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

/// A parameter of a description, as it stands in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Where, as `flash.read_rate`.
    pub path: String,
    /// Number and unit, or a word.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// What kind of knowledge a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Measured on a drive.
    Measured,
    /// Printed by its maker or by others.
    Published,
    /// Chosen so that the simulation of one drive gives a figure of one drive; the source says
    /// which.
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
    /// It cannot be read.
    #[error("it cannot be read: {what}")]
    Unreadable {
        /// What the system says.
        what: String,
    },
    /// It is longer than any description.
    #[error("it has {length} bytes, and a description has at most {}: it is some other file", TEXT_BYTES_MAX)]
    TooLong {
        /// Bytes.
        length: usize,
    },
    /// It is no TOML.
    #[error("line {line}: {what}: mend that line; a description is TOML")]
    Syntax {
        /// From 1.
        line: usize,
        /// What the parser says.
        what: String,
    },
    /// A word about the drive is missing.
    #[error("`{path}` is missing: add {path} = \"..\" at the top, one line of text")]
    Word {
        /// Which.
        path: String,
    },
    /// A parameter is missing.
    #[error("`{path}` is missing: add it with value, unit, status and source")]
    Missing {
        /// Which.
        path: String,
    },
    /// Something that no description has.
    #[error("`{path}` is nothing that a drive has: take it out, or mend its name or its section")]
    Unknown {
        /// Where.
        path: String,
    },
    /// Something that should be a section.
    #[error("`{path}` has to be a section: write [{path}] on a line of its own")]
    Section {
        /// Which.
        path: String,
    },
    /// Something that should be a list.
    #[error("`{path}` has to be a list of at most {} parts: write each below a line [[{path}]]", LIST_PARTS_MAX)]
    List {
        /// Which.
        path: String,
    },
    /// Neither flash nor disk, or both.
    #[error("a drive has either a section [flash] or a section [disk]")]
    Medium,
    /// A parameter that cannot be so.
    #[error("`{path}`: {what}")]
    Value {
        /// Which.
        path: String,
        /// What is wrong, and what to write.
        what: String,
    },
}

/// Reads a description.
pub fn parse_description(text: &str) -> Result<Description, DescriptionError> {
    read::parse(text)
}

/// Reads a description from a file, of which no more is read than a description may have.
pub fn read_description(path: &Path) -> Result<Description, DescriptionError> {
    let unreadable = |error: std::io::Error| DescriptionError::Unreadable { what: error.to_string() };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    file.take(TEXT_BYTES_MAX as u64 + 1).read_to_string(&mut text).map_err(unreadable)?;
    parse_description(&text)
}

impl Origin {
    /// Of a parameter of which nobody said where it is from.
    fn unknown() -> Self {
        Self { status: Status::Assumed, source: "not said".to_owned(), spread_ppm: None }
    }
}

impl Description {
    /// The text that [`parse_description`] reads back as the same description.
    #[must_use]
    pub fn to_text(&self) -> String {
        write::to_text(self)
    }

    /// All parameters, in the order of the text.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        write::parameters(self)
    }

    /// The same with one parameter changed: `size` and `64M`, `flash.read_rate` and `25MB/s`. A
    /// name may be the end of a path.
    pub fn with(&self, name: &str, value: &str) -> Result<Self, DescriptionError> {
        change::change(self, name, value)
    }
}
