//! Last copies that refuse a flush.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::*;
use crate::support::world_of_slow_sticks;

/// The array flushes by itself when it has come to rest. If its last copy does not take that, nobody else has what was
/// answered, and whoever asks for a flush next has to know, though that one succeeds.
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

/// At a start a member that is an update behind is brought up to the others. What a resync has given it by then goes with the
/// flush that it refuses; later ones cover none of that.
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

/// A write has got to the last copy, and waits for the member that is being filled. What the last copy was given it loses with
/// the flush that it refuses now; and whoever is answered later takes his write for one that came after that.
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
    array.submit(Request { id: RequestId(3), command: Command::Flush });
    array.submit(Request { id: RequestId(4), command });
    array.poll(1, Some(Duration::from_millis(10)), &mut Vec::new()).unwrap();
    let kind = MisbehaviourKind::FlushFails(Fault::Io);
    array.world_mut().content_mut(1).arm(Misbehaviour { kind, within: 0..DRIVE_BYTES, skip: 0 });
    // It is written down that there is a spare, which takes a flush.
    let _ = array.add_drive(DriveId(3));
    let mut answers = Vec::new();
    array.poll(2, None, &mut answers).unwrap();
    let answers: Vec<_> = answers.iter().map(|answer| (answer.id.0, answer.result.is_ok())).collect();
    assert_eq!(answers, [(3, false), (4, true)]);
    assert!(!ask(&mut array, Command::Flush), "the write may be lost");
    assert!(ask(&mut array, Command::Flush), "it was told");
}

/// Somebody else's flush takes the superblock of an update under way from the last copy; the update's own flush covers nothing of
/// that. Who remembers it as flushed would take that member for one that lies when it has lost its power.
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
        array.submit(Request { id: RequestId(3), command: Command::Write { offset: 0, span } });
        array.poll(1, Some(Duration::from_micros(after_us)), &mut Vec::new()).unwrap();
        let kind = MisbehaviourKind::FlushFails(Fault::Io);
        array.world_mut().content_mut(1).arm(Misbehaviour { kind, within: 0..DRIVE_BYTES, skip: 0 });
        array.submit(Request { id: RequestId(4), command: Command::Flush });
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
