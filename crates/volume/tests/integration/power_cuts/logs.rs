//! Partial parity logs that are found after a crash: what they make of an array that is only read,
//! and where they are not enough.

use std::time::Duration;

use shoal_drive::DriveId;
use shoal_md::{PplEntry, PplHeader};
use shoal_volume::transfer::{read_to, write_from};
use shoal_volume::{ArrayVolume, ConsistencyPolicy, Event, Features, OpenError, OpenOptions, ScrubMode, Volume};

use crate::power_cuts::media::{Media, rewrite, superblock};
use crate::power_cuts::story;
use crate::power_cuts::story::{Story, world};
use crate::power_cuts::trace::{Fact, Trace};
use crate::power_cuts::world::TracedWorld;

const CHUNK: usize = 4096;
/// What is written, from the start of the content.
const BYTES: usize = 16 * CHUNK;
/// The first stripe: D0, D1 and the parity each have the drive of their number.
const PARITY: usize = 2;

/// The content before the crash.
fn old() -> Vec<u8> {
    (0..BYTES).map(|at| (at / 7 + at / CHUNK) as u8).collect()
}

/// What D1 was to be.
fn new_d1() -> Vec<u8> {
    (0..CHUNK).map(|at| (at / 3) as u8 ^ 0xa5).collect()
}

fn open(media: &[Media], lost: Option<usize>, options: OpenOptions, trace: &Trace) -> Opened {
    let (world, plan) = world(media.to_vec(), 1, trace.clone());
    let present: Vec<_> = (0..media.len()).filter(|drive| Some(*drive) != lost).collect();
    let drives: Vec<_> = present.into_iter().map(|drive| DriveId(drive as u32)).collect();
    ArrayVolume::open(world, plan, &drives, &options)
}

type Opened = Result<ArrayVolume<TracedWorld>, OpenError>;

/// An array with content, at rest.
fn at_rest() -> Vec<Media> {
    let story = Story { consistency: ConsistencyPolicy::Ppl, ..story("RAID5 with PPL", "5", None, 3, Vec::new()) };
    let mut array = open(&story.make(1), None, OpenOptions::writable(), &Trace::default()).unwrap();
    write_from(&mut array, 0, &mut old().as_slice()).unwrap();
    array.close().unwrap().media().to_vec()
}

/// The chunk of the first stripe on a drive.
fn first_chunk(media: &[Media], drive: usize) -> Vec<u8> {
    let mut bytes = vec![0; CHUNK];
    media[drive].read(superblock(&media[drive]).unwrap().data_offset_bytes(), &mut bytes);
    bytes
}

fn set_first_chunk(media: &mut [Media], drive: usize, bytes: &[u8]) {
    let at = superblock(&media[drive]).unwrap().data_offset_bytes();
    media[drive].write(at, bytes);
}

/// All members say that a resync has come so far; 0 is in sync and active.
fn synced_to(media: &mut [Media], sectors: u64) {
    media.iter_mut().for_each(|media| rewrite(media, |own| own.resync_offset_sectors = sectors));
}

/// Power was cut while D1 was being written: what was durable by then of D1, and of the parity.
fn in_mid_write(d1_is_new: bool, parity_is_new: bool) -> Vec<Media> {
    let mut media = at_rest();
    let own = superblock(&media[PARITY]).unwrap();
    let log = own.ppl_area().unwrap().offset_bytes;
    let d0 = first_chunk(&media, 0);
    let entry = PplEntry {
        data_sector: (CHUNK / 512) as u64,
        partial_parity_bytes: CHUNK as u32,
        data_bytes: CHUNK as u32,
        parity_role: PARITY as u32,
        checksum: PplEntry::checksum_of(&d0),
    };
    let header = PplHeader { generation: 1_000_000, entries: vec![entry] };
    media[PARITY].write(log, header.encode(own.array_uuid).as_slice());
    media[PARITY].write(log + header.write_bytes() - CHUNK as u64, &d0);
    if d1_is_new {
        set_first_chunk(&mut media, 1, &new_d1());
    }
    if parity_is_new {
        let parity: Vec<u8> = d0.iter().zip(new_d1()).map(|(d0, d1)| d0 ^ d1).collect();
        set_first_chunk(&mut media, PARITY, &parity);
    }
    synced_to(&mut media, 0);
    media
}

fn content(array: &mut ArrayVolume<TracedWorld>) -> Vec<u8> {
    let mut bytes = Vec::new();
    read_to(array as &mut dyn Volume, 0, BYTES as u64, &mut bytes).unwrap();
    bytes
}

fn writes(trace: &Trace) -> usize {
    trace.borrow().iter().filter(|fact| matches!(fact, Fact::Write { .. })).count()
}

#[test]
fn what_was_flushed_is_read_past_a_log_that_nobody_replays() {
    for (d1_is_new, parity_is_new) in [(true, false), (false, true), (true, true), (false, false)] {
        for lost in [0, 1] {
            let media = in_mid_write(d1_is_new, parity_is_new);
            let trace = Trace::default();
            let mut array = open(&media, Some(lost), OpenOptions::read_only(), &trace).unwrap();
            assert!(!array.needs_resync(), "the log tells all that there is to know");
            let read = content(&mut array);
            assert_eq!(writes(&trace), 0, "it was only read");
            let case = format!("D1 new: {d1_is_new}, parity new: {parity_is_new}, without drive {lost}");
            assert!(read[..CHUNK] == old()[..CHUNK], "{case}: D0 was flushed, and not written since");
            assert!(read[2 * CHUNK..] == old()[2 * CHUNK..], "{case}: the other stripes");
            if lost != 1 {
                let d1 = if d1_is_new { new_d1() } else { old()[CHUNK..2 * CHUNK].to_vec() };
                assert!(read[CHUNK..2 * CHUNK] == d1, "{case}: D1");
            }
            let mut array = open(&media, Some(lost), OpenOptions::writable(), &trace).unwrap();
            assert!(content(&mut array) == read, "{case}: for writing it is another content");
            assert!(writes(&trace) > 0, "{case}: nothing was replayed");
        }
    }
}

#[test]
fn a_log_that_cannot_be_believed_vouches_for_nothing() {
    let mut media = in_mid_write(true, false);
    let log = superblock(&media[1]).unwrap().ppl_area().unwrap().offset_bytes;
    media[1].write(log, &[0xee; 4096]);
    let array = open(&media, Some(0), OpenOptions::read_only(), &Trace::default()).unwrap();
    assert!(array.needs_resync());
    let refused = open(&media, Some(0), OpenOptions::writable(), &Trace::default());
    assert!(matches!(refused.err(), Some(OpenError::DirtyDegraded { .. })));
}

/// A power cut right after the start: the next one has to know that nothing of the member is right,
/// though its log is good.
#[test]
fn a_rebuild_that_begins_anew_is_known_before_the_log_that_said_so_is_emptied() {
    let mut media = in_mid_write(true, false);
    let log = superblock(&media[1]).unwrap().ppl_area().unwrap().offset_bytes;
    media[1].write(log, &[0xee; 4096]);
    rewrite(&mut media[1], |own| {
        own.features = own.features.with(Features::RECOVERY_OFFSET, true);
        own.recovery_offset_sectors = 64;
    });
    let array = open(&media, None, OpenOptions::writable(), &Trace::default()).unwrap();
    let own = superblock(&array.world().media()[1]).unwrap();
    let is_rebuilt = own.features.any_of(Features::RECOVERY_OFFSET);
    // But for the first columns, which are made to agree while the array is opened.
    assert!(is_rebuilt && own.recovery_offset_sectors <= CHUNK as u64 / 512, "{}", own.recovery_offset_sectors);
}

#[test]
fn an_array_in_the_midst_of_a_resync_is_not_taken_as_in_sync_for_its_log() {
    let mut media = in_mid_write(true, false);
    synced_to(&mut media, 64);
    let refused = open(&media, Some(0), OpenOptions::writable(), &Trace::default());
    assert!(matches!(refused.err(), Some(OpenError::DirtyDegraded { .. })));
    let mut array = open(&media, Some(0), OpenOptions::read_only(), &Trace::default()).unwrap();
    assert!(array.needs_resync(), "whoever reads it is told");
    assert!(content(&mut array)[..CHUNK] == old()[..CHUNK]);
    let forced = OpenOptions { force: true, ..OpenOptions::writable() };
    let mut array = open(&media, Some(0), forced, &Trace::default()).unwrap();
    assert!(content(&mut array)[..CHUNK] == old()[..CHUNK]);
    // One that has come to its end is over.
    synced_to(&mut media, u64::MAX - 1);
    let mut array = open(&media, Some(0), OpenOptions::writable(), &Trace::default()).unwrap();
    assert!(content(&mut array)[..CHUNK] == old()[..CHUNK]);
}

/// Below the position parity may be torn as well, and only the log knows where.
#[test]
fn without_a_log_to_believe_a_resync_begins_anew() {
    let mut media = in_mid_write(true, false);
    let log = superblock(&media[PARITY]).unwrap().ppl_area().unwrap().offset_bytes;
    media[PARITY].write(log, &[0xee; 4096]);
    synced_to(&mut media, 64);
    let mut array = open(&media, None, OpenOptions::writable(), &Trace::default()).unwrap();
    while array.run_background(Duration::from_secs(3600)).unwrap() {}
    array.scrub(ScrubMode::Check).unwrap();
    while array.run_background(Duration::from_secs(3600)).unwrap() {}
    let news = array.take_news().into_iter().map(|news| news.event);
    let differing: Vec<_> = news.filter(|news| matches!(news, Event::ScrubFinished { .. })).collect();
    assert!(matches!(differing[..], [Event::ScrubFinished { mismatched_bytes: 0, completed: true }]), "{differing:?}");
}
