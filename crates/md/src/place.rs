//! Where superblocks lie, and where mdadm puts the data of a new member.

use crate::superblock::BadBlockLog;

/// Bytes of a sector: md counts in these whatever the drive's block size.
pub const SECTOR_BYTES: u64 = 512;

/// Sectors that belong to a superblock of any length.
const SUPERBLOCK_SECTORS: u64 = 8;
/// Smaller drives hold no superblock.
const LEAST_DRIVE_SECTORS: u64 = 24;
/// Sectors of a new bad-block log.
const BAD_BLOCK_LOG_SECTORS: u16 = 8;
const MIB_SECTORS: u64 = (1 << 20) / SECTOR_BYTES;
const GIB_SECTORS: u64 = 1024 * MIB_SECTORS;

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

/// Sectors that mdadm keeps free for a bitmap, by the size of a drive or of the data on it.
fn bitmap_space_sectors(size_sectors: u64) -> u64 {
    if size_sectors < 128 {
        0
    } else if size_sectors - 128 >= 200 * GIB_SECTORS {
        256
    } else if size_sectors - 8 > 8 * GIB_SECTORS {
        128
    } else {
        8
    }
}

/// Where mdadm lets the data of a new array start, in version 1.2, on all members, judged by the first of them: after
/// the superblock, space for a bitmap and 128 MiB for later reshapes; of these rather a thousandth of small drives, but
/// no less than two chunks.
pub(crate) fn creation_data_offset_sectors(first_drive_sectors: u64, chunk_sectors: u64) -> u64 {
    let mut headroom = 128 * MIB_SECTORS;
    while headroom * 1024 > first_drive_sectors && (chunk_sectors == 0 || headroom / 2 >= 2 * chunk_sectors) {
        headroom /= 2;
    }
    let least = 3 * SUPERBLOCK_SECTORS + bitmap_space_sectors(first_drive_sectors) + headroom;
    least.next_multiple_of(MIB_SECTORS)
}

/// Where mdadm puts the bad-block log of a new 1.2 member without a bitmap: behind the space kept for one, which goes
/// by the superblock's `size` field (0 for linear and RAID0).
pub(crate) fn creation_bad_block_log(size_sectors: u64) -> BadBlockLog {
    let offset = SUPERBLOCK_SECTORS + bitmap_space_sectors(size_sectors);
    BadBlockLog {
        shift: 0,
        size_sectors: BAD_BLOCK_LOG_SECTORS,
        offset_sectors: i32::try_from(offset).expect("at most 264 sectors"),
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

    /// Values that Linux and mdadm were seen to write.
    #[test]
    fn data_starts_where_mdadm_lets_it_start() {
        const MIB: u64 = MIB_SECTORS;
        const GIB: u64 = GIB_SECTORS;
        for (drive_sectors, chunkless, with_512k_chunk) in [
            (64 * MIB, 2048, 4096),
            (GIB, 4096, 4096),
            (7 * GIB, 10240, 10240),
            (8 * GIB, 18432, 18432),
            (15 * GIB, 18432, 18432),
            (32 * GIB, 67584, 67584),
            (64 * GIB, 133_120, 133_120),
            (119 * GIB, 133_120, 133_120),
            (150 * GIB, 264_192, 264_192),
            (4096 * GIB, 264_192, 264_192),
        ] {
            assert_eq!(creation_data_offset_sectors(drive_sectors, 0), chunkless, "{drive_sectors} sectors");
            assert_eq!(creation_data_offset_sectors(drive_sectors, 1024), with_512k_chunk, "{drive_sectors} sectors");
        }
    }

    #[test]
    fn space_for_a_bitmap_grows_in_steps() {
        for (sectors, space) in [
            (0, 0),
            (127, 0),
            (128, 8),
            (8 * GIB_SECTORS + 8, 8),
            (8 * GIB_SECTORS + 9, 128),
            (200 * GIB_SECTORS + 127, 128),
            (200 * GIB_SECTORS + 128, 256),
            (u64::MAX, 256),
        ] {
            assert_eq!(bitmap_space_sectors(sectors), space, "{sectors} sectors");
        }
    }
}
