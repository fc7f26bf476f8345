//! Why an array that is named is not reached.

use std::path::PathBuf;

use shoal_documents::{Fault, HasFault};
use shoal_inventory::{DrivesError, NoMember, SearchError};
use shoal_md::Uuid;

use crate::opening::ClaimError;
use crate::wire::ConnectError;

/// Why there is no handle on an array.
#[derive(Debug, thiserror::Error)]
pub enum ReachError {
    /// The process that runs it is not reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Its members are not found.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// A drive that was given is no member.
    #[error(transparent)]
    NoMember(#[from] NoMember),
    /// A drive was given twice.
    #[error(transparent)]
    Drives(#[from] DrivesError),
    /// Nobody runs it, and it does not open here.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// Nobody listens at the socket that was named.
    #[error("{}: no array runs there", socket.display())]
    Nobody {
        /// The socket.
        socket: PathBuf,
    },
    /// Another array is administered at the usual place of the one that was asked for.
    #[error(
        "{0}: array {name} ({uuid}) is administered there, at the place of array {asked}, and was not asked anything: \
         `shoal stop --socket {0}` ends it, and without --socket it runs at its own; if array {asked} runs elsewhere, name that place \
         with --socket",
        socket.display()
    )]
    Displaced {
        /// The place.
        socket: PathBuf,
        /// Its name.
        name: String,
        /// Its UUID.
        uuid: String,
        /// Which was asked for.
        asked: Uuid,
    },
    /// Another array runs at the place that was named.
    #[error(
        "{}: array {name} ({uuid}) runs there, and not array {asked}: name that one's place with --socket, or leave it out",
        socket.display()
    )]
    OtherArray {
        /// The place.
        socket: PathBuf,
        /// Its name.
        name: String,
        /// Its UUID.
        uuid: String,
        /// Which was asked for.
        asked: Uuid,
    },
    /// Drives of two arrays were given.
    #[error(
        "{} is a member of an array that runs and {} is not: give the members of one; to bring back an array \
         inside, stop the one around it first (`shoal stop`)",
        member.display(),
        other.display()
    )]
    Mixed {
        /// One that belongs to an array that runs.
        member: PathBuf,
        /// One that does not.
        other: PathBuf,
    },
}

impl HasFault for ReachError {
    fn fault(&self) -> Fault {
        match self {
            Self::Connect(error) => error.fault(),
            Self::Search(error) => error.fault(),
            Self::NoMember(error) => error.fault(),
            Self::Drives(error) => error.fault(),
            Self::Claim(error) => error.fault(),
            Self::Displaced { .. } => Fault::Refused,
            Self::Nobody { .. } | Self::OtherArray { .. } | Self::Mixed { .. } => Fault::Usage,
        }
    }
}
