//! Who judges what an array makes of its world. Each file says at its head what it checks and what
//! it does not.

mod answers;
mod blocks;
mod content;
mod health;
mod placement;
mod redundancy;
mod scrub;
mod silent;
mod stamps;

use std::fmt;

pub(crate) use answers::{Answered, Answers, DEADLINE_NS};
pub(crate) use content::{BLOCK_BYTES, Promises, Seen};
pub(crate) use health::check_health;
pub(crate) use placement::Placement;
pub(crate) use redundancy::check_redundancy;
pub(crate) use scrub::{check_scrub, scrub};
pub(crate) use silent::Silent;
pub(crate) use stamps::stamp;

/// What a checker objects to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which one.
    pub checker: &'static str,
    /// What it found.
    pub what: String,
}

impl Failure {
    pub(crate) fn new(checker: &'static str, what: impl Into<String>) -> Self {
        Self { checker, what: what.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.checker, self.what)
    }
}
