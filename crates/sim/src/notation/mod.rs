//! Drives on buses, in one line: `cruzer-titanium*6@usb2*2`.
//!
//! ```text
//! fleet    = group *( "," group )
//! group    = drive *( ":" parameter "=" value ) [ "*" count ] [ "@" place ]
//! drive    = name | path            a path holds a "/" or ends in ".toml", and holds none of  , : * @
//! place    = bus *( "/" bus )       from the computer outward
//! bus      = kind [ "*" count | "#" number ]
//! kind     = usb2 | usb3 | pci | ata133 | sata3 | sata6 | gigabit | fast-ethernet | direct
//! ```
//!
//! - `cruzer-titanium*6@usb2*2`: six drives, dealt in turn to two USB 2.0 buses.
//! - `wd2500jb*8@pci/ata133*4`: two disks on each of four channels, which share one PCI bus.
//! - `stick-64g*6@usb3/usb2*2`: two USB 2.0 hubs on one USB 3 bus, three sticks in each.
//! - `cruzer-titanium:size=64M*2`: a parameter of its description changed, as [`Description::with`]
//!   does.
//! - `./my-stick.toml*3,rally2`: a description in a file, and another drive beside.
//!
//! Buses are numbered from 1 in whatever they hang on. `usb2*2` is the first two, `usb2` the first,
//! `usb2#2` the second alone; so groups that name the same bus share it. Drives are dealt so that
//! buses nearer to the computer take turns first.
//!
//! Without a place, drives are plugged in as their bus has it: SATA gives each a link of its own,
//! ATA a channel to each two, on the first PCI bus; all others share the first bus of their kind.

mod syntax;
#[cfg(test)]
mod tests;
mod wiring;

use std::fmt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::limits::FLEET_MAX;
use crate::{Description, DescriptionError, Topology, UnknownDrive, find, read_description};
use syntax::{Group, groups};

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
        /// All of it, or its beginning.
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
    /// More than anybody has.
    #[error("these are more than {FLEET_MAX} {what}: take fewer")]
    TooMany {
        /// Drives or buses.
        what: &'static str,
    },
    /// More drives than a cable has plugs.
    #[error(
        "an ATA channel takes two drives, and one of `{place}` would have {drives}: write more channels, as ata133*{channels}"
    )]
    Channel {
        /// As written.
        place: String,
        /// How many it would have.
        drives: usize,
        /// How many would do.
        channels: usize,
    },
}

/// Drives on buses, with all that is known of each drive. Its text reads back as the same fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fleet {
    /// One for each drive, in the order in which they were written.
    pub descriptions: Vec<Description>,
    /// The same drives on their buses.
    pub topology: Topology,
    groups: Vec<Group>,
}

/// Reads a fleet: descriptions that are named by path are read from their files.
pub fn parse_fleet(text: &str) -> Result<Fleet, NotationError> {
    let groups = groups(text)?;
    let count: u32 = groups.iter().map(|group| group.count).sum();
    if count > FLEET_MAX {
        return Err(NotationError::TooMany { what: "drives" });
    }
    let mut descriptions = Vec::new();
    for group in &groups {
        let description = describe(group)?;
        descriptions.extend((0..group.count).map(|_| description.clone()));
    }
    let topology = wiring::wire(&groups, &descriptions)?;
    Ok(Fleet { descriptions, topology, groups })
}

fn describe(group: &Group) -> Result<Description, NotationError> {
    let path = Path::new(&group.drive);
    let failed = |error| NotationError::Description { path: path.to_owned(), error };
    let mut description =
        if group.is_path() { read_description(path).map_err(failed)? } else { find(&group.drive)?.clone() };
    for (parameter, value) in &group.changes {
        description = description.with(parameter, value).map_err(failed)?;
    }
    Ok(description)
}

impl fmt::Display for Fleet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, group) in self.groups.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(formatter, "{comma}{group}")?;
        }
        Ok(())
    }
}
