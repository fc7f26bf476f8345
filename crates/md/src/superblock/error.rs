//! What may be wrong with a superblock.

use crate::Features;
use crate::level::LevelError;
use crate::limits::MAX_DEV_LIMIT;

/// Why bytes are no superblock, or none that may be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SuperblockError {
    /// There is none.
    #[error("no member of an array (it has no md superblock)")]
    NoMagic,
    /// Written by a version that is not 1.x.
    #[error("md superblock of version {major}: 0.90 and 1.x are understood")]
    MajorVersion {
        /// What it says.
        major: u32,
    },
    /// In the place of version 0.90, and of a version that is not.
    #[error("md superblock of version {major}.{minor} in the place of 0.90: only that one is understood there")]
    LegacyVersion {
        /// What it says.
        major: u32,
        /// What it says.
        minor: u32,
    },
    /// Version 0.90, written by a machine with the other byte order.
    #[error("md superblock of a big-endian machine: let mdadm --assemble --update=byteorder turn it round")]
    BigEndian,
    /// More roles than fit in.
    #[error("damaged md superblock: it claims {max_dev} roles, {MAX_DEV_LIMIT} fit in")]
    MaxDev {
        /// What it says.
        max_dev: u32,
    },
    /// Bytes were changed, or are missing.
    #[error("damaged md superblock: checksum {stored:#010x}, its bytes make {computed:#010x}")]
    Checksum {
        /// What it says.
        stored: u32,
        /// What its bytes make.
        computed: u32,
    },
    /// It was written for another place: an old one, or one of an array inside.
    #[error("md superblock of another place: found at sector {found}, written for sector {written_for}")]
    Misplaced {
        /// Where it was found.
        found: u64,
        /// Where it says it lies.
        written_for: u64,
    },
    /// A field that must be 0 is not.
    #[error("md superblock with {value:#x} in a field that must be 0")]
    Padding {
        /// What is there.
        value: u32,
    },
    /// Feature bits that nobody knew when this was written.
    #[error("md superblock with unknown feature bits {bits:#x}: a newer shoal or Linux is needed for it")]
    UnknownFeatures {
        /// The unknown ones.
        bits: u32,
    },
    /// The data do not lie on the drive, behind the superblock.
    #[error(
        "md superblock with {data_size} sectors of data at sector {data_offset}, on a drive of {drive} sectors: it was cut or is damaged"
    )]
    DataArea {
        /// First sector of the data.
        data_offset: u64,
        /// Sectors for data.
        data_size: u64,
        /// Sectors of the drive.
        drive: u64,
    },
    /// Something beside the data does not lie there.
    #[error("md superblock whose {what} lies outside the drive, or on the data: it is damaged")]
    Area {
        /// What it is.
        what: &'static str,
    },
    /// Features that exclude each other.
    #[error("md superblock with features that cannot go together ({features}): it is damaged")]
    Features {
        /// All that are set.
        features: Features,
    },
    /// The drive cannot hold a superblock.
    #[error("a drive of {drive} sectors is too small for an md superblock")]
    DriveTooSmall {
        /// Sectors of the drive.
        drive: u64,
    },
    /// Level or layout mean nothing.
    #[error(transparent)]
    Level(#[from] LevelError),
}
