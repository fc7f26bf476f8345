//! The partial parity log (PPL) of RAID5: what closes the write hole.
//!
//! While a stripe is written, a crash leaves some of its blocks old and others new, and parity that
//! agrees with neither. A resync makes parity anew, but only if no member is missing: what would be
//! computed for a missing one is wrong, even where nothing was being written to it. So before data
//! and parity of a stripe are written, the member that holds the parity logs which columns of which
//! chunks will be, and the XOR of the other chunks there: the *partial parity*. After a crash the
//! parity of these columns is the partial parity, with whatever the written chunks hold by then.
//! Nothing is needed of the chunks that were not written; so one of them may be missing.
//!
//! # On disk
//!
//! Every member keeps a log of its own, in the area that its superblock names. A log write is a
//! header of 4 KiB and, behind it, the partial parity of its entries one after the other:
//!
//! | bytes | what |
//! | --- | --- |
//! | 0..512 | 0xff |
//! | 512..516 | signature: CRC-32C of the array's UUID |
//! | 516..520 | 0 |
//! | 520..528 | generation: counts the log writes |
//! | 528..532 | number of entries |
//! | 532..536 | CRC-32C of the 4 KiB with this field 0 |
//! | 536.. | entries of 24 bytes, 148 at most |
//!
//! An entry has the first array sector that is written (512 bytes each, u64), the bytes of its
//! partial parity, the bytes of data that are written, the role of the parity, and the CRC-32C of
//! the partial parity (u32 each). What it describes follows from the two sizes:
//!
//! | partial parity | written |
//! | --- | --- |
//! | none | the same columns of all chunks of the stripe: `data / chunks` bytes |
//! | less than a chunk | so many columns, of `data / partial parity` consecutive chunks |
//! | a chunk | the array bytes from the first sector on; columns count from there, too |
//!
//! # Which header counts
//!
//! Of a log, only the newest write is ever needed: the next one waits until all stripes of this one
//! are written and flushed. With the feature "PPL" each write goes to the start of the area. With
//! "multiple PPLs" each goes behind the one before it, and to the start again where the room ends:
//! the newest is found by walking from the start, header by header, for as long as they are good
//! and their generations do not fall.
//!
//! A log write is durable before the writes that it is for begin. So one that was torn, header or
//! partial parity, needs no replay: of its stripes nothing has been written. And a log write that
//! is replayed though all its stripes were complete changes nothing, as long as no stripe of it was
//! written without the log since.

mod entry;
mod error;
mod search;

use crate::Uuid;
use crate::field::Field;

pub use entry::{PplEntry, PplRun};
pub use error::{PplEntryError, PplError};
pub use search::{PplWrite, newest_ppl};

/// Bytes of a header; the partial parity follows.
pub const PPL_HEADER_BYTES: usize = 4096;
/// No header has more entries.
pub const PPL_ENTRIES_MAX: usize = (PPL_HEADER_BYTES - ENTRIES_PLACE) / entry::ENTRY_BYTES;

const RESERVED_BYTES: usize = 512;
const SIGNATURE_PLACE: usize = 512;
const GENERATION_PLACE: usize = 520;
const COUNT_PLACE: usize = 528;
const CHECKSUM_PLACE: usize = 532;
const ENTRIES_PLACE: usize = 536;

/// A header of a partial parity log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PplHeader {
    /// Of two headers of a log, the one with the higher generation is newer.
    pub generation: u64,
    /// In the order of their partial parity.
    pub entries: Vec<PplEntry>,
}

impl PplHeader {
    /// Reads a header, and believes it only if it is of this array, whole, and has as many entries
    /// as fit.
    pub fn parse(bytes: &[u8; PPL_HEADER_BYTES], array_uuid: Uuid) -> Result<Self, PplError> {
        if u32::read(&bytes[SIGNATURE_PLACE..SIGNATURE_PLACE + 4]) != signature(array_uuid) {
            return Err(PplError::Foreign);
        }
        if u32::read(&bytes[CHECKSUM_PLACE..CHECKSUM_PLACE + 4]) != checksum(bytes) {
            return Err(PplError::Torn);
        }
        let count = u32::read(&bytes[COUNT_PLACE..COUNT_PLACE + 4]);
        if count as usize > PPL_ENTRIES_MAX {
            return Err(PplError::Entries { count });
        }
        let entries = bytes[ENTRIES_PLACE..].chunks_exact(entry::ENTRY_BYTES).take(count as usize);
        Ok(Self {
            generation: u64::read(&bytes[GENERATION_PLACE..GENERATION_PLACE + 8]),
            entries: entries.map(PplEntry::read).collect(),
        })
    }

    /// The bytes of the header.
    ///
    /// # Panics
    /// If there are more entries than [`PPL_ENTRIES_MAX`].
    pub fn encode(&self, array_uuid: Uuid) -> Box<[u8; PPL_HEADER_BYTES]> {
        assert!(self.entries.len() <= PPL_ENTRIES_MAX, "{} entries do not fit in a header", self.entries.len());
        let mut bytes = Box::new([0; PPL_HEADER_BYTES]);
        bytes[..RESERVED_BYTES].fill(0xff);
        signature(array_uuid).write(&mut bytes[SIGNATURE_PLACE..SIGNATURE_PLACE + 4]);
        self.generation.write(&mut bytes[GENERATION_PLACE..GENERATION_PLACE + 8]);
        let count = u32::try_from(self.entries.len()).expect("bounded above");
        count.write(&mut bytes[COUNT_PLACE..COUNT_PLACE + 4]);
        for (entry, place) in self.entries.iter().zip(bytes[ENTRIES_PLACE..].chunks_exact_mut(entry::ENTRY_BYTES)) {
            entry.write(place);
        }
        checksum(&bytes).write(&mut bytes[CHECKSUM_PLACE..CHECKSUM_PLACE + 4]);
        bytes
    }

    /// Bytes of the log write: the header and all partial parity.
    pub fn write_bytes(&self) -> u64 {
        let parity: u64 = self.entries.iter().map(|entry| u64::from(entry.partial_parity_bytes)).sum();
        PPL_HEADER_BYTES as u64 + parity
    }
}

/// What every header of an array's log carries.
fn signature(array_uuid: Uuid) -> u32 {
    crc32c::crc32c(&array_uuid.0)
}

/// Of a header, with the field itself taken as 0.
fn checksum(bytes: &[u8; PPL_HEADER_BYTES]) -> u32 {
    let sum = crc32c::crc32c(&bytes[..CHECKSUM_PLACE]);
    let sum = crc32c::crc32c_append(sum, &[0; 4]);
    crc32c::crc32c_append(sum, &bytes[CHECKSUM_PLACE + 4..])
}

#[cfg(test)]
mod tests;
