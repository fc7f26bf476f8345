//! A write-intent bitmap comes to an array, or goes.

use shoal_array::Level;

use super::Membership;
use crate::bitmap::{BITMAP_PAGE_BYTES, BitmapHeader, BitmapRefusal};
use crate::create::{bitmap_sectors, raid10_sync_sectors};
use crate::place::SECTOR_BYTES;
use crate::{Features, MetadataVersion, MinorVersion, Superblock};

/// Where a bitmap lies behind a superblock, in sectors from it, as mdadm has it.
const BEHIND_SECTORS: i32 = 8;

impl Membership {
    /// Gives the array an internal bitmap, whose bits stand for `chunk_bytes` each; as mdadm would
    /// choose if that is left out. Returns the header of its copies, without the count of updates:
    /// they are to be written beside every superblock before that says so.
    /// [`Membership::advance`] is still to be called, as always.
    ///
    /// # Errors
    /// There is no room, or not for so small a chunk. Nothing has changed then.
    pub fn add_bitmap(&mut self, chunk_bytes: Option<u64>) -> Result<BitmapHeader, BitmapRefusal> {
        let any = self.members.first().ok_or(BitmapRefusal::NoRoom)?;
        let (array_uuid, sync_sectors) = (any.array_uuid, sync_sectors(any));
        let rooms: Option<Vec<u64>> = self.members.iter().map(room_sectors).collect();
        let room_sectors = rooms.and_then(|rooms| rooms.into_iter().min()).ok_or(BitmapRefusal::NoRoom)?;
        // It is written in whole pages, which may not reach into what lies behind it.
        let page_bytes = BITMAP_PAGE_BYTES as u64;
        let room_bytes = room_sectors * SECTOR_BYTES / page_bytes * page_bytes;
        let chunk_bytes = BitmapHeader::choose_chunk_bytes(sync_sectors, room_bytes, chunk_bytes)?;
        let header = BitmapHeader::new(array_uuid, sync_sectors, chunk_bytes);
        // mdadm counts one bit more when it goes back from the superblock.
        let back_sectors = bitmap_sectors(header.bits() + 1);
        let placed: Option<Vec<Superblock>> = self.members.iter().map(|own| with_bitmap(own, back_sectors)).collect();
        self.members = placed.ok_or(BitmapRefusal::NoRoom)?;
        Ok(header)
    }

    /// Takes the array's bitmap away. [`Membership::advance`] is still to be called, as always.
    pub fn remove_bitmap(&mut self) {
        for member in &mut self.members {
            member.features = member.features.with(Features::BITMAP, false);
            member.bitmap_offset = 0;
        }
    }
}

/// What the bits of an array's bitmap cover.
fn sync_sectors(any: &Superblock) -> u64 {
    match any.level() {
        Ok(Level::Raid10(layout)) => raid10_sync_sectors(any.size_sectors, u64::from(any.raid_devices), layout),
        _ => any.size_sectors,
    }
}

fn is_at_end(own: &Superblock) -> bool {
    own.version() == MetadataVersion::V1(MinorVersion::End)
}

/// Sectors in which a member's copy can lie; none if there is no place for one.
fn room_sectors(own: &Superblock) -> Option<u64> {
    if is_at_end(own) {
        let end = own.super_offset_sectors.checked_sub(log_sectors(own))?;
        return end.checked_sub(own.data_offset_sectors.checked_add(own.data_size_sectors)?);
    }
    let area = with_offset(own, BEHIND_SECTORS).bitmap_area()?;
    Some(area.size_bytes / SECTOR_BYTES)
}

/// What a member's bad-block log takes up right before its superblock.
fn log_sectors(own: &Superblock) -> u64 {
    if own.bad_block_log.offset_sectors < 0 { u64::from(own.bad_block_log.offset_sectors.unsigned_abs()) } else { 0 }
}

fn with_bitmap(own: &Superblock, back_sectors: u64) -> Option<Superblock> {
    let offset = match is_at_end(own) {
        true => i32::try_from(back_sectors + log_sectors(own)).ok()?.checked_neg()?,
        false => BEHIND_SECTORS,
    };
    let own = with_offset(own, offset);
    let needed_bytes = if is_at_end(&own) { back_sectors * SECTOR_BYTES } else { 0 };
    own.bitmap_area().filter(|area| area.size_bytes >= needed_bytes).map(|_| own)
}

fn with_offset(own: &Superblock, offset_sectors: i32) -> Superblock {
    let mut own = own.clone();
    own.features = own.features | Features::BITMAP;
    own.bitmap_offset = offset_sectors;
    own
}

#[cfg(test)]
mod tests;
