//! Arrays grow, and change their chunk or layout, while nobody uses them.
//!
//! A mirror gets another copy and a linear array another piece by one update of the superblocks.
//! RAID4, 5 and 6 are reshaped as md does it, in md's own fields, so that Linux can go on with what
//! was begun here, and the other way round.
//!
//! ## The reshape
//!
//! The start of the data moves down, on every member alike, into the room that md leaves before the
//! data. So the new shape is written a little ahead of where the old one is read, and no backup is
//! needed. It goes window by window ([`passage`]):
//!
//! 1. Content is read in the old shape and written, with its parity, in the new one. Content that
//!    the old shape does not have is zeros. All members are flushed.
//! 2. The position that the window ends at is written to all superblocks, as one update, and they
//!    are flushed.
//!
//! A window ends before anything that the old shape still holds for content beyond the *recorded*
//! position. So whenever power is cut, everything below the recorded position is in the new shape,
//! everything beyond it in the old one, and the window that was being written is written again. Of
//! superblocks that were cut short in between, the freshest counts; the others are brought up to it
//! before anything else. The last position is the end of the content; then one more update makes
//! the new shape the shape.
//!
//! What would have to be understood in two shapes at once is refused at the start: missing members,
//! a resync that is due, bitmaps, partial parity logs, bad blocks. A block that cannot be read is
//! computed from the others of its row.
//!
//! A member that fails while the array is reshaped is left behind, if parity stands for it: first
//! the superblocks of the others say so, durably, then its window is written again. So a reshape
//! that was cut short goes on without members, too. That is sound whatever was being written: rows
//! beyond the recorded position are whole in the old shape, as nothing that they need is
//! overwritten, and rows before it are whole in the new one.

mod bitmap;
mod drives;
mod error;
mod options;
mod passage;
mod plan;
mod roll;

use shoal_array::Geometry;
use shoal_drive::DriveId;
use shoal_memory::Found;
use shoal_parity::Parity;

pub use error::{DriveRequest, GrowError, GrowRefusal};
pub use options::{Absent, BitmapChange, GrowOptions, Grown};

use crate::world::World;
use drives::Drives;
use passage::Passage;
use roll::Roll;

/// Who hears how a growth gets on. A closure hears only how far it has come.
pub trait GrowProgress {
    /// A reshape begins, or goes on: the superblocks say so, durably, and with which members:
    /// `found`.
    fn has_begun(&mut self, found: Vec<Found>) {
        let _ = found;
    }

    /// How far the reshape has come, in bytes of the new content. The answer says whether to go on.
    fn goes_on(&mut self, done_bytes: u64, total_bytes: u64) -> bool;
}

impl<F: FnMut(u64, u64) -> bool> GrowProgress for F {
    fn goes_on(&mut self, done_bytes: u64, total_bytes: u64) -> bool {
        self(done_bytes, total_bytes)
    }
}

/// Grows the array of `members` by the drives `added`, whose content is lost, or changes its shape.
/// The world's arena is used as a whole, and nothing else may use the world meanwhile; it must hold
/// 4 KiB for each member, and 4 KiB more.
pub fn grow<W: World>(
    world: &mut W,
    members: &[DriveId],
    added: &[DriveId],
    options: &GrowOptions,
    progress: &mut dyn GrowProgress,
) -> Result<Grown, GrowError> {
    let mut drives = Drives::new(world);
    let mut roll = Roll::call(&mut drives, members)?;
    if let Some(change) = options.bitmap {
        let step = bitmap::plan(&roll, change)?;
        return bitmap::carry_out(&mut drives, &mut roll, step).map(|()| Grown::Done);
    }
    let step = plan::plan(&mut drives, &roll, added, options)?;
    if roll.is_linear() && added.len() > 1 {
        return grow_piece_by_piece(world, members, added, progress);
    }
    roll.level(&mut drives)?;
    for &drive in added {
        drives.clear_superblocks(drive)?;
    }
    roll.take(step);
    roll.write_after(&mut drives, added)?;
    if roll.is_reshaping() {
        return pass(&mut drives, &mut roll, progress);
    }
    Ok(if roll.superblock().level_number == 1 { Grown::ToBeFilled } else { Grown::Done })
}

/// Refuses what [`grow`] would refuse before it writes anything.
pub fn check_growth<W: World>(
    world: &mut W,
    members: &[DriveId],
    added: &[DriveId],
    options: &GrowOptions,
) -> Result<(), GrowError> {
    let mut drives = Drives::new(world);
    let roll = Roll::call(&mut drives, members)?;
    match options.bitmap {
        Some(change) => bitmap::plan(&roll, change).map(drop),
        None => plan::plan(&mut drives, &roll, added, options).map(drop),
    }
}

/// A linear array needs each of its members: it gets one after the other. Were all given at once, a
/// power cut could leave the first one, which speaks of the others, and not those.
fn grow_piece_by_piece<W: World>(
    world: &mut W,
    members: &[DriveId],
    added: &[DriveId],
    progress: &mut dyn GrowProgress,
) -> Result<Grown, GrowError> {
    let mut members = members.to_vec();
    for &drive in added {
        let one_more = GrowOptions { raid_devices: Some(members.len() + 1), ..GrowOptions::default() };
        grow(world, &members, &[drive], &one_more, progress)?;
        members.push(drive);
    }
    Ok(Grown::Done)
}

/// Goes on with a reshape that was stopped or cut short, by us or by Linux.
pub fn continue_reshape<W: World>(
    world: &mut W,
    members: &[DriveId],
    absent: Absent,
    progress: &mut dyn GrowProgress,
) -> Result<Grown, GrowError> {
    let mut drives = Drives::new(world);
    let mut roll = Roll::call(&mut drives, members)?;
    if !roll.is_reshaping() && !roll.is_behind() {
        return Err(roll.refused(GrowRefusal::NoReshape));
    }
    if roll.is_reshaping() {
        plan::check_continuable(&roll, absent)?;
    }
    roll.level(&mut drives)?;
    roll.record_missing(&mut drives)?;
    if roll.is_reshaping() { pass(&mut drives, &mut roll, progress) } else { Ok(Grown::Done) }
}

/// From the recorded position to the end, or until it is stopped. A member that does not take what
/// is written to it is left behind if parity stands for it; the window that it failed in is written
/// again.
fn pass<W: World>(
    drives: &mut Drives<W>,
    roll: &mut Roll,
    progress: &mut dyn GrowProgress,
) -> Result<Grown, GrowError> {
    progress.has_begun(roll.found(drives));
    loop {
        match pass_with(drives, roll, progress) {
            Ok(Grown::Done) => break,
            Err(error) => roll.go_on_after(drives, error)?,
            stopped => return stopped,
        }
    }
    roll.membership.finish_reshape();
    roll.write(drives).or_else(|error| roll.go_on_after(drives, error))?;
    Ok(Grown::Done)
}

/// The same with the members that there are, until one fails; all but the last update.
fn pass_with<W: World>(
    drives: &mut Drives<W>,
    roll: &mut Roll,
    progress: &mut dyn GrowProgress,
) -> Result<Grown, GrowError> {
    let [old, new] = roll.shapes().map(Geometry::new);
    let damaged = |cause| GrowError::Geometry { name: roll.name(), cause };
    let passage = Passage::new(old.map_err(damaged)?, new.map_err(damaged)?, roll.seats(), Parity::best());
    let total_bytes = passage.total_bytes();
    while roll.position_bytes() < total_bytes {
        let position_bytes = roll.position_bytes();
        if !progress.goes_on(position_bytes, total_bytes) {
            return Ok(Grown::Stopped { position_bytes, total_bytes });
        }
        let window = passage.window(position_bytes).ok_or_else(|| roll.refused(GrowRefusal::NoHeadStart))?;
        let end_bytes = passage.carry(drives, window)?;
        drives.flush(roll.drives())?;
        roll.membership.record_reshape_position(end_bytes);
        roll.write(drives)?;
    }
    progress.goes_on(total_bytes, total_bytes);
    Ok(Grown::Done)
}
