//! Former members that come back.

use super::*;
use crate::support::world_of_slow_sticks;

/// A mirror whose second drive takes its time.
fn create_beside_a_slow_one() -> ArrayVolume<SimulatedWorld> {
    let consistency = ConsistencyPolicy::Bitmap { chunk_bytes: Some(16384) };
    let options = CreateOptions { consistency, ..create_options("1", None, 4096) };
    let (world, plan) = world_of_slow_sticks(DRIVE_BYTES, blank(2), &[100_000, 2_000_000]);
    ArrayVolume::create(world, plan, &ids(0..2), &options, &OpenOptions::writable()).unwrap()
}

/// A drive says that it has a list of bad blocks, which is read when it comes back.
fn list_bad_blocks(content: &mut Content) {
    let mut own = read_superblock(DRIVE_BYTES, |at, bytes| content.look(at, bytes)).unwrap();
    own.features = own.features | Features::BAD_BLOCKS;
    content.write(own.super_offset_bytes(), own.encode().as_slice()).unwrap();
    let list = own.bad_block_log_area().unwrap();
    content.write(list.offset_bytes, &vec![0xff; usize::try_from(list.size_bytes).unwrap()]).unwrap();
    content.flush().unwrap();
}

/// An update is written down while a former member is looked at. What that one is told, and the
/// others, is the next one: two that have the same count could not be told apart.
#[test]
fn a_member_that_comes_back_undoes_no_update_that_is_written_meanwhile() {
    for after_us in (150_000..200_500).step_by(500) {
        let books = Books::default();
        let mut array = create_beside_a_slow_one();
        array.fail_drive(DriveId(1)).unwrap();
        list_bad_blocks(array.world_mut().content_mut(1));
        array.remember_in(HostMemory::new(Box::new(books.clone()), Trust::Known));
        let span = array.request_span(0, 4096);
        assert!(ask(&mut array, Command::Write { offset: 0, span }));
        let back_at = array.now().after_ns(after_us * 1000);
        while array.now() < back_at {
            let left = back_at.since_ns(array.now());
            array.turn(Duration::from_nanos(left), &mut Vec::new()).unwrap();
        }
        array.re_add_drive(DriveId(1)).unwrap();
        finish(&mut array);
        array.rest().unwrap();
        let books = books.0.lock().unwrap();
        for pair in books.windows(2).filter(|pair| pair[0].events() == pair[1].events()) {
            assert_eq!(pair[0].members(), pair[1].members(), "back after {after_us} us: two updates of one count");
        }
    }
}

/// All drives are away for less than the second after which it is told that an update is flushed.
/// It is known when they are back: who lacks it then has lost it.
#[test]
fn an_update_that_was_flushed_before_all_drives_were_away_is_remembered_as_flushed() {
    let mut books = Books::default();
    let mut array = create("1", 2, blank(2));
    array.remember_in(HostMemory::new(Box::new(books.clone()), Trust::Known));
    let span = array.request_span(0, 4096);
    assert!(ask(&mut array, Command::Write { offset: 0, span }));
    assert!(ask(&mut array, Command::Flush));
    let written = events_on(&mut array.world().picture());
    assert!(array.part().assemble(&ids(0..2), &OpenOptions::writable()).is_ok());
    let flushed = books.recall(Uuid([0; 16])).unwrap().flushed_events();
    assert!(flushed >= written, "{flushed} is remembered as flushed, and {written} was");
}

/// It says that it has flushed what it has not, was away, and has lost its power: nobody knows what
/// else it lacks.
#[test]
fn a_former_member_that_has_lost_updates_which_it_had_flushed_is_no_former_member() {
    for (lost, is_taken) in [(0, true), (1, true), (2, false), (3, false)] {
        let consistency = ConsistencyPolicy::Bitmap { chunk_bytes: Some(16384) };
        let options = CreateOptions { consistency, ..create_options("1", None, 4096) };
        let (world, plan) = world_of_sticks(DRIVE_BYTES, blank(2));
        let mut array = ArrayVolume::create(world, plan, &ids(0..2), &options, &OpenOptions::writable()).unwrap();
        array.remember_in(HostMemory::new(Box::new(Books::default()), Trust::Known));
        for _ in 0..4 {
            let span = array.request_span(0, 4096);
            assert!(ask(&mut array, Command::Write { offset: 0, span }));
            let end = array.now().after_ns(300_000_000);
            while array.now() < end {
                array.turn(Duration::from_millis(10), &mut Vec::new()).unwrap();
            }
        }
        array.fail_drive(DriveId(1)).unwrap();
        let content = array.world_mut().content_mut(1);
        let mut own = read_superblock(DRIVE_BYTES, |at, bytes| content.look(at, bytes)).unwrap();
        own.events -= lost;
        content.write(own.super_offset_bytes(), own.encode().as_slice()).unwrap();
        content.flush().unwrap();
        let taken = array.re_add_drive(DriveId(1));
        assert_eq!(taken.is_ok(), is_taken, "it has lost {lost} updates: {taken:?}");
    }
}

/// A drive was away for a moment while nothing was asked of it: the array has a dead handle, and
/// counts on it.
fn blink(array: &mut ArrayVolume<SimulatedWorld>, drive: u32) -> DriveId {
    array.rest().unwrap();
    array.world_mut().unplug(DriveId(drive));
    array.world_mut().replug(DriveId(drive))
}

#[test]
fn a_member_that_blinked_while_nothing_was_asked_of_it_can_be_re_added() {
    let mut array = create_beside_a_slow_one();
    write_from(&mut array, 0, &mut vec![7; 4096].as_slice()).unwrap();
    let back = blink(&mut array, 1);
    array.re_add_drive(back).unwrap();
    finish(&mut array);
    assert_eq!(array.status().health, Health::Optimal);
    assert_copies_agree(&mut array);
}

/// It is its own array that needs it, and no other one.
#[test]
fn a_member_that_blinked_is_not_made_a_spare_of_an_array_beside_its_own() {
    let mut array = create("50", 6, blank(6));
    write_from(&mut array, 0, &mut vec![7; 64 << 10].as_slice()).unwrap();
    let back = blink(&mut array, 5);
    array.add_drive(back).unwrap();
    finish(&mut array);
    assert_eq!(array.status().health, Health::Optimal);
    // Its place is filled: the array does without any other of that group.
    array.fail_drive(DriveId(4)).unwrap();
    let mut content = Vec::new();
    read_to(&mut array, 0, 64 << 10, &mut content).unwrap();
    assert!(content.iter().all(|byte| *byte == 7));
}

#[test]
fn a_last_copy_that_blinked_is_not_wiped() {
    let mut array = create("1", 2, blank(2));
    write_from(&mut array, 0, &mut vec![7; 4096].as_slice()).unwrap();
    array.fail_drive(DriveId(0)).unwrap();
    let back = blink(&mut array, 1);
    let error = array.add_drive(back).unwrap_err();
    assert!(matches!(error, ManageError::ActiveMember { .. }), "{error}");
}

/// While it is waited whether others follow a member that was lost, a block becomes known as bad.
/// That says nothing of the loss: all others are asked before it is recorded, and a hub without
/// power is found out.
#[test]
fn a_bad_block_that_is_found_meanwhile_has_nobody_recorded_as_lost() {
    let mut array = create("10", 4, blank(5));
    write_from(&mut array, 0, &mut vec![7; 1 << 20].as_slice()).unwrap();
    let area = array.content_map().data_area(DriveId(3)).unwrap();
    array.world_mut().content_mut(3).spoil(area.start + (128 << 10), 4096);
    array.set_background(Background { rate_min_bytes_per_s: 500_000, rate_max_bytes_per_s: 500_000, depth: 1 });
    array.replace_drive(DriveId(3), DriveId(4)).unwrap();
    // The array is marked active, and all is flushed.
    let span = array.request_span(0, 4096);
    assert!(ask(&mut array, Command::Write { offset: 4096, span }));
    assert!(ask(&mut array, Command::Flush));
    ids(0..3).into_iter().for_each(|drive| array.world_mut().unplug(drive));
    assert!(!ask(&mut array, Command::Write { offset: 4096, span }), "it has lost too much");
    let _ = array.rest();
    let mut contents = array.world().picture();
    contents.iter_mut().for_each(|content| content.set_gone(false));
    drop(array);
    let (world, plan) = world_of_sticks(DRIVE_BYTES, contents);
    let mut array = ArrayVolume::open(world, plan, &ids(0..5), &OpenOptions::writable()).unwrap();
    let status = array.status();
    assert_eq!((status.health, status.left_out.len()), (Health::Optimal, 0), "{:?}", status.left_out);
    finish(&mut array);
}

/// Half of the drives were away for a while. The array of each half is whole, and one of its drives
/// stands for it when it comes back: with a bitmap around it by the bitmap, else as a whole.
#[test]
fn an_array_inside_comes_back_by_one_of_its_drives() {
    let bitmap = ConsistencyPolicy::Bitmap { chunk_bytes: Some(16384) };
    for consistency in [bitmap, ConsistencyPolicy::Resync] {
        let options = CreateOptions { consistency, ..create_options("51", None, 4096) };
        let (world, plan) = world_of_sticks(DRIVE_BYTES, blank(6));
        let mut array = ArrayVolume::create(world, plan, &ids(0..6), &options, &OpenOptions::writable()).unwrap();
        write_from(&mut array, 0, &mut vec![7; 1 << 20].as_slice()).unwrap();
        let contents = array.close().unwrap().contents();
        let away = contents[3..].to_vec();
        let (world, plan) = world_of_sticks(DRIVE_BYTES, contents);
        let mut array = ArrayVolume::open(world, plan, &ids(0..3), &OpenOptions::writable()).unwrap();
        write_from(&mut array, 8192, &mut vec![8; 8192].as_slice()).unwrap();
        let mut contents = array.close().unwrap().contents();
        contents.splice(3.., away);
        let (world, plan) = world_of_sticks(DRIVE_BYTES, contents);
        let mut array = ArrayVolume::open(world, plan, &ids(0..6), &OpenOptions::writable()).unwrap();
        assert_eq!((array.status().health, array.status().left_out.len()), (Health::Degraded, 1));
        array.re_add_drive(DriveId(4)).unwrap();
        let again = array.re_add_drive(DriveId(5)).unwrap_err();
        assert!(again.to_string().contains("stick#5"), "it is at work: {again}");
        finish(&mut array);
        assert_eq!((array.status().health, array.status().left_out.len()), (Health::Optimal, 0));
        assert_copies_agree(&mut array);
        let contents = array.close().unwrap().contents();
        let (world, plan) = world_of_sticks(DRIVE_BYTES, contents);
        let mut array = ArrayVolume::open(world, plan, &ids(3..6), &OpenOptions::read_only()).unwrap();
        let mut content = Vec::new();
        read_to(&mut array, 0, 1 << 20, &mut content).unwrap();
        let is_right = |(at, byte): (usize, &u8)| *byte == if (8192..16384).contains(&at) { 8 } else { 7 };
        assert!(content.iter().enumerate().all(is_right), "{consistency:?}");
    }
}
