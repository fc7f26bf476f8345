//! A bitmap: header and bits, for arrays of the size that the header says and of others.
#![no_main]

use libfuzzer_sys::fuzz_target;
use shoal_md::{BITMAP_HEADER_BYTES, BITMAP_PAGE_BYTES, Bitmap, BitmapHeader, Uuid};

/// Blocks of a drive.
const BLOCK_BYTES: u64 = 512;
/// More bits than this are made, and not looked at one by one.
const MOST_BITS: u64 = 1 << 17;

fuzz_target!(|input: &[u8]| {
    let Some(bytes) = input.first_chunk::<BITMAP_HEADER_BYTES>() else { return };
    let Ok(header) = BitmapHeader::parse(bytes) else { return };
    let events = header.events;
    let _ = (header.distrust(header.array_uuid, events), header.distrust(Uuid([1; 16]), events));
    let written = header.encode();
    assert_eq!(BitmapHeader::parse(&written).map(|header| header.encode()), Ok(written));

    let said = header.sync_sectors;
    let room_bytes = input.len() as u64;
    for sync_sectors in [said, said / 3, said.saturating_mul(3).saturating_add(1), 325_632] {
        let least = BitmapHeader::least_chunk_bytes(sync_sectors, room_bytes);
        assert!(least.is_none_or(|least| BitmapHeader::default_chunk_bytes(sync_sectors, room_bytes) >= Some(least)));
        if let Ok(bitmap) = Bitmap::all_set(header.clone(), sync_sectors, room_bytes) {
            read(bitmap, input);
        }
        // A superblock may claim any room. Once in a while, as such a bitmap is large.
        if input.len() % 64 == 0 {
            let _ = Bitmap::all_set(header.clone(), sync_sectors, u64::MAX);
        }
    }
});

/// Reads a bitmap from the input, and uses it.
fn read(mut bitmap: Bitmap, input: &[u8]) {
    for page in 0..bitmap.pages() {
        let range = bitmap.page_range(page, BLOCK_BYTES);
        let length = input.len() as u64;
        bitmap.decode_page(page, &input[range.start.min(length) as usize..range.end.min(length) as usize]);
    }
    if bitmap.bits() > MOST_BITS {
        return;
    }
    let regions = bitmap.regions();
    assert_eq!(regions.count(), bitmap.count());
    let mut copy = bitmap.clone();
    for page in 0..bitmap.pages() {
        let bytes: [u8; BITMAP_PAGE_BYTES] = bitmap.encode_page(page);
        copy.decode_page(page, &bytes);
    }
    copy.set_regions(&regions);
    assert!(copy == bitmap);
    for bit in (0..bitmap.bits()).step_by(97) {
        let bytes = bitmap.bytes_of(bit);
        assert_eq!(bitmap.bits_of(&bytes), bit..bit + 1);
        assert_eq!(regions.contains(bytes.start), bitmap.is_set(bit));
        assert!(bitmap.page_of(bit) < bitmap.pages());
    }
}
