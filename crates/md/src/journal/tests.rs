use std::collections::BTreeMap;

use shoal_array::{Geometry, Level, ParityLayout, Shape};

use super::replay::replay_within;
use super::*;
use crate::limits::JOURNAL_PENDING_LIMIT;

const UUID: Uuid = Uuid([7; 16]);
const SIZE_SECTORS: u64 = 800;
const CHUNK_BYTES: u32 = 16 << 10;

enum Entry {
    Data(u64),
    Parity(u64),
    Flush(u64),
}
use Entry::{Data, Flush, Parity};

/// A journal that is filled by hand; what a replay writes to members is kept.
struct Log {
    journal: Journal,
    blocks: BTreeMap<u64, JournalBlock>,
    rows: Vec<RowBlock>,
    /// Where the next meta block goes, and its sequence.
    head: (u64, u64),
    with_q: bool,
}

impl Log {
    fn new(tail_sector: u64, with_q: bool) -> Self {
        let journal = Journal { array_uuid: UUID, size_sectors: SIZE_SECTORS, tail_sector };
        Self { journal, blocks: BTreeMap::new(), rows: Vec::new(), head: (tail_sector, 100), with_q }
    }

    /// A meta block and what belongs to it; every block differs from the others.
    fn write(&mut self, entries: &[Entry]) -> &mut Self {
        let (sector, sequence) = self.head;
        let mut meta = *self.journal.empty_block(sector, sequence);
        let mut size = META_HEADER_BYTES;
        let mut at = self.journal.advance(sector, 1);
        let mut append = |bytes: &[u8]| {
            meta[size..size + bytes.len()].copy_from_slice(bytes);
            size += bytes.len();
        };
        for entry in entries {
            let (kind, blocks, place) = match *entry {
                Data(array_sector) => (0_u16, 1, array_sector),
                Parity(member_sector) => (1, 1 + u32::from(self.with_q), member_sector),
                Flush(member_sector) => (2, 0, member_sector),
            };
            append(&kind.to_le_bytes());
            append(&[0; 2]);
            append(&(if kind == 2 { 8 } else { blocks * 8 }).to_le_bytes());
            append(&place.to_le_bytes());
            for _ in 0..blocks {
                let mut block = [0; JOURNAL_BLOCK_BYTES];
                block[..16].copy_from_slice(&[sequence.to_le_bytes(), at.to_le_bytes()].concat());
                append(&self.journal.checksum(&[&block]).to_le_bytes());
                self.blocks.insert(at, block);
                at = self.journal.advance(at, 1);
            }
        }
        u32::try_from(size).unwrap().write(&mut meta[META_SIZE_PLACE..META_SIZE_PLACE + 4]);
        self.put_meta(sector, meta);
        self.head = (at, sequence + 1);
        self
    }

    /// With its checksum made right.
    fn put_meta(&mut self, sector: u64, mut meta: JournalBlock) {
        let sum = self.journal.meta_checksum(&meta);
        sum.write(&mut meta[CHECKSUM_PLACE..CHECKSUM_PLACE + 4]);
        self.blocks.insert(sector, meta);
    }

    fn replay(&mut self) -> Result<JournalEnd, JournalError> {
        self.replay_within(JOURNAL_PENDING_LIMIT)
    }

    fn replay_within(&mut self, limit: usize) -> Result<JournalEnd, JournalError> {
        let level = if self.with_q {
            Level::Raid6(ParityLayout::LeftSymmetric)
        } else {
            Level::Raid5(ParityLayout::LeftSymmetric)
        };
        let shape = Shape { level, chunk_bytes: CHUNK_BYTES, member_bytes: vec![1 << 20; 4] };
        replay_within(&self.journal.clone(), &Geometry::new(shape).unwrap(), self, limit).unwrap()
    }

    /// Replays, and tells what each member got: role, member offset, journal sector.
    fn rows(&mut self) -> Vec<(u16, u64, u64)> {
        self.replay().unwrap();
        self.rows.iter().map(|row| (row.role.0, row.member_offset, row.journal_sector)).collect()
    }

    /// Replays, and tells what the array is to get: array offset, journal sector.
    fn data(&mut self) -> Vec<(u64, u64)> {
        self.replay().unwrap().data.iter().map(|block| (block.offset, block.journal_sector)).collect()
    }
}

impl JournalIo for Log {
    type Error = ();

    fn read(&mut self, sector: u64, block: &mut JournalBlock) -> Result<(), ()> {
        assert!(sector.is_multiple_of(BLOCK_SECTORS) && sector < SIZE_SECTORS, "sector {sector} of the ring");
        *block = self.blocks.get(&sector).copied().unwrap_or([0; JOURNAL_BLOCK_BYTES]);
        Ok(())
    }

    fn write(&mut self, row: RowBlock) -> Result<(), ()> {
        assert!(self.blocks.contains_key(&row.journal_sector));
        self.rows.push(row);
        Ok(())
    }
}

#[test]
fn an_empty_log_has_nothing_to_do() {
    let mut log = Log::new(80, false);
    let end = log.write(&[]).replay().unwrap();
    assert_eq!(end, JournalEnd { data: Vec::new(), row_blocks: 0, sector: 88, sequence: 10_101 });
    // What is put behind it is a log of its own, and ends the old one.
    log.blocks.insert(end.sector, *log.journal.empty_block(end.sector, end.sequence));
    assert_eq!(log.replay(), Ok(end.clone()));
    log.journal.tail_sector = end.sector;
    assert_eq!(log.replay().unwrap().sector, end.sector + 8);
}

#[test]
fn no_log_is_no_empty_log() {
    assert_eq!(Log::new(80, false).replay(), Err(JournalError::NoLog { sector: 80 }));
    let mut of_another_array = Log::new(80, false);
    of_another_array.write(&[]).journal.array_uuid = Uuid([8; 16]);
    assert_eq!(of_another_array.replay(), Err(JournalError::NoLog { sector: 80 }));
    let linear = Shape { level: Level::Linear, chunk_bytes: 4096, member_bytes: vec![1 << 20; 2] };
    let geometry = Geometry::new(linear).unwrap();
    let mut log = Log::new(0, false);
    assert_eq!(replay_journal(&log.journal.clone(), &geometry, &mut log), Ok(Err(JournalError::NoParity)));
}

/// The first row: data on roles 0, 1, 2, parity on 3; a chunk has 32 sectors.
#[test]
fn rows_with_parity_go_to_the_members_as_they_are() {
    let mut log = Log::new(0, false);
    log.write(&[Data(0), Data(32), Parity(0)]).write(&[Data(72), Parity(8)]);
    assert_eq!(log.rows(), [(0, 0, 8), (1, 0, 16), (3, 0, 24), (2, 4096, 40), (3, 4096, 48)]);
}

#[test]
fn raid6_rows_have_two_parities() {
    let mut log = Log::new(0, true);
    log.write(&[Data(0), Parity(0)]);
    // The first row's parity: P on the last member, Q on the first.
    assert_eq!(log.rows(), [(0, 0, 24), (1, 0, 8), (3, 0, 16)]);
    let mut without_q = Log::new(0, true);
    without_q.with_q = false;
    without_q.write(&[Data(0), Parity(0)]);
    without_q.with_q = true;
    assert_eq!(without_q.replay(), Err(JournalError::Meaningless { sector: 0 }));
}

#[test]
fn data_without_parity_go_to_the_array() {
    let mut log = Log::new(0, false);
    log.write(&[Data(0)]).write(&[Data(40)]).write(&[Data(0)]);
    assert_eq!(log.data(), [(0, 40), (20480, 24)]);
    assert!(log.rows.is_empty());
}

#[test]
fn the_newest_content_of_a_block_counts() {
    let mut log = Log::new(0, false);
    log.write(&[Data(0), Data(32), Parity(0)]).write(&[Data(0), Parity(0)]);
    assert_eq!(log.rows(), [(0, 0, 40), (1, 0, 16), (3, 0, 48)]);
    let mut later = Log::new(0, false);
    later.write(&[Data(0), Parity(0)]).write(&[Data(0), Data(32)]);
    assert_eq!(later.data(), [(0, 32), (16384, 40)]);
    assert_eq!(later.rows.len(), 2, "what was settled before comes first: {:?}", later.rows);
}

#[test]
fn what_was_flushed_is_on_the_members_already() {
    let mut log = Log::new(0, false);
    log.write(&[Data(0), Parity(0), Data(8), Parity(8)]).write(&[Flush(0)]).write(&[Data(40)]);
    assert_eq!(log.rows(), [(0, 4096, 24), (3, 4096, 32)]);
    // A flush between the data and the parity of a row: neither is newer than what the members
    // have.
    let mut split = Log::new(0, false);
    split.write(&[Data(0)]).write(&[Flush(0)]).write(&[Parity(0)]);
    assert_eq!(split.rows(), []);
    // Nothing of a row that was written again and flushed may come back.
    let mut again = Log::new(0, false);
    again.write(&[Data(0), Parity(0)]).write(&[Data(0), Parity(0)]).write(&[Flush(0)]);
    assert_eq!(again.rows(), []);
    assert_eq!(again.data(), []);
}

#[test]
fn the_log_ends_where_a_block_was_not_written() {
    let mut log = Log::new(0, false);
    log.write(&[Data(0), Parity(0)]).write(&[Data(32), Parity(0)]).write(&[Data(64), Parity(0)]);
    log.blocks.get_mut(&32).unwrap()[4095] ^= 1;
    let end = log.replay().unwrap();
    assert_eq!((end.sector, end.sequence, end.row_blocks), (24, 10_101, 2));
    let mut torn_meta = Log::new(0, false);
    torn_meta.write(&[Data(0), Parity(0)]).write(&[Data(32), Parity(0)]);
    torn_meta.blocks.get_mut(&24).unwrap()[4095] ^= 1;
    assert_eq!(torn_meta.replay().unwrap().sector, 24);
    let mut old = Log::new(0, false);
    old.write(&[Data(0), Parity(0)]);
    old.head.1 += 1;
    assert_eq!(old.write(&[Data(32), Parity(0)]).replay().unwrap().sector, 24);
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut log = Log::new(0, false);
    log.write(&[Data(0), Parity(0)]).write(&[Data(8), Parity(8)]).write(&[Data(8), Parity(8)]).write(&[Flush(8)]);
    let end = log.replay_within(3).unwrap();
    // The second row was written before its flush was seen: its newest content follows all the
    // same.
    assert_eq!(end.row_blocks, 6);
    let newest = log.rows.iter().rev().find(|row| (row.role.0, row.member_offset) == (0, 4096));
    assert_eq!(newest.map(|row| row.journal_sector), Some(56));
    let mut acknowledged = Log::new(0, false);
    acknowledged.write(&[Data(0), Data(8), Data(16)]);
    assert_eq!(acknowledged.replay_within(2), Err(JournalError::TooMuch { limit: 2 }));
    assert!(acknowledged.replay_within(3).is_ok());
}

#[test]
fn the_log_is_a_ring() {
    let mut log = Log::new(SIZE_SECTORS - 24, false);
    log.write(&[Data(0), Data(32), Parity(0)]).write(&[Data(64)]);
    assert_eq!(log.rows(), [(0, 0, SIZE_SECTORS - 16), (1, 0, SIZE_SECTORS - 8), (3, 0, 0)]);
    assert_eq!(log.data(), [(32768, 16)]);
    assert_eq!(log.replay().unwrap().sector, 24);
}

#[test]
fn what_the_array_does_not_have_is_refused() {
    let capacity_sectors = 3 * (1 << 20) / 512;
    for entry in
        [Data(capacity_sectors), Data(1), Data(u64::MAX - 7), Parity((1 << 20) / 512), Parity(4), Parity(u64::MAX)]
    {
        let mut log = Log::new(0, false);
        log.write(&[]).write(&[entry]);
        assert_eq!(log.replay(), Err(JournalError::Meaningless { sector: 8 }));
    }
    // Of an unknown kind, and cut off.
    for (place, value) in [(META_HEADER_BYTES, 3_u32), (META_SIZE_PLACE, 50), (META_HEADER_BYTES + 4, 9)] {
        let mut log = Log::new(0, false);
        log.write(&[Data(0)]);
        let mut meta = log.blocks[&0];
        value.write(&mut meta[place..place + 4]);
        log.put_meta(0, meta);
        assert_eq!(log.replay(), Err(JournalError::Meaningless { sector: 0 }), "{place}");
    }
}

#[test]
fn a_superblock_says_where_the_log_is() {
    let mut superblock = Superblock::blank(1);
    superblock.data_size_sectors = 807;
    superblock.array_uuid = UUID;
    for (tail, place) in [(0, 0), (16, 16), (12, 0), (808, 0), (u64::MAX, 0)] {
        superblock.recovery_offset_sectors = tail;
        let journal = Journal { array_uuid: UUID, size_sectors: 800, tail_sector: place };
        assert_eq!(Journal::new(&superblock), journal);
    }
}
