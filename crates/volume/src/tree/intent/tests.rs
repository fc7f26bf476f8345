use shoal_array::{BufferId, Command, Level, ParityLayout, Shape, Span};
use shoal_md::{BitmapHeader, Uuid};

use super::*;

const CHUNK: u64 = 64 << 10;
const SECOND: u64 = 1_000_000_000;

fn geometry() -> Geometry {
    let level = Level::Raid5(ParityLayout::LeftSymmetric);
    Geometry::new(Shape { level, chunk_bytes: 16 << 10, member_bytes: vec![4 << 20; 3] }).unwrap()
}

/// 64 chunks of 64 KiB on each member, nothing set.
fn intent() -> Intent {
    let sync_sectors = geometry().sync_bytes() / SECTOR_BYTES;
    let header = BitmapHeader::new(Uuid([1; 16]), sync_sectors, CHUNK as u32);
    let mut bitmap = Bitmap::all_set(header, sync_sectors, 1 << 20).unwrap();
    (0..bitmap.bits()).for_each(|bit| {
        bitmap.clear(bit);
    });
    Intent::new(Instant::default(), bitmap, true)
}

/// A write of so many KiB at so many KiB of the array.
fn write(id: u64, offset_kib: u64, length_kib: u32) -> Request {
    let span = Span { buffer: BufferId(0), offset: 0, length: length_kib << 10 };
    Request { id: RequestId::client(id), command: Command::Write { offset: offset_kib << 10, span } }
}

fn answer(intent: &mut Intent, second: u64, id: u64) {
    let completion = Completion { id: RequestId::client(id), result: Ok(()) };
    intent.answered(Instant { ns: second * SECOND }, &completion);
}

fn ids(requests: &[Request]) -> Vec<u64> {
    requests.iter().map(|request| request.id.number).collect()
}

fn announce(intent: &mut Intent) -> Vec<u64> {
    intent.begin_announcement();
    assert!(intent.end_announcement(true).is_empty());
    ids(&intent.take_ready())
}

fn admits(intent: &mut Intent, request: Request) -> bool {
    intent.admit(request, &geometry()).is_some()
}

fn look(intent: &mut Intent, second: u64) {
    intent.look(Instant { ns: second * SECOND }, Some(u64::MAX));
}

#[test]
fn a_write_waits_for_its_bits_and_the_next_one_does_not() {
    let mut intent = intent();
    assert!(!admits(&mut intent, write(1, 0, 4)));
    assert!(intent.wants_announcement() && intent.holds_writes());
    assert_eq!(intent.begin_announcement().into_iter().collect::<Vec<_>>(), [0]);
    assert!(!admits(&mut intent, write(2, 100, 4)), "its bit is set, and on its way only");
    assert_eq!(intent.take_ready(), []);
    assert!(intent.end_announcement(true).is_empty());
    assert_eq!(ids(&intent.take_ready()), [1, 2]);
    assert!(admits(&mut intent, write(1, 0, 4)));
    assert!(!admits(&mut intent, write(3, 200, 4)));
    assert_eq!(intent.set_regions().count(), 2);
}

#[test]
fn a_read_waits_behind_what_it_overlaps_and_nothing_else() {
    let read = |id, offset_kib, length_kib| {
        let Command::Write { offset, span } = write(id, offset_kib, length_kib).command else { unreachable!() };
        Request { id: RequestId::client(id), command: Command::Read { offset, span } }
    };
    let mut intent = intent();
    assert!(admits(&mut intent, read(1, 0, 4)));
    assert!(!admits(&mut intent, write(2, 0, 4)));
    assert!(admits(&mut intent, read(3, 4, 4)));
    assert!(!admits(&mut intent, read(4, 0, 8)));
    assert_eq!(announce(&mut intent), [2, 4]);
    assert!(!admits(&mut intent, write(5, 200, 4)));
    assert!(!admits(&mut intent, read(6, 200, 4)));
    intent.begin_announcement();
    assert_eq!(ids(&intent.end_announcement(false)), [5], "nobody takes the bit");
    assert_eq!(ids(&intent.take_ready()), [6]);
}

#[test]
fn what_comes_while_an_announcement_is_under_way_goes_with_the_next() {
    let mut intent = intent();
    assert!(!admits(&mut intent, write(1, 0, 4)));
    intent.begin_announcement();
    assert!(!admits(&mut intent, write(2, 1024, 4)));
    assert!(intent.end_announcement(true).is_empty());
    assert_eq!(ids(&intent.take_ready()), [1]);
    assert!(intent.wants_announcement());
    assert_eq!(announce(&mut intent), [2]);
}

#[test]
fn writes_that_overlap_stay_in_their_order() {
    let mut intent = intent();
    assert!(!admits(&mut intent, write(1, 0, 4)));
    assert_eq!(announce(&mut intent), [1]);
    assert!(!admits(&mut intent, write(2, 120, 16)), "its second half is not announced");
    assert!(!admits(&mut intent, write(3, 124, 4)), "announced, but behind the one before");
    assert!(admits(&mut intent, write(4, 116, 4)));
    assert_eq!(announce(&mut intent), [2, 3]);
}

#[test]
fn reads_of_other_places_flushes_and_what_is_to_be_refused_pass() {
    let mut intent = intent();
    assert!(!admits(&mut intent, write(1, 0, 4)));
    let span = Span { buffer: BufferId(0), offset: 0, length: 4096 };
    for command in [
        Command::Read { offset: 4096, span },
        Command::Flush,
        Command::Write { offset: u64::MAX - 4095, span },
        Command::Write { offset: geometry().capacity_bytes(), span },
        Command::Discard { offset: 4096, length: 0 },
    ] {
        assert!(admits(&mut intent, Request { id: RequestId::client(2), command }), "{command:?}");
    }
    assert!(!admits(
        &mut intent,
        Request { id: RequestId::client(3), command: Command::Discard { offset: 0, length: 4096 } }
    ));
}

#[test]
fn bits_are_cleared_after_two_looks_without_a_write() {
    let mut intent = intent();
    assert!(!admits(&mut intent, write(1, 0, 4)));
    announce(&mut intent);
    assert!(admits(&mut intent, write(1, 0, 4)));
    for second in [5, 10, 15] {
        look(&mut intent, second);
        assert!(intent.aged.is_empty(), "it is being written to");
    }
    answer(&mut intent, 16, 1);
    for second in [20, 25] {
        look(&mut intent, second);
        assert!(intent.aged.is_empty(), "{second}");
    }
    look(&mut intent, 30);
    assert_eq!(intent.aged.count(), 1);
    assert_eq!(intent.clear_aged().into_iter().collect::<Vec<_>>(), [0]);
    assert!(intent.set_regions().is_empty());
    look(&mut intent, 35);
    assert_eq!(intent.look_due(), None, "nothing is left to look for");
}

#[test]
fn a_write_during_a_clearing_keeps_its_bit() {
    let mut intent = intent();
    assert!(!admits(&mut intent, write(1, 0, 4)));
    assert!(!admits(&mut intent, write(2, 1024, 4)));
    announce(&mut intent);
    for second in [5, 10, 15] {
        look(&mut intent, second);
    }
    assert_eq!(intent.aged.count(), 2);
    assert!(admits(&mut intent, write(3, 0, 4)), "it is announced still");
    answer(&mut intent, 16, 3);
    intent.clear_aged();
    assert_eq!(intent.set_regions().next_set(0), Some(0..CHUNK));
    assert_eq!(intent.set_regions().count(), 1);
}

#[test]
fn nothing_is_cleared_where_it_is_not_known_to_be_in_sync() {
    let mut intent = intent();
    for (id, offset_kib) in [(1, 0), (2, 1024), (3, 4096)] {
        assert!(!admits(&mut intent, write(id, offset_kib, 4)));
    }
    announce(&mut intent);
    assert!(admits(&mut intent, write(1, 0, 4)));
    let failed = Completion { id: RequestId::client(1), result: Err(RequestError::Failed) };
    intent.answered(Instant { ns: 1 }, &failed);
    for second in [5, 10, 15] {
        intent.look(Instant { ns: second * SECOND }, None);
        assert!(intent.aged.is_empty() && intent.look_due().is_none(), "not while a member is missing");
    }
    for second in [20, 25, 30] {
        intent.look(Instant { ns: second * SECOND }, Some(1 << 20));
    }
    assert_eq!(intent.aged.next_set(0), Some(512 << 10..(512 << 10) + CHUNK), "below the resync, and no failed write");
    assert_eq!(intent.aged.count(), 1);
    intent.give_up_clearing();
    for (second, is_complete, aged) in [(31, false, 2), (41, true, 3)] {
        intent.begin_repair();
        intent.end_repair(Instant { ns: second * SECOND }, is_complete);
        look(&mut intent, second + 4);
        assert_eq!(intent.aged.count(), aged);
        intent.give_up_clearing();
    }
}

#[test]
fn a_write_that_fails_behind_a_repair_is_not_repaired_by_it() {
    let mut intent = intent();
    assert!(!admits(&mut intent, write(1, 0, 4)));
    announce(&mut intent);
    assert!(admits(&mut intent, write(1, 0, 4)));
    intent.begin_repair();
    intent.answered(Instant { ns: 1 }, &Completion { id: RequestId::client(1), result: Err(RequestError::Failed) });
    intent.end_repair(Instant { ns: 2 }, true);
    for second in [5, 10, 15, 20] {
        look(&mut intent, second);
    }
    assert!(intent.aged.is_empty(), "it may be half done");
}

#[test]
fn an_announcement_that_nobody_took_fails_its_writes() {
    let mut intent = intent();
    assert!(!admits(&mut intent, write(1, 0, 4)));
    intent.begin_announcement();
    assert!(!admits(&mut intent, write(2, 1024, 4)));
    assert_eq!(ids(&intent.end_announcement(false)), [1]);
    assert!(!admits(&mut intent, write(3, 0, 4)), "the bit is still not on any member");
    assert_eq!(announce(&mut intent), [2, 3]);
}

#[test]
fn a_copy_that_is_not_whole_is_marked_stale() {
    let intent = intent();
    let header = |copy| {
        let (_, bytes) = intent.page(0, copy, 512);
        BitmapHeader::parse(bytes.first_chunk().unwrap()).unwrap()
    };
    assert!(header(BitmapCopy::Due).is_stale());
    assert!(!header(BitmapCopy::Whole).is_stale());
}
