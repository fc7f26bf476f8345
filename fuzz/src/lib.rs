//! What the fuzzers share: a limit on memory, and superblocks whose checksum is right.
//!
//! A panic is a find, a hang is one, and so is memory that a field of the input can size: every
//! program here has [`MEMORY_LIMIT_BYTES`] and no more, so that an allocation beyond it ends the
//! program.

use std::alloc::System;

use cap::Cap;
use shoal_md::{MetadataVersion, SECTOR_BYTES, SUPERBLOCK_BYTES, Superblock, SuperblockError, Unverified};

/// Twice what the longest bitmap takes, as its pages and as the engine's regions, and some for the
/// rest.
pub const MEMORY_LIMIT_BYTES: usize = 80 << 20;

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, MEMORY_LIMIT_BYTES);

/// A superblock with what it was made from.
pub struct Found {
    /// Its bytes, the checksum made right.
    pub bytes: Box<[u8; SUPERBLOCK_BYTES]>,
    /// Where it was found.
    pub version: MetadataVersion,
    /// On a drive of so many bytes.
    pub drive_bytes: u64,
    /// What it says.
    pub superblock: Superblock,
}

/// The superblock that these bytes are, if they are one on any drive; what is short is filled up
/// with zeros. Its checksum is made right, as few inputs would have one otherwise.
pub fn find_superblock(input: &[u8]) -> Option<Found> {
    let mut bytes = Box::new([0; SUPERBLOCK_BYTES]);
    let length = input.len().min(SUPERBLOCK_BYTES);
    bytes[..length].copy_from_slice(&input[..length]);
    for version in MetadataVersion::ALL {
        for drive_bytes in drive_sizes(&bytes) {
            let mut read = Unverified::parse_and_verify(&bytes, version, drive_bytes);
            if let Err(SuperblockError::Checksum { computed, .. }) = read {
                let place = if version == MetadataVersion::Legacy { 152 } else { 216 };
                bytes[place..place + 4].copy_from_slice(&computed.to_le_bytes());
                read = Unverified::parse_and_verify(&bytes, version, drive_bytes);
            }
            if let Ok(superblock) = read {
                return Some(Found { bytes, version, drive_bytes, superblock });
            }
        }
    }
    None
}

/// Sizes of drives on which this superblock might be right: as its fields say, those of the seeds,
/// and the largest.
fn drive_sizes(bytes: &[u8; SUPERBLOCK_BYTES]) -> [u64; 7] {
    let field = |place: usize| u64::from_le_bytes(bytes[place..place + 8].try_into().expect("cut to size"));
    let [data_offset, data_size, super_offset] = [128, 136, 144].map(field);
    let at_end = super_offset.saturating_add(16).saturating_mul(SECTOR_BYTES);
    let to_data_end = data_offset.saturating_add(data_size).saturating_mul(SECTOR_BYTES);
    // Version 0.90 counts in KiB, and keeps 64 to 128 of them.
    let legacy = (field(32) & 0xffff_ffff) * 1024 + (128 << 10);
    [at_end, to_data_end, legacy, 32 << 20, 160 << 20, 8 << 40, u64::MAX]
}
