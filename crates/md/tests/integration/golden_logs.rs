//! Bitmaps, a bad-block log and a partial-parity log that Linux and mdadm wrote: we read them
//! right, write them back unchanged, and would have made the same; and mdadm reads ours.
//!
//! `tests/fixtures/README.md` says how they were made.
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use shoal_array::{Geometry, Level, ParityLayout, Shape};
use shoal_md::{
    BITMAP_HEADER_BYTES, BITMAP_LIMIT_BYTES, BadBlockList, Bitmap, BitmapHeader, Distrust, Features, Journal,
    JournalBlock, JournalEnd, JournalIo, MemberUse, MinorVersion, PPL_HEADER_BYTES, PplEntry, RowBlock,
    SUPERBLOCK_BYTES, Unverified, Uuid, newest_ppl, replay_journal,
};

const MIB: u64 = 1 << 20;
const BLOCK_BYTES: u64 = 512;

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)).unwrap()
}

fn header(bytes: &[u8]) -> BitmapHeader {
    BitmapHeader::parse(bytes[..BITMAP_HEADER_BYTES].try_into().unwrap()).unwrap()
}

/// Reads a bitmap page by page, as it would be read from a drive.
fn bitmap(bytes: &[u8]) -> Bitmap {
    let header = header(bytes);
    let sync_sectors = header.sync_sectors;
    let mut bitmap = Bitmap::all_set(header, sync_sectors, bytes.len() as u64).unwrap();
    for page in 0..bitmap.pages() {
        let range = bitmap.page_range(page, BLOCK_BYTES);
        bitmap.decode_page(page, &bytes[range.start as usize..range.end as usize]);
    }
    bitmap
}

fn encode(bitmap: &Bitmap) -> Vec<u8> {
    (0..bitmap.pages()).flat_map(|page| bitmap.encode_page(page)).collect()
}

fn set_bits(bitmap: &Bitmap) -> Vec<u64> {
    (0..bitmap.bits()).filter(|bit| bitmap.is_set(*bit)).collect()
}

#[test]
fn new_bitmaps_are_the_bytes_that_mdadm_writes() {
    for (name, room_bytes, chunk_bytes) in [
        ("bitmap-created-10.bin", 4096, None),
        ("bitmap-created-11.bin", 4096, Some(16384)),
        ("bitmap-created-12.bin", 4096, None),
    ] {
        let bytes = fixture(name);
        let made = header(&bytes);
        let sync_sectors = made.sync_sectors;
        let default = BitmapHeader::default_chunk_bytes(sync_sectors, room_bytes).unwrap();
        let ours = BitmapHeader::new(made.array_uuid, sync_sectors, chunk_bytes.unwrap_or(default));
        let ours = Bitmap::all_set(ours, sync_sectors, room_bytes).unwrap();
        assert!(encode(&ours) == bytes, "{name}");
    }
}

/// Bits count member bytes on RAID5 and array bytes on RAID10.
#[test]
fn bits_are_found_where_linux_set_them() {
    for (name, level10, writes) in [
        (
            "bitmap-kept-raid10.bin",
            true,
            [10 * MIB..10 * MIB + 65536, 18 * MIB + 786_432..18 * MIB + 786_432 + 131_072],
        ),
        ("bitmap-kept-raid5.bin", false, [10 * MIB..10 * MIB + 65536, 18750 * MIB..18750 * MIB + 65536]),
    ] {
        let bytes = fixture(name);
        let bitmap = bitmap(&bytes);
        let two_data_members = if level10 { 1 } else { 2 };
        let touched = writes
            .iter()
            .flat_map(|write| bitmap.bits_of(&(write.start / two_data_members..write.end / two_data_members)));
        assert_eq!(set_bits(&bitmap), touched.collect::<Vec<_>>(), "{name}");
        assert_eq!(bitmap.count(), set_bits(&bitmap).len() as u64, "{name}");
        assert!(encode(&bitmap) == bytes, "{name}: written back unchanged");
    }
}

#[test]
fn headers_say_whether_they_are_up_to_date() {
    let header = header(&fixture("bitmap-kept-raid10.bin"));
    assert_eq!((header.events, header.events_cleared, header.daemon_sleep_s), (1, 0, 1));
    assert_eq!(header.distrust(header.array_uuid, 1), None);
    assert_eq!(header.distrust(header.array_uuid, 2), Some(Distrust::Behind { bitmap: 1, superblock: 2 }));
}

#[test]
fn a_bad_block_log_is_read_and_written_back() {
    let member = fixture("bad-blocks.bin");
    let (area, bytes) = member.split_at(SUPERBLOCK_BYTES);
    let area = area.try_into().unwrap();
    let superblock = Unverified::parse_and_verify(area, MinorVersion::Start4K, 64 * MIB).unwrap();
    assert!(superblock.features.any_of(Features::BAD_BLOCKS));
    let log = superblock.bad_block_log;
    let mut list = BadBlockList::decode(log, bytes).unwrap();
    // 300 to 900 lie before the data, which start at sector 2048: there, Linux refuses to read from
    // array sector 100.
    assert_eq!(list.within_data(&superblock).as_slice(), std::slice::from_ref(&(51200..55296)));
    // Linux had them in another order.
    assert_eq!(sorted_entries(&list.encode(log).unwrap()), sorted_entries(bytes));
    list.set_within_data(&superblock, &[]);
    assert_eq!(sorted_entries(&list.encode(log).unwrap())[..2], [300 << 10 | 512, 812 << 10 | 88]);
}

fn sorted_entries(log: &[u8]) -> Vec<u64> {
    let mut entries: Vec<u64> = log.chunks(8).map(|entry| u64::from_le_bytes(entry.try_into().unwrap())).collect();
    entries.sort_unstable();
    entries
}

#[test]
fn the_newest_write_of_a_partial_parity_log_is_found() {
    const ARRAY: Uuid = Uuid([60, 151, 35, 198, 207, 84, 1, 30, 219, 136, 166, 62, 171, 247, 179, 98]);
    let area = fixture("ppl-chain.bin");
    let find = |is_chain| {
        let found = newest_ppl(area.len() as u64, is_chain, 512, ARRAY, |offset, bytes| {
            bytes.copy_from_slice(&area[offset as usize..offset as usize + PPL_HEADER_BYTES]);
            Ok::<_, ()>(())
        });
        found.unwrap().unwrap()
    };
    let newest = find(true);
    assert_eq!((newest.offset_bytes, newest.header.generation), (49152, 19));
    let entries = newest.header.entries.iter().map(|entry| (entry.data_sector, entry.data_bytes, entry.parity_role));
    assert_eq!(entries.collect::<Vec<_>>(), [(2368, 65536, 2), (3072, 131_072, 2), (3840, 131_072, 2)]);
    let first = find(false);
    assert_eq!((first.offset_bytes, first.header.generation), (0, 1));
    let entry = first.header.entries[0];
    assert_eq!((entry.data_sector, entry.partial_parity_bytes, entry.data_bytes), (800, 4096, 4096));
    assert_eq!(entry.checksum, PplEntry::checksum_of(&area[PPL_HEADER_BYTES..][..4096]));
    assert!(*newest.header.encode(ARRAY) == area[49152..], "as Linux wrote it");
}

fn mdadm_program() -> Option<PathBuf> {
    let folders = ["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders
        .into_iter()
        .chain(std::env::split_paths(&path))
        .map(|folder| folder.join("mdadm"))
        .find(|file| file.exists())
}

/// Of `mdadm --examine-bitmap`, which takes a file for the bitmap itself.
fn examined(program: &Path, bitmap: &Bitmap) -> String {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&encode(bitmap)).unwrap();
    let output = Command::new(program).arg("--examine-bitmap").arg(file.path()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn needs_mdadm_examines_our_bitmaps() {
    let Some(program) = mdadm_program() else {
        let line = "SKIPPED: needs_mdadm_examines_our_bitmaps needs mdadm (Debian: apt-get install mdadm)\n";
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        return;
    };
    let uuid = Uuid([0x4b, 0xd2, 0x12, 0xd5, 0xd7, 2, 0xec, 2, 0xd6, 0x77, 0xf3, 0xaa, 0xf0, 0x96, 0x67, 0x2c]);
    for (sync_sectors, chunk_bytes) in
        [(325_632, 64 << 20), (325_632, 4096), (1 << 33, 64 << 20), (20_953_088, 1 << 18)]
    {
        let header = BitmapHeader::new(uuid, sync_sectors, chunk_bytes);
        let mut bitmap = Bitmap::all_set(header, sync_sectors, BITMAP_LIMIT_BYTES).unwrap();
        for bit in (0..bitmap.bits()).skip(1).step_by(2) {
            bitmap.clear(bit);
        }
        bitmap.header.events = 17;
        bitmap.header.events_cleared = 16;
        let text = examined(&program, &bitmap);
        for expected in [
            "Magic : 6d746962".to_owned(),
            "Version : 4".to_owned(),
            "Events : 17".to_owned(),
            "Events Cleared : 16".to_owned(),
            "State : OK".to_owned(),
            "5s flush period".to_owned(),
            format!("Sync Size : {} ", sync_sectors / 2),
            format!("Bitmap : {} bits (chunks), {} dirty", bitmap.bits(), bitmap.count()),
        ] {
            assert!(text.contains(&expected), "{expected} not in\n{text}");
        }
        bitmap.header.set_stale(true);
        assert!(examined(&program, &bitmap).contains("State : Out of date"));
    }
}

/// A journal from a fixture; its data area goes on with zeros. Rows are collected.
struct JournalOf {
    area: Vec<u8>,
    rows: Vec<RowBlock>,
}

impl JournalIo for JournalOf {
    type Error = ();

    fn read(&mut self, sector: u64, block: &mut JournalBlock) -> Result<(), ()> {
        let start = usize::try_from(sector * 512).unwrap();
        *block = self.area.get(start..start + 4096).map_or([0; 4096], |bytes| bytes.try_into().unwrap());
        Ok(())
    }

    fn write(&mut self, row: RowBlock) -> Result<(), ()> {
        self.rows.push(row);
        Ok(())
    }
}

impl JournalOf {
    /// Replays the fixture, and gives out its journal too.
    fn replayed(name: &str, level: Level) -> (Self, Journal, JournalEnd) {
        let bytes = fixture(name);
        let (area, log) = bytes.split_at(SUPERBLOCK_BYTES);
        let area = area.try_into().unwrap();
        let superblock = Unverified::parse_and_verify(area, MinorVersion::Start4K, 20 * MIB).unwrap();
        assert_eq!(superblock.own_use(), MemberUse::Journal);
        let member_bytes = vec![superblock.size_sectors * 512; 4];
        let geometry = Geometry::new(Shape { level, chunk_bytes: 16384, member_bytes }).unwrap();
        let mut io = Self { area: log.to_vec(), rows: Vec::new() };
        let journal = Journal::new(&superblock);
        let end = replay_journal(&journal, &geometry, &mut io).unwrap().unwrap();
        (io, journal, end)
    }

    /// The byte that a block is full of.
    fn byte(&mut self, sector: u64) -> u8 {
        let mut block = [0; 4096];
        self.read(sector, &mut block).unwrap();
        assert!(block.iter().all(|byte| *byte == block[0]));
        block[0]
    }
}

#[test]
fn a_journal_hands_out_what_was_acknowledged() {
    let (mut io, _, end) = JournalOf::replayed("journal-raid5-back.bin", Level::Raid5(ParityLayout::LeftSymmetric));
    assert_eq!((end.row_blocks, end.sector), (0, 80));
    let data = end.data.iter().map(|block| (block.offset, io.byte(block.journal_sector)));
    assert_eq!(data.collect::<Vec<_>>(), [(0, 0x41), (5 << 12, 0x43), (1000 << 12, 0x44)]);
}

#[test]
fn a_journal_hands_out_rows_with_their_parity() {
    let (mut io, journal, end) =
        JournalOf::replayed("journal-raid6-through.bin", Level::Raid6(ParityLayout::LeftSymmetric));
    assert_eq!((end.data.len(), end.row_blocks, end.sector), (0, 9, 144));
    let rows = std::mem::take(&mut io.rows).into_iter();
    let rows: Vec<_> = rows.map(|row| (row.role.0, row.member_offset, row.journal_sector)).collect();
    let places: Vec<_> = rows.iter().map(|&(role, offset, _)| (role, offset >> 12)).collect();
    // P of the first row of chunks on the last member, Q on the first; chunks of four blocks.
    assert_eq!(places, [(0, 0), (1, 0), (3, 0), (0, 1), (2, 1), (3, 1), (0, 2), (2, 2), (3, 2)]);
    let p_and_data = [(1, 0x45), (2, 0x45), (4, 0x46), (5, 0x46), (7, 0x47), (8, 0x47)];
    for (index, byte) in p_and_data {
        assert_eq!(io.byte(rows[index].2), byte, "alone in its row, data is its own P: {:?}", rows[index]);
    }
    // What the kernel, when it has replayed the log, has put behind it has this sequence, too.
    let block = journal.empty_block(end.sector, end.sequence);
    assert_eq!(block[16..24], 1_329_084_924_u64.to_le_bytes());
}
