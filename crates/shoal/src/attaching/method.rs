//! Which of the three ways of making an array a device is taken.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Wish;
use crate::exit::Failure;

/// How an array becomes a file or device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Method {
    /// The kernel's ublk driver: a block device.
    Ublk,
    /// The kernel's nbd driver: a block device.
    Nbd,
    /// A file of a FUSE file system; a loop device over it where a block device is asked for.
    Fuse,
}

impl Method {
    /// Whether a device whose process was killed can be kept by another.
    pub(super) fn can_recover(self) -> bool {
        self != Self::Fuse
    }

    /// The best one first: the fewest copies and switches between processes for a request, and what becomes of the device when its
    /// process is killed. ublk's requests wait for another process, nbd's too, but may fail; a FUSE file is gone.
    const ALL: [Self; 3] = [Self::Ublk, Self::Nbd, Self::Fuse];

    /// Why it cannot be had here.
    fn obstacle(self, wish: &Wish) -> Option<String> {
        match self {
            Self::Ublk => shoal_attach::ublk::probe().err().map(|error| error.to_string()),
            Self::Nbd => shoal_attach::kernel_nbd::probe().err().map(|error| error.to_string()),
            Self::Fuse => shoal_attach::fuse::probe().err().map(|error| error.to_string()).or_else(|| {
                let is_refused = wish.block_device && !rustix::process::geteuid().is_root();
                is_refused.then(|| "a loop device on the file needs root: use sudo, or do with the file".to_owned())
            }),
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ublk => "ublk",
            Self::Nbd => "nbd",
            Self::Fuse => "fuse",
        })
    }
}

/// A better method than the one that is taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PassedOver {
    /// Which.
    pub(crate) method: Method,
    /// Why it cannot be had.
    pub(crate) reason: String,
}

/// What is taken.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) method: Method,
    pub(super) passed_over: Vec<PassedOver>,
}

/// The one that is asked for, or the best that can be had.
pub(super) fn choose(wish: &Wish) -> Result<Chosen, Failure> {
    if let Some(method) = wish.method {
        return match method.obstacle(wish) {
            None => Ok(Chosen { method, passed_over: Vec::new() }),
            Some(reason) => Err(Failure::Usage(format!("{method} cannot be had here: {reason}"))),
        };
    }
    let mut passed_over = Vec::new();
    for method in Method::ALL {
        match method.obstacle(wish) {
            None => return Ok(Chosen { method, passed_over }),
            Some(reason) => passed_over.push(PassedOver { method, reason }),
        }
    }
    let reasons = passed_over.iter().map(|it| format!("{}: {}", it.method, it.reason)).collect::<Vec<_>>();
    Err(Failure::Usage(format!("nothing on this machine makes a device of an array: {}", reasons.join("; "))))
}
