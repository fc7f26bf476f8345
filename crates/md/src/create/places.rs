//! Where mdadm puts what, on the members of a new array.
//!
//! With metadata at the start of the drive (1.1, 1.2) there follow the superblock, bitmap or PPL,
//! the bad-block log, free space for later reshapes, and the data up to the drive's end. With
//! metadata at the end (1.0) the data come first, and bitmap or PPL, the bad-block log and the
//! superblock close the drive. How much is kept for a bitmap goes by the drive's size when the data
//! are placed, and by the `size` field when the log is placed behind it.

use shoal_array::{Level, Raid10Layout};

use super::{ConsistencyPolicy, CreateError, CreateRequest, LEAST_DATA_SECTORS, NewMember};
use crate::bitmap::{BITMAP_HEADER_BYTES, BITMAP_PAGE_BYTES, BitmapHeader, BitmapRefusal};
use crate::place::{SECTOR_BYTES, SUPERBLOCK_SECTORS};
use crate::{BadBlockLog, MinorVersion, Superblock, Uuid};

/// What RAID1 sizes are rounded down to, so that the array can be made a RAID5 later.
const RAID1_ROUNDING_SECTORS: u64 = (64 << 10) / SECTOR_BYTES;
/// mdadm counts sizes in KiB.
const KIB_SECTORS: u64 = 2;
const MIB_SECTORS: u64 = (1 << 20) / SECTOR_BYTES;
const GIB_SECTORS: u64 = 1024 * MIB_SECTORS;
/// What is kept free for later reshapes on drives that are large enough.
const HEADROOM_SECTORS: u64 = 128 * MIB_SECTORS;
/// Sectors of a new bad-block log.
const BAD_BLOCK_LOG_SECTORS: u16 = 8;
/// Sectors of a new PPL: room for several logs.
const PPL_SECTORS: u16 = 2048;

/// Where the data of all members start, and how much of each the array uses (none: all that there
/// is).
pub(super) struct DataPlace {
    pub(super) data_offset_sectors: u64,
    pub(super) size_sectors: Option<u64>,
}

impl DataPlace {
    pub(super) fn of(request: &CreateRequest, chunk_bytes: u32) -> Result<Self, CreateError> {
        let chunk_sectors = u64::from(chunk_bytes) / SECTOR_BYTES;
        let first_drive_sectors = request.members.first().map_or(0, NewMember::sectors);
        let data_offset_sectors = match request.minor {
            MinorVersion::End => 0,
            MinorVersion::Start | MinorVersion::Start4K => {
                data_offset_sectors(first_drive_sectors, chunk_sectors, request.consistency)
            }
        };
        let rounding_sectors = match request.level {
            Level::Raid1 => RAID1_ROUNDING_SECTORS,
            _ => chunk_sectors.max(KIB_SECTORS),
        };
        let mut least = None;
        for drive in request.members.iter().chain(&request.spares) {
            let overhead_sectors = overhead_sectors(request, drive.sectors(), data_offset_sectors);
            let used_sectors = used_sectors(drive, overhead_sectors, rounding_sectors)?;
            least = Some(least.map_or(used_sectors, |least: u64| least.min(used_sectors)));
        }
        let one_size = !matches!(request.level, Level::Linear | Level::Raid0(_));
        Ok(Self { data_offset_sectors, size_sectors: one_size.then(|| least.unwrap_or(0)) })
    }
}

/// What a drive holds beside its data, at the least.
fn overhead_sectors(request: &CreateRequest, drive_sectors: u64, data_offset_sectors: u64) -> u64 {
    match request.minor {
        MinorVersion::Start | MinorVersion::Start4K => data_offset_sectors,
        MinorVersion::End => {
            let behind = drive_sectors % SUPERBLOCK_SECTORS + 2 * SUPERBLOCK_SECTORS;
            behind + u64::from(BAD_BLOCK_LOG_SECTORS) + kept_sectors(drive_sectors, request.consistency)
        }
    }
}

fn used_sectors(drive: &NewMember, overhead_sectors: u64, rounding_sectors: u64) -> Result<u64, CreateError> {
    let available_sectors = drive.sectors().saturating_sub(overhead_sectors);
    let used_sectors = available_sectors - available_sectors % rounding_sectors;
    if used_sectors > 0 && available_sectors >= LEAST_DATA_SECTORS {
        return Ok(used_sectors);
    }
    let needed_sectors = overhead_sectors + rounding_sectors.max(LEAST_DATA_SECTORS);
    Err(CreateError::DriveTooSmall {
        drive: drive.drive.clone(),
        size_bytes: drive.size_bytes,
        needed_bytes: needed_sectors * SECTOR_BYTES,
    })
}

/// Sectors kept for what the policy needs, on a drive of this size.
fn kept_sectors(drive_sectors: u64, consistency: ConsistencyPolicy) -> u64 {
    match consistency {
        ConsistencyPolicy::Ppl => u64::from(PPL_SECTORS),
        ConsistencyPolicy::Resync | ConsistencyPolicy::Bitmap { .. } => bitmap_space_sectors(drive_sectors),
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

/// Where the data of a new array start with metadata at the start, on all members, judged by the
/// first of them: after the superblock, what is kept beside it and 128 MiB for later reshapes; of
/// these rather a thousandth of small drives, but no less than two chunks.
fn data_offset_sectors(first_drive_sectors: u64, chunk_sectors: u64, consistency: ConsistencyPolicy) -> u64 {
    let mut headroom = HEADROOM_SECTORS;
    while headroom * 1024 > first_drive_sectors && (chunk_sectors == 0 || headroom / 2 >= 2 * chunk_sectors) {
        headroom /= 2;
    }
    let least = 3 * SUPERBLOCK_SECTORS + kept_sectors(first_drive_sectors, consistency) + headroom;
    least.next_multiple_of(MIB_SECTORS)
}

/// What lies beside the data, the same on all members.
pub(super) struct Beside {
    pub(super) bitmap: Option<NewBitmap>,
    /// The `bitmap_offset` field (or that of the PPL, by [`Superblock::set_ppl_place`]), in sectors
    /// from the superblock.
    offset_sectors: i32,
    /// Sectors between that and the bad-block log.
    size_sectors: u64,
}

impl Beside {
    /// `size_sectors` is what the `size` field holds.
    pub(super) fn of(request: &CreateRequest, size_sectors: u64) -> Result<Self, CreateError> {
        let at_end = request.minor == MinorVersion::End;
        let log_sectors = i32::from(BAD_BLOCK_LOG_SECTORS);
        match request.consistency {
            ConsistencyPolicy::Resync => {
                Ok(Self { bitmap: None, offset_sectors: 8, size_sectors: bitmap_space_sectors(size_sectors) })
            }
            ConsistencyPolicy::Ppl => Ok(Self {
                bitmap: None,
                offset_sectors: if at_end { -i32::from(PPL_SECTORS) - log_sectors } else { 8 },
                size_sectors: u64::from(PPL_SECTORS),
            }),
            ConsistencyPolicy::Bitmap { chunk_bytes } => {
                let bitmap = new_bitmap(request, size_sectors, chunk_bytes)?;
                // mdadm counts one bit more when it goes back from the superblock.
                let chunk_sectors = u64::from(bitmap.chunk_bytes) / SECTOR_BYTES;
                let back = bitmap_sectors(bitmap.sync_sectors / chunk_sectors + 1);
                let back = i32::try_from(back).expect("the bits fit in the room that is kept for them");
                Ok(Self {
                    offset_sectors: if at_end { -back - log_sectors } else { 8 },
                    size_sectors: bitmap_sectors(bitmap.sync_sectors.div_ceil(chunk_sectors)),
                    bitmap: Some(bitmap),
                })
            }
        }
    }

    /// Writes into a member's superblock where everything lies on its drive. Its place of the data
    /// is known.
    pub(super) fn place(&self, superblock: &mut Superblock, minor: MinorVersion, drive_sectors: u64) {
        let at = minor.superblock_sector(drive_sectors).expect("a drive with room for data has room for a superblock");
        superblock.super_offset_sectors = at;
        let log_offset_sectors = match minor {
            MinorVersion::End => {
                let kept_sectors = self.size_sectors + u64::from(BAD_BLOCK_LOG_SECTORS);
                superblock.data_size_sectors = at - kept_sectors.min(at - superblock.size_sectors);
                -i32::from(BAD_BLOCK_LOG_SECTORS)
            }
            MinorVersion::Start | MinorVersion::Start4K => {
                superblock.data_size_sectors = drive_sectors - superblock.data_offset_sectors;
                8 + i32::try_from(self.size_sectors).expect("little is kept")
            }
        };
        superblock.bad_block_log =
            BadBlockLog { shift: 0, size_sectors: BAD_BLOCK_LOG_SECTORS, offset_sectors: log_offset_sectors };
    }

    /// Writes the `bitmap_offset` field.
    pub(super) fn record(&self, superblock: &mut Superblock, consistency: ConsistencyPolicy) {
        match consistency {
            ConsistencyPolicy::Resync => {}
            ConsistencyPolicy::Bitmap { .. } => superblock.bitmap_offset = self.offset_sectors,
            ConsistencyPolicy::Ppl => {
                let offset = i16::try_from(self.offset_sectors).expect("little more than the PPL's size");
                superblock.set_ppl_place(offset, PPL_SECTORS);
            }
        }
    }
}

/// Sectors of a bitmap of so many bits.
pub(crate) fn bitmap_sectors(bits: u64) -> u64 {
    (bits.div_ceil(8) + BITMAP_HEADER_BYTES as u64).next_multiple_of(BITMAP_PAGE_BYTES as u64) / SECTOR_BYTES
}

/// What a new bitmap's bits cover.
#[derive(Clone, Copy)]
pub(super) struct NewBitmap {
    chunk_bytes: u32,
    sync_sectors: u64,
}

impl NewBitmap {
    pub(super) fn header(self, array_uuid: Uuid) -> BitmapHeader {
        BitmapHeader::new(array_uuid, self.sync_sectors, self.chunk_bytes)
    }
}

fn new_bitmap(request: &CreateRequest, size_sectors: u64, wanted: Option<u64>) -> Result<NewBitmap, CreateError> {
    let room_bytes = bitmap_space_sectors(size_sectors) * SECTOR_BYTES;
    let sync_sectors = match request.level {
        Level::Raid10(layout) => raid10_sync_sectors(size_sectors, request.members.len() as u64, layout),
        _ => size_sectors,
    };
    let chosen = BitmapHeader::choose_chunk_bytes(sync_sectors, room_bytes, wanted);
    let chunk_bytes = chosen.map_err(|why| match why {
        BitmapRefusal::NoRoom => CreateError::BitmapRoom { room_bytes },
        BitmapRefusal::Chunk { chunk_bytes, least_bytes } => CreateError::BitmapChunk { chunk_bytes, least_bytes },
    })?;
    Ok(NewBitmap { chunk_bytes, sync_sectors })
}

/// The array's capacity, as mdadm works it out in KiB.
pub(crate) fn raid10_sync_sectors(size_sectors: u64, members: u64, layout: Raid10Layout) -> u64 {
    let copies = u64::from(layout.near) * u64::from(layout.far);
    let size_kib = size_sectors / KIB_SECTORS;
    let capacity = u128::from(size_kib) * u128::from(members) / u128::from(copies.max(1));
    u64::try_from(capacity).unwrap_or(u64::MAX / KIB_SECTORS).saturating_mul(KIB_SECTORS)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let offset = |chunk| data_offset_sectors(drive_sectors, chunk, ConsistencyPolicy::Resync);
            assert_eq!((offset(0), offset(1024)), (chunkless, with_512k_chunk), "{drive_sectors} sectors");
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
