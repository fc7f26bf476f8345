//! The superblock of a drive that joins an array that exists.
//!
//! Everything lies where it lies on the members, counted from the superblock: Linux keeps one place
//! of the bitmap for all of them. Only what depends on the drive's size is made anew.

use super::{AddError, Membership, OWN_FEATURES};
use crate::create::NewMember;
use crate::place::{SECTOR_BYTES, SUPERBLOCK_SECTORS};
use crate::{BadBlockLog, MinorVersion, Superblock};

impl Membership {
    pub(super) fn newcomer(&self, drive: &NewMember) -> Result<Superblock, AddError> {
        let full = || AddError::TableFull { drive: drive.drive.clone() };
        let with_log = self.members.iter().find(|member| member.bad_block_log_area().is_some());
        let model = with_log.or(self.members.first()).ok_or_else(full)?;
        let place = place(model, drive)?;
        let mut own = model.clone();
        own.dev_number = self.free_number(model).ok_or_else(full)?;
        own.device_uuid = drive.uuid;
        own.device_flags = 0;
        own.corrected_read_errors = 0;
        own.features = own.features.with(OWN_FEATURES, false);
        own.recovery_offset_sectors = 0;
        own.super_offset_sectors = place.super_offset_sectors;
        own.data_size_sectors = place.data_size_sectors;
        if with_log.is_none() {
            own.bad_block_log = BadBlockLog::default();
        }
        Ok(own)
    }
}

/// Where a drive's superblock lies, and how much there is for data.
struct Place {
    super_offset_sectors: u64,
    data_size_sectors: u64,
}

fn place(model: &Superblock, drive: &NewMember) -> Result<Place, AddError> {
    let minor = model.minor_version();
    let used_sectors = model.data_offset_sectors + model.size_sectors;
    let needed_sectors = match minor {
        MinorVersion::Start | MinorVersion::Start4K => used_sectors,
        MinorVersion::End => {
            (used_sectors + taken_before(model)).next_multiple_of(SUPERBLOCK_SECTORS) + 2 * SUPERBLOCK_SECTORS
        }
    };
    let drive_sectors = drive.sectors();
    let super_offset_sectors = minor
        .superblock_sector(drive_sectors)
        .filter(|_| drive_sectors >= needed_sectors)
        .ok_or_else(|| AddError::DriveTooSmall {
            drive: drive.drive.clone(),
            size_bytes: drive.size_bytes,
            needed_bytes: needed_sectors * SECTOR_BYTES,
        })?;
    let data_size_sectors = match minor {
        MinorVersion::Start | MinorVersion::Start4K => drive_sectors - model.data_offset_sectors,
        MinorVersion::End => {
            // As much is kept free as on the model, if there is as much.
            let model_end = model.data_offset_sectors + model.data_size_sectors;
            let kept_sectors = model.super_offset_sectors.saturating_sub(model_end);
            super_offset_sectors.saturating_sub(kept_sectors).max(used_sectors) - model.data_offset_sectors
        }
    };
    Ok(Place { super_offset_sectors, data_size_sectors })
}

/// How far before the superblock something lies, at most.
fn taken_before(model: &Superblock) -> u64 {
    let at = model.super_offset_sectors * SECTOR_BYTES;
    let areas = [model.bitmap_area(), model.ppl_area(), model.bad_block_log_area()];
    let before = areas.into_iter().flatten().filter_map(|area| at.checked_sub(area.offset_bytes));
    before.max().unwrap_or(0) / SECTOR_BYTES
}
