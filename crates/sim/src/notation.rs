//! Drives on buses, in one line: `cruzer-titanium*6@usb2*2`.
//!
//! ```text
//! fleet    = group *( "," group )
//! group    = drive [ "*" count ] [ "@" place ]
//! drive    = ( name | path ) *( ":" parameter "=" value )
//! place    = bus *( "/" bus )
//! bus      = kind [ "*" count | "#" number ]
//! kind     = "usb2" | "usb3" | "pci" | "ata133" | "sata3" | "sata6" | "gigabit" | "fast" | "direct"
//! ```
//!
//! - `cruzer-titanium*6@usb2*2`: six drives, dealt in turn to two USB 2.0 buses.
//! - `wd2500jb*8@pci/ata133*4`: two disks on each of four channels, which share one PCI bus. A hub is a bus below a bus.
//! - `cruzer-titanium:size=64M`: a parameter of its description changed.
//! - `./my-stick.toml`: a description in a file.
//!
//! Buses are numbered from 1 in whatever they hang on. `usb2*2` is the first and the second, `usb2` the first, `usb2#2` the
//! second alone. So groups that name the same bus share it. Without a place drives hang on the bus of their model: SATA gives
//! each a link of its own, every other kind the first bus to all of them.

use crate::{Description, DescriptionError, Topology, UnknownDrive};
use std::path::PathBuf;
use thiserror::Error;

/// What marks simulated drives where others are asked for.
pub const PREFIX: &str = "sim:";

/// Why a text is no fleet.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotationError {
    /// It does not follow the grammar.
    #[error("at character {at} of `{text}`: {what}")]
    Syntax {
        /// From 1.
        at: usize,
        /// All of it.
        text: String,
        /// What is wrong, and what to write.
        what: String,
    },
    /// A name that is not in the catalogue.
    #[error(transparent)]
    Unknown(#[from] UnknownDrive),
    /// A file that describes no drive, or a parameter that cannot be so.
    #[error("{}: {error}", path.display())]
    Description {
        /// The file, or the name of the drive.
        path: PathBuf,
        /// What is wrong with it.
        error: DescriptionError,
    },
}

/// Drives on buses, with all that is known of each drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fleet {
    /// One for each drive, in the order in which they were written.
    pub descriptions: Vec<Description>,
    /// The same drives on their buses.
    pub topology: Topology,
}

/// Reads a fleet: descriptions that are named by path are read from their files.
pub fn parse_fleet(_text: &str) -> Result<Fleet, NotationError> {
    todo!()
}
