use super::*;

const ARRAY: Uuid = Uuid([7; 16]);
const PAGE_BITS: u64 = BITMAP_PAGE_BYTES as u64 * 8;

/// 4 KiB a bit, over `bits` whole chunks.
fn header(bits: u64) -> BitmapHeader {
    BitmapHeader::new(ARRAY, bits * 8, 4096)
}

fn bitmap(bits: u64) -> Bitmap {
    Bitmap::all_set(header(bits), bits * 8, BITMAP_LIMIT_BYTES).unwrap()
}

fn with(place: usize, value: u32) -> [u8; BITMAP_HEADER_BYTES] {
    let mut bytes = header(100).encode();
    put(&mut bytes, place, &value);
    bytes
}

#[test]
fn every_field_comes_back() {
    let written = BitmapHeader {
        events: 1,
        events_cleared: 2,
        daemon_sleep_s: 3,
        write_behind: 4,
        sectors_reserved: 5,
        state: 0x40,
        tail: std::array::from_fn(|index| index as u8),
        ..header(1000)
    };
    let bytes = written.encode();
    assert_eq!(BitmapHeader::parse(&bytes), Ok(written));
}

#[test]
fn refuses_what_is_no_bitmap_of_its_kind() {
    for (place, value, error) in [
        (MAGIC_PLACE, 0, BitmapError::NoMagic),
        (VERSION_PLACE, 2, BitmapError::Version { version: 2 }),
        (VERSION_PLACE, VERSION_CLUSTERED, BitmapError::Clustered),
        (VERSION_PLACE, VERSION_LOCKLESS, BitmapError::Lockless),
        (VERSION_PLACE, 7, BitmapError::Version { version: 7 }),
        (CHUNK_SIZE_PLACE, 0, BitmapError::ChunkBytes { chunk_bytes: 0 }),
        (CHUNK_SIZE_PLACE, 256, BitmapError::ChunkBytes { chunk_bytes: 256 }),
        (CHUNK_SIZE_PLACE, 4097, BitmapError::ChunkBytes { chunk_bytes: 4097 }),
        (DAEMON_SLEEP_PLACE, 0, BitmapError::DaemonSleep),
        (WRITE_BEHIND_PLACE, 16384, BitmapError::WriteBehind { write_behind: 16384, limit: 16383 }),
    ] {
        assert_eq!(BitmapHeader::parse(&with(place, value)), Err(error));
    }
    for (place, value) in [(CHUNK_SIZE_PLACE, 512), (CHUNK_SIZE_PLACE, 1 << 31), (WRITE_BEHIND_PLACE, 16383)] {
        assert!(BitmapHeader::parse(&with(place, value)).is_ok(), "{place}: {value}");
    }
}

#[test]
fn clear_bits_are_believed_of_this_array_at_this_update_only() {
    let at = |events| BitmapHeader { events, ..header(1) };
    assert_eq!(at(5).distrust(ARRAY, 5), None);
    assert_eq!(at(6).distrust(ARRAY, 5), None);
    assert_eq!(at(4).distrust(ARRAY, 5), Some(Distrust::Behind { bitmap: 4, superblock: 5 }));
    assert_eq!(at(5).distrust(Uuid([8; 16]), 5), Some(Distrust::OtherArray { found: ARRAY }));
    let mut stale = at(5);
    stale.set_stale(true);
    let mut stale = BitmapHeader::parse(&stale.encode()).unwrap();
    assert_eq!(stale.distrust(ARRAY, 5), Some(Distrust::MarkedStale));
    stale.set_stale(false);
    assert_eq!(stale, at(5));
}

#[test]
fn version_3_is_read_not_believed_and_written_as_version_4() {
    let mut bytes = with(VERSION_PLACE, VERSION_HOST_ENDIAN);
    put(&mut bytes, STATE_PLACE, &(STATE_HOST_ENDIAN | STATE_WRITE_ERROR));
    let header = BitmapHeader::parse(&bytes).unwrap();
    assert_eq!(header.distrust(ARRAY, 0), Some(Distrust::HostEndian));
    assert_eq!(BitmapHeader::parse(&header.encode()), Ok(self::header(100)));
}

#[test]
fn chunks_are_chosen_as_mdadm_chooses_them() {
    const GIB_SECTORS: u64 = 1 << 21;
    const KIB: u64 = 1 << 10;
    for (sync_sectors, room_bytes, least, default) in [
        (8, 4 * KIB, Some(4096), Some(64 << 20)),
        (4096 * GIB_SECTORS, 128 * KIB, Some(8 << 20), Some(64 << 20)),
        (200 * GIB_SECTORS, 4 * KIB, Some(8 << 20), Some(64 << 20)),
        (4096 * GIB_SECTORS, 4 * KIB, Some(256 << 20), Some(256 << 20)),
        (128 * 1024 * GIB_SECTORS, 128 * KIB, Some(256 << 20), Some(256 << 20)),
        (8, 255, None, None),
        (u64::MAX, 128 * KIB, None, None),
    ] {
        assert_eq!(BitmapHeader::least_chunk_bytes(sync_sectors, room_bytes), least, "{sync_sectors}");
        assert_eq!(BitmapHeader::default_chunk_bytes(sync_sectors, room_bytes), default, "{sync_sectors}");
    }
}

#[test]
fn a_bitmap_is_no_longer_than_its_room_or_the_limit() {
    let bits = 4096 * 8;
    let needed_bytes = BITMAP_HEADER_BYTES as u64 + bits / 8;
    assert!(Bitmap::all_set(header(bits), bits * 8, needed_bytes).is_ok());
    let refused = Bitmap::all_set(header(bits), bits * 8, needed_bytes - 1).unwrap_err();
    assert_eq!(refused, BitmapError::NoRoom { needed_bytes, room_bytes: needed_bytes - 1 });
    for sync_sectors in [1 << 40, u64::MAX] {
        let refused = Bitmap::all_set(header(1), sync_sectors, u64::MAX).unwrap_err();
        assert!(matches!(refused, BitmapError::NoRoom { room_bytes: BITMAP_LIMIT_BYTES, .. }), "{refused}");
    }
}

#[test]
fn bits_lie_behind_the_header_the_lowest_first() {
    let mut bitmap = bitmap(2 * PAGE_BITS);
    assert_eq!((bitmap.pages(), bitmap.count()), (3, 2 * PAGE_BITS));
    for bit in 0..bitmap.bits() {
        assert!(bitmap.clear(bit) && !bitmap.clear(bit));
    }
    let first_page_bits = PAGE_BITS - 256 * 8;
    for (bit, page, byte, value) in
        [(0, 0, 256, 1), (9, 0, 257, 2), (first_page_bits - 1, 0, 4095, 0x80), (first_page_bits, 1, 0, 1)]
    {
        assert!(bitmap.set(bit) && !bitmap.set(bit) && bitmap.is_set(bit));
        assert_eq!((bitmap.page_of(bit), bitmap.encode_page(page)[byte]), (page, value), "bit {bit}");
    }
    assert_eq!(bitmap.count(), 4);
    assert_eq!(bitmap.encode_page(0)[..BITMAP_HEADER_BYTES], bitmap.header.encode());
}

#[test]
fn pages_come_back_and_what_was_not_read_is_set() {
    let mut written = bitmap(2 * PAGE_BITS + 5);
    for bit in (0..written.bits()).step_by(3) {
        written.clear(bit);
    }
    let mut read = bitmap(2 * PAGE_BITS + 5);
    for page in 0..written.pages() {
        assert_ne!(read, written);
        let range = written.page_range(page, 512);
        let length = usize::try_from(range.end - range.start).unwrap();
        read.decode_page(page, &written.encode_page(page)[..length]);
    }
    assert_eq!(read, written);
}

#[test]
fn the_last_page_ends_with_the_block_of_the_last_bit() {
    let bitmap = bitmap(PAGE_BITS);
    assert_eq!(bitmap.page_range(0, 512), 0..4096);
    assert_eq!(bitmap.page_range(1, 512), 4096..4096 + 512);
    assert_eq!(bitmap.page_range(1, 4096), 4096..8192);
    assert_eq!(super::tests::bitmap(1).page_range(0, 512), 0..512);
}

#[test]
fn what_the_header_did_not_cover_is_not_known_to_be_in_sync() {
    let mut grown = Bitmap::all_set(header(10), 5 * PAGE_BITS, BITMAP_LIMIT_BYTES).unwrap();
    for page in 0..grown.pages() {
        grown.decode_page(page, &[0; BITMAP_PAGE_BYTES]);
    }
    let clear = (0..grown.bits()).filter(|bit| !grown.is_set(*bit)).collect::<Vec<_>>();
    assert_eq!(clear, (0..10).collect::<Vec<_>>());
    assert_eq!(grown.header.sync_sectors, 5 * PAGE_BITS);
}

#[test]
fn bits_stand_for_bytes() {
    let bitmap = Bitmap::all_set(header(1), 8 * 10 + 1, BITMAP_LIMIT_BYTES).unwrap();
    assert_eq!(bitmap.bits(), 11);
    assert_eq!(bitmap.bytes_of(0), 0..4096);
    assert_eq!(bitmap.bytes_of(10), 40960..41472);
    for (range, bits) in [(0..1, 0..1), (4095..4097, 0..2), (4096..8192, 1..2), (40960..u64::MAX, 10..11), (5..5, 0..0)]
    {
        assert_eq!(bitmap.bits_of(&range), bits, "{range:?}");
    }
}

#[test]
fn the_engine_has_the_same_regions() {
    let mut bitmap = bitmap(1000);
    (0..1000).for_each(|bit| assert!(bitmap.clear(bit)));
    [3, 4, 64, 999].into_iter().for_each(|bit| assert!(bitmap.set(bit)));
    let regions = bitmap.regions();
    assert_eq!((regions.count(), regions.region_bytes(), regions.total_bytes()), (4, 4096, 1000 * 4096));
    assert_eq!(regions.next_set(0), Some(3 * 4096..5 * 4096));
    let mut back = super::tests::bitmap(1000);
    (0..1000).for_each(|bit| assert!(back.clear(bit)));
    back.set_regions(&regions);
    assert_eq!(back, bitmap);
    let mut coarse = Bitmap::all_set(BitmapHeader { chunk_bytes: 16384, ..header(1000) }, 8000, 4096).unwrap();
    (0..250).for_each(|bit| assert!(coarse.clear(bit)));
    coarse.set_regions(&regions);
    assert_eq!((0..250).filter(|bit| coarse.is_set(*bit)).collect::<Vec<_>>(), [0, 1, 16, 249]);
}
