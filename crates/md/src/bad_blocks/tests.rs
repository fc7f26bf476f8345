#![expect(clippy::single_range_in_vec_init, reason = "one range is meant")]

use proptest::prelude::*;

use super::*;

const PAGE: BadBlockLog = BadBlockLog { shift: 0, size_sectors: 8, offset_sectors: 16 };

fn entry(start: u64, sectors: u64) -> [u8; ENTRY_BYTES] {
    (start << LENGTH_BITS | sectors).to_le_bytes()
}

fn log_of(entries: &[[u8; ENTRY_BYTES]]) -> Vec<u8> {
    let mut bytes = entries.concat();
    bytes.resize(4096, 0xff);
    bytes
}

fn list(runs: &[Range<u64>]) -> BadBlockList {
    BadBlockList { runs: runs.to_vec() }
}

/// Data from sector 1000 to 5000.
fn superblock() -> Superblock {
    let mut superblock = Superblock::blank(1);
    superblock.data_offset_sectors = 1000;
    superblock.data_size_sectors = 4000;
    superblock
}

#[test]
fn the_list_is_sorted_and_joined() {
    let bytes = log_of(&[entry(812, 88), entry(300, 512), entry(2148, 8), entry(2150, 2), entry(0, 0), entry(2156, 1)]);
    assert_eq!(BadBlockList::decode(PAGE, &bytes), Ok(list(&[300..900, 2148..2157])));
}

#[test]
fn all_ones_end_the_list_and_zeros_say_nothing() {
    let mut bytes = log_of(&[entry(5, 1), [0xff; 8], entry(9, 1)]);
    assert_eq!(BadBlockList::decode(PAGE, &bytes), Ok(list(&[5..6])));
    bytes.fill(0);
    assert_eq!(BadBlockList::decode(PAGE, &bytes), Ok(list(&[])));
    assert_eq!(BadBlockList::decode(PAGE, &[]), Ok(list(&[])));
}

#[test]
fn long_runs_take_several_entries() {
    let bytes = list(&[100..1213]).encode(PAGE).unwrap();
    assert_eq!(bytes, log_of(&[entry(100, 512), entry(612, 512), entry(1124, 89)]));
}

#[test]
fn runs_end_where_sectors_end() {
    let last = SECTOR_LIMIT - 1;
    let decoded = BadBlockList::decode(PAGE, &log_of(&[entry(last - 600, 512), entry(last - 100, 512)])).unwrap();
    assert_eq!(decoded, list(&[last - 600..SECTOR_LIMIT]));
    assert_eq!(BadBlockList::decode(PAGE, &decoded.encode(PAGE).unwrap()), Ok(decoded));
}

#[test]
fn what_does_not_fit_is_refused() {
    let runs = (0..513).map(|run| 2 * run..2 * run + 1).collect::<Vec<_>>();
    assert!(list(&runs[..512]).encode(PAGE).is_ok());
    assert_eq!(list(&runs).encode(PAGE), Err(BadBlocksError::DoesNotFit { needed: 513, limit: 512 }));
    let sector = BadBlockLog { size_sectors: 1, ..PAGE };
    assert_eq!(list(&runs[..65]).encode(sector), Err(BadBlocksError::DoesNotFit { needed: 65, limit: 64 }));
    assert_eq!(list(&runs[..64]).encode(sector).unwrap().len(), 512);
}

#[test]
fn logs_that_cannot_be_are_refused() {
    for log in [
        BadBlockLog::default(),
        BadBlockLog { size_sectors: 9, ..PAGE },
        BadBlockLog { offset_sectors: 0, ..PAGE },
        BadBlockLog { shift: 1, ..PAGE },
    ] {
        let error = BadBlocksError::NoSuchLog { sectors: log.size_sectors, shift: log.shift };
        assert_eq!(BadBlockList::decode(log, &[0; 4096]), Err(error), "{log:?}");
        assert_eq!(list(&[]).encode(log), Err(error), "{log:?}");
        assert_eq!((log.entries(), log.bytes()), (0, None));
    }
}

#[test]
fn the_data_area_has_its_own_positions() {
    let mut list = list(&[0..10, 990..1002, 1500..1501, 4999..6000]);
    let superblock = superblock();
    assert_eq!(list.within_data(&superblock), [0..1024, 256_000..256_512, 3999 * 512..4000 * 512]);
    list.set_within_data(&superblock, &[1..2, 512..513, 3000 * 512..u64::MAX]);
    assert_eq!(list.runs, [0..10, 990..1002, 4000..6000]);
    list.set_within_data(&superblock, &[]);
    assert_eq!(list.runs, [0..10, 990..1000, 5000..6000]);
}

#[test]
fn the_engine_gets_the_room_that_is_left() {
    let mut superblock = superblock();
    superblock.bad_block_log = PAGE;
    let bad_blocks = list(&[0..513, 1500..1501, 1700..1702]).bad_blocks(&superblock);
    assert_eq!((bad_blocks.limit(), bad_blocks.ranges()), (510, &[256_000..256_512, 358_400..359_424][..]));
    assert_eq!(BadBlockList::default().bad_blocks(&superblock), BadBlocks::new(512));
    assert_eq!(BadBlockList::default().bad_blocks(&super::tests::superblock()), BadBlocks::new(0));
}

proptest! {
    #[test]
    fn lists_come_back(runs in prop::collection::vec((0_u64..1 << 50, 1_u64..2000), 0..100)) {
        let runs = merged(runs.into_iter().map(|(start, length)| start..start + length).collect());
        let list = list(&runs);
        let bytes = list.encode(PAGE).unwrap();
        prop_assert_eq!(bytes.len(), 4096);
        prop_assert_eq!(BadBlockList::decode(PAGE, &bytes), Ok(list));
    }

    /// Whatever the log holds, the ranges lie in the data area, in order, and putting them back
    /// changes nothing.
    #[test]
    fn any_bytes_make_a_list(bytes in prop::collection::vec(any::<u8>(), 4096)) {
        let mut list = BadBlockList::decode(PAGE, &bytes).unwrap();
        let superblock = superblock();
        let ranges = list.within_data(&superblock);
        prop_assert!(ranges.iter().all(|range| range.start < range.end && range.end <= 4000 * 512));
        prop_assert!(ranges.is_sorted_by(|one, other| one.end < other.start));
        let before = list.clone();
        list.set_within_data(&superblock, &ranges);
        prop_assert_eq!(list, before);
    }
}
