//! What the fault hunter found in arrays, each find as the shortest story that shows it.

mod copies;
mod limits;
mod refusals;
mod replacements;
mod returns;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use shoal_md::Uuid;
use shoal_memory::{Book, Keeper};
use shoal_sim::{Content, Fault, Misbehaviour, MisbehaviourKind};
use shoal_volume::transfer::{read_to, write_from};
use shoal_volume::{
    ArrayVolume, Background, Cause, Command, CommandError, ConsistencyPolicy, CreateOptions, DriveId, Event, Features,
    Health, HostMemory, LiveVolume, ManageError, MemberState, OpenError, OpenOptions, Request, RequestId, Role,
    ScrubMode, SimulatedWorld, Trust, Volume, read_superblock,
};

use crate::support::{create_options, world_of_sticks};

const DRIVE_BYTES: u64 = 4 << 20;

fn blank(drives: usize) -> Vec<Content> {
    (0..drives).map(|_| Content::new(DRIVE_BYTES)).collect()
}

fn ids(drives: std::ops::Range<u32>) -> Vec<DriveId> {
    drives.map(DriveId).collect()
}

fn create(level: &str, members: u32, contents: Vec<Content>) -> ArrayVolume<SimulatedWorld> {
    let options = create_options(level, None, 4096);
    let (world, plan) = world_of_sticks(DRIVE_BYTES, contents);
    ArrayVolume::create(world, plan, &ids(0..members), &options, &OpenOptions::writable()).unwrap()
}

/// An array whose copies and parity are yet to be made to agree.
fn create_unsynced(level: &str, members: u32, contents: Vec<Content>) -> ArrayVolume<SimulatedWorld> {
    let options = CreateOptions { assume_clean: false, ..create_options(level, None, 4096) };
    let (world, plan) = world_of_sticks(DRIVE_BYTES, contents);
    ArrayVolume::create(world, plan, &ids(0..members), &options, &OpenOptions::writable()).unwrap()
}

fn finish(array: &mut ArrayVolume<SimulatedWorld>) {
    assert!(!array.run_background(Duration::from_secs(3600)).unwrap(), "it has an hour");
}

#[test]
fn a_drive_with_an_unreadable_sector_where_superblocks_may_be_can_be_added() {
    let mut contents = blank(3);
    contents[2].spoil(4096, 4096);
    let mut array = create("1", 2, contents);
    array.fail_drive(DriveId(0)).unwrap();
    array.add_drive(DriveId(2)).unwrap();
    finish(&mut array);
    assert_eq!(array.status().health, Health::Optimal);
}

#[test]
fn a_member_may_fail_while_the_drive_that_is_to_replace_it_is_made_a_spare() {
    let mut array = create("5", 3, blank(4));
    let kind = MisbehaviourKind::FlushFails(Fault::Io);
    let flush_fails = Misbehaviour { kind, within: 0..DRIVE_BYTES, skip: 0 };
    array.world_mut().content_mut(1).arm(flush_fails);
    let error = array.replace_drive(DriveId(1), DriveId(3)).unwrap_err();
    assert!(error.to_string().contains("stick#1"), "{error}");
    // The new drive is needed more urgently now.
    finish(&mut array);
    assert_eq!(array.status().health, Health::Optimal);
}

fn assert_copies_agree(array: &mut ArrayVolume<SimulatedWorld>) {
    array.scrub(ScrubMode::Check).unwrap();
    finish(array);
    let is_clean = |event: &Event| matches!(event, Event::ScrubFinished { mismatched_bytes: 0, completed: true });
    let news = array.take_news();
    assert!(news.iter().any(|news| is_clean(&news.event)), "{news:?}");
}

/// A member that fails when nothing else is left to do is something to do: a spare takes its place.
#[test]
fn work_is_not_over_while_a_spare_takes_the_place_of_a_member_that_failed_at_its_end() {
    for skip in 0..80 {
        let mut array = create_unsynced("5", 3, blank(4));
        array.add_drive(DriveId(3)).unwrap();
        let kind = MisbehaviourKind::FlushFails(Fault::Io);
        array.world_mut().content_mut(2).arm(Misbehaviour { kind, within: 0..DRIVE_BYTES, skip });
        finish(&mut array);
        assert_eq!(array.status().health, Health::Optimal, "flush {skip}");
    }
}

/// Below the position of a rebuild all members have their data. If power was cut there, parity may
/// not agree with it, and the rebuild does not come by again.
#[test]
fn a_forced_array_has_no_stripe_out_of_sync_once_it_is_rebuilt() {
    let mut array = create("5", 3, blank(4));
    write_from(&mut array, 0, &mut vec![7; 1 << 20].as_slice()).unwrap();
    array.fail_drive(DriveId(0)).unwrap();
    array.set_background(Background { rate_min_bytes_per_s: 1_000_000, rate_max_bytes_per_s: 1_000_000, depth: 1 });
    array.add_drive(DriveId(3)).unwrap();
    array.run_background(Duration::from_millis(800)).unwrap();
    // From now on the superblocks say that writes are under way.
    let span = array.request_span(0, 4096);
    array.submit(Request { id: RequestId::client(1), command: Command::Write { offset: 0, span } });
    array.poll(1, None, &mut Vec::new()).unwrap();
    let data = array.content_map().places(8 << 10)[0];
    let mut contents: Vec<_> = (0..4).map(|drive| array.world_mut().content_mut(drive).clone()).collect();
    drop(array);
    // A write to the second stripe has got to its data and not to its parity.
    let content = &mut contents[data.0.0 as usize];
    content.write(data.1, &[9; 4096]).unwrap();
    contents.iter_mut().for_each(|content| content.flush().unwrap());

    let (world, plan) = world_of_sticks(DRIVE_BYTES, contents);
    let forced = OpenOptions { force: true, ..OpenOptions::writable() };
    let mut array = ArrayVolume::open(world, plan, &ids(1..4), &forced).unwrap();
    let state = array.status().members[0].state;
    assert!(matches!(state, MemberState::Rebuilding { position } if position > 4096), "{state:?}");
    finish(&mut array);
    assert_eq!(array.status().health, Health::Optimal);
    assert_copies_agree(&mut array);
}

/// What the log of an array needs is on its other members: one that is being rebuilt may fail while
/// the log is replayed.
#[test]
fn a_member_being_rebuilt_that_fails_in_a_replay_keeps_no_array_from_starting() {
    let options = CreateOptions { consistency: ConsistencyPolicy::Ppl, ..create_options("5", None, 4096) };
    let (world, plan) = world_of_sticks(DRIVE_BYTES, blank(4));
    let mut array = ArrayVolume::create(world, plan, &ids(0..3), &options, &OpenOptions::writable()).unwrap();
    write_from(&mut array, 0, &mut vec![7; 64 << 10].as_slice()).unwrap();
    array.fail_drive(DriveId(0)).unwrap();
    array.set_background(Background { rate_min_bytes_per_s: 1_000_000, rate_max_bytes_per_s: 1_000_000, depth: 1 });
    array.add_drive(DriveId(3)).unwrap();
    array.run_background(Duration::from_millis(400)).unwrap();
    let span = array.request_span(0, 4096);
    assert!(ask(&mut array, Command::Write { offset: 0, span }), "and the array is marked active");
    let mut contents = array.world().picture();
    drop(array);
    let kind = MisbehaviourKind::FlushFails(Fault::Io);
    contents[3].arm(Misbehaviour { kind, within: 0..DRIVE_BYTES, skip: 0 });
    let (world, plan) = world_of_sticks(DRIVE_BYTES, contents);
    let mut array = ArrayVolume::open(world, plan, &ids(1..4), &OpenOptions::writable()).unwrap();
    let mut content = Vec::new();
    read_to(&mut array, 4096, 60 << 10, &mut content).unwrap();
    assert!(content.iter().all(|byte| *byte == 7));
}

/// A hub loses its power with more members than the level survives. When they are back the array is
/// as it was: none that was left has recorded that the others failed.
#[test]
fn members_that_lost_their_power_together_are_members_when_they_are_back() {
    for (level, members, lost) in [("5", 3, 0..2), ("6", 4, 1..4), ("10", 4, 0..2), ("1", 2, 0..2)] {
        let mut array = create(level, members, blank(members as usize));
        write_from(&mut array, 0, &mut vec![7; 64 << 10].as_slice()).unwrap();
        assert!(ask(&mut array, Command::Flush));
        ids(lost).into_iter().for_each(|drive| array.world_mut().unplug(drive));
        let span = array.request_span(0, 32 << 10);
        ask(&mut array, Command::Write { offset: 0, span });
        assert!(!ask(&mut array, Command::Flush), "raid{level}");
        let _ = array.rest();
        let mut contents = array.world().picture();
        contents.iter_mut().for_each(|content| content.set_gone(false));
        drop(array);
        let (world, plan) = world_of_sticks(DRIVE_BYTES, contents);
        let mut array = ArrayVolume::open(world, plan, &ids(0..members), &OpenOptions::writable())
            .unwrap_or_else(|error| panic!("raid{level}: {error}"));
        finish(&mut array);
        assert_eq!(array.status().health, Health::Optimal, "raid{level}");
        let mut content = Vec::new();
        read_to(&mut array, 32 << 10, 32 << 10, &mut content).unwrap();
        assert!(content.iter().all(|byte| *byte == 7), "raid{level}");
    }
}

/// Asks for one thing; whether it was done.
fn ask(array: &mut ArrayVolume<SimulatedWorld>, command: Command) -> bool {
    array.submit(Request { id: RequestId::client(2), command });
    let mut answers = Vec::new();
    array.poll(1, None, &mut answers).unwrap();
    answers[0].result.is_ok()
}

/// The last copy is gone before it could say that the array is active, and another member is being
/// filled. What it were given nobody would make agree after a crash.
#[test]
fn a_write_that_no_member_could_announce_goes_to_none() {
    let mut array = create("1", 2, blank(3));
    array.fail_drive(DriveId(0)).unwrap();
    array.set_background(Background { rate_min_bytes_per_s: 1_000_000, rate_max_bytes_per_s: 1_000_000, depth: 1 });
    array.add_drive(DriveId(2)).unwrap();
    array.run_background(Duration::from_millis(800)).unwrap();
    let area = array.content_map().data_area(DriveId(2)).unwrap();
    array.world_mut().unplug(DriveId(1));
    write_from(&mut array, 0, &mut vec![9; 4096].as_slice()).unwrap_err();
    let mut bytes = vec![1; 4096];
    array.world_mut().content_mut(2).read(area.start, &mut bytes).unwrap();
    assert!(bytes.iter().all(|byte| *byte == 0), "it was written where nobody counts on it");
}

/// The bits of a write are on a member that is being filled, and the last copy has refused them:
/// after a crash nobody would look where the two differ. The last copy is asked again by the next
/// write.
#[test]
fn a_write_whose_bits_only_a_member_being_filled_has_goes_to_none() {
    let bitmap = ConsistencyPolicy::Bitmap { chunk_bytes: Some(16384) };
    let options = CreateOptions { consistency: bitmap, ..create_options("1", None, 4096) };
    let (world, plan) = world_of_sticks(DRIVE_BYTES, blank(3));
    let mut array = ArrayVolume::create(world, plan, &ids(0..2), &options, &OpenOptions::writable()).unwrap();
    let cleared = array.now().after_ns(60_000_000_000);
    while array.now() < cleared {
        array.turn(Duration::from_secs(1), &mut Vec::new()).unwrap();
    }
    array.fail_drive(DriveId(0)).unwrap();
    array.set_background(Background { rate_min_bytes_per_s: 1_000_000, rate_max_bytes_per_s: 1_000_000, depth: 1 });
    array.add_drive(DriveId(2)).unwrap();
    array.run_background(Duration::from_millis(800)).unwrap();
    let span = array.request_span(0, 4096);
    assert!(ask(&mut array, Command::Write { offset: 64 << 10, span }), "and the array is marked active");
    let content = array.world_mut().content_mut(1);
    let own = read_superblock(DRIVE_BYTES, |at, bytes| content.look(at, bytes)).unwrap();
    let area = own.bitmap_area().unwrap();
    let within = area.offset_bytes..area.offset_bytes + area.size_bytes;
    content.arm(Misbehaviour { kind: MisbehaviourKind::WriteFails(Fault::Io), within, skip: 0 });
    array.arena().write(array.request_memory(0), &[9; 4096]);
    assert!(!ask(&mut array, Command::Write { offset: 0, span }), "nobody would know of it");
    let area = array.content_map().data_area(DriveId(2)).unwrap();
    let mut bytes = vec![1; 4096];
    array.world_mut().content_mut(2).read(area.start, &mut bytes).unwrap();
    assert!(bytes.iter().all(|byte| *byte == 0), "it was written where nobody counts on it");
    assert!(ask(&mut array, Command::Write { offset: 0, span }), "it takes its bits now");
}

/// Whoever gives up waiting for a flush leaves no memory behind with it.
#[test]
fn drives_that_did_not_answer_a_flush_in_time_can_be_read_when_they_do() {
    let mut array = create("1", 2, blank(3));
    write_from(&mut array, 0, &mut vec![7; 4096].as_slice()).unwrap();
    let stall_ns = 600_000_000_000;
    (0..2).for_each(|drive| array.world_mut().simulation_mut().stall(drive, stall_ns));
    array.rest().expect_err("nobody answers");
    let end = array.now().after_ns(2 * stall_ns);
    while array.now() < end {
        array.turn(Duration::from_secs(60), &mut Vec::new()).unwrap();
    }
    array.add_drive(DriveId(2)).unwrap();
}

/// What a host remembers, for who asks.
#[derive(Clone, Default)]
struct Notebook(Arc<Mutex<Option<Book>>>);

impl Keeper for Notebook {
    fn recall(&mut self, _array: Uuid) -> Option<Book> {
        self.0.lock().unwrap().clone()
    }

    fn keep(&mut self, book: Book) {
        *self.0.lock().unwrap() = Some(book);
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

/// Every book that a host has written.
#[derive(Clone, Default)]
struct Books(Arc<Mutex<Vec<Book>>>);

impl Keeper for Books {
    fn recall(&mut self, _array: Uuid) -> Option<Book> {
        self.0.lock().unwrap().last().cloned()
    }

    fn keep(&mut self, book: Book) {
        self.0.lock().unwrap().push(book);
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

/// The freshest count of updates on some drives.
fn events_on(contents: &mut [Content]) -> u64 {
    let events = |content: &mut Content| {
        read_superblock(content.size_bytes(), |offset, bytes| content.read(offset, bytes)).map(|own| own.events)
    };
    contents.iter_mut().filter_map(|content| events(content).ok()).max().unwrap()
}

/// Else the host takes itself for another one that has run the array.
#[test]
fn an_update_under_way_when_a_host_begins_to_remember_is_remembered() {
    let notebook = Notebook::default();
    let mut array = create("1", 2, blank(2));
    let span = array.request_span(0, 4096);
    array.submit(Request { id: RequestId::client(1), command: Command::Write { offset: 0, span } });
    array.remember_in(HostMemory::new(Box::new(notebook.clone()), Trust::Known));
    array.poll(1, None, &mut Vec::new()).unwrap();
    let on_drives = events_on(&mut array.world().picture());
    let remembered = notebook.0.lock().unwrap().as_ref().unwrap().events();
    assert!(remembered >= on_drives, "update {remembered} is remembered, and {on_drives} is there");
}

/// An update of an array that lost all of its members at once reached none of them.
#[test]
fn an_update_that_nobody_took_is_not_remembered() {
    let notebook = Notebook::default();
    let mut array = create("1", 2, blank(2));
    array.remember_in(HostMemory::new(Box::new(notebook.clone()), Trust::Known));
    ids(0..2).into_iter().for_each(|drive| array.world_mut().unplug(drive));
    for _ in 0..3 {
        let span = array.request_span(0, 4096);
        ask(&mut array, Command::Write { offset: 0, span });
        let _ = array.rest();
    }
    let mut contents = array.world().picture();
    contents.iter_mut().for_each(|content| content.set_gone(false));
    let (on_drives, remembered) = (events_on(&mut contents), notebook.0.lock().unwrap().as_ref().unwrap().events());
    assert!(remembered <= on_drives + 1, "update {remembered} is remembered, and {on_drives} is there");
    drop(array);
    let (world, plan) = world_of_sticks(DRIVE_BYTES, contents);
    let memory = Some(HostMemory::new(Box::new(notebook), Trust::Known));
    ArrayVolume::open_remembered(world, plan, &ids(0..2), &OpenOptions::writable(), memory).unwrap();
}

/// A member that says that it has bad blocks, and cannot say which, is none that the others need.
#[test]
fn an_array_starts_without_a_member_whose_bad_blocks_cannot_be_read() {
    let array = create("1", 2, blank(2));
    let mut contents = array.close().unwrap().contents();
    let mut own = read_superblock(DRIVE_BYTES, |offset, bytes| contents[1].read(offset, bytes)).unwrap();
    own.features = own.features | Features::BAD_BLOCKS;
    contents[1].write(own.super_offset_bytes(), own.encode().as_slice()).unwrap();
    contents[1].flush().unwrap();
    let list = own.bad_block_log_area().unwrap();
    contents[1].spoil(list.offset_bytes, list.size_bytes);
    let open = |drives: std::ops::Range<u32>| {
        let (world, plan) = world_of_sticks(DRIVE_BYTES, contents.clone());
        ArrayVolume::open(world, plan, &ids(drives), &OpenOptions::writable())
    };
    let status = open(0..2).unwrap().status();
    assert_eq!(status.health, Health::Degraded);
    assert!(matches!(status.left_out[0].cause, Cause::BadBlocks { .. }), "{:?}", status.left_out);
    assert!(matches!(open(1..2).err(), Some(OpenError::BadBlocks { .. })), "without the other it is needed");
    // One that has missed updates would show what the array was then.
    own.events += 5;
    contents[1].write(own.super_offset_bytes(), own.encode().as_slice()).unwrap();
    let (world, plan) = world_of_sticks(DRIVE_BYTES, contents);
    let opened = ArrayVolume::open(world, plan, &ids(0..2), &OpenOptions::writable());
    assert!(matches!(opened.err(), Some(OpenError::BadBlocks { .. })), "the other one is old");
}
