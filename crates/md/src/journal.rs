//! The write journal of RAID4, 5 and 6: a drive of its own, that every stripe goes through before
//! it goes to the members.
//!
//! The journal is a ring of blocks of 4 KiB in the data area of a member with the role "journal".
//! Positions in it are sectors from the start of that area, and wrap around at its end. Where the
//! log starts is the superblock's `recovery_offset`, there called the journal's tail. A *meta
//! block* says what the blocks behind it are; the next meta block follows them:
//!
//! | bytes | what |
//! | --- | --- |
//! | 0..4 | magic |
//! | 4..8 | CRC-32C of the block with this field 0 |
//! | 8 | version, 1 |
//! | 12..16 | bytes of the block that count, from 32 on |
//! | 16..24 | sequence: one more than that of the block before |
//! | 24..32 | its own position |
//! | 32.. | payloads |
//!
//! A payload is a type and flags (u16 each), a size (u32), a place (u64), and a CRC-32C for each
//! block of 4 KiB:
//!
//! | type | size | place | blocks behind the meta block |
//! | --- | --- | --- | --- |
//! | 0 data | 8 sectors | array sector | what is written there |
//! | 1 parity | 8 sectors, RAID6: 16 | member sector | P, then Q, of this row of 4 KiB blocks |
//! | 2 flush | bytes of what follows | | none; a list of member sectors instead of place and checksums: all that came before of these rows is on the members |
//!
//! Checksums are seeded with the CRC-32C of the array's UUID, and not inverted at the end.
//!
//! # What a replay does
//!
//! The log ends at the first meta block that is not the expected one, or one of whose blocks has
//! not the checksum it should have: the power was cut when it was written, and nobody was told that
//! it was. Rows with data and parity are written to the members as they are ([`JournalIo::write`]),
//! which closes the write hole: it changes nothing if all of it was there already. Rows with data
//! alone had been acknowledged out of the journal, and not yet been given to the members (the
//! journal's mode "write-back"). They are written to the *array*, which makes their parity
//! ([`JournalEnd::data`]). Nothing is lost if the replay is cut short: the log is as it was, and
//! the next one does it all again. Only when everything is flushed, an empty meta block is put
//! behind the log, with a sequence that nothing in the old log can have, and the tail is moved to
//! it.
//!
//! A log may be gigabytes long. No more is kept of it than [`JOURNAL_PENDING_LIMIT`] blocks'
//! places; beyond that, complete rows are written at once, which is what the kernel does when it is
//! short of memory.

mod block;
mod error;
mod replay;

use crate::field::Field;
use crate::{Superblock, Uuid};

use block::META_HEADER_BYTES;
pub use error::JournalError;
pub use replay::{DataBlock, JournalEnd, JournalIo, RowBlock, replay_journal};

/// Bytes of a block: of meta blocks and of what they describe.
pub const JOURNAL_BLOCK_BYTES: usize = 4096;
const BLOCK_SECTORS: u64 = 8;
/// By so much the kernel lets the sequence jump behind a log that was replayed.
const SEQUENCE_JUMP: u64 = 10_000;

const MAGIC: u32 = 0x6433_c509;
const VERSION: u8 = 1;
const MAGIC_PLACE: usize = 0;
const CHECKSUM_PLACE: usize = 4;
const VERSION_PLACE: usize = 8;
const META_SIZE_PLACE: usize = 12;
const SEQUENCE_PLACE: usize = 16;
const POSITION_PLACE: usize = 24;

/// A block of a journal.
pub type JournalBlock = [u8; JOURNAL_BLOCK_BYTES];

/// Where a log is, on a journal of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Journal {
    /// The array that it belongs to.
    pub array_uuid: Uuid,
    /// Sectors of the ring.
    pub size_sectors: u64,
    /// The first meta block.
    pub tail_sector: u64,
}

impl Journal {
    /// What the superblock of a journal says. A tail that cannot be one is the start, as the kernel
    /// has it.
    pub fn new(superblock: &Superblock) -> Self {
        let tail = superblock.recovery_offset_sectors;
        let is_place = tail < superblock.data_size_sectors && tail.is_multiple_of(BLOCK_SECTORS);
        Self {
            array_uuid: superblock.array_uuid,
            size_sectors: superblock.data_size_sectors / BLOCK_SECTORS * BLOCK_SECTORS,
            tail_sector: if is_place { tail } else { 0 },
        }
    }

    /// The meta block that a log without writes consists of, to be written at `sector`.
    pub fn empty_block(&self, sector: u64, sequence: u64) -> Box<JournalBlock> {
        let mut bytes = Box::new([0; JOURNAL_BLOCK_BYTES]);
        MAGIC.write(&mut bytes[MAGIC_PLACE..MAGIC_PLACE + 4]);
        bytes[VERSION_PLACE] = VERSION;
        let size = u32::try_from(META_HEADER_BYTES).expect("32");
        size.write(&mut bytes[META_SIZE_PLACE..META_SIZE_PLACE + 4]);
        sequence.write(&mut bytes[SEQUENCE_PLACE..SEQUENCE_PLACE + 8]);
        sector.write(&mut bytes[POSITION_PLACE..POSITION_PLACE + 8]);
        let sum = self.checksum(&[bytes.as_slice()]);
        sum.write(&mut bytes[CHECKSUM_PLACE..CHECKSUM_PLACE + 4]);
        bytes
    }

    /// The sector so many blocks behind another one.
    fn advance(&self, sector: u64, blocks: u64) -> u64 {
        let next = sector + blocks * BLOCK_SECTORS;
        if next >= self.size_sectors { next - self.size_sectors } else { next }
    }

    /// Of the parts, one behind the other: seeded with the array's UUID, and not inverted.
    fn checksum(&self, parts: &[&[u8]]) -> u32 {
        let seed = crc32c::crc32c(&self.array_uuid.0);
        !parts.iter().fold(seed, |sum, part| crc32c::crc32c_append(sum, part))
    }

    fn meta_checksum(&self, bytes: &JournalBlock) -> u32 {
        self.checksum(&[&bytes[..CHECKSUM_PLACE], &[0; 4], &bytes[CHECKSUM_PLACE + 4..]])
    }
}

#[cfg(test)]
mod tests;
