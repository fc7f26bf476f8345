//! From bytes to a superblock that may be believed, in two steps.

use super::{
    CHECKSUM_PLACE, FIELD_BYTES, MAGIC, MAGIC_PLACE, MAJOR_VERSION, MAJOR_VERSION_PLACE, MAX_DEV_PLACE, ROLE_BYTES,
    SUPERBLOCK_BYTES, Superblock, SuperblockError, ZERO_PLACE, checksum, legacy,
};
use crate::field::Field;
use crate::limits::MAX_DEV_LIMIT;
use crate::place::SECTOR_BYTES;
use crate::{Features, MetadataVersion, MinorVersion};

/// A superblock whose claims nobody has checked yet.
#[derive(Clone, Debug)]
pub struct Unverified {
    pub(super) superblock: Superblock,
    zero: u32,
    pub(super) stored_checksum: u32,
    pub(super) computed_checksum: u32,
}

impl Unverified {
    /// Takes bytes for a superblock if they start as one.
    pub fn parse(bytes: &[u8; SUPERBLOCK_BYTES]) -> Result<Self, SuperblockError> {
        let word = |place: usize| u32::read(&bytes[place..place + 4]);
        if word(MAGIC_PLACE) != MAGIC {
            return Err(SuperblockError::NoMagic);
        }
        let major = word(MAJOR_VERSION_PLACE);
        if major != MAJOR_VERSION {
            return Err(SuperblockError::MajorVersion { major });
        }
        let max_dev = word(MAX_DEV_PLACE);
        let roles = usize::try_from(max_dev)
            .ok()
            .filter(|roles| *roles <= MAX_DEV_LIMIT)
            .ok_or(SuperblockError::MaxDev { max_dev })?;
        let mut superblock = Superblock::blank(roles);
        superblock.read_fields(bytes);
        let (_, behind_fields) = bytes.split_at(FIELD_BYTES);
        let (role_bytes, tail) = behind_fields.split_at(roles * ROLE_BYTES);
        superblock.roles = role_bytes.chunks_exact(ROLE_BYTES).map(u16::read).collect();
        superblock.tail = tail.to_vec();
        Ok(Self {
            superblock,
            zero: word(ZERO_PLACE),
            stored_checksum: word(CHECKSUM_PLACE),
            computed_checksum: checksum(bytes, roles),
        })
    }

    /// Checks everything that one superblock alone allows to check. `minor` is where it was found
    /// on a drive of `drive_bytes`.
    pub fn verify(self, minor: MinorVersion, drive_bytes: u64) -> Result<Superblock, SuperblockError> {
        let Self { superblock, zero, stored_checksum, computed_checksum } = self;
        if stored_checksum != computed_checksum {
            return Err(SuperblockError::Checksum { stored: stored_checksum, computed: computed_checksum });
        }
        if zero != 0 {
            return Err(SuperblockError::Padding { value: zero });
        }
        let drive = drive_bytes / SECTOR_BYTES;
        let found = minor.superblock_sector(drive).ok_or(SuperblockError::DriveTooSmall { drive })?;
        if superblock.super_offset_sectors != found {
            return Err(SuperblockError::Misplaced { found, written_for: superblock.super_offset_sectors });
        }
        let unknown = superblock.features.unknown();
        if unknown != Features(0) {
            return Err(SuperblockError::UnknownFeatures { bits: unknown.0 });
        }
        superblock.check_features()?;
        superblock.check_data_area(minor, drive)?;
        superblock.check_areas(drive)?;
        superblock.level()?;
        Ok(superblock)
    }

    /// Both steps for a superblock found in the place of `version` on a drive of `drive_bytes`.
    pub fn parse_and_verify(
        bytes: &[u8; SUPERBLOCK_BYTES],
        version: impl Into<MetadataVersion>,
        drive_bytes: u64,
    ) -> Result<Superblock, SuperblockError> {
        match version.into() {
            MetadataVersion::V1(minor) => Self::parse(bytes)?.verify(minor, drive_bytes),
            MetadataVersion::Legacy => legacy::read(bytes, drive_bytes / SECTOR_BYTES),
        }
    }

    /// Whether some version's superblock starts with these bytes, whole or not: others would take
    /// it for one.
    pub fn has_magic(bytes: &[u8; SUPERBLOCK_BYTES]) -> bool {
        let magic = u32::read(&bytes[MAGIC_PLACE..MAGIC_PLACE + 4]);
        magic == MAGIC || magic.swap_bytes() == MAGIC
    }
}
