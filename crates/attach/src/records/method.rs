//! The ways in which an array becomes a file or a device.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How an array becomes a file or device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The kernel's ublk driver: a block device.
    Ublk,
    /// The kernel's nbd driver: a block device.
    Nbd,
    /// A file of a FUSE file system; a loop device over it where a block device is asked for.
    Fuse,
}

impl Method {
    /// Whether a device whose process was killed can be kept by another.
    pub fn can_recover(self) -> bool {
        self != Self::Fuse
    }

    /// The best one first: the fewest copies and switches between processes for a request, and what
    /// becomes of the device when its process is killed. ublk's requests wait for another process,
    /// nbd's too, but may fail; a FUSE file is gone.
    pub const ALL: [Self; 3] = [Self::Ublk, Self::Nbd, Self::Fuse];

    /// What it is called in commands and documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ublk => "ublk",
            Self::Nbd => "nbd",
            Self::Fuse => "fuse",
        }
    }
}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(word: &str) -> Result<Self, UnknownMethod> {
        Self::ALL.into_iter().find(|method| method.word() == word).ok_or_else(|| UnknownMethod(word.to_owned()))
    }
}

/// A word that names no method.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no way to attach an array: ublk, nbd and fuse are")]
pub struct UnknownMethod(String);

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A better method than the one that is taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PassedOver {
    /// Which.
    pub method: Method,
    /// Why it cannot be had.
    pub reason: String,
}
