//! The log itself, entry by entry, and the superblocks that name it.

use shoal_md::{JOURNAL_BLOCK_BYTES, Journal, SECTOR_BYTES, SUPERBLOCK_BYTES, Superblock};
use shoal_sim::Content;

const BLOCK_SECTORS: u64 = JOURNAL_BLOCK_BYTES as u64 / SECTOR_BYTES;
const HEADER_BYTES: usize = 32;

/// Something that a log says.
pub(crate) enum Entry<'a> {
    /// A block of content.
    Data { offset: u64, block: &'a [u8] },
    /// P, and Q if there is one, of a place on the members.
    Parity { member_offset: u64, blocks: &'a [Box<[u8]>] },
    /// The members have it all.
    Flush { member_offset: u64 },
}

impl Entry<'_> {
    fn blocks(&self) -> Vec<&[u8]> {
        match self {
            Entry::Data { block, .. } => vec![*block],
            Entry::Parity { blocks, .. } => blocks.iter().map(|block| &**block).collect(),
            Entry::Flush { .. } => Vec::new(),
        }
    }

    /// Kind, size, and place in sectors.
    fn head(&self) -> (u16, u32, u64) {
        let size = (self.blocks().len() as u64 * BLOCK_SECTORS) as u32;
        match self {
            Entry::Data { offset, .. } => (0, size, offset / SECTOR_BYTES),
            Entry::Parity { member_offset, .. } => (1, size, member_offset / SECTOR_BYTES),
            Entry::Flush { member_offset } => (2, 8, member_offset / SECTOR_BYTES),
        }
    }
}

/// A log that grows, in a ring of blocks.
pub(crate) struct Log {
    journal: Journal,
    origin_bytes: u64,
    sector: u64,
    sequence: u64,
    blocks_left: u64,
}

impl Log {
    /// An empty one, where the journal's superblock says that it starts.
    pub(crate) fn new(own: &Superblock, sequence: u64) -> Self {
        let journal = Journal::new(own);
        let (sector, blocks_left) = (journal.tail_sector, (journal.size_sectors / BLOCK_SECTORS).saturating_sub(2));
        Self { journal, origin_bytes: own.data_offset_bytes(), sector, sequence, blocks_left }
    }

    /// Entries with one head, and their blocks. One of these is wrong if it is not `is_whole`.
    /// False if there is no room.
    pub(crate) fn append(&mut self, content: &mut Content, entries: &[Entry], is_whole: bool) -> bool {
        let blocks: Vec<_> = entries.iter().flat_map(Entry::blocks).collect();
        let Some(left) = self.blocks_left.checked_sub(1 + blocks.len() as u64) else { return false };
        self.blocks_left = left;
        let mut head = self.journal.empty_block(self.sector, self.sequence);
        let mut end = HEADER_BYTES;
        for entry in entries {
            let (kind, size, sector) = entry.head();
            let sums = entry.blocks().into_iter().flat_map(|block| self.checksum(block).to_le_bytes());
            let flags = [0; 2];
            let mut bytes = [&kind.to_le_bytes()[..], &flags, &size.to_le_bytes(), &sector.to_le_bytes()].concat();
            bytes.extend(sums);
            head[end..end + bytes.len()].copy_from_slice(&bytes);
            end += bytes.len();
        }
        head[12..16].copy_from_slice(&(end as u32).to_le_bytes());
        head[4..8].fill(0);
        let sum = self.checksum(head.as_slice());
        head[4..8].copy_from_slice(&sum.to_le_bytes());
        self.put(content, head.as_slice());
        for (number, block) in blocks.iter().enumerate() {
            let mut block = block.to_vec();
            block[0] ^= u8::from(!is_whole && number == 0);
            self.put(content, &block);
        }
        self.sequence += 1;
        true
    }

    /// Behind the log lies an empty block.
    pub(crate) fn end(&mut self, content: &mut Content) {
        let last = self.journal.empty_block(self.sector, self.sequence);
        self.put(content, last.as_slice());
    }

    fn put(&mut self, content: &mut Content, block: &[u8]) {
        let place = self.origin_bytes + self.sector * SECTOR_BYTES;
        content.write(place, block).expect("nothing is armed, and the journal has room");
        self.sector = (self.sector + BLOCK_SECTORS) % self.journal.size_sectors;
    }

    fn checksum(&self, bytes: &[u8]) -> u32 {
        !crc32c::crc32c_append(crc32c::crc32c(&self.journal.array_uuid.0), bytes)
    }
}

/// The bytes of a superblock in whose table a number has this role.
pub(crate) fn with_role(superblock: &Superblock, number: u32, role: u16) -> Box<[u8; SUPERBLOCK_BYTES]> {
    const CHECKSUM: usize = 216;
    const MAX_DEV: usize = 220;
    const TABLE: usize = 256;
    let mut bytes = superblock.encode();
    let numbers = superblock.max_dev().max(number + 1);
    let end = TABLE + 2 * numbers as usize;
    bytes[MAX_DEV..MAX_DEV + 4].copy_from_slice(&numbers.to_le_bytes());
    bytes[TABLE + 2 * number as usize..][..2].copy_from_slice(&role.to_le_bytes());
    bytes[CHECKSUM..CHECKSUM + 4].fill(0);
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    let sum: u64 = bytes[..end].chunks(4).map(word).sum();
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    bytes[CHECKSUM..CHECKSUM + 4].copy_from_slice(&sum.to_le_bytes()[..4]);
    bytes
}
