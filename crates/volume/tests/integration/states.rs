//! What the superblocks say while an array runs, and what becomes of it after a crash.

use std::time::{Duration, Instant};

use crate::support;
use crate::support::{Bench, Running, create_options, pattern};
use shoal_drive::Access;
use shoal_volume::{
    ArrayVolume, Background, CreateOptions, Health, Incomplete, LiveVolume, ManageError, MemberOn, MemberUse,
    OpenError, OpenOptions, ScrubMode, Superblock, Volume,
};

/// md's delay, after which an array nobody writes to is clean.
const DELAY: Duration = Duration::from_millis(200);
/// What takes longer hangs, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(180);

/// Lets the array live until it is so.
fn turn_until(array: &mut Running, what: &str, is_so: impl Fn(&Running) -> bool) {
    let start = Instant::now();
    while !is_so(array) {
        assert!(start.elapsed() < PATIENCE, "{what}");
        array.turn_for(Duration::from_millis(20));
    }
}

/// Writes, after which a crash must not go unnoticed. An array that was held up for as long as the
/// delay may be clean again: that says nothing, and it is written once more.
fn write_and_be_active(bench: &Bench, array: &mut Running, what: &str) {
    for seed in 0..100 {
        let start = Instant::now();
        support::write(array, 0, &pattern(100_000, seed));
        let is_clean = bench.are_clean();
        if !is_clean || start.elapsed() < DELAY {
            return assert!(!is_clean, "{what}, and a crash would go unnoticed");
        }
    }
    panic!("the machine is too slow to say");
}

/// Written to, then left alone: the superblocks say clean, though nobody has closed it; written to
/// again, they do not.
#[test]
fn an_array_left_alone_is_clean() {
    for (level, drives) in [("1", 2), ("5", 3), ("6", 4), ("10", 4), ("51", 6)] {
        let bench = Bench::new(drives);
        let mut array = bench.create(level, None);
        write_and_be_active(&bench, &mut array, &format!("raid{level}: written to"));
        turn_until(&mut array, &format!("raid{level}: left alone, and never clean"), |_| bench.are_clean());
        write_and_be_active(&bench, &mut array, &format!("raid{level}: written to again"));
        array.close().unwrap();
        assert!(bench.are_clean(), "raid{level}: closed");
    }
}

/// Somebody who goes on reading does not keep an array from being marked clean.
#[test]
fn readers_do_not_keep_an_array_active() {
    let bench = Bench::new(3);
    let mut array = bench.create("5", None);
    support::write(&mut array, 0, &pattern(100_000, 1));
    let start = Instant::now();
    while !bench.are_clean() {
        support::read(&mut array, 0, 100_000);
        assert!(start.elapsed() < PATIENCE, "still active");
    }
    array.close().unwrap();
}

const REPLACED: [(&str, Option<&str>, usize); 6] =
    [("1", None, 2), ("4", None, 3), ("5", None, 3), ("6", None, 4), ("10", None, 4), ("10", Some("f2"), 3)];

/// An array, all of it written, with one drive more in its world.
fn array_and_one_more(bench: &Bench, level: &str, layout: Option<&str>, drives: usize) -> (Running, Vec<u8>) {
    let mut array = bench.create_on(0..drives, level, layout);
    let data = pattern(array.size_bytes() as usize, 7);
    support::write(&mut array, 0, &data);
    array.close().unwrap();
    (bench.open_adding(0..drives, drives), data)
}

/// Writes here and there, and keeps the expected content in step.
fn scribble(array: &mut Running, data: &mut [u8], seed: u64) {
    for turn in 0..8 {
        let length = 20_000 + 1000 * turn as usize;
        let offset = (seed as usize * 77_777 + turn as usize * 999_999) % (data.len() - length);
        let new = pattern(length, seed + turn);
        support::write(array, offset as u64, &new);
        data[offset..offset + length].copy_from_slice(&new);
    }
}

/// A drive is replaced while the array is written to: content, redundancy and the other drives'
/// word for it are right, and the old drive is out, now and when all are given again.
#[test]
fn a_drive_that_works_is_replaced() {
    for (level, layout, drives) in REPLACED {
        let bench = Bench::new(drives + 1);
        let (mut array, mut data) = array_and_one_more(&bench, level, layout, drives);
        let [old, new] = [array.drives()[1], array.drives()[drives]];
        array.replace_drive(old, new).unwrap();
        assert_eq!(array.status().health, Health::Optimal, "raid{level}: redundancy is never given up");
        scribble(&mut array, &mut data, 1);
        array.finish_background();
        scribble(&mut array, &mut data, 2);
        let status = array.status();
        assert_eq!(status.health, Health::Optimal);
        let on = status.members[1].on.clone();
        assert!(matches!(&on, Some(MemberOn::Drive(path)) if path.ends_with(&format!("drive{drives}"))), "{on:?}");
        assert_eq!(array.scrub_mismatches(ScrubMode::Check), 0, "raid{level} {layout:?}");
        assert!(support::read(&mut array, 0, data.len()) == data, "raid{level} {layout:?}");
        array.remove_drive(old).unwrap();
        array.close().unwrap();

        let mut array = bench.open(0..=drives, true);
        assert_eq!(array.status().health, Health::Optimal);
        assert_eq!(array.status().left_out.len(), 1, "raid{level}: the old drive");
        assert!(support::read(&mut array, 0, data.len()) == data, "raid{level} {layout:?}, reopened");
        array.close().unwrap();
    }
}

/// A new drive would take the missing place. It is refused before anything is written to it.
#[test]
fn a_drive_is_not_replaced_while_another_is_missing() {
    let bench = Bench::new(5);
    let (mut array, _) = array_and_one_more(&bench, "6", None, 4);
    let [lost, old, new] = [0, 1, 4].map(|drive| array.drives()[drive]);
    array.fail_drive(lost).unwrap();
    let refused = array.replace_drive(old, new).unwrap_err();
    assert!(matches!(refused, ManageError::Degraded { .. }), "{refused}");
    assert_eq!(array.status().spares, [""; 0], "it is none");
    array.close().unwrap();
    let first = std::fs::read(bench.path(4)).unwrap();
    assert!(first.iter().all(|byte| *byte == 0), "nothing was written to it");
}

/// Whoever waits for the end of background work finds the replacement in its place, however the
/// turns fall.
#[test]
fn a_replacement_is_under_way_until_it_is_the_member() {
    let bench = Bench::new(4);
    let (mut array, _) = array_and_one_more(&bench, "5", None, 3);
    let [old, new] = [array.drives()[1], array.drives()[3]];
    array.replace_drive(old, new).unwrap();
    let start = Instant::now();
    while array.progress().is_some() {
        assert!(start.elapsed() < PATIENCE, "it does not end: {:?}", array.progress());
        array.turn(Duration::from_millis(20), &mut Vec::new()).unwrap();
    }
    let status = array.status();
    assert_eq!(status.members[1].replacement, None, "the drive is copied, and not yet the member");
    let on = status.members[1].on.clone();
    assert!(matches!(&on, Some(MemberOn::Drive(path)) if path.ends_with("drive3")), "{on:?}");
    array.close().unwrap();
}

/// The copying goes on after a stop in the middle, orderly or not.
#[test]
fn a_replacement_goes_on_where_it_stood() {
    for orderly in [true, false] {
        let bench = Bench::new(4);
        let (mut array, mut data) = array_and_one_more(&bench, "5", None, 3);
        array.set_background(Background { rate_min_bytes_per_s: 1, rate_max_bytes_per_s: 1 << 20, depth: 1 });
        let [old, new] = [array.drives()[0], array.drives()[3]];
        array.replace_drive(old, new).unwrap();
        scribble(&mut array, &mut data, 3);
        let is_noted = |_: &Running| bench.superblock(3).recovery_offset_sectors > 0;
        turn_until(&mut array, "nothing is written down of how far it has come", is_noted);
        scribble(&mut array, &mut data, 4);
        if orderly {
            array.close().unwrap();
        } else {
            // Only a copy that was never written past is gone on with; after that power may be cut.
            turn_until(&mut array, "still active", |_| bench.are_clean());
            drop(array);
        }
        let position = bench.superblock(3).recovery_offset_sectors;
        assert!(position > 0, "nothing was written down of how far it had come");
        let mut array = bench.open(0..4, true);
        let copied = array.status().members[0].replacement.clone().map(|replacement| replacement.position);
        assert!(copied >= Some(position * 512), "{copied:?}");
        array.finish_background();
        assert_eq!(array.status().members[0].replacement, None);
        assert_eq!(array.scrub_mismatches(ScrubMode::Check), 0);
        assert!(support::read(&mut array, 0, data.len()) == data);
        array.close().unwrap();
        let mut array = bench.open([1, 2, 3], true);
        assert_eq!(array.status().health, Health::Optimal, "the old drive is not needed");
        assert!(support::read(&mut array, 0, data.len()) == data);
        array.close().unwrap();
    }
}

/// The drive that is being replaced fails: its replacement becomes the member, and what was written
/// meanwhile is right.
#[test]
fn a_replacement_succeeds_a_member_that_fails() {
    for (level, layout, drives) in REPLACED {
        let bench = Bench::new(drives + 1);
        let (mut array, mut data) = array_and_one_more(&bench, level, layout, drives);
        array.set_background(Background { rate_min_bytes_per_s: 1, rate_max_bytes_per_s: 1 << 20, depth: 1 });
        let [old, new] = [array.drives()[1], array.drives()[drives]];
        array.replace_drive(old, new).unwrap();
        scribble(&mut array, &mut data, 5);
        array.turn_for(Duration::from_millis(500));
        array.fail_drive(old).unwrap();
        scribble(&mut array, &mut data, 6);
        array.set_background(OpenOptions::writable().background);
        array.finish_background();
        assert_eq!(array.status().health, Health::Optimal, "raid{level} {layout:?}");
        assert_eq!(array.scrub_mismatches(ScrubMode::Check), 0, "raid{level} {layout:?}");
        assert!(support::read(&mut array, 0, data.len()) == data, "raid{level} {layout:?}");
        array.close().unwrap();
    }
}

/// The replacement is given up: the original goes on as if nothing had been.
#[test]
fn a_replacement_can_be_given_up() {
    let bench = Bench::new(4);
    let (mut array, mut data) = array_and_one_more(&bench, "5", None, 3);
    array.set_background(Background { rate_min_bytes_per_s: 1, rate_max_bytes_per_s: 1 << 20, depth: 1 });
    let [old, new] = [array.drives()[2], array.drives()[3]];
    array.replace_drive(old, new).unwrap();
    assert!(array.remove_drive(new).is_err(), "it is in use");
    assert!(array.replace_drive(old, new).is_err(), "one at a time");
    scribble(&mut array, &mut data, 8);
    array.fail_drive(new).unwrap();
    scribble(&mut array, &mut data, 9);
    array.finish_background();
    array.remove_drive(new).unwrap();
    assert_eq!(array.status().health, Health::Optimal);
    assert_eq!(array.scrub_mismatches(ScrubMode::Check), 0);
    assert!(support::read(&mut array, 0, data.len()) == data);
    array.close().unwrap();
    let mut array = bench.open(0..3, true);
    assert_eq!(array.status().health, Health::Optimal);
    assert!(support::read(&mut array, 0, data.len()) == data);
    array.close().unwrap();
}

/// It holds nothing, and is a blank drive again: else the array would take it for a spare whenever
/// it is given, and fill it.
#[test]
fn a_spare_that_is_removed_is_no_spare_any_more() {
    let bench = Bench::new(4);
    let (mut array, _) = array_and_one_more(&bench, "5", None, 3);
    let spare = array.drives()[3];
    array.add_drive(spare).unwrap();
    array.rest().unwrap();
    assert_eq!(bench.superblock(3).array_uuid, bench.superblock(0).array_uuid);
    array.remove_drive(spare).unwrap();
    array.close().unwrap();
    assert!(bench.read_superblock(3).is_err(), "it names no array");
}

/// A drive that failed leaves, and its number is free; one in use does not.
#[test]
fn a_failed_drive_is_forgotten() {
    let bench = Bench::new(4);
    let (mut array, data) = array_and_one_more(&bench, "5", None, 3);
    let [first, second] = [array.drives()[0], array.drives()[1]];
    let refused = array.remove_drive(first).unwrap_err().to_string();
    assert!(refused.contains("drive0") && refused.contains("in use"), "{refused}");
    array.fail_drive(second).unwrap();
    array.remove_drive(second).unwrap();
    assert!(array.remove_drive(second).is_err(), "it is gone already");
    array.close().unwrap();
    let faulty =
        |superblock: &Superblock| (0..128).filter(|&number| superblock.member_use(number) == MemberUse::Faulty).count();
    assert_eq!(faulty(&bench.superblock(0)), 0);
    let mut array = bench.open([0, 2], true);
    assert!(support::read(&mut array, 0, data.len()) == data);
    array.close().unwrap();
}

/// An array inside another is there, and what it is to resync would be written; the one around it
/// is not to be had.
#[test]
fn what_is_refused_as_a_whole_is_not_resynced_in_its_parts() {
    let bench = Bench::new(6);
    let (world, plan, drives) = bench.world(0..6, Access::Write);
    let unsynced = CreateOptions { assume_clean: false, ..create_options("50", None, 16 << 10) };
    let array = ArrayVolume::create(world, plan, &drives, &unsynced, &OpenOptions::writable()).unwrap();
    drop(array);
    bench.damage(2, 0, 16 << 10); // parity of the first stripe
    let before = bench.bytes();
    let (world, plan, drives) = bench.world(0..4, Access::Write);
    let options = OpenOptions { incomplete: Incomplete::Refused, ..OpenOptions::writable() };
    let error = ArrayVolume::open(world, plan, &drives, &options).map(drop).unwrap_err();
    assert!(matches!(error, OpenError::Incomplete { .. }), "{error}");
    assert!(bench.bytes() == before, "something was written");
}
