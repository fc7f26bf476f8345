//! A write journal: its superblock, then the start of its log; what a replay would do stays within
//! array and ring.
#![no_main]

use libfuzzer_sys::fuzz_target;
use shoal_array::{Geometry, Level, ParityLayout, Shape};
use shoal_fuzz::find_superblock;
use shoal_md::{
    JOURNAL_BLOCK_BYTES, Journal, JournalBlock, JournalIo, RowBlock, SUPERBLOCK_BYTES, Uuid, replay_journal,
};

const CHUNK_BYTES: u32 = 16 << 10;
const MEMBER_BYTES: u64 = 18 << 20;
const META_HEADER_BYTES: usize = 32;
const BLOCK_SECTORS: u64 = 8;

fuzz_target!(|input: &[u8]| {
    let Some((area, log)) = input.split_at_checked(SUPERBLOCK_BYTES) else { return };
    let journal = match find_superblock(area) {
        Some(found) => Journal::new(&found.superblock),
        None => Journal { array_uuid: Uuid([7; 16]), size_sectors: (log.len() / 4096 * 8) as u64, tail_sector: 0 },
    };
    for level in [Level::Raid5(ParityLayout::LeftSymmetric), Level::Raid6(ParityLayout::LeftSymmetric)] {
        let shape = Shape { level, chunk_bytes: CHUNK_BYTES, member_bytes: vec![MEMBER_BYTES; 4] };
        let geometry = Geometry::new(shape).expect("an ordinary array");
        let mut ring = Ring { bytes: log.to_vec(), journal, changed: None };
        ring.sign();
        let Ok(Ok(end)) = replay_journal(&journal, &geometry, &mut ring) else { continue };
        for block in &end.data {
            assert!(block.offset + JOURNAL_BLOCK_BYTES as u64 <= geometry.capacity_bytes());
            ring.check(block.journal_sector);
        }
        ring.check(end.sector);
        // What is put behind the log is the end of it, too.
        ring.changed = Some((end.sector, journal.empty_block(end.sector, end.sequence)));
        let again = replay_journal(&journal, &geometry, &mut ring);
        assert!(end.sector == journal.tail_sector || again == Ok(Ok(end)));
    }
});

/// The journal's data area: what the input has of it, and zeros behind.
struct Ring {
    bytes: Vec<u8>,
    journal: Journal,
    changed: Option<(u64, Box<JournalBlock>)>,
}

impl JournalIo for Ring {
    type Error = ();

    fn read(&mut self, sector: u64, block: &mut JournalBlock) -> Result<(), ()> {
        self.check(sector);
        *block = match &self.changed {
            Some((place, bytes)) if *place == sector => **bytes,
            _ => *self.block(sector).unwrap_or(&[0; JOURNAL_BLOCK_BYTES]),
        };
        Ok(())
    }

    fn write(&mut self, row: RowBlock) -> Result<(), ()> {
        self.check(row.journal_sector);
        assert!(row.role.0 < 4 && row.member_offset + JOURNAL_BLOCK_BYTES as u64 <= MEMBER_BYTES, "{row:?}");
        Ok(())
    }
}

impl Ring {
    fn check(&self, sector: u64) {
        assert!(sector.is_multiple_of(BLOCK_SECTORS) && sector < self.journal.size_sectors.max(BLOCK_SECTORS));
    }

    fn block(&self, sector: u64) -> Option<&JournalBlock> {
        let start = usize::try_from(sector).ok()?.checked_mul(512)?;
        self.bytes.get(start..)?.first_chunk()
    }

    fn sum(&self, parts: &[&[u8]]) -> u32 {
        let seed = crc32c::crc32c(&self.journal.array_uuid.0);
        !parts.iter().fold(seed, |sum, part| crc32c::crc32c_append(sum, part))
    }

    /// Makes every checksum right that a walk from the tail would look at; few inputs would have
    /// one otherwise.
    fn sign(&mut self) {
        let mut sector = self.journal.tail_sector;
        while let Some(mut meta) = self.block(sector).copied() {
            let word =
                |meta: &JournalBlock, at: usize| u32::from_le_bytes(meta[at..at + 4].try_into().expect("4 bytes"));
            let mut blocks = 0;
            let mut at = META_HEADER_BYTES;
            while at + 16 <= (word(&meta, 12) as usize).min(JOURNAL_BLOCK_BYTES) {
                let size = word(&meta, at + 4);
                if meta[at] == 2 {
                    at = at.saturating_add(8).saturating_add(size as usize);
                    continue;
                }
                at += 16;
                for _ in 0..(size / 8).min(2) {
                    blocks += BLOCK_SECTORS;
                    let sum = self.sum(&[self.block(sector + blocks).unwrap_or(&[0; JOURNAL_BLOCK_BYTES])]);
                    if let Some(place) = meta.get_mut(at..at + 4) {
                        place.copy_from_slice(&sum.to_le_bytes());
                    }
                    at += 4;
                }
            }
            let sum = self.sum(&[&meta[..4], &[0; 4], &meta[8..]]);
            meta[4..8].copy_from_slice(&sum.to_le_bytes());
            let start = sector as usize * 512;
            self.bytes[start..start + JOURNAL_BLOCK_BYTES].copy_from_slice(&meta);
            sector += BLOCK_SECTORS + blocks;
        }
    }
}
