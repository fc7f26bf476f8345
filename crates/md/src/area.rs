//! What lies beside a member's data: its write-intent bitmap, its partial-parity log (PPL), its
//! bad-block log.
//!
//! The superblock gives each a place, in sectors from itself, before or after. A place is believed
//! only if it lies on the drive, outside the superblock, and outside the data that the array uses.

use crate::place::{SECTOR_BYTES, SUPERBLOCK_SECTORS};
use crate::{Features, Superblock, SuperblockError};

/// A stretch of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// First byte, from the start of the drive.
    pub offset_bytes: u64,
    /// Bytes.
    pub size_bytes: u64,
}

/// First sector and the one behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sectors {
    start: u64,
    end: u64,
}

impl Sectors {
    fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    fn area(self) -> Area {
        Area { offset_bytes: self.start * SECTOR_BYTES, size_bytes: (self.end - self.start) * SECTOR_BYTES }
    }
}

impl Superblock {
    /// Where this member's bitmap lies, if the array has one. The size is all the room that there
    /// is for it.
    pub fn bitmap_area(&self) -> Option<Area> {
        let has_bitmap = self.features.any_of(Features::BITMAP);
        has_bitmap.then(|| self.bitmap_sectors()).flatten().map(Sectors::area)
    }

    /// Where this member's partial-parity log lies, if the array has one.
    pub fn ppl_area(&self) -> Option<Area> {
        let has_ppl = self.features.any_of(Features::PPL | Features::MULTIPLE_PPLS);
        has_ppl.then(|| self.ppl_sectors()).flatten().map(Sectors::area)
    }

    /// Where this member's bad-block log lies, if it has one. It holds entries only with
    /// [`Features::BAD_BLOCKS`].
    pub fn bad_block_log_area(&self) -> Option<Area> {
        self.bad_block_log_sectors().map(Sectors::area)
    }

    /// Where the array's partial-parity log starts, in sectors from the superblock, and its
    /// sectors. Both share the bytes of `bitmap_offset`: an array has one of the two.
    pub fn ppl_place(&self) -> (i16, u16) {
        let [first, second, third, fourth] = self.bitmap_offset.to_le_bytes();
        (i16::from_le_bytes([first, second]), u16::from_le_bytes([third, fourth]))
    }

    pub(crate) fn set_ppl_place(&mut self, offset_sectors: i16, size_sectors: u16) {
        let ([first, second], [third, fourth]) = (offset_sectors.to_le_bytes(), size_sectors.to_le_bytes());
        self.bitmap_offset = i32::from_le_bytes([first, second, third, fourth]);
    }

    /// What the features say is there must have a place of its own, and so must a bad-block log
    /// that is empty yet. `drive_sectors` is the drive's size.
    pub(crate) fn check_areas(&self, drive_sectors: u64) -> Result<(), SuperblockError> {
        let has = |features| self.features.any_of(features);
        let log = self.bad_block_log_sectors();
        for (present, what, place) in [
            (has(Features::BITMAP), "write-intent bitmap", self.bitmap_sectors()),
            (has(Features::PPL | Features::MULTIPLE_PPLS), "partial-parity log (PPL)", self.ppl_sectors()),
            (has(Features::BAD_BLOCKS) || log.is_some(), "bad-block log", log),
        ] {
            let placed = place.is_some_and(|place| place.end <= drive_sectors);
            if present && !placed {
                return Err(SuperblockError::Area { what });
            }
        }
        Ok(())
    }

    /// Very old tools put the bitmap behind the table of roles.
    pub(crate) fn bitmap_is_in_superblock(&self) -> bool {
        self.features.any_of(Features::BITMAP) && (1..SUPERBLOCK_SECTORS as i32).contains(&self.bitmap_offset)
    }

    /// From its first sector to whatever comes next.
    fn bitmap_sectors(&self) -> Option<Sectors> {
        let start = self.sector_from_superblock(i64::from(self.bitmap_offset))?;
        if self.bitmap_is_in_superblock() {
            let table_end = self.super_offset_sectors + self.written_bytes() as u64 / SECTOR_BYTES;
            let end = self.super_offset_sectors + SUPERBLOCK_SECTORS;
            return (start >= table_end).then_some(Sectors { start, end });
        }
        let log = self.bad_block_log_sectors().map(|log| log.start);
        let next = [Some(self.super_offset_sectors), Some(self.data_offset_sectors), log];
        let end = next.into_iter().flatten().filter(|next| *next > start).min();
        // Behind everything else: as much as md has ever used there.
        let end = end.unwrap_or(start + SUPERBLOCK_SECTORS);
        self.beside_everything(Sectors { start, end })
    }

    fn ppl_sectors(&self) -> Option<Sectors> {
        let (offset, size) = self.ppl_place();
        let start = self.sector_from_superblock(i64::from(offset))?;
        self.beside_everything(Sectors { start, end: start + u64::from(size) })
    }

    fn bad_block_log_sectors(&self) -> Option<Sectors> {
        let log = self.bad_block_log;
        let start = self.sector_from_superblock(i64::from(log.offset_sectors))?;
        self.beside_everything(Sectors { start, end: start + u64::from(log.size_sectors) })
    }

    /// The superblock itself (0 sectors from it) is no place.
    fn sector_from_superblock(&self, offset_sectors: i64) -> Option<u64> {
        let sector = self.super_offset_sectors.checked_add_signed(offset_sectors)?;
        (offset_sectors != 0).then_some(sector)
    }

    fn beside_everything(&self, place: Sectors) -> Option<Sectors> {
        let start = self.super_offset_sectors;
        let superblock = Sectors { start, end: start + SUPERBLOCK_SECTORS };
        let used_sectors = self.used_bytes() / SECTOR_BYTES;
        let data =
            Sectors { start: self.data_offset_sectors, end: self.data_offset_sectors.saturating_add(used_sectors) };
        (place.start < place.end && !place.overlaps(superblock) && !place.overlaps(data)).then_some(place)
    }
}
