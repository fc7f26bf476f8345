//! Header and bits, in pages.

use std::ops::Range;

use shoal_array::Regions;

use super::{BITMAP_HEADER_BYTES, BITMAP_LIMIT_BYTES, BITMAP_PAGE_BYTES, BitmapError, BitmapHeader};
use crate::place::SECTOR_BYTES;

/// A bitmap in memory, of the size of the array that it is for.
///
/// Bits behind the last one belong to nobody: they are set when a bitmap is made, as mdadm does,
/// and kept as they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bitmap {
    /// The header, as it goes in front of the bits.
    pub header: BitmapHeader,
    /// So many bits were covered by the header that was read: what lies behind is not known to be
    /// in sync.
    covered_bits: u64,
    /// All pages, one behind the other; the header's place in the first is empty.
    pages: Vec<u8>,
}

impl Bitmap {
    /// A bitmap with all bits set for an array of `sync_sectors`, which is to lie in `room_bytes`.
    /// It is what a new array gets; one that is read from a drive starts so, and then gets its
    /// pages by [`Bitmap::decode_page`].
    pub fn all_set(mut header: BitmapHeader, sync_sectors: u64, room_bytes: u64) -> Result<Self, BitmapError> {
        let covered_bits = header.bits();
        header.sync_sectors = sync_sectors;
        let needed_bytes = header.bits().div_ceil(8) + BITMAP_HEADER_BYTES as u64;
        let room_bytes = room_bytes.min(BITMAP_LIMIT_BYTES);
        if needed_bytes > room_bytes {
            return Err(BitmapError::NoRoom { needed_bytes, room_bytes });
        }
        let bytes = usize::try_from(needed_bytes).expect("bounded by BITMAP_LIMIT_BYTES");
        Ok(Self { header, covered_bits, pages: vec![0xff; bytes.next_multiple_of(BITMAP_PAGE_BYTES)] })
    }

    /// How many bits there are.
    pub fn bits(&self) -> u64 {
        self.header.bits()
    }

    /// How many pages they take, with the header.
    pub fn pages(&self) -> usize {
        self.pages.len() / BITMAP_PAGE_BYTES
    }

    /// The bytes of a page that are read and written, counted from the start of the bitmap, on a
    /// drive with blocks of `block_bytes`: the last page ends with the block that holds the last
    /// bit. A bitmap may lie in less than whole pages.
    pub fn page_range(&self, page: usize, block_bytes: u64) -> Range<u64> {
        let page_bytes = BITMAP_PAGE_BYTES as u64;
        let start = page as u64 * page_bytes;
        let end = (BITMAP_HEADER_BYTES as u64 + self.bits().div_ceil(8)).next_multiple_of(block_bytes);
        start..end.min(start + page_bytes)
    }

    /// The page that a bit is on.
    pub fn page_of(&self, bit: u64) -> usize {
        self.place(bit).0 / BITMAP_PAGE_BYTES
    }

    /// The bits that a byte range of what a resync goes over touches; none beyond the end.
    pub fn bits_of(&self, range: &Range<u64>) -> Range<u64> {
        if range.is_empty() {
            return 0..0;
        }
        let chunk_bytes = u64::from(self.header.chunk_bytes);
        let end = range.end.div_ceil(chunk_bytes).min(self.bits());
        (range.start / chunk_bytes).min(end)..end
    }

    /// The bytes that a bit stands for, of what a resync goes over. The limit on bits keeps them
    /// far from overflowing.
    pub fn bytes_of(&self, bit: u64) -> Range<u64> {
        let chunk_bytes = u64::from(self.header.chunk_bytes);
        let end = self.header.sync_sectors * SECTOR_BYTES;
        bit * chunk_bytes..((bit + 1) * chunk_bytes).min(end)
    }

    /// Whether a chunk is not known to be in sync.
    pub fn is_set(&self, bit: u64) -> bool {
        let (byte, mask) = self.place(bit);
        self.pages[byte] & mask != 0
    }

    /// Sets a bit; true if it was clear.
    pub fn set(&mut self, bit: u64) -> bool {
        let (byte, mask) = self.place(bit);
        let was_clear = self.pages[byte] & mask == 0;
        self.pages[byte] |= mask;
        was_clear
    }

    /// Clears a bit; true if it was set.
    pub fn clear(&mut self, bit: u64) -> bool {
        let (byte, mask) = self.place(bit);
        let was_set = self.pages[byte] & mask != 0;
        self.pages[byte] &= !mask;
        was_set
    }

    /// Sets every bit: nothing is known to be in sync.
    pub fn set_all(&mut self) {
        self.pages.fill(0xff);
    }

    /// How many bits are set.
    pub fn count(&self) -> u64 {
        let whole_bytes = usize::try_from(self.bits() / 8).expect("bounded by BITMAP_LIMIT_BYTES");
        let bytes = &self.pages[BITMAP_HEADER_BYTES..BITMAP_HEADER_BYTES + whole_bytes];
        let rest = self.bits() / 8 * 8..self.bits();
        bytes.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>()
            + rest.map(|bit| u64::from(self.is_set(bit))).sum::<u64>()
    }

    /// The chunks that are not known to be in sync, as the engine has them.
    pub fn regions(&self) -> Regions {
        let chunk_bytes = u64::from(self.header.chunk_bytes);
        let mut regions = Regions::new(chunk_bytes, self.header.sync_sectors * SECTOR_BYTES);
        (0..self.bits()).filter(|bit| self.is_set(*bit)).for_each(|bit| regions.set(bit));
        regions
    }

    /// Sets the bits of every chunk that one of these regions touches.
    pub fn set_regions(&mut self, regions: &Regions) {
        let mut from = 0;
        while let Some(run) = regions.next_set(from) {
            from = run.end;
            for bit in self.bits_of(&run) {
                self.set(bit);
            }
        }
    }

    /// A page as it is to be written; [`Bitmap::page_range`] says how much of it.
    pub fn encode_page(&self, page: usize) -> [u8; BITMAP_PAGE_BYTES] {
        let start = page * BITMAP_PAGE_BYTES;
        let mut bytes: [u8; BITMAP_PAGE_BYTES] =
            self.pages[start..start + BITMAP_PAGE_BYTES].try_into().expect("cut to size");
        if page == 0 {
            bytes[..BITMAP_HEADER_BYTES].copy_from_slice(&self.header.encode());
        }
        bytes
    }

    /// Takes the bits of a page that was read: its first [`Bitmap::page_range`] bytes. Bits that
    /// the header did not cover stay set.
    pub fn decode_page(&mut self, page: usize, bytes: &[u8]) {
        let start = page * BITMAP_PAGE_BYTES;
        let header = if page == 0 { BITMAP_HEADER_BYTES } else { 0 };
        let length = bytes.len().min(BITMAP_PAGE_BYTES);
        if length > header {
            self.pages[start + header..start + length].copy_from_slice(&bytes[header..length]);
        }
        let on_page = self.bits_on(page);
        for bit in on_page.start.max(self.covered_bits)..on_page.end {
            self.set(bit);
        }
    }

    /// The bits that lie on a page.
    fn bits_on(&self, page: usize) -> Range<u64> {
        let bit_at = |byte: usize| (byte.max(BITMAP_HEADER_BYTES) - BITMAP_HEADER_BYTES) as u64 * 8;
        let start = page * BITMAP_PAGE_BYTES;
        bit_at(start)..bit_at(start + BITMAP_PAGE_BYTES).min(self.bits())
    }

    /// Byte and mask of a bit.
    fn place(&self, bit: u64) -> (usize, u8) {
        assert!(bit < self.bits(), "bit {bit} of {}", self.bits());
        let byte = usize::try_from(bit / 8).expect("bounded by BITMAP_LIMIT_BYTES");
        (BITMAP_HEADER_BYTES + byte, 1 << (bit % 8))
    }
}
