//! The superblock of version 1.x, and of 0.90 as far as it can be told in the same words.
//!
//! On disk it is 256 bytes of fields, then `max_dev` roles of two bytes each; at most 4 KiB belong
//! to it. Bytes behind the roles, and fields that we do not understand, are kept as they were read
//! and written back.
//!
//! Reading takes two steps: [`Unverified::parse`] finds out whether there is a superblock at all,
//! [`Unverified::verify`] whether it may be believed. Only the second gives out a [`Superblock`].

mod error;
mod legacy;
mod parts;
mod unverified;

use shoal_array::{Level, Role};

use crate::field::Field;
use crate::level::{DiskLevel, LevelError};
use crate::limits::MAX_DEV_LIMIT;
use crate::place::SECTOR_BYTES;
use crate::{Features, MetadataVersion, MinorVersion, Timestamp, Uuid};

pub use error::SuperblockError;
pub use parts::{BadBlockLog, Reshape};
pub use unverified::Unverified;

/// Bytes that belong to a superblock of any length: what is to be read, and what
/// [`Superblock::encode`] gives.
pub const SUPERBLOCK_BYTES: usize = 4096;

const MAGIC: u32 = 0xa92b_4efc;
const MAJOR_VERSION: u32 = 1;
/// Bytes of the fields, and the place of the roles.
const FIELD_BYTES: usize = 256;
const ROLE_BYTES: usize = 2;
// As many roles as fit in.
const _: () = assert!(MAX_DEV_LIMIT == (SUPERBLOCK_BYTES - FIELD_BYTES) / ROLE_BYTES);
/// A member with less room for data is none.
const LEAST_DATA_SECTORS: u64 = 10;

const ROLE_SPARE: u16 = 0xffff;
const ROLE_FAULTY: u16 = 0xfffe;
const ROLE_JOURNAL: u16 = 0xfffd;
/// Roles of active members lie below.
const ROLE_LIMIT: u16 = 0xff00;

/// Makes the struct, its reading and its writing of one list, and checks that the list tiles all
/// 256 bytes.
macro_rules! superblock_fields {
    ($($(#[$doc:meta])* $offset:literal $name:ident: $type:ty,)*) => {
        /// A superblock that was found right: magic, version, checksum, place and sizes.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Superblock {
            $($(#[$doc])* pub $name: $type,)*
            /// What each `dev_number` is for, as numbers; read by [`Superblock::member_use`].
            roles: Vec<u16>,
            /// What lies behind the roles, up to 4 KiB; not covered by the checksum.
            tail: Vec<u8>,
            /// The bytes of a superblock of version 0.90, which is never changed.
            legacy: Option<Box<[u8; SUPERBLOCK_BYTES]>>,
        }

        impl Superblock {
            /// A superblock with every field 0, room for `max_dev` roles, all of them unused.
            pub(crate) fn blank(max_dev: usize) -> Self {
                assert!(max_dev <= MAX_DEV_LIMIT, "{max_dev} roles do not fit in a superblock");
                Self {
                    $($name: <$type as Field>::read(&[0; <$type as Field>::BYTES]),)*
                    roles: vec![ROLE_SPARE; max_dev],
                    tail: vec![0; SUPERBLOCK_BYTES - FIELD_BYTES - max_dev * ROLE_BYTES],
                    legacy: None,
                }
            }

            fn read_fields(&mut self, bytes: &[u8; SUPERBLOCK_BYTES]) {
                $(self.$name = Field::read(&bytes[$offset..$offset + <$type as Field>::BYTES]);)*
            }

            fn write_fields(&self, bytes: &mut [u8; SUPERBLOCK_BYTES]) {
                $(self.$name.write(&mut bytes[$offset..$offset + <$type as Field>::BYTES]);)*
            }
        }

        const FIELD_PLACES: &[(usize, usize)] = &[$(($offset, <$type as Field>::BYTES)),*];
    };
}

superblock_fields! {
    /// What a reader must understand.
    8 features: Features,
    /// Names the array: the same on all members.
    16 array_uuid: Uuid,
    /// `homehost:name`, padded with zeros; read by [`Superblock::name`].
    32 name_bytes: [u8; 32],
    /// When the array was created.
    64 creation_time: Timestamp,
    /// md's number of the level; read by [`Superblock::level`].
    72 level_number: i32,
    /// md's number of the layout; read by [`Superblock::level`].
    76 layout_number: u32,
    /// Sectors that the array uses on each member; 0 for linear and RAID0.
    80 size_sectors: u64,
    /// Sectors of a chunk; 0 for RAID1; for linear the rounding of member sizes.
    88 chunk_sectors: u32,
    /// Number of active members of the complete array.
    92 raid_devices: u32,
    /// Where the bitmap starts, in sectors from the superblock, with [`Features::BITMAP`]; with
    /// PPL, offset and size of its area.
    96 bitmap_offset: i32,
    /// Where a reshape is, with [`Features::RESHAPE_ACTIVE`].
    100 reshape: Reshape,
    /// First data sector of this member.
    128 data_offset_sectors: u64,
    /// Sectors for data on this member.
    136 data_size_sectors: u64,
    /// The sector where this superblock lies.
    144 super_offset_sectors: u64,
    /// With [`Features::RECOVERY_OFFSET`]: sectors from the start of the data that are rebuilt. On
    /// a journal: its tail.
    152 recovery_offset_sectors: u64,
    /// This member's permanent number: its place in the table of roles, not its role.
    160 dev_number: u32,
    /// Read errors corrected on this member.
    164 corrected_read_errors: u32,
    /// Names this member.
    168 device_uuid: Uuid,
    /// 1 write-mostly, 2 failfast.
    184 device_flags: u8,
    /// Where this member lists its bad blocks.
    185 bad_block_log: BadBlockLog,
    /// When the array's state was last written.
    192 update_time: Timestamp,
    /// Counts the updates: the higher, the fresher.
    200 events: u64,
    /// The array's first sector not known to be in sync; [`Superblock::CLEAN`] if all of it is.
    208 resync_offset_sectors: u64,
    /// The logical block size that newer kernels record, else 0.
    224 logical_block_bytes: u32,
    /// Not used yet.
    228 padding: [u8; 28],
}

/// Fields that are always made anew: magic, major version, padding that must be 0, checksum, number
/// of roles.
const DERIVED_PLACES: &[(usize, usize)] =
    &[(MAGIC_PLACE, 4), (MAJOR_VERSION_PLACE, 4), (ZERO_PLACE, 4), (CHECKSUM_PLACE, 4), (MAX_DEV_PLACE, 4)];
const MAGIC_PLACE: usize = 0;
const MAJOR_VERSION_PLACE: usize = 4;
const ZERO_PLACE: usize = 12;
const CHECKSUM_PLACE: usize = 216;
const MAX_DEV_PLACE: usize = 220;

const _: () = assert!(tiles(FIELD_PLACES, DERIVED_PLACES), "every byte of the fields belongs to exactly one of them");

/// Whether the places of both lists cover every byte of the fields once.
const fn tiles(fields: &[(usize, usize)], derived: &[(usize, usize)]) -> bool {
    let mut owners = [0_u8; FIELD_BYTES];
    let mut index = 0;
    while index < fields.len() + derived.len() {
        let (offset, bytes) = if index < fields.len() { fields[index] } else { derived[index - fields.len()] };
        let mut at = offset;
        while at < offset + bytes {
            owners[at] += 1;
            at += 1;
        }
        index += 1;
    }
    let mut at = 0;
    while at < FIELD_BYTES {
        if owners[at] != 1 {
            return false;
        }
        at += 1;
    }
    true
}

/// What the table of roles says of a `dev_number`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemberUse {
    /// It has this role (in sync, or being rebuilt).
    Active(Role),
    /// It waits, or the number is not in use.
    Spare,
    /// It failed.
    Faulty,
    /// It is the write journal.
    Journal,
    /// The number means nothing, or a role that the array does not have.
    Unknown(u16),
}

impl Superblock {
    /// `resync_offset_sectors` of an array that is in sync.
    pub const CLEAN: u64 = u64::MAX;

    /// The bytes, with their checksum, as they are to be written at `super_offset_sectors`. The
    /// first [`Superblock::written_bytes`] of them matter. One of version 0.90 is given back as it
    /// was read.
    pub fn encode(&self) -> Box<[u8; SUPERBLOCK_BYTES]> {
        if let Some(legacy) = &self.legacy {
            return legacy.clone();
        }
        let mut bytes = Box::new([0; SUPERBLOCK_BYTES]);
        MAGIC.write(&mut bytes[MAGIC_PLACE..MAGIC_PLACE + 4]);
        MAJOR_VERSION.write(&mut bytes[MAJOR_VERSION_PLACE..MAJOR_VERSION_PLACE + 4]);
        self.max_dev().write(&mut bytes[MAX_DEV_PLACE..MAX_DEV_PLACE + 4]);
        self.write_fields(&mut bytes);
        for (role, place) in self.roles.iter().zip(bytes[FIELD_BYTES..].chunks_exact_mut(ROLE_BYTES)) {
            role.write(place);
        }
        bytes[SUPERBLOCK_BYTES - self.tail.len()..].copy_from_slice(&self.tail);
        let sum = checksum(&bytes, self.roles.len());
        sum.write(&mut bytes[CHECKSUM_PLACE..CHECKSUM_PLACE + 4]);
        bytes
    }

    /// The checksum that [`Superblock::encode`] writes.
    pub fn checksum(&self) -> u32 {
        let place = if self.legacy.is_some() { legacy::CHECKSUM_PLACE } else { CHECKSUM_PLACE };
        u32::read(&self.encode()[place..place + 4])
    }

    /// How many bytes mdadm would write: fields and roles, rounded up to sectors.
    pub fn written_bytes(&self) -> usize {
        (FIELD_BYTES + self.roles.len() * ROLE_BYTES).next_multiple_of(512)
    }

    /// The version of the format that it was read in, or is to be written in.
    pub fn version(&self) -> MetadataVersion {
        if self.legacy.is_some() { MetadataVersion::Legacy } else { MetadataVersion::V1(self.minor_version()) }
    }

    /// The minor version, by the place that the superblock was written for.
    pub(crate) fn minor_version(&self) -> MinorVersion {
        match self.super_offset_sectors {
            0 => MinorVersion::Start,
            8 => MinorVersion::Start4K,
            _ => MinorVersion::End,
        }
    }

    /// Level and layout, in the engine's words.
    pub fn level(&self) -> Result<Level, LevelError> {
        self.disk_level().level()
    }

    /// Level and layout, in md's numbers.
    pub fn disk_level(&self) -> DiskLevel {
        DiskLevel { level: self.level_number, layout: self.layout_number }
    }

    /// The array's name: `homehost:name` or `name`.
    pub fn name(&self) -> String {
        let length = self.name_bytes.iter().position(|byte| *byte == 0).unwrap_or(self.name_bytes.len());
        String::from_utf8_lossy(&self.name_bytes[..length]).into_owned()
    }

    /// Bytes of a chunk.
    pub fn chunk_bytes(&self) -> u64 {
        u64::from(self.chunk_sectors) * SECTOR_BYTES
    }

    /// Where the member's data area starts on the drive.
    pub fn data_offset_bytes(&self) -> u64 {
        self.data_offset_sectors * SECTOR_BYTES
    }

    /// Bytes of the member's data area that the array uses: the same on all members, except for
    /// linear and RAID0.
    pub fn used_bytes(&self) -> u64 {
        let sectors = if self.level_number > 0 { self.size_sectors } else { self.data_size_sectors };
        sectors * SECTOR_BYTES
    }

    /// Where the superblock lies on the drive.
    pub fn super_offset_bytes(&self) -> u64 {
        self.super_offset_sectors * SECTOR_BYTES
    }

    /// Whether all of the array is in sync and no write is under way.
    pub fn is_clean(&self) -> bool {
        self.resync_offset_sectors == Self::CLEAN
    }

    /// The number of roles in the table.
    pub fn max_dev(&self) -> u32 {
        u32::try_from(self.roles.len()).expect("bounded by the superblock's size")
    }

    /// What this superblock says of a member's number; numbers beyond the table are spares.
    pub fn member_use(&self, dev_number: u32) -> MemberUse {
        let role = usize::try_from(dev_number).ok().and_then(|number| self.roles.get(number));
        match role.copied() {
            None | Some(ROLE_SPARE) => MemberUse::Spare,
            Some(ROLE_FAULTY) => MemberUse::Faulty,
            Some(ROLE_JOURNAL) => MemberUse::Journal,
            Some(role) if role < ROLE_LIMIT && u32::from(role) < self.raid_devices => MemberUse::Active(Role(role)),
            Some(role) => MemberUse::Unknown(role),
        }
    }

    /// What this superblock says of its own member.
    pub fn own_use(&self) -> MemberUse {
        self.member_use(self.dev_number)
    }

    /// Writes a role down, with as many more places in the table as it takes; false if a superblock
    /// has no place for this number.
    pub(crate) fn set_member_use(&mut self, dev_number: u32, member_use: MemberUse) -> bool {
        let Some(number) = usize::try_from(dev_number).ok().filter(|number| *number < MAX_DEV_LIMIT) else {
            return false;
        };
        if number >= self.roles.len() {
            self.tail.truncate(SUPERBLOCK_BYTES - FIELD_BYTES - (number + 1) * ROLE_BYTES);
            self.roles.resize(number + 1, ROLE_SPARE);
        }
        self.roles[number] = match member_use {
            MemberUse::Active(role) => role.0,
            MemberUse::Spare => ROLE_SPARE,
            MemberUse::Faulty => ROLE_FAULTY,
            MemberUse::Journal => ROLE_JOURNAL,
            MemberUse::Unknown(value) => value,
        };
        true
    }

    /// A spare holds nothing, and says so before it has a role. Power may be cut when the others
    /// give it one and it does not know yet: Linux (since 6.8) believes them, and takes it for in
    /// sync unless its own superblock says how far it is filled. What is created is mdadm's to the
    /// byte; its spares say so from their first update on.
    pub(crate) fn mark_as_empty(&mut self) {
        self.features = self.features.with(Features::RECOVERY_OFFSET, true);
        self.recovery_offset_sectors = 0;
    }

    /// Features that Linux does not let go together either.
    fn check_features(&self) -> Result<(), SuperblockError> {
        let has = |features| self.features.any_of(features);
        let has_ppl = has(Features::PPL | Features::MULTIPLE_PPLS);
        let wrong = has_ppl && has(Features::BITMAP | Features::JOURNAL)
            || has(Features::PPL) && has(Features::MULTIPLE_PPLS)
            || has(Features::RAID0_LAYOUT) && self.level_number != 0;
        if wrong { Err(SuperblockError::Features { features: self.features }) } else { Ok(()) }
    }

    /// The data lie behind the 4 KiB of a superblock at the start, or before one at the end, on a
    /// drive of so many sectors; and so does what the array uses of them. After this no position
    /// within them overflows as bytes.
    fn check_data_area(&self, minor: MinorVersion, drive_sectors: u64) -> Result<(), SuperblockError> {
        let (first, end) = match minor {
            MinorVersion::End => (0, self.super_offset_sectors),
            MinorVersion::Start | MinorVersion::Start4K => {
                (self.super_offset_sectors + SUPERBLOCK_BYTES as u64 / SECTOR_BYTES, drive_sectors)
            }
        };
        // A journal holds less than a member, as a rule.
        let is_journal = self.own_use() == MemberUse::Journal;
        let size_limit = if is_journal { u64::MAX / (2 * SECTOR_BYTES) } else { self.data_size_sectors };
        let fits = self.data_offset_sectors >= first
            && self.data_offset_sectors.checked_add(self.data_size_sectors).is_some_and(|data_end| data_end <= end)
            && self.data_size_sectors >= LEAST_DATA_SECTORS
            && self.size_sectors <= size_limit;
        if fits {
            return Ok(());
        }
        Err(SuperblockError::DataArea {
            data_offset: self.data_offset_sectors,
            data_size: self.data_size_sectors.max(self.size_sectors),
            drive: drive_sectors,
        })
    }
}

/// md's checksum over the fields and `roles` roles, the place of the checksum itself taken as 0:
/// the sum of all little-endian words, its high half added to the low one.
fn checksum(bytes: &[u8; SUPERBLOCK_BYTES], roles: usize) -> u32 {
    let covered = &bytes[..FIELD_BYTES + roles * ROLE_BYTES];
    let words = covered.chunks_exact(4);
    let rest = match words.remainder() {
        [] => 0,
        pair => u64::from(u16::read(pair)),
    };
    let own = u64::from(u32::read(&bytes[CHECKSUM_PLACE..CHECKSUM_PLACE + 4]));
    let sum = words.map(|word| u64::from(u32::read(word))).sum::<u64>() + rest - own;
    let [low, high] = [sum & 0xffff_ffff, sum >> 32];
    ((low + high) & 0xffff_ffff) as u32
}

#[cfg(test)]
mod tests;
