//! One superblock: what is believed of it holds, and it is written back as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use shoal_fuzz::find_superblock;
use shoal_md::{MemberUse, SECTOR_BYTES, SUPERBLOCK_BYTES, Unverified};

fuzz_target!(|input: &[u8]| {
    let Some(found) = find_superblock(input) else { return };
    let superblock = &found.superblock;
    let again = Unverified::parse_and_verify(&superblock.encode(), found.version, found.drive_bytes);
    assert_eq!(again.as_ref(), Ok(superblock));
    assert!(superblock.encode() == found.bytes);
    assert!(superblock.written_bytes() <= SUPERBLOCK_BYTES);
    assert!(superblock.level().is_ok());
    let _ = (superblock.name(), superblock.version(), superblock.chunk_bytes(), superblock.own_use());

    let own = superblock.super_offset_bytes();
    let own = own..own + SUPERBLOCK_BYTES as u64;
    let data = superblock.data_offset_bytes()..superblock.data_offset_bytes() + superblock.used_bytes();
    // A journal may be smaller than what the array uses of each member.
    let is_journal = superblock.own_use() == MemberUse::Journal;
    assert!(is_journal || data.end <= found.drive_bytes && (data.end <= own.start || own.end <= data.start));
    for area in [superblock.bitmap_area(), superblock.ppl_area(), superblock.bad_block_log_area()].into_iter().flatten()
    {
        let area = area.offset_bytes..area.offset_bytes + area.size_bytes;
        assert!(area.end <= found.drive_bytes / SECTOR_BYTES * SECTOR_BYTES);
        assert!(area.end <= data.start || data.end <= area.start, "{area:?} lies on the data, {data:?}");
        assert!(area.end <= own.start || superblock.written_bytes() as u64 + own.start <= area.start);
    }
});
