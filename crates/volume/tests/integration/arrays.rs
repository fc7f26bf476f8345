//! Arrays on real files: made, written, closed, opened again in another order, degraded, rebuilt,
//! scrubbed.

use std::time::Duration;

use crate::support;
use crate::support::{Bench, pattern};
use shoal_volume::{Background, Event, Health, MemberOn, ScrubMode, Volume};

const LEVELS: [(&str, Option<&str>, usize); 16] = [
    ("linear", None, 3),
    ("0", None, 4),
    ("1", None, 2),
    ("4", None, 4),
    ("5", None, 4),
    ("5", Some("right-asymmetric"), 3),
    ("6", None, 5),
    ("6", Some("ddf-zero-restart"), 5),
    ("6", Some("left-symmetric-6"), 6),
    ("10", None, 4),
    ("10", Some("f2"), 3),
    ("10", Some("o2"), 5),
    ("50", None, 6),
    ("60", None, 8),
    ("51", None, 6),
    ("61", None, 8),
];

/// What is written is read, now and after the members have been given in another order.
#[test]
fn content_survives_closing_and_reordering() {
    for (level, layout, drives) in LEVELS {
        let bench = Bench::new(drives);
        let mut array = bench.create(level, layout);
        let data = pattern(array.size_bytes() as usize, 1);
        support::write(&mut array, 0, &data);
        assert_eq!(support::read(&mut array, 0, data.len()), data, "raid {level} {layout:?}");
        array.close().unwrap();
        let mut array = bench.open((0..drives).rev(), true);
        assert!(!array.status().needs_resync);
        assert_eq!(support::read(&mut array, 0, data.len()), data, "raid {level} {layout:?}, reordered");
        array.close().unwrap();
    }
}

/// Any bytes anywhere, not only whole blocks.
#[test]
fn transfers_take_any_offset_and_length() {
    let bench = Bench::new(4);
    let mut array = bench.create("5", None);
    let mut data = pattern(array.size_bytes() as usize, 1);
    support::write(&mut array, 0, &data);
    for (offset, length) in [(1, 1), (511, 2), (4095, 70_001), (123_457, 300_003), (data.len() - 5, 5)] {
        let new = pattern(length, offset as u64);
        support::write(&mut array, offset as u64, &new);
        data[offset..offset + length].copy_from_slice(&new);
        assert_eq!(support::read(&mut array, offset as u64, length), new);
    }
    assert_eq!(support::read(&mut array, 0, data.len()), data);
    array.close().unwrap();
}

/// A member fails, the array is written, a drive takes its place: content and redundancy are whole
/// again.
#[test]
fn a_lost_member_is_replaced() {
    for (level, layout, drives) in LEVELS.into_iter().filter(|(level, _, _)| !["linear", "0"].contains(level)) {
        let bench = Bench::new(drives + 1);
        let mut array = bench.create_on(0..drives, level, layout);
        let mut data = pattern(array.size_bytes() as usize, 1);
        support::write(&mut array, 0, &data);
        let failing = array.drives()[1];
        array.fail_drive(failing).unwrap();
        let nested = level.len() == 2 && level != "10";
        if !nested {
            assert_eq!(array.status().health, Health::Degraded);
        }
        let new = pattern(500_000, 2);
        support::write(&mut array, 70_000, &new);
        data[70_000..570_000].copy_from_slice(&new);
        assert_eq!(support::read(&mut array, 0, data.len()), data, "raid {level} {layout:?}, degraded");
        array.close().unwrap();

        let mut array = bench.open((0..drives).filter(|&drive| drive != 1), true);
        assert_eq!(support::read(&mut array, 0, data.len()), data, "raid {level} {layout:?}, reopened");
        array.close().unwrap();

        let mut array = bench.open_adding((0..drives).filter(|&drive| drive != 1), drives);
        let added = *array.drives().last().unwrap();
        array.add_drive(added).unwrap();
        array.finish_background();
        assert_eq!(array.status().health, Health::Optimal, "raid {level} {layout:?}");
        assert_eq!(array.scrub_mismatches(ScrubMode::Check), 0, "raid {level} {layout:?}");
        array.close().unwrap();

        let mut array = bench.open((0..=drives).filter(|&drive| drive != 1), true);
        assert_eq!(array.status().health, Health::Optimal);
        assert_eq!(support::read(&mut array, 0, data.len()), data, "raid {level} {layout:?}, rebuilt");
        array.close().unwrap();
    }
}

/// A member that missed writes is not used, even when it is back under its old name.
#[test]
fn a_stale_member_stays_out() {
    let bench = Bench::new(4);
    let mut array = bench.create("5", None);
    let mut data = pattern(array.size_bytes() as usize, 1);
    support::write(&mut array, 0, &data);
    array.close().unwrap();
    let mut array = bench.open(0..3, true);
    let new = pattern(100_000, 2);
    support::write(&mut array, 0, &new);
    data[..100_000].copy_from_slice(&new);
    array.close().unwrap();

    let mut array = bench.open(0..4, true);
    let status = array.status();
    assert_eq!(status.health, Health::Degraded);
    assert_eq!(status.left_out.len(), 1);
    assert!(status.left_out[0].name.ends_with("drive3"), "{status:?}");
    assert_eq!(support::read(&mut array, 0, data.len()), data);
    array.close().unwrap();
}

/// Opening for reading changes no byte of any drive.
#[test]
fn reading_writes_nothing() {
    let bench = Bench::new(4);
    let mut array = bench.create("6", None);
    let data = pattern(array.size_bytes() as usize, 1);
    support::write(&mut array, 0, &data);
    array.close().unwrap();
    let before = bench.bytes();
    let mut array = bench.open([3, 1], false);
    assert_eq!(support::read(&mut array, 0, data.len()), data);
    array.close().unwrap();
    assert!(bench.bytes() == before, "a drive has changed");
}

/// Damage that no drive reports is found by a scrub, with its place, and repaired.
#[test]
fn a_scrub_finds_and_repairs_damage() {
    for (level, layout, drives) in [("1", None, 2), ("5", None, 4), ("6", None, 5), ("10", None, 4)] {
        let bench = Bench::new(drives);
        let mut array = bench.create(level, layout);
        let data = pattern(array.size_bytes() as usize, 1);
        support::write(&mut array, 0, &data);
        array.close().unwrap();
        bench.damage(drives - 1, 1 << 20, 3 * 4096);
        let mut array = bench.open(0..drives, true);
        assert_eq!(array.scrub_mismatches(ScrubMode::Check), 3 * 4096, "raid {level}");
        assert!(array.scrub_mismatches(ScrubMode::Repair) > 0);
        assert_eq!(array.scrub_mismatches(ScrubMode::Check), 0, "raid {level}");
        array.close().unwrap();
    }
}

/// One of the arrays inside has nothing left to compare with.
#[test]
fn a_scrub_that_is_refused_of_one_array_begins_in_none() {
    let bench = Bench::new(6);
    let mut array = bench.create("51", None);
    let failing = array.drives()[4];
    array.fail_drive(failing).unwrap();
    array.finish_background();
    let refused = array.scrub(ScrubMode::Check).unwrap_err().to_string();
    assert!(refused.contains("no redundancy"), "{refused}");
    assert_eq!(array.progress(), None);
    array.close().unwrap();
}

/// It is not kept waiting by a scrub that could go on without the member.
#[test]
fn a_scrub_gives_way_to_a_spare_that_is_needed() {
    let bench = Bench::new(6);
    let mut array = bench.create_with_spares("6", 1);
    let at_most = |rate| Background { rate_min_bytes_per_s: rate, rate_max_bytes_per_s: rate, depth: 4 };
    array.set_background(at_most(1 << 20));
    array.scrub(ScrubMode::Check).unwrap();
    let failing = array.drives()[2];
    array.fail_drive(failing).unwrap();
    array.run_background(Duration::from_millis(100)).unwrap();
    assert!(!array.is_scrubbing());
    array.set_background(at_most(1 << 30));
    let news = array.finish_background();
    let events: Vec<_> = news.into_iter().map(|news| news.event).collect();
    assert!(events.contains(&Event::ScrubFinished { mismatched_bytes: 0, completed: false }), "{events:?}");
    assert!(events.contains(&Event::RebuildFinished(shoal_volume::Role(2))), "{events:?}");
    array.close().unwrap();
}

/// A spare takes over at once.
#[test]
fn a_spare_takes_over() {
    let bench = Bench::new(5);
    let mut array = bench.create_with_spares("5", 1);
    let data = pattern(array.size_bytes() as usize, 1);
    support::write(&mut array, 0, &data);
    assert_eq!(array.status().spares.len(), 1);
    let failing = array.drives()[2];
    array.fail_drive(failing).unwrap();
    let news = array.finish_background();
    assert!(news.iter().any(|news| matches!(news.event, Event::RebuildFinished(_))), "{news:?}");
    let status = array.status();
    assert_eq!(status.health, Health::Optimal);
    let on: Vec<_> = status.members.iter().map(|member| member.on.clone()).collect();
    assert!(matches!(&on[2], Some(MemberOn::Drive(path)) if path.ends_with("drive4")), "{on:?}");
    assert_eq!(support::read(&mut array, 0, data.len()), data);
    array.close().unwrap();
}
