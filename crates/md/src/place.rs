//! Where superblocks lie.

/// Bytes of a sector: md counts in these whatever the drive's block size.
pub const SECTOR_BYTES: u64 = 512;

/// Sectors that belong to a superblock of any length.
pub(crate) const SUPERBLOCK_SECTORS: u64 = 8;
/// Smaller drives hold no superblock.
const LEAST_DRIVE_SECTORS: u64 = 24;

/// The minor version of the format. It is written nowhere: it follows from the place of the superblock.
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

    /// The sector at which the superblock of a drive of this size starts; none if the drive is too small for one.
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
        for minor in MinorVersion::ALL {
            assert_eq!(minor.superblock_sector(23), None);
            assert!(minor.superblock_sector(u64::MAX).is_some());
        }
    }
}
