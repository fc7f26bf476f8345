//! Copies of a write-intent bitmap that differ when the array is opened.

use shoal_md::{BITMAP_HEADER_BYTES, BITMAP_PAGE_BYTES, Bitmap, BitmapHeader};

use crate::power_cuts::content::Expected;
use crate::power_cuts::cut::{Cursor, Fate};
use crate::power_cuts::media::{Media, rewrite, superblock};
use crate::power_cuts::random::Random;
use crate::power_cuts::story::live;
use crate::power_cuts::trace::Trace;
use crate::power_cuts::{story, with_bitmap};

/// The bitmap on a drive, and whether the next start believes its clear bits.
fn bitmap_on(media: &Media) -> (Bitmap, bool) {
    let superblock = superblock(media).unwrap();
    let area = superblock.bitmap_area().unwrap();
    let mut page = [0; BITMAP_PAGE_BYTES];
    media.read(area.offset_bytes, &mut page);
    let header = BitmapHeader::parse(page.first_chunk::<BITMAP_HEADER_BYTES>().unwrap()).unwrap();
    let is_believed = header.distrust(superblock.array_uuid, superblock.events).is_none();
    let sectors = header.sync_sectors;
    let mut bitmap = Bitmap::all_set(header, sectors, area.size_bytes).unwrap();
    bitmap.decode_page(0, &page);
    (bitmap, is_believed)
}

/// Two members died in the midst of an update of the bitmap, and each has a bit that the other one
/// lacks. They are made alike when the array is opened; power is cut at every place of that, and
/// both bits are there for the next start.
#[test]
fn a_bit_that_one_copy_alone_has_is_never_lost() {
    for (name, level, members) in [("RAID1", "1", 2), ("RAID5", "5", 3), ("RAID10", "10", 4)] {
        let mut media = with_bitmap(story(name, level, None, members, Vec::new())).make(1);
        for (drive, media) in media.iter_mut().enumerate() {
            let (mut bitmap, _) = bitmap_on(media);
            (0..bitmap.bits()).for_each(|bit| {
                bitmap.clear(bit);
            });
            bitmap.set(drive as u64);
            let offset_bytes = superblock(media).unwrap().bitmap_area().unwrap().offset_bytes;
            media.write(offset_bytes, &bitmap.encode_page(0));
            rewrite(media, |superblock| superblock.resync_offset_sectors = 0);
        }
        let (trace, drives) = (Trace::default(), (0..members).collect::<Vec<_>>());
        live(media.clone(), &drives, &[], (1, 0), &trace).unwrap();
        let mut cursor = Cursor::new(media, Expected::new(1));
        let facts = trace.take();
        for place in 0..=facts.len() {
            for fate in Fate::ALL {
                let left = cursor.cut(fate, &mut Random::new(place as u64));
                let copies: Vec<_> = left.iter().map(bitmap_on).collect();
                let is_kept = |bit: u64| copies.iter().any(|(bitmap, is_believed)| *is_believed && bitmap.is_set(bit));
                let is_known = copies.iter().all(|(_, is_believed)| !is_believed);
                assert!(is_known || (0..members as u64).all(is_kept), "{name}, fact {place}, {fate:?}");
            }
            if let Some(fact) = facts.get(place) {
                cursor.step(fact);
            }
        }
        let end = cursor.cut(Fate::Lost, &mut Random::new(1));
        let has_all = |media: &Media| (0..members as u64).all(|bit| bitmap_on(media).0.is_set(bit));
        assert!(end.iter().all(has_all), "{name}: they have been made alike, durably");
    }
}
