//! Where superblocks lie.

use std::fmt;

/// Bytes of a sector: md counts in these whatever the drive's block size.
pub const SECTOR_BYTES: u64 = 512;

/// Sectors that belong to a superblock of any length.
pub(crate) const SUPERBLOCK_SECTORS: u64 = 8;
/// Sectors at the end of a drive that version 0.90 keeps, and a multiple of which they start at.
const LEGACY_RESERVED_SECTORS: u64 = 128;
/// Smaller drives hold no superblock.
const LEAST_DRIVE_SECTORS: u64 = 24;

/// The minor version of the format. It is written nowhere: it follows from the place of the
/// superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MinorVersion {
    /// 1.0: 8 to 12 KiB from the end of the drive, 4 KiB aligned.
    End,
    /// 1.1: at the start of the drive.
    Start,
    /// 1.2: 4 KiB from the start, md's default.
    Start4K,
}

impl MinorVersion {
    /// All of them, the default first.
    pub const ALL: [Self; 3] = [Self::Start4K, Self::Start, Self::End];

    /// The number behind `1.`.
    pub fn number(self) -> u32 {
        match self {
            Self::End => 0,
            Self::Start => 1,
            Self::Start4K => 2,
        }
    }

    /// The sector at which the superblock of a drive of this size starts; none if the drive is too
    /// small for one.
    pub fn superblock_sector(self, drive_sectors: u64) -> Option<u64> {
        if drive_sectors < LEAST_DRIVE_SECTORS {
            return None;
        }
        Some(match self {
            Self::End => (drive_sectors - 2 * SUPERBLOCK_SECTORS) / SUPERBLOCK_SECTORS * SUPERBLOCK_SECTORS,
            Self::Start => 0,
            Self::Start4K => SUPERBLOCK_SECTORS,
        })
    }
}

/// The version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MetadataVersion {
    /// 0.90, which is only read.
    Legacy,
    /// 1.x.
    V1(MinorVersion),
}

impl MetadataVersion {
    /// All of them, the default first.
    pub const ALL: [Self; 4] =
        [Self::V1(MinorVersion::Start4K), Self::V1(MinorVersion::Start), Self::V1(MinorVersion::End), Self::Legacy];

    /// The sector at which the superblock of a drive of this size starts; none if the drive is too
    /// small for one.
    pub fn superblock_sector(self, drive_sectors: u64) -> Option<u64> {
        match self {
            Self::V1(minor) => minor.superblock_sector(drive_sectors),
            Self::Legacy => {
                (drive_sectors / LEGACY_RESERVED_SECTORS).checked_sub(1).map(|last| last * LEGACY_RESERVED_SECTORS)
            }
        }
    }
}

impl From<MinorVersion> for MetadataVersion {
    fn from(minor: MinorVersion) -> Self {
        Self::V1(minor)
    }
}

/// As mdadm names them: `0.90`, `1.2`.
impl fmt::Display for MetadataVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Legacy => f.write_str("0.90"),
            Self::V1(minor) => write!(f, "1.{}", minor.number()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superblocks_lie_where_md_looks_for_them() {
        for (drive_sectors, end) in [(24, 8), (131_072, 131_056), (131_079, 131_056), (131_080, 131_064)] {
            assert_eq!(MinorVersion::End.superblock_sector(drive_sectors), Some(end), "{drive_sectors}");
            assert_eq!(MinorVersion::Start.superblock_sector(drive_sectors), Some(0));
            assert_eq!(MinorVersion::Start4K.superblock_sector(drive_sectors), Some(8));
        }
        for (drive_sectors, legacy) in [(127, None), (128, Some(0)), (383, Some(128)), (384, Some(256))] {
            assert_eq!(MetadataVersion::Legacy.superblock_sector(drive_sectors), legacy, "{drive_sectors}");
        }
        for minor in MinorVersion::ALL {
            assert_eq!(minor.superblock_sector(23), None);
            assert!(minor.superblock_sector(u64::MAX).is_some());
        }
    }
}
