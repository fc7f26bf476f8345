//! What was named to be measured: something that is there, or drives of which an array is to be
//! made.

use shoal_network::Offer;

use super::target::{Target, check_room, on_array};
use super::temporary_array::NewArray;
use crate::args::{Cli, NetworkArgs};
use crate::exit::Failure;

/// What the arguments name.
pub(super) enum Named {
    /// Something that is there.
    Target(Target),
    /// Drives of which an array is to be made.
    Drives(NewArray),
}

impl Named {
    /// Finds out what was named.
    pub(super) fn of(cli: &Cli, args: &NetworkArgs) -> Result<Self, Failure> {
        match &args.level {
            Some(level) => NewArray::of(args, level).map(Self::Drives),
            None => Target::of(cli, args).map(Self::Target),
        }
    }

    /// What it is, for people.
    pub(super) fn description(&self) -> String {
        match self {
            Self::Target(target) => target.description(),
            Self::Drives(drives) => drives.description(),
        }
    }

    /// What can be measured of it.
    pub(super) fn offer(&self) -> Offer {
        Offer { directory: true, device: !matches!(self, Self::Target(Target::Directory(_))) }
    }

    /// Refuses what has no room. How much an array will have of its drives is known when it is
    /// there; it is no more than they.
    pub(super) fn check_room(&self, size_bytes: u64) -> Result<(), Failure> {
        match self {
            Self::Target(target) => target.check_room(size_bytes),
            Self::Drives(drives) => {
                check_room(&drives.description(), drives.size_bytes(), on_array(size_bytes), size_bytes)
            }
        }
    }
}
