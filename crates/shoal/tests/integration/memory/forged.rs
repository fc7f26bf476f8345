//! Superblocks that somebody else has written.

use std::fs::File;
use std::os::unix::fs::FileExt;

use shoal_md::{Superblock, Uuid};
use shoal_volume::read_superblock;

use crate::support::{Bay, DRIVE_BYTES};

/// Changes a drive's own superblock.
pub(crate) fn rewrite(bay: &Bay, drive: &str, change: impl Fn(&mut Superblock)) {
    let member = File::open(bay.path(drive)).unwrap();
    let mut superblock = read_superblock(DRIVE_BYTES, |offset, bytes| member.read_exact_at(bytes, offset)).unwrap();
    change(&mut superblock);
    bay.poke(drive, superblock.super_offset_bytes(), superblock.encode().as_slice());
}

/// Makes a drive with the superblock of another one, under a device UUID of its own and as `change`
/// has it. Its data are zeros.
pub(crate) fn forge(bay: &Bay, of: &str, name: &str, change: impl Fn(&mut Superblock)) {
    let member = File::open(bay.path(of)).unwrap();
    let mut superblock = read_superblock(DRIVE_BYTES, |offset, bytes| member.read_exact_at(bytes, offset)).unwrap();
    superblock.device_uuid = Uuid([0xee; 16]);
    change(&mut superblock);
    bay.add(name, DRIVE_BYTES);
    bay.poke(name, superblock.super_offset_bytes(), superblock.encode().as_slice());
}
