//! Last copies that refuse a flush.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::*;
use crate::support::world_of_slow_sticks;

/// The array flushes by itself when it has come to rest. If its last copy does not take that,
/// nobody else has what was answered, and whoever asks for a flush next has to know, though that
/// one succeeds.
#[test]
fn a_flush_that_nobody_asked_for_and_the_last_copy_refused_is_told_by_the_next_one() {
    let mut array = create("1", 2, blank(2));
    array.fail_drive(DriveId(0)).unwrap();
    write_from(&mut array, 0, &mut vec![7; 4096].as_slice()).unwrap();
    let kind = MisbehaviourKind::FlushFails(Fault::Io);
    array.world_mut().content_mut(1).arm(Misbehaviour { kind, within: 0..DRIVE_BYTES, skip: 0 });
    let span = array.request_span(0, 4096);
    assert!(ask(&mut array, Command::Write { offset: 4096, span }));
    let mut news = array.take_news();
    while !news.iter().any(|news| matches!(news.event, Event::FlushFailed(_))) {
        assert!(array.quiet_for().is_some(), "it comes to rest without a word: {news:?}");
        array.turn(Duration::from_secs(1), &mut Vec::new()).unwrap();
        news.append(&mut array.take_news());
    }
    assert!(!ask(&mut array, Command::Flush), "what was answered may be lost");
    assert!(ask(&mut array, Command::Flush), "it was told");
    assert_eq!(array.status().health, Health::Degraded);
}

/// At a start a member that is an update behind is brought up to the others. What a resync has
/// given it by then goes with the flush that it refuses; later ones cover none of that.
#[test]
fn a_member_that_refuses_the_flush_which_brings_it_up_to_the_others_fails() {
    let mut array = create("1", 2, blank(2));
    write_from(&mut array, 0, &mut vec![7; 4096].as_slice()).unwrap();
    let mut contents = array.close().unwrap().contents();
    let content = &mut contents[1];
    let mut own = read_superblock(DRIVE_BYTES, |at, bytes| content.look(at, bytes)).unwrap();
    own.events -= 1;
    content.write(own.super_offset_bytes(), own.encode().as_slice()).unwrap();
    content.flush().unwrap();
    content.arm(Misbehaviour { kind: MisbehaviourKind::FlushFails(Fault::Io), within: 0..DRIVE_BYTES, skip: 0 });
    let (world, plan) = world_of_sticks(DRIVE_BYTES, contents);
    let array = ArrayVolume::open(world, plan, &ids(0..2), &OpenOptions::writable()).unwrap();
    assert_eq!(array.status().health, Health::Degraded);
}

/// A write has got to the last copy, and waits for the member that is being filled. What the last
/// copy was given it loses with the flush that it refuses now; and whoever is answered later takes
/// his write for one that came after that.
#[test]
fn a_write_that_was_under_way_when_a_last_copy_refused_a_flush_makes_the_next_flush_fail() {
    let mut array = create("1", 2, blank(4));
    array.fail_drive(DriveId(0)).unwrap();
    array.set_background(Background { rate_min_bytes_per_s: 1_000_000, rate_max_bytes_per_s: 1_000_000, depth: 1 });
    array.add_drive(DriveId(2)).unwrap();
    array.run_background(Duration::from_millis(800)).unwrap();
    let write = |array: &ArrayVolume<SimulatedWorld>| Command::Write { offset: 0, span: array.request_span(0, 4096) };
    let command = write(&array);
    assert!(ask(&mut array, command), "and the array is marked active");
    array.world_mut().simulation_mut().stall(2, 50_000_000);
    let command = write(&array);
    array.submit(Request { id: RequestId::client(3), command: Command::Flush });
    array.submit(Request { id: RequestId::client(4), command });
    array.poll(1, Some(Duration::from_millis(10)), &mut Vec::new()).unwrap();
    let kind = MisbehaviourKind::FlushFails(Fault::Io);
    array.world_mut().content_mut(1).arm(Misbehaviour { kind, within: 0..DRIVE_BYTES, skip: 0 });
    // It is written down that there is a spare, which takes a flush.
    let _ = array.add_drive(DriveId(3));
    let mut answers = Vec::new();
    array.poll(2, None, &mut answers).unwrap();
    let answers: Vec<_> = answers.iter().map(|answer| (answer.id.number, answer.result.is_ok())).collect();
    assert_eq!(answers, [(3, false), (4, true)]);
    assert!(!ask(&mut array, Command::Flush), "the write may be lost");
    assert!(ask(&mut array, Command::Flush), "it was told");
}

/// Somebody else's flush takes the superblock of an update under way from the last copy; the
/// update's own flush covers nothing of that. Who remembers it as flushed would take that member
/// for one that lies when it has lost its power.
#[test]
fn an_update_that_the_last_copy_lost_with_the_flush_of_another_is_not_remembered_as_flushed() {
    for after_us in (0..10_000).step_by(200) {
        let mut books = Books::default();
        let mut contents = create("1", 2, blank(2)).close().unwrap().contents();
        contents.iter_mut().for_each(|content| content.flush().unwrap());
        contents.push(Content::new(DRIVE_BYTES));
        let (world, plan) = world_of_slow_sticks(DRIVE_BYTES, contents, &[100_000, 100_000, 2_000_000]);
        let options = OpenOptions { safe_mode_delay: None, ..OpenOptions::writable() };
        let mut array = ArrayVolume::open(world, plan, &ids(0..2), &options).unwrap();
        array.fail_drive(DriveId(0)).unwrap();
        array.set_background(Background { rate_min_bytes_per_s: 100_000, rate_max_bytes_per_s: 100_000, depth: 1 });
        array.add_drive(DriveId(2)).unwrap();
        array.remember_in(HostMemory::new(Box::new(books.clone()), Trust::Known));
        let span = array.request_span(0, 4096);
        array.submit(Request { id: RequestId::client(3), command: Command::Write { offset: 0, span } });
        array.poll(1, Some(Duration::from_micros(after_us)), &mut Vec::new()).unwrap();
        let kind = MisbehaviourKind::FlushFails(Fault::Io);
        array.world_mut().content_mut(1).arm(Misbehaviour { kind, within: 0..DRIVE_BYTES, skip: 0 });
        array.submit(Request { id: RequestId::client(4), command: Command::Flush });
        let end = array.now().after_ns(1_500_000_000);
        while array.now() < end {
            array.turn(Duration::from_millis(100), &mut Vec::new()).unwrap();
        }
        let flushed = books.recall(Uuid([0; 16])).unwrap().flushed_events();
        for seed in 0..8 {
            let mut content = array.world().picture().swap_remove(1);
            content.cut_power(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
            let events = events_on(std::slice::from_mut(&mut content));
            assert!(events >= flushed, "after {after_us} us: {flushed} is flushed, and {events} is there");
        }
    }
}

/// What a world without the redundancy that it had is to be asked.
struct Bare {
    level: &'static str,
    members: u32,
    /// How many of them fail.
    gone: u32,
    consistency: ConsistencyPolicy,
}

impl Bare {
    fn created(&self, books: &Books) -> ArrayVolume<SimulatedWorld> {
        let create = CreateOptions { consistency: self.consistency, ..create_options(self.level, None, 4096) };
        let (world, plan) = world_of_sticks(DRIVE_BYTES, blank(self.members as usize));
        let options = OpenOptions::writable();
        let mut array = ArrayVolume::create(world, plan, &ids(0..self.members), &create, &options).unwrap();
        array.remember_in(HostMemory::new(Box::new(books.clone()), Trust::Known));
        write_from(&mut array, 0, &mut vec![7; BARE_BYTES as usize].as_slice()).unwrap();
        assert!(ask(&mut array, Command::Flush));
        (0..self.gone).for_each(|index| array.fail_drive(DriveId(self.members - 1 - index)).unwrap());
        array
    }

    fn started(&self, contents: Vec<Content>, books: Option<&Books>) -> ArrayVolume<SimulatedWorld> {
        let (world, plan) = world_of_sticks(DRIVE_BYTES, contents);
        let memory = books.map(|books| HostMemory::new(Box::new(books.clone()), Trust::Known));
        let options = OpenOptions { force: self.level == "6", safe_mode_delay: None, ..OpenOptions::writable() };
        ArrayVolume::open_remembered(world, plan, &ids(0..self.members - self.gone), &options, memory).unwrap()
    }

    /// Writes here and there, a member that cannot be missed refuses the flush, and the process is
    /// killed.
    fn refused(&self, array: &mut ArrayVolume<SimulatedWorld>, seed: u32) -> Vec<Content> {
        array.arena().write(array.request_memory(0), &[9; 4096]);
        let span = array.request_span(0, 4096);
        // Superblocks say that it is written to.
        assert!(ask(array, Command::Write { offset: 0, span }));
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed.into());
        let count = 1 + (random.next_u64() % 8) as usize;
        for id in 1..=count as u64 {
            let offset = random.next_u64() % (BARE_BYTES / 4096) * 4096;
            array.submit(Request { id: RequestId::client(id), command: Command::Write { offset, span } });
        }
        // A log has its members flushed before it goes on.
        let kind = MisbehaviourKind::FlushFails(Fault::Io);
        array.world_mut().content_mut(1).arm(Misbehaviour { kind, within: 0..DRIVE_BYTES, skip: seed % 4 });
        array.poll(count, None, &mut Vec::new()).unwrap();
        // A member that has nothing new is not flushed: the first two chunks are on it, one or the
        // other.
        let span = array.request_span(0, 8192);
        let mut is_refused = || !(ask(array, Command::Write { offset: 0, span }) && ask(array, Command::Flush));
        assert!((0..4).any(|_| is_refused()), "RAID{}: it is told", self.level);
        assert_eq!(array.status().health, Health::Failed, "RAID{}", self.level);
        array.world().picture()
    }
}

const BARE_BYTES: u64 = 256 << 10;

fn content_of(array: &mut ArrayVolume<SimulatedWorld>) -> Vec<u8> {
    let mut content = Vec::new();
    read_to(array, 0, BARE_BYTES, &mut content).unwrap();
    content
}

fn was_renewed(array: &mut ArrayVolume<SimulatedWorld>) -> bool {
    array.take_news().iter().any(|news| news.event == Event::Renewed(Role(1)))
}

/// An array that cannot do without a member writes nothing down when that one refuses a flush. The
/// next start has it in sync again, and its drive may still lose what it had answered: and with
/// that the flushed blocks of an absent member, which are computed from it.
#[test]
fn a_member_without_whom_an_array_fails_is_written_to_again_at_the_next_start() {
    let (ppl, resync) = (ConsistencyPolicy::Ppl, ConsistencyPolicy::Resync);
    for bare in [
        Bare { level: "5", members: 3, gone: 1, consistency: ppl },
        Bare { level: "6", members: 4, gone: 2, consistency: resync },
        Bare { level: "0", members: 2, gone: 0, consistency: resync },
    ] {
        let level = bare.level;
        let mut lost = 0;
        for seed in 0..24_u32 {
            for remembers in [true, false] {
                let books = Books::default();
                let contents = bare.refused(&mut bare.created(&books), seed);
                let mut array = bare.started(contents, remembers.then_some(&books));
                assert_eq!(was_renewed(&mut array), remembers, "RAID{level}");
                let seen = content_of(&mut array);
                assert!(ask(&mut array, Command::Flush), "RAID{level}");
                let mut contents = array.world().picture();
                let mut random = Xoshiro256PlusPlus::seed_from_u64(seed.into());
                contents.iter_mut().for_each(|content| content.cut_power(&mut random));
                let mut array = bare.started(contents, remembers.then_some(&books));
                assert!(!was_renewed(&mut array), "RAID{level}: once is enough");
                let is_there = content_of(&mut array) == seen;
                assert!(is_there || !remembers, "RAID{level}: what is flushed is there");
                lost += u32::from(!is_there);
            }
        }
        assert!(lost > 0, "RAID{level}: a drive that refused a flush forgets, where nobody remembers that it did");
    }
}

/// What the logs say is replayed, and a member refuses the flush behind it. Its parity reads as it
/// should until it loses its power: a resync changes nothing there.
#[test]
fn a_member_that_refuses_the_flush_behind_a_replay_is_written_to_again() {
    let bare = Bare { level: "5", members: 3, gone: 0, consistency: ConsistencyPolicy::Ppl };
    let mut renewed = 0;
    for seed in 0..24 {
        let mut array = bare.created(&Books::default());
        array.arena().write(array.request_memory(0), &[9; 4096]);
        let span = array.request_span(0, 4096);
        for chunk in 0..12 {
            let command = Command::Write { offset: (seed * 12 + chunk) * 4096 % BARE_BYTES, span };
            array.submit(Request { id: RequestId::client(chunk), command });
        }
        array.poll(1 + (seed as usize % 8), None, &mut Vec::new()).unwrap();
        let mut contents = array.world().picture();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        contents.iter_mut().for_each(|content| content.cut_power(&mut random));
        let kind = MisbehaviourKind::FlushFails(Fault::Io);
        contents[1].arm(Misbehaviour { kind, within: 0..DRIVE_BYTES, skip: 0 });
        let mut array = bare.started(contents, None);
        renewed += u32::from(was_renewed(&mut array));
        finish(&mut array);
        let mut contents = array.world().picture();
        contents[1].cut_power(&mut random);
        let mut array = bare.started(contents, None);
        finish(&mut array);
        assert_copies_agree(&mut array);
    }
    assert!(renewed > 0, "some replay is flushed");
}

/// One read fails while logs are found and replayed, any one of them: what they say is not given up
/// for that. The array would be in doubt as a whole, and a member that is lost before the resync
/// has ended would take data with it.
#[test]
fn a_read_that_fails_once_leaves_no_row_in_doubt_that_a_log_has() {
    let bare = Bare { level: "5", members: 3, gone: 0, consistency: ConsistencyPolicy::Ppl };
    let mut failed = 0;
    for skip in 0..30 {
        let mut array = bare.created(&Books::default());
        array.arena().write(array.request_memory(0), &[9; 4096]);
        let span = array.request_span(0, 4096);
        for chunk in 0..12 {
            array.submit(Request {
                id: RequestId::client(chunk),
                command: Command::Write { offset: chunk * 4096 % BARE_BYTES, span },
            });
        }
        array.poll(1 + skip as usize % 8, None, &mut Vec::new()).unwrap();
        let mut contents = array.world().picture();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(skip.into());
        contents.iter_mut().for_each(|content| content.cut_power(&mut random));
        let own = read_superblock(DRIVE_BYTES, |at, bytes| contents[1].look(at, bytes)).unwrap();
        let log_and_data = own.ppl_area().unwrap().offset_bytes..own.data_offset_bytes() + own.used_bytes();
        let kind = MisbehaviourKind::ReadFails(Fault::TimedOut);
        contents[1].arm(Misbehaviour { kind, within: log_and_data, skip });
        let mut array = bare.started(contents, None);
        failed += array.world_mut().content_mut(1).take_struck().len();
        assert!(!array.needs_resync(), "read {skip} of member 1 fails");
        finish(&mut array);
        assert_copies_agree(&mut array);
    }
    assert!(failed >= 5, "headers, partial parity and data are read: {failed}");
}

/// The original, a last copy, refuses any one of its flushes, also that of superblocks which are to
/// say that the replacement has all of its content, or is the member. The takeover is not forgotten
/// for that.
#[test]
fn a_replacement_takes_over_though_its_original_refuses_a_flush() {
    for skip in 0..8 {
        let mut array = create("1", 2, blank(3));
        write_from(&mut array, 0, &mut vec![7; 256 << 10].as_slice()).unwrap();
        array.set_background(Background { depth: 0, ..OpenOptions::writable().background });
        array.replace_drive(DriveId(0), DriveId(2)).unwrap();
        array.fail_drive(DriveId(1)).unwrap();
        let kind = MisbehaviourKind::FlushFails(Fault::Io);
        array.world_mut().content_mut(0).arm(Misbehaviour { kind, within: 0..DRIVE_BYTES, skip });
        array.set_background(OpenOptions::writable().background);
        finish(&mut array);
        assert_eq!(array.status().members[0].replacement, None, "skip {skip}");
    }
}
