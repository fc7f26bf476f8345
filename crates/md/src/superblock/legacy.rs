//! The superblock of version 0.90, as old systems and old NAS boxes still have it: read, and never
//! written.
//!
//! It lies in the last 64 KiB of the drive that start at a multiple of 64 KiB; the data start at
//! sector 0. It is 1024 words of 32 bits in the byte order of the machine that wrote it; only
//! little-endian ones are understood. There are at most 27 drives, and each superblock describes
//! all of them: what version 1 keeps in its table of roles is in their state bits here. A member
//! has no UUID of its own, so one is made of the array's UUID and its number.
//!
//! What is read is told in the words of version 1, so that assembly has nothing to learn. It goes
//! back to the drive, if anybody should try, as the bytes that were read.

use shoal_array::Role;

use super::{MAGIC, MemberUse, Reshape, SUPERBLOCK_BYTES, Superblock, SuperblockError};
use crate::field::Field;
use crate::limits::{LEGACY_DRIVES_MAX, LEGACY_SIZE_MAX_SECTORS};
use crate::place::SECTOR_BYTES;
use crate::{Features, MetadataVersion, Timestamp, Uuid};

const MINOR: u32 = 90;
/// What the minor version becomes while the shape changes.
const MINOR_RESHAPING: u32 = 91;

/// Places of words, counted in words.
mod word {
    pub(super) const MAGIC: usize = 0;
    pub(super) const MAJOR: usize = 1;
    pub(super) const MINOR: usize = 2;
    /// The UUID's first word; the other three lie apart.
    pub(super) const UUID: [usize; 4] = [5, 13, 14, 15];
    pub(super) const CREATION_TIME: usize = 6;
    pub(super) const LEVEL: usize = 7;
    /// Of each member, in KiB.
    pub(super) const SIZE_KIB: usize = 8;
    pub(super) const RAID_DEVICES: usize = 10;
    pub(super) const UPDATE_TIME: usize = 32;
    pub(super) const STATE: usize = 33;
    pub(super) const CHECKSUM: usize = 38;
    /// Low half, high half.
    pub(super) const EVENTS: usize = 39;
    /// The events at which the position of the resync was written.
    pub(super) const CHECKPOINT_EVENTS: usize = 41;
    pub(super) const CHECKPOINT: usize = 43;
    /// Low half, high half.
    pub(super) const RESHAPE_POSITION: usize = 44;
    pub(super) const NEW_LEVEL: usize = 46;
    pub(super) const DELTA_DEVICES: usize = 47;
    pub(super) const NEW_LAYOUT: usize = 48;
    pub(super) const NEW_CHUNK_BYTES: usize = 49;
    pub(super) const LAYOUT: usize = 64;
    pub(super) const CHUNK_BYTES: usize = 65;
    /// Descriptions of all drives, then that of the own one.
    pub(super) const DRIVES: usize = 128;
    pub(super) const OWN_DRIVE: usize = 992;
    pub(super) const DRIVE_WORDS: usize = 32;
    /// Within a description.
    pub(super) const NUMBER: usize = 0;
    pub(super) const ROLE: usize = 3;
    pub(super) const DRIVE_STATE: usize = 4;
}

/// Bits of the array's state.
const STATE_CLEAN: u32 = 1;
const STATE_BITMAP: u32 = 1 << 8;

/// Bits of a drive's state.
const DRIVE_FAULTY: u32 = 1;
const DRIVE_IN_SYNC: u32 = 1 << 2;
const DRIVE_REMOVED: u32 = 1 << 3;
const DRIVE_WRITE_MOSTLY: u32 = 1 << 9;
const WRITE_MOSTLY: u8 = 1;

/// The bitmap lies behind the superblock.
const BITMAP_OFFSET_SECTORS: i32 = 8;

/// The checksum's first byte.
pub(super) const CHECKSUM_PLACE: usize = 4 * word::CHECKSUM;

struct Words<'a>(&'a [u8; SUPERBLOCK_BYTES]);

impl Words<'_> {
    fn at(&self, place: usize) -> u32 {
        u32::read(&self.0[4 * place..4 * place + 4])
    }

    fn long_at(&self, place: usize) -> u64 {
        u64::from(self.at(place)) | u64::from(self.at(place + 1)) << 32
    }

    /// A drive's description; none behind the last.
    fn drive(&self, number: u32, field: usize) -> Option<u32> {
        let number = usize::try_from(number).ok().filter(|_| number < LEGACY_DRIVES_MAX)?;
        Some(self.at(word::DRIVES + number * word::DRIVE_WORDS + field))
    }

    /// Both checksums folded to 16 bits, as some machines wrote no more.
    fn checksums(&self) -> (u32, u32) {
        let fold = |sum: u32| {
            let once = (sum & 0xffff) + (sum >> 16);
            (once & 0xffff) + (once >> 16)
        };
        let stored = self.at(word::CHECKSUM);
        let sum = (0..SUPERBLOCK_BYTES / 4).map(|place| u64::from(self.at(place))).sum::<u64>() - u64::from(stored);
        let computed = ((sum & 0xffff_ffff) + (sum >> 32)) & 0xffff_ffff;
        (fold(stored), fold(u32::try_from(computed).expect("32 bits are left")))
    }
}

/// Reads and checks the superblock found in the place of version 0.90 on a drive of
/// `drive_sectors`.
pub(super) fn read(bytes: &[u8; SUPERBLOCK_BYTES], drive_sectors: u64) -> Result<Superblock, SuperblockError> {
    let words = Words(bytes);
    match words.at(word::MAGIC) {
        MAGIC => {}
        magic if magic.swap_bytes() == MAGIC => return Err(SuperblockError::BigEndian),
        _ => return Err(SuperblockError::NoMagic),
    }
    let [major, minor] = [words.at(word::MAJOR), words.at(word::MINOR)];
    if major != 0 || !matches!(minor, MINOR | MINOR_RESHAPING) {
        return Err(SuperblockError::LegacyVersion { major, minor });
    }
    let (stored, computed) = words.checksums();
    if stored != computed {
        return Err(SuperblockError::Checksum { stored, computed });
    }
    let raid_devices = words.at(word::RAID_DEVICES);
    if !(1..=LEGACY_DRIVES_MAX).contains(&raid_devices) {
        return Err(SuperblockError::MaxDev { max_dev: raid_devices });
    }
    let at = MetadataVersion::Legacy
        .superblock_sector(drive_sectors)
        .ok_or(SuperblockError::DriveTooSmall { drive: drive_sectors })?;
    let mut superblock = Superblock::blank(LEGACY_DRIVES_MAX as usize);
    superblock.super_offset_sectors = at;
    superblock.raid_devices = raid_devices;
    read_shape(&words, &mut superblock);
    if superblock.size_sectors > superblock.data_size_sectors {
        let data_size = superblock.size_sectors;
        return Err(SuperblockError::DataArea { data_offset: 0, data_size, drive: drive_sectors });
    }
    read_state(&words, minor, &mut superblock);
    read_roles(&words, &mut superblock);
    superblock.level()?;
    superblock.legacy = Some(Box::new(*bytes));
    Ok(superblock)
}

fn read_shape(words: &Words<'_>, superblock: &mut Superblock) {
    superblock.level_number = words.at(word::LEVEL) as i32;
    let has_one_size = superblock.level_number > 0;
    // RAID0's layout is not recorded: what is in the field is nobody's word.
    superblock.layout_number = if has_one_size { words.at(word::LAYOUT) } else { 0 };
    superblock.chunk_sectors = words.at(word::CHUNK_BYTES) / SECTOR_BYTES as u32;
    superblock.size_sectors = if has_one_size { u64::from(words.at(word::SIZE_KIB)) * 2 } else { 0 };
    let room_sectors = superblock.super_offset_sectors;
    superblock.data_size_sectors = if has_one_size { room_sectors.min(LEGACY_SIZE_MAX_SECTORS) } else { room_sectors };
}

fn read_state(words: &Words<'_>, minor: u32, superblock: &mut Superblock) {
    let mut uuid = [0; 16];
    for (place, bytes) in word::UUID.into_iter().zip(uuid.chunks_exact_mut(4)) {
        // Printed word by word.
        bytes.copy_from_slice(&words.at(place).to_be_bytes());
    }
    superblock.array_uuid = Uuid(uuid);
    superblock.creation_time = Timestamp::from_seconds(u64::from(words.at(word::CREATION_TIME)));
    superblock.update_time = Timestamp::from_seconds(u64::from(words.at(word::UPDATE_TIME)));
    superblock.events = words.long_at(word::EVENTS);
    let state = words.at(word::STATE);
    let checkpoint_counts = superblock.events == words.long_at(word::CHECKPOINT_EVENTS);
    superblock.resync_offset_sectors = match (state & STATE_CLEAN != 0, checkpoint_counts) {
        (true, _) => Superblock::CLEAN,
        (false, true) => u64::from(words.at(word::CHECKPOINT)),
        (false, false) => 0,
    };
    superblock.features = Features(0)
        .with(Features::BITMAP, state & STATE_BITMAP != 0)
        .with(Features::RESHAPE_ACTIVE, minor == MINOR_RESHAPING);
    superblock.bitmap_offset = if state & STATE_BITMAP != 0 { BITMAP_OFFSET_SECTORS } else { 0 };
    if minor == MINOR_RESHAPING {
        superblock.reshape = Reshape {
            new_level: words.at(word::NEW_LEVEL) as i32,
            position_sectors: words.long_at(word::RESHAPE_POSITION),
            delta_devices: words.at(word::DELTA_DEVICES) as i32,
            new_layout: words.at(word::NEW_LAYOUT),
            new_chunk_sectors: words.at(word::NEW_CHUNK_BYTES) / SECTOR_BYTES as u32,
            new_offset_sectors: 0,
        };
    }
}

fn read_roles(words: &Words<'_>, superblock: &mut Superblock) {
    for number in 0..LEGACY_DRIVES_MAX {
        let state = words.drive(number, word::DRIVE_STATE).unwrap_or(0);
        let role = words.drive(number, word::ROLE).and_then(|role| u16::try_from(role).ok());
        let member_use = match role {
            _ if state & DRIVE_REMOVED != 0 => MemberUse::Spare,
            _ if state & DRIVE_FAULTY != 0 => MemberUse::Faulty,
            // Being rebuilt is not recorded: who is not in sync is a spare.
            _ if state & DRIVE_IN_SYNC == 0 => MemberUse::Spare,
            Some(role) => MemberUse::Active(Role(role)),
            None => MemberUse::Unknown(u16::MAX - 3),
        };
        let recorded = superblock.set_member_use(number, member_use);
        assert!(recorded, "the table has room for all drives");
    }
    superblock.dev_number = words.at(word::OWN_DRIVE + word::NUMBER);
    let own_state = words.drive(superblock.dev_number, word::DRIVE_STATE).unwrap_or(0);
    superblock.device_flags = if own_state & DRIVE_WRITE_MOSTLY != 0 { WRITE_MOSTLY } else { 0 };
    superblock.device_uuid = superblock.array_uuid;
    let number = superblock.dev_number.wrapping_add(1).to_be_bytes();
    for (byte, mixed) in superblock.device_uuid.0[12..].iter_mut().zip(number) {
        *byte ^= mixed;
    }
}
