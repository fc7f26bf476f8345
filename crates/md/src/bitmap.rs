//! The write-intent bitmap, version 4: which regions of an array may be out of sync.
//!
//! Every member carries the same bitmap beside its superblock: a header of 256 bytes, then one bit
//! for each *chunk* of what a resync goes over. That is the members' data area for RAID1, 4, 5 and
//! 6, and the array's content for RAID10. A set bit says "not known to be in sync". It is set, and
//! flushed, before the first write to its chunk, and cleared some time after the last one, so that
//! after a crash only chunks with set bits need a resync, and a member that comes back needs those
//! written in its absence alone.
//!
//! [`BitmapHeader`] is the header, checked field by field. [`Bitmap`] is header and bits. It is
//! read and written in pages of 4 KiB, the first of which the header shares with the first bits.
//!
//! Nothing is believed on the header's word. How many bits there are follows from the array's size,
//! not from the header's, and must fit in the room that the superblock leaves;
//! [`BitmapHeader::distrust`] says whether clear bits mean anything at all. A page that has not
//! been read has all its bits set.

mod bits;
mod error;

use crate::Uuid;
use crate::field::Field;
use crate::limits::BITMAP_LIMIT_BYTES;
use crate::place::SECTOR_BYTES;

pub use bits::Bitmap;
pub use error::{BitmapError, Distrust};

/// Bytes of the header; the first bit follows.
pub const BITMAP_HEADER_BYTES: usize = 256;
/// Bytes of a page: the unit in which a bitmap is read and written.
pub const BITMAP_PAGE_BYTES: usize = 4096;

const MAGIC: u32 = 0x6d74_6962;
/// Bits in the byte order of the machine that wrote them, which is recorded nowhere.
const VERSION_HOST_ENDIAN: u32 = 3;
const VERSION: u32 = 4;
const VERSION_CLUSTERED: u32 = 5;
const VERSION_LOCKLESS: u32 = 6;
/// `state`: the bits mean nothing.
const STATE_STALE: u32 = 1 << 1;
/// `state`: a write to the bitmap failed; whoever writes the header again takes it back.
const STATE_WRITE_ERROR: u32 = 1 << 2;
/// `state`: goes with version 3.
const STATE_HOST_ENDIAN: u32 = 1 << 15;

const LEAST_CHUNK_BYTES: u32 = 512;
/// As many writes may be behind as the kernel's counters hold.
const WRITE_BEHIND_LIMIT: u32 = 16383;
/// The least chunk that mdadm makes.
const CREATION_LEAST_CHUNK_BYTES: u64 = 4096;
/// The least chunk that mdadm chooses by itself.
const DEFAULT_CHUNK_BYTES: u64 = 64 << 20;
/// As much of the room as mdadm uses when it chooses the chunk.
const DEFAULT_ROOM_BYTES: u64 = 128 << 10;
/// mdadm's default.
const DEFAULT_DAEMON_SLEEP_S: u32 = 5;

/// The header of a bitmap of version 4 (or 3, which is written back as 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitmapHeader {
    /// The array that the bitmap belongs to.
    pub array_uuid: Uuid,
    /// The array's events when the header was last written.
    pub events: u64,
    /// The array's events when bits were last cleared: a member that has seen them finds all it
    /// missed in the bits.
    pub events_cleared: u64,
    /// Sectors that the bits cover.
    pub sync_sectors: u64,
    /// Bytes that a bit covers, a power of two.
    pub chunk_bytes: u32,
    /// How often bits are looked at for clearing.
    pub daemon_sleep_s: u32,
    /// Writes that may be behind on members that are written mostly.
    pub write_behind: u32,
    /// Sectors kept for the bitmap; 0 if nobody said.
    pub sectors_reserved: u32,
    state: u32,
    /// The bits' byte order is not known.
    host_endian: bool,
    /// What follows, as it was read: number of nodes and name of a cluster, and padding.
    tail: [u8; BITMAP_HEADER_BYTES - TAIL_PLACE],
}

const MAGIC_PLACE: usize = 0;
const VERSION_PLACE: usize = 4;
const UUID_PLACE: usize = 8;
const EVENTS_PLACE: usize = 24;
const EVENTS_CLEARED_PLACE: usize = 32;
const SYNC_SIZE_PLACE: usize = 40;
const STATE_PLACE: usize = 48;
const CHUNK_SIZE_PLACE: usize = 52;
const DAEMON_SLEEP_PLACE: usize = 56;
const WRITE_BEHIND_PLACE: usize = 60;
const SECTORS_RESERVED_PLACE: usize = 64;
const TAIL_PLACE: usize = 68;

fn field<F: Field>(bytes: &[u8; BITMAP_HEADER_BYTES], place: usize) -> F {
    F::read(&bytes[place..place + F::BYTES])
}

fn put<F: Field>(bytes: &mut [u8; BITMAP_HEADER_BYTES], place: usize, value: &F) {
    value.write(&mut bytes[place..place + F::BYTES]);
}

/// Why an array gets no bitmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BitmapRefusal {
    /// There is no room for one.
    #[error("there is no room for a bitmap beside its data")]
    NoRoom,
    /// The chunk that is asked for is none.
    #[error(
        "a bit of the bitmap cannot stand for {chunk_bytes} bytes: choose a power of two of at least {least_bytes}"
    )]
    Chunk {
        /// What is asked for.
        chunk_bytes: u64,
        /// What there is room for.
        least_bytes: u32,
    },
}

impl BitmapHeader {
    /// The header that mdadm gives a new array's bitmap. `chunk_bytes` is a power of two from 512.
    pub fn new(array_uuid: Uuid, sync_sectors: u64, chunk_bytes: u32) -> Self {
        assert!(chunk_is_valid(chunk_bytes), "a bitmap chunk of {chunk_bytes} bytes");
        Self {
            array_uuid,
            events: 0,
            events_cleared: 0,
            sync_sectors,
            chunk_bytes,
            daemon_sleep_s: DEFAULT_DAEMON_SLEEP_S,
            write_behind: 0,
            sectors_reserved: 0,
            state: 0,
            host_endian: false,
            tail: [0; BITMAP_HEADER_BYTES - TAIL_PLACE],
        }
    }

    /// Reads a header, and checks what it alone allows to check.
    pub fn parse(bytes: &[u8; BITMAP_HEADER_BYTES]) -> Result<Self, BitmapError> {
        if field::<u32>(bytes, MAGIC_PLACE) != MAGIC {
            return Err(BitmapError::NoMagic);
        }
        let version = field(bytes, VERSION_PLACE);
        match version {
            VERSION | VERSION_HOST_ENDIAN => {}
            VERSION_CLUSTERED => return Err(BitmapError::Clustered),
            VERSION_LOCKLESS => return Err(BitmapError::Lockless),
            _ => return Err(BitmapError::Version { version }),
        }
        let header = Self {
            array_uuid: field(bytes, UUID_PLACE),
            events: field(bytes, EVENTS_PLACE),
            events_cleared: field(bytes, EVENTS_CLEARED_PLACE),
            sync_sectors: field(bytes, SYNC_SIZE_PLACE),
            chunk_bytes: field(bytes, CHUNK_SIZE_PLACE),
            daemon_sleep_s: field(bytes, DAEMON_SLEEP_PLACE),
            write_behind: field(bytes, WRITE_BEHIND_PLACE),
            sectors_reserved: field(bytes, SECTORS_RESERVED_PLACE),
            state: field(bytes, STATE_PLACE),
            host_endian: version == VERSION_HOST_ENDIAN,
            tail: field(bytes, TAIL_PLACE),
        };
        header.check()
    }

    fn check(self) -> Result<Self, BitmapError> {
        if !chunk_is_valid(self.chunk_bytes) {
            return Err(BitmapError::ChunkBytes { chunk_bytes: self.chunk_bytes });
        }
        if self.daemon_sleep_s == 0 {
            return Err(BitmapError::DaemonSleep);
        }
        if self.write_behind > WRITE_BEHIND_LIMIT {
            return Err(BitmapError::WriteBehind { write_behind: self.write_behind, limit: WRITE_BEHIND_LIMIT });
        }
        Ok(self)
    }

    /// The header's bytes, always as version 4.
    pub fn encode(&self) -> [u8; BITMAP_HEADER_BYTES] {
        let mut bytes = [0; BITMAP_HEADER_BYTES];
        put(&mut bytes, MAGIC_PLACE, &MAGIC);
        put(&mut bytes, VERSION_PLACE, &VERSION);
        put(&mut bytes, UUID_PLACE, &self.array_uuid);
        put(&mut bytes, EVENTS_PLACE, &self.events);
        put(&mut bytes, EVENTS_CLEARED_PLACE, &self.events_cleared);
        put(&mut bytes, SYNC_SIZE_PLACE, &self.sync_sectors);
        put(&mut bytes, STATE_PLACE, &(self.state & !(STATE_WRITE_ERROR | STATE_HOST_ENDIAN)));
        put(&mut bytes, CHUNK_SIZE_PLACE, &self.chunk_bytes);
        put(&mut bytes, DAEMON_SLEEP_PLACE, &self.daemon_sleep_s);
        put(&mut bytes, WRITE_BEHIND_PLACE, &self.write_behind);
        put(&mut bytes, SECTORS_RESERVED_PLACE, &self.sectors_reserved);
        put(&mut bytes, TAIL_PLACE, &self.tail);
        bytes
    }

    /// Why clear bits mean nothing for the array of this UUID whose freshest superblock is at
    /// `events`; none if they may be believed. Whatever the reason, the mend is the same:
    /// [`Bitmap::set_all`], a full resync, and a header that is written anew.
    pub fn distrust(&self, array_uuid: Uuid, events: u64) -> Option<Distrust> {
        if self.array_uuid != array_uuid {
            Some(Distrust::OtherArray { found: self.array_uuid })
        } else if self.events < events {
            Some(Distrust::Behind { bitmap: self.events, superblock: events })
        } else if self.is_stale() {
            Some(Distrust::MarkedStale)
        } else if self.host_endian {
            Some(Distrust::HostEndian)
        } else {
            None
        }
    }

    /// Whether the bitmap is marked as not kept: its bits mean nothing.
    pub fn is_stale(&self) -> bool {
        self.state & STATE_STALE != 0
    }

    /// Marks the bitmap as not kept, or as kept again.
    pub fn set_stale(&mut self, stale: bool) {
        self.state = if stale { self.state | STATE_STALE } else { self.state & !STATE_STALE };
    }

    /// The smallest chunk with which bits for so many sectors fit in a bitmap of `room_bytes`
    /// (header included), by mdadm's count; none if no chunk is large enough.
    pub fn least_chunk_bytes(sync_sectors: u64, room_bytes: u64) -> Option<u32> {
        let most_bits = room_bytes.checked_sub(BITMAP_HEADER_BYTES as u64)?.checked_mul(8)?;
        let mut chunk_bytes = CREATION_LEAST_CHUNK_BYTES;
        let mut bits = sync_sectors / (CREATION_LEAST_CHUNK_BYTES / SECTOR_BYTES) + 1;
        while bits > most_bits {
            chunk_bytes *= 2;
            bits = bits.div_ceil(2);
            u32::try_from(chunk_bytes).ok()?;
        }
        u32::try_from(chunk_bytes).ok()
    }

    /// The chunk that mdadm chooses: 64 MiB, or more if the bits do not fit in the room, of which
    /// it uses 128 KiB.
    pub fn default_chunk_bytes(sync_sectors: u64, room_bytes: u64) -> Option<u32> {
        let least = Self::least_chunk_bytes(sync_sectors, room_bytes.min(DEFAULT_ROOM_BYTES))?;
        let default = u32::try_from(DEFAULT_CHUNK_BYTES).expect("64 MiB");
        Some(least.max(default))
    }

    /// The chunk of a new bitmap over `sync_sectors` in `room_bytes`: the one that is wanted, if it
    /// does, else the one that mdadm chooses.
    pub fn choose_chunk_bytes(sync_sectors: u64, room_bytes: u64, wanted: Option<u64>) -> Result<u32, BitmapRefusal> {
        let least_bytes = Self::least_chunk_bytes(sync_sectors, room_bytes).ok_or(BitmapRefusal::NoRoom)?;
        match wanted {
            None => Self::default_chunk_bytes(sync_sectors, room_bytes).ok_or(BitmapRefusal::NoRoom),
            Some(wanted) => u32::try_from(wanted)
                .ok()
                .filter(|chunk| chunk.is_power_of_two() && *chunk >= least_bytes)
                .ok_or(BitmapRefusal::Chunk { chunk_bytes: wanted, least_bytes }),
        }
    }

    /// How many bits it takes for `sync_sectors`.
    pub fn bits(&self) -> u64 {
        self.sync_sectors.div_ceil(u64::from(self.chunk_bytes) / SECTOR_BYTES)
    }
}

/// What the kernel takes.
fn chunk_is_valid(chunk_bytes: u32) -> bool {
    chunk_bytes.is_power_of_two() && chunk_bytes >= LEAST_CHUNK_BYTES
}

#[cfg(test)]
mod tests;
