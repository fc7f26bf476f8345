//! A superblock and the bad-block log that belongs to it: as a list, as the engine has it, and
//! written back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use shoal_fuzz::find_superblock;
use shoal_md::{BadBlockList, SUPERBLOCK_BYTES};

fuzz_target!(|input: &[u8]| {
    let Some((area, log_bytes)) = input.split_at_checked(SUPERBLOCK_BYTES) else { return };
    let Some(found) = find_superblock(area) else { return };
    let superblock = &found.superblock;
    let log = superblock.bad_block_log;
    let Ok(mut list) = BadBlockList::decode(log, log_bytes) else { return };
    let bad_blocks = list.bad_blocks(superblock);
    assert_eq!(bad_blocks.ranges(), list.within_data(superblock));
    let used_bytes = superblock.data_size_sectors * 512;
    assert!(bad_blocks.ranges().iter().all(|range| range.start < range.end && range.end <= used_bytes));

    let written = list.encode(log);
    assert_eq!(written.is_ok(), list.entries() <= log.entries());
    if let Ok(written) = written {
        assert_eq!(BadBlockList::decode(log, &written).as_ref(), Ok(&list));
    }
    let before = list.clone();
    list.set_within_data(superblock, bad_blocks.ranges());
    assert_eq!(list, before);
    // What the engine wants in the log fits in it, whatever else is listed there.
    list.set_within_data(superblock, &bad_blocks.log_entries());
    if bad_blocks.limit() > 0 {
        assert!(list.encode(log).is_ok(), "{} of {}", list.entries(), log.entries());
    }
});
