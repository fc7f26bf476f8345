//! The drives that shoal knows: one text each in `drives/`, part of the program.

use crate::Description;
use thiserror::Error;

/// A name that no drive of the catalogue has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no drive called `{name}`; did you mean `{nearest}`? `shoal drives` lists them")]
pub struct UnknownDrive {
    /// What was asked for.
    pub name: String,
    /// The name that differs least from it.
    pub nearest: String,
}

/// All of them, by name.
pub fn catalogue() -> &'static [Description] {
    todo!()
}

/// The one with this name.
pub fn find(_name: &str) -> Result<&'static Description, UnknownDrive> {
    todo!()
}
