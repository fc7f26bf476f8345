//! A write-intent bitmap comes to an array at rest, or goes.
//!
//! One that comes is written beside every superblock and flushed before the superblocks say so.
//! There nothing else lies, so that a power cut before that changes nothing. All parity and all
//! mirrors agree, so that no bit is set; and as it knows of nothing that was written before it, a
//! member that left earlier cannot come back by it.
//!
//! | power is cut | the array has |
//! | --- | --- |
//! | before the superblocks are written | no bitmap: it is as it was |
//! | while they are | what the freshest says; the others are brought up to it |
//! | after that | the bitmap |
//!
//! One that goes is only not spoken of any more: the order does not matter.

use shoal_array::{Geometry, Shape};
use shoal_drive::DriveId;
use shoal_md::{BITMAP_PAGE_BYTES, Bitmap, BitmapHeader, Features, Superblock};

use super::drives::Drives;
use super::error::{GrowError, GrowRefusal};
use super::options::BitmapChange;
use super::plan::check_state;
use super::roll::Roll;
use crate::world::World;

/// What is to be written, and how.
pub(super) struct BitmapStep {
    membership: shoal_md::Membership,
    header: Option<BitmapHeader>,
}

/// Plans it, or says what is in the way. Nothing is written.
pub(super) fn plan(roll: &Roll, change: BitmapChange) -> Result<BitmapStep, GrowError> {
    check_state(roll).map_err(|why| roll.refused(why))?;
    let has_bitmap = roll.superblock().features.any_of(Features::BITMAP);
    let mut membership = roll.membership.clone();
    let header = match change {
        BitmapChange::Remove if has_bitmap => {
            membership.remove_bitmap();
            None
        }
        BitmapChange::Add { chunk_bytes } if !has_bitmap => {
            check_additions(roll)?;
            let added = membership.add_bitmap(chunk_bytes);
            Some(added.map_err(|why| roll.refused(GrowRefusal::BitmapPlace(why)))?)
        }
        BitmapChange::Add { .. } => return Err(roll.refused(GrowRefusal::HasBitmap)),
        BitmapChange::Remove => return Err(roll.refused(GrowRefusal::NothingToDo)),
    };
    Ok(BitmapStep { membership, header })
}

/// What is right for an array without a bitmap, and not with one.
fn check_additions(roll: &Roll) -> Result<(), GrowError> {
    let superblock = roll.superblock();
    let shape = Shape {
        level: roll.assembly.level,
        chunk_bytes: u32::try_from(superblock.chunk_bytes()).unwrap_or(u32::MAX),
        member_bytes: vec![superblock.used_bytes(); superblock.raid_devices as usize],
    };
    let geometry = Geometry::new(shape).map_err(|cause| GrowError::Geometry { name: roll.name(), cause })?;
    if geometry.redundancy() == 0 {
        return Err(roll.refused(GrowRefusal::NoRedundancy));
    }
    match roll.assembly.journal() {
        Some(_) => Err(roll.refused(GrowRefusal::Journal)),
        None => Ok(()),
    }
}

/// Does it.
pub(super) fn carry_out<W: World>(drives: &mut Drives<W>, roll: &mut Roll, step: BitmapStep) -> Result<(), GrowError> {
    roll.level(drives)?;
    if let Some(mut header) = step.header {
        header.events = roll.membership.events() + 1;
        header.events_cleared = header.events;
        let members: Vec<_> =
            step.membership.superblocks().iter().map(|own| (roll.drive(own.dev_number), own.clone())).collect();
        for (drive, own) in &members {
            write_bitmap(drives, *drive, own, &header)?;
        }
        drives.flush(members.iter().map(|(drive, _)| *drive))?;
    }
    roll.membership = step.membership;
    roll.write(drives)
}

/// Writes a copy in which no bit is set.
fn write_bitmap<W: World>(
    drives: &mut Drives<W>,
    drive: DriveId,
    own: &Superblock,
    header: &BitmapHeader,
) -> Result<(), GrowError> {
    let area = own.bitmap_area().expect("its place was looked for when it was planned");
    let bitmap = Bitmap::all_set(header.clone(), header.sync_sectors, area.size_bytes);
    let mut bitmap = bitmap.expect("the room was looked at when it was planned");
    (0..bitmap.bits()).for_each(|bit| {
        bitmap.clear(bit);
    });
    for page in 0..bitmap.pages() {
        let at = area.offset_bytes + (page * BITMAP_PAGE_BYTES) as u64;
        drives.write_small(drive, at, &bitmap.encode_page(page))?;
    }
    Ok(())
}
