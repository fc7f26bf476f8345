//! Arrays that are put together anew in the same world, after their drives have gone and come back.

use std::collections::BTreeMap;

use shoal_drive::DriveId;
use shoal_md::Uuid;
use shoal_memory::{Book, Keeper};
use shoal_volume::transfer::{read_to, write_from};
use shoal_volume::{
    ArrayVolume, BufferPlan, Command, Health, HostMemory, LiveVolume, OpenError, OpenOptions, Request, RequestId,
    Trust, Volume, VolumeError,
};

use crate::power_cuts::media::Media;
use crate::power_cuts::trace::Trace;
use crate::power_cuts::world::{Dead, TracedWorld};
use crate::support::create_options;

const DRIVE_BYTES: u64 = 2 << 20;
const BYTES: usize = 100_000;

/// A keeper with a good memory.
#[derive(Default)]
struct Books(BTreeMap<String, Book>);

impl Keeper for Books {
    fn recall(&mut self, array: Uuid) -> Option<Book> {
        self.0.get(&array.to_string()).cloned()
    }

    fn keep(&mut self, book: Book) {
        self.0.insert(book.array().to_string(), book);
    }

    fn is_settled(&mut self) -> bool {
        true
    }

    fn trouble(&mut self) -> Option<String> {
        None
    }

    fn take_remarks(&mut self) -> Vec<String> {
        Vec::new()
    }
}

fn array(level: &str, members: usize) -> (ArrayVolume<TracedWorld>, Dead) {
    array_with_window(level, members, 0)
}

fn array_with_window(level: &str, members: usize, window_bytes: u32) -> (ArrayVolume<TracedWorld>, Dead) {
    let plan = BufferPlan::for_drives(members, 8, 32 << 10).with_write_back(window_bytes);
    let media = vec![Media::default(); members];
    let world = TracedWorld::new(media, DRIVE_BYTES, plan.arena().unwrap(), 5, Trace::default());
    let create = create_options(level, None, 16 << 10);
    let mut array = ArrayVolume::create(world, plan, &all(members), &create, &OpenOptions::writable()).unwrap();
    array.remember_in(HostMemory::new(Box::<Books>::default(), Trust::Anything));
    let dead = array.world_mut().dead();
    (array, dead)
}

fn all(members: usize) -> Vec<DriveId> {
    (0..).map(DriveId).take(members).collect()
}

fn write(array: &mut ArrayVolume<TracedWorld>, version: u8) -> bool {
    write_from(array, 0, &mut &vec![version; BYTES][..]).is_ok()
}

fn holds(array: &mut ArrayVolume<TracedWorld>, version: u8) {
    let mut found = Vec::new();
    read_to(array, 0, BYTES as u64, &mut found).unwrap();
    assert!(found.iter().all(|byte| *byte == version), "it holds {}, not {version}", found[0]);
}

/// Lets what has failed come to its end.
fn drain(array: &mut ArrayVolume<TracedWorld>) {
    for _ in 0..1000 {
        array.turn(std::time::Duration::from_millis(1), &mut Vec::new()).unwrap();
        if array.has_drained() {
            return;
        }
    }
    panic!("it does not drain");
}

#[test]
fn an_array_whose_drives_have_all_gone_is_put_together_of_the_same_drives() {
    for (level, members) in [("5", 3), ("1", 2), ("10", 4), ("0", 2), ("6", 4)] {
        let (mut array, dead) = array(level, members);
        for version in 1..4 {
            assert!(write(&mut array, version));
            dead.borrow_mut().extend(0..members);
            assert!(!write(&mut array, 99), "RAID{level}");
            drain(&mut array);
            assert_eq!(array.counted_on().len(), members, "RAID{level}: nobody has left by going with all others");
            let frame = array.part();
            dead.borrow_mut().clear();
            array =
                frame.assemble(&all(members), &OpenOptions::writable()).unwrap_or_else(|(_, error)| panic!("{error}"));
            assert_eq!(array.status().health, Health::Optimal, "RAID{level}");
            holds(&mut array, version);
        }
    }
}

/// Who stops it then hears that what was answered from memory is lost.
#[test]
fn a_window_that_goes_with_the_drives_says_what_is_lost() {
    let (mut array, dead) = array_with_window("1", 2, 1 << 20);
    array.submit(Request {
        id: RequestId::client(0),
        command: Command::Write { offset: 0, span: array.request_span(0, 4096) },
    });
    let mut answers = Vec::new();
    array.turn(std::time::Duration::ZERO, &mut answers).unwrap();
    assert_eq!(answers.len(), 1, "it is answered from memory");
    dead.borrow_mut().extend(0..2);
    drain(&mut array);
    let lost = array.part().rest();
    assert!(matches!(lost, Err(VolumeError::NotWritten { bytes: 4096 })), "{lost:?}");
}

#[test]
fn an_older_member_alone_is_refused_and_the_array_can_still_be_had() {
    let (mut array, dead) = array("1", 2);
    dead.borrow_mut().insert(1);
    assert!(write(&mut array, 1), "the other one has it");
    dead.borrow_mut().insert(0);
    assert!(!write(&mut array, 2));
    drain(&mut array);
    assert_eq!(array.counted_on().len(), 1);
    let frame = array.part();
    dead.borrow_mut().clear();
    let refused = frame.assemble(&[DriveId(1)], &OpenOptions { force: true, ..OpenOptions::writable() });
    let Err((frame, error)) = refused else { panic!("the older one was believed") };
    assert!(matches!(error, OpenError::Doubt { .. }), "{error}");
    let mut array = frame.assemble(&all(2), &OpenOptions::writable()).unwrap_or_else(|(_, error)| panic!("{error}"));
    assert_eq!(array.status().health, Health::Degraded, "who left before is not taken back by that");
    holds(&mut array, 1);
}

#[test]
fn drives_that_go_while_the_array_is_put_together_are_waited_for_again() {
    let (mut array, dead) = array("5", 3);
    assert!(write(&mut array, 1));
    dead.borrow_mut().extend(0..3);
    assert!(!write(&mut array, 2));
    drain(&mut array);
    let frame = array.part();
    let Err((frame, _)) = frame.assemble(&all(3), &OpenOptions::writable()) else { panic!("of what?") };
    dead.borrow_mut().clear();
    let mut array = frame.assemble(&all(3), &OpenOptions::writable()).unwrap_or_else(|(_, error)| panic!("{error}"));
    holds(&mut array, 1);
}

#[test]
fn drives_that_vanish_one_after_the_other_are_all_counted_on() {
    for (level, members) in [("5", 3), ("6", 4), ("1", 2), ("10", 4)] {
        let (mut array, dead) = array(level, members);
        assert!(write(&mut array, 1));
        let mut answers = Vec::new();
        for drive in 0..members {
            dead.borrow_mut().insert(drive);
            let span = array.request_span(drive as u32, 4096);
            array.submit(Request { id: RequestId::client(drive as u64), command: Command::Write { offset: 0, span } });
            array.turn(std::time::Duration::from_millis(100), &mut answers).unwrap();
        }
        drain(&mut array);
        assert_eq!(array.counted_on().len(), members, "RAID{level}");
        let frame = array.part();
        dead.borrow_mut().clear();
        let mut array =
            frame.assemble(&all(members), &OpenOptions::writable()).unwrap_or_else(|(_, error)| panic!("{error}"));
        assert_eq!(array.status().health, Health::Optimal, "RAID{level}");
        let mut found = Vec::new();
        read_to(&mut array, 4096, BYTES as u64 - 4096, &mut found).unwrap();
        assert!(found.iter().all(|byte| *byte == 1), "RAID{level}");
    }
}

/// Also if one was lost before, and the others say so.
#[test]
fn drives_that_vanish_after_one_that_was_lost_are_all_counted_on() {
    let (mut array, dead) = array("6", 4);
    assert!(write(&mut array, 1));
    dead.borrow_mut().insert(0);
    assert!(write(&mut array, 2));
    assert_eq!(array.counted_on().len(), 3, "that one is out");
    let mut answers = Vec::new();
    for drive in 1..4 {
        dead.borrow_mut().insert(drive);
        let span = array.request_span(drive as u32, 4096);
        array.submit(Request { id: RequestId::client(drive as u64), command: Command::Write { offset: 0, span } });
        array.turn(std::time::Duration::from_millis(100), &mut answers).unwrap();
    }
    drain(&mut array);
    assert_eq!(array.counted_on().len(), 3);
}

/// Those of which nobody has asked anything since they were flushed are gone, too.
#[test]
fn drives_that_vanish_together_are_all_counted_on_whoever_is_asked() {
    let (mut array, dead) = array("10", 4);
    assert!(write(&mut array, 1));
    array.submit(Request { id: RequestId::client(0), command: Command::Flush });
    drain(&mut array);
    dead.borrow_mut().extend([0, 2, 3]);
    let span = array.request_span(0, 4096);
    array.submit(Request { id: RequestId::client(0), command: Command::Write { offset: 0, span } });
    let mut answers = Vec::new();
    while answers.is_empty() {
        array.turn(std::time::Duration::from_millis(100), &mut answers).unwrap();
    }
    assert_eq!(array.counted_on().len(), 4, "a member was recorded as failed");
}

#[test]
fn an_update_of_an_attempt_that_failed_is_known() {
    let mut updated = 0;
    for flushes in 0..6 {
        let (mut array, dead) = array("1", 2);
        assert!(write(&mut array, 1));
        let refusals = array.world_mut().refusals();
        dead.borrow_mut().extend(0..2);
        assert!(!write(&mut array, 2));
        drain(&mut array);
        let before = array.counted_on();
        let frame = array.part();
        dead.borrow_mut().clear();
        // That the other one is missing may be written, and is not made durable.
        refusals.borrow_mut().insert(0, flushes);
        let Err((mut frame, error)) = frame.assemble(&[DriveId(0)], &OpenOptions::writable()) else { continue };
        assert!(matches!(error, OpenError::NotRecorded { .. }), "{error}");
        let mut counted_on = before.clone();
        frame.renew_events(&mut counted_on);
        updated += usize::from(counted_on.iter().zip(&before).all(|(now, before)| now.events > before.events));
        refusals.borrow_mut().clear();
        // The last copy had begun to be written anew.
        while !frame.has_drained() {
            frame.turn(std::time::Duration::from_millis(1)).unwrap();
        }
        let mut array =
            frame.assemble(&all(2), &OpenOptions::writable()).unwrap_or_else(|(_, error)| panic!("{error}"));
        holds(&mut array, 1);
    }
    assert!(updated > 0, "no attempt has announced anything");
}

#[test]
fn request_buffers_keep_their_content_from_one_array_to_the_next() {
    let (mut array, dead) = array("5", 3);
    dead.borrow_mut().extend(0..3);
    let span = array.request_span(3, 4096);
    array.arena().write(array.request_memory(3), &[7; 4096]);
    array.submit(Request { id: RequestId::client(1), command: Command::Write { offset: 0, span } });
    drain_of(&mut array);
    let frame = array.part();
    dead.borrow_mut().clear();
    let mut array = frame.assemble(&all(3), &OpenOptions::writable()).unwrap_or_else(|(_, error)| panic!("{error}"));
    array.submit(Request { id: RequestId::client(1), command: Command::Write { offset: 0, span } });
    let mut answers = Vec::new();
    array.poll(1, None, &mut answers).unwrap();
    assert!(answers[0].result.is_ok());
    let mut found = Vec::new();
    read_to(&mut array, 0, 4096, &mut found).unwrap();
    assert_eq!(found, [7; 4096]);
}

/// Takes the answer to what was submitted.
fn drain_of(array: &mut ArrayVolume<TracedWorld>) {
    let mut answers = Vec::new();
    array.poll(1, None, &mut answers).unwrap();
    assert!(answers[0].result.is_err());
    drain(array);
}
