//! Resyncs: from a position, by regions, under load, with members that fail; and what is trusted
//! before they are done.
#![allow(clippy::single_range_in_vec_init)]

use alloc::vec;
use core::ops::Range;

use super::*;

const ROW: u64 = CHUNK as u64;
/// Rows of [`filled`] arrays.
const ROWS: u64 = 8;

/// An array as after a crash: what is not the data (P and Q), or not the first copy, is wrong in
/// all of `wrong` sync bytes.
fn crashed(level: Level, member_count: usize, wrong: Range<u64>, resync: Option<Resync>) -> (Rig, u64) {
    let states = vec![MemberState::InSync; member_count];
    crashed_with(level, states, wrong, resync)
}

fn crashed_with(level: Level, states: Vec<MemberState>, wrong: Range<u64>, resync: Option<Resync>) -> (Rig, u64) {
    let (mut rig, capacity) = filled(level, states.len());
    let geometry = rig.array.geometry().clone();
    for role in 0..states.len() {
        let bytes = rig.members[role].iter_mut().zip(0..).filter(|(_, at)| *at < geometry.used_bytes(Role(0)));
        for (byte, at) in bytes {
            // P and Q are not wrong in the way in which one wrong data block would make them so.
            *byte ^= match geometry.home(Role(role as u16), at) {
                Home::Data { offset, copy } if copy > 0 && wrong.contains(&offset) => 1,
                Home::P { .. } if wrong.contains(&at) => 1,
                Home::Q { .. } if wrong.contains(&at) => 0xe0,
                _ => 0,
            };
        }
    }
    let members = core::mem::take(&mut rig.members);
    let shape = geometry.shape().clone();
    let logs = vec![BadBlocks::new(16); states.len()];
    let rig =
        Rig::assemble(members, 1, |scratch| Config { resync, bad_blocks: logs, ..Config::new(shape, states, scratch) });
    (rig, capacity)
}

fn whole() -> Option<Resync> {
    Some(Resync { position: 0, only: None })
}

/// The background stands still.
fn pause(rig: &mut Rig) {
    let slow = Background { rate_min_bytes_per_s: 1, rate_max_bytes_per_s: 1, depth: 1 };
    rig.array.set_background(rig.now, slow);
}

/// Runs until a request is answered; its bytes.
fn await_answer(rig: &mut Rig, id: RequestId) -> Result<Vec<u8>, RequestError> {
    while rig.result(id).is_none() {
        rig.step();
    }
    let bytes = rig.take_bytes(id);
    rig.result(id).unwrap().map(|()| bytes)
}

fn read_now(rig: &mut Rig, offset: u64, length: u64) -> Result<Vec<u8>, RequestError> {
    let id = rig.submit_read(offset, length);
    await_answer(rig, id)
}

fn write_now(rig: &mut Rig, offset: u64, bytes: &[u8]) -> Result<(), RequestError> {
    let id = rig.submit_write(offset, bytes);
    await_answer(rig, id).map(|_| ())
}

/// Bytes that a scrub finds to disagree.
fn mismatched_bytes(rig: &mut Rig) -> u64 {
    rig.array.scrub(rig.now, ScrubMode::Check).unwrap();
    rig.run();
    match rig.events.last() {
        Some(Event::ScrubFinished { mismatched_bytes, completed: true }) => *mismatched_bytes,
        other => panic!("{other:?}"),
    }
}

fn far2() -> Level {
    Level::Raid10(Raid10Layout { near: 1, far: 2, offset: false, far_sets: false })
}

fn levels() -> Vec<(Level, usize)> {
    vec![
        (Level::Raid1, 2),
        (Level::Raid1, 3),
        (Level::Raid4, 4),
        (RAID5, 4),
        (RAID6, 5),
        (NEAR2, 3),
        (NEAR2, 4),
        (far2(), 4),
    ]
}

#[test]
fn a_resync_starts_by_itself_and_makes_everything_agree_with_the_data() {
    for (level, member_count) in levels() {
        let (mut rig, capacity) = crashed(level, member_count, 0..u64::MAX, whole());
        assert_eq!(rig.array.resync_position(), Some(0));
        rig.run();
        assert_eq!(rig.events, [Event::ResyncFinished], "{level:?}");
        assert_eq!(rig.array.resync_position(), None);
        assert_eq!(mismatched_bytes(&mut rig), 0, "{level:?}");
        assert!(rig.read(0, capacity).unwrap() == pattern(capacity, 1));
    }
}

#[test]
fn a_resync_goes_on_from_its_position_and_keeps_to_its_regions() {
    for (level, member_count) in levels() {
        let total = crashed(level, member_count, 0..0, None).0.array.geometry().sync_bytes();
        let mut only = Regions::new(2 * ROW, total);
        only.insert(0..ROW);
        only.insert(total - 4 * ROW..total - 3 * ROW);
        for (position, only, expected) in [
            (3 * ROW, None, vec![0..3 * ROW]),
            (0, Some(only.clone()), vec![2 * ROW..total - 4 * ROW, total - 2 * ROW..total]),
            (ROW, Some(only), vec![0..ROW, 2 * ROW..total - 4 * ROW, total - 2 * ROW..total]),
        ] {
            let resync = Some(Resync { position, only });
            let (mut rig, _) = crashed(level, member_count, 0..u64::MAX, resync);
            rig.run();
            assert_eq!(rig.events, [Event::ResyncFinished]);
            rig.array.scrub(rig.now, ScrubMode::Check).unwrap();
            rig.run();
            let geometry = rig.array.geometry().clone();
            for at in (0..total).step_by(BLOCK as usize) {
                let is_wrong = rig.events.iter().any(|event| match event {
                    Event::Mismatch(mismatch) => {
                        let Range { start, end } = mismatch.member_range;
                        let start = match geometry.home(mismatch.role, start) {
                            Home::Data { offset, .. } => offset..offset + (end - start),
                            _ => start..end,
                        };
                        start.contains(&at)
                    }
                    _ => false,
                });
                let expected = expected.iter().any(|range| range.contains(&at));
                assert_eq!(is_wrong, expected, "{level:?} of {member_count} at {at}");
            }
        }
    }
}

#[test]
fn mirrors_that_may_differ_are_read_from_one_copy_until_they_agree() {
    for (level, member_count) in [(Level::Raid1, 2), (Level::Raid1, 3), (NEAR2, 4), (far2(), 4)] {
        let (mut rig, capacity) = crashed(level, member_count, 0..u64::MAX, whole());
        pause(&mut rig);
        for _ in 0..4 {
            let ids: Vec<_> = (0..capacity / ROW).map(|row| rig.submit_read(row * ROW, ROW)).collect();
            for (id, row) in ids.into_iter().zip(0..) {
                let right = &pattern(capacity, 1)[(row * ROW) as usize..][..ROW as usize];
                assert!(await_answer(&mut rig, id).unwrap() == right, "{level:?} row {row}");
            }
        }
    }
}

#[test]
fn beyond_the_position_parity_is_computed_anew_and_below_it_changed() {
    for (level, member_count, modify, reconstruct) in [(RAID5, 6, (2, 2), (4, 2)), (RAID6, 7, (3, 3), (4, 3))] {
        let row_bytes = rig_row_bytes(level, member_count);
        let resync = Some(Resync { position: 2 * ROW, only: None });
        let (mut rig, _) = crashed(level, member_count, 2 * ROW..u64::MAX, resync);
        pause(&mut rig);
        rig.poll();
        while rig.in_flight() > 0 {
            rig.step();
        }
        for (row, expected) in [(0, modify), (6, reconstruct)] {
            (rig.reads, rig.writes) = (0, 0);
            write_now(&mut rig, row * row_bytes, &pattern(BLOCK, 9)).unwrap();
            assert_eq!((rig.reads, rig.writes), expected, "{level:?} row {row}");
        }
        // The columns that were written are in sync, so what is lost of them can be had.
        let (role, at) = rig.array.geometry().piece(6 * row_bytes, BLOCK).copies[0];
        let other = rig.array.geometry().piece(6 * row_bytes + ROW, BLOCK).copies[0];
        for (role, offset, seed) in [(role, 6 * row_bytes, 9), (other.0, 6 * row_bytes + ROW, 0)] {
            rig.unreadable.push((role.0, at / BLOCK));
            let right = if seed == 9 {
                pattern(BLOCK, 9)
            } else {
                pattern(8 * row_bytes, 1)[offset as usize..][..BLOCK as usize].to_vec()
            };
            assert!(read_now(&mut rig, offset, BLOCK).unwrap() == right);
            let is_unproven = |event: &Event| matches!(event, Event::Healed { proven: false, .. });
            assert!(rig.events.iter().any(is_unproven), "{:?}", rig.events);
            rig.events.clear();
        }
    }
}

fn rig_row_bytes(level: Level, member_count: usize) -> u64 {
    let rig = Rig::new(shape(level, member_count, CHUNK, ROWS), 1);
    rig.array.geometry().capacity_bytes() / ROWS
}

#[test]
fn a_member_that_fails_in_a_resync_stops_it_until_there_is_redundancy_again() {
    for (level, member_count) in [(Level::Raid4, 4), (RAID5, 4)] {
        for steps in 0..40 {
            let (mut rig, capacity) = crashed(level, member_count, 0..0, whole());
            (0..steps).for_each(|_| {
                rig.step();
            });
            let before = rig.array.resync_position();
            rig.array.fail_member(rig.now, Role(1)).unwrap();
            rig.run();
            let Some(position) = rig.array.resync_position() else {
                assert_eq!(before, None, "{level:?} {steps}");
                continue;
            };
            assert!(rig.events.contains(&Event::ResyncStopped { position }), "{:?}", rig.events);
            assert!(rig.array.is_idle());
            fresh(&mut rig, 1);
            rig.run();
            let ends = [Event::RebuildFinished(Role(1)), Event::ResyncFinished];
            let found: Vec<_> = rig.events.iter().filter(|event| ends.contains(event)).cloned().collect();
            assert_eq!(found, ends);
            assert_eq!(mismatched_bytes(&mut rig), 0);
            assert!(rig.read(0, capacity).unwrap() == pattern(capacity, 1));
        }
    }
}

#[test]
fn with_redundancy_left_a_resync_goes_on_without_the_member_that_failed() {
    for (level, member_count, failed) in [(RAID6, 5, 2), (Level::Raid1, 3, 0), (Level::Raid1, 3, 1), (NEAR2, 4, 1)] {
        for steps in 0..30 {
            let (mut rig, capacity) = crashed(level, member_count, 0..0, whole());
            (0..steps).for_each(|_| {
                rig.step();
            });
            rig.array.fail_member(rig.now, Role(failed)).unwrap();
            rig.run();
            assert!(rig.events.contains(&Event::ResyncFinished), "{level:?}: {:?}", rig.events);
            fresh(&mut rig, failed);
            rig.run();
            assert_eq!(mismatched_bytes(&mut rig), 0);
            assert!(rig.read(0, capacity).unwrap() == pattern(capacity, 1));
        }
    }
}

#[test]
fn the_resync_comes_before_rebuilds_if_it_can_and_after_them_if_not() {
    let rebuilding = |position| vec![MemberState::Rebuilding { position }, MemberState::InSync, MemberState::InSync];
    let four = [MemberState::InSync, MemberState::InSync];
    for (level, states, is_first) in [
        (RAID5, rebuilding(2 * ROW), false),
        (RAID6, [rebuilding(2 * ROW), four.to_vec()].concat(), true),
        (Level::Raid1, rebuilding(2 * ROW), true),
        (Level::Raid1, rebuilding(2 * ROW)[..2].to_vec(), false),
    ] {
        let (mut rig, capacity) = crashed_with(level, states, 0..2 * ROW, whole());
        if level == Level::Raid1 {
            // The second copy is the first that is in sync as a whole; what is right is what is
            // read at first.
            for byte in 0..2 * ROW as usize {
                let right = rig.members[0][byte];
                rig.members[1..].iter_mut().for_each(|member| member[byte] = right ^ 1);
            }
        }
        rig.run();
        let ends: Vec<_> = rig.events.iter().filter(|event| !matches!(event, Event::ResyncStopped { .. })).collect();
        let expected = [Event::ResyncFinished, Event::RebuildFinished(Role(0))];
        let expected = if is_first { expected } else { [expected[1].clone(), expected[0].clone()] };
        assert_eq!(ends, expected.iter().collect::<Vec<_>>(), "{level:?}");
        assert_eq!(mismatched_bytes(&mut rig), 0, "{level:?}");
        assert!(rig.read(0, capacity).unwrap() == pattern(capacity, 1), "{level:?}");
    }
}

#[test]
fn a_single_copy_is_in_sync_by_definition() {
    let states = vec![MemberState::Missing, MemberState::InSync];
    let (mut rig, _) = crashed_with(Level::Raid1, states, 0..0, whole());
    rig.run();
    assert_eq!((rig.events.as_slice(), rig.array.resync_position()), ([Event::ResyncFinished].as_slice(), None));
}

#[test]
fn what_cannot_be_read_in_a_resync_is_solved_for_and_told_or_lost_and_told() {
    let (mut rig, capacity) = crashed(RAID5, 3, 0..0, whole());
    let geometry = rig.array.geometry().clone();
    let stripe = geometry.stripe(3).unwrap();
    let block = stripe.member_offset / BLOCK + 2;
    rig.unreadable.extend([(stripe.data[0].0, block), (stripe.data[0].0, block + 2), (stripe.data[1].0, block + 2)]);
    rig.run();
    let range = |block: u64| block * BLOCK..(block + 1) * BLOCK;
    let healed = Event::Healed { role: stripe.data[0], member_range: range(block), proven: false };
    let lost = |index: usize| Event::Lost {
        role: stripe.data[index],
        member_range: range(block + 2),
        offset: stripe.offset + index as u64 * ROW + 4 * BLOCK,
    };
    for expected in [healed, lost(0), lost(1), Event::ResyncFinished] {
        assert!(rig.events.contains(&expected), "{expected:?} in {:?}", rig.events);
    }
    assert_eq!(rig.events.len(), 4);
    let bad = [0, 1].map(|index| stripe.offset + index * ROW + 4 * BLOCK);
    for offset in (0..capacity).step_by(BLOCK as usize) {
        let read = rig.read(offset, BLOCK);
        assert_eq!(read.is_err(), bad.contains(&offset));
        assert!(read.is_err() || read.unwrap() == pattern(capacity, 1)[offset as usize..][..BLOCK as usize]);
    }
}

#[test]
fn more_doubt_while_a_resync_runs_is_added_to_it() {
    let (mut rig, _) = crashed(RAID5, 4, 0..0, Some(Resync { position: 2 * ROW, only: None }));
    (0..30).for_each(|_| {
        rig.step();
    });
    rig.members[3][100] ^= 1;
    let mut only = Regions::new(ROW, ROWS * ROW);
    only.insert(0..1);
    rig.array.resync(rig.now, Resync { position: 0, only: Some(only) }).unwrap();
    assert_eq!(rig.array.resync_position(), Some(0));
    assert_eq!(rig.array.scrub(rig.now, ScrubMode::Check), Err(CommandError::Busy));
    rig.run();
    assert_eq!(mismatched_bytes(&mut rig), 0);
    assert_eq!(rig.array.scrub(rig.now, ScrubMode::Check), Ok(()));
    assert_eq!(rig.array.resync(rig.now, Resync { position: 0, only: None }), Err(CommandError::Busy));
}

#[test]
fn members_that_are_read_only_are_not_resynced_but_what_is_in_doubt_is_minded() {
    let (rig, capacity) = crashed(Level::Raid1, 2, 0..u64::MAX, None);
    let shape = rig.array.geometry().shape().clone();
    let states = vec![MemberState::InSync; 2];
    let mut rig = Rig::assemble(rig.members, 1, |scratch| Config {
        resync: whole(),
        writable: false,
        ..Config::new(shape, states, scratch)
    });
    for _ in 0..5 {
        assert!(rig.read(0, capacity).unwrap() == pattern(capacity, 1));
    }
    assert_eq!((rig.writes, rig.array.resync_position()), (0, Some(0)));
}

/// Random requests beside the resync: reads bring what the data said, or what was written since.
#[test]
fn a_resync_under_load_is_right_everywhere() {
    for seed in 1..40 {
        for (level, member_count) in levels() {
            let (mut rig, capacity) = crashed(level, member_count, 0..u64::MAX, whole());
            rig.random_seed(seed);
            let mut model = pattern(capacity, 1);
            let mut live: Vec<(RequestId, Range<u64>, bool)> = vec![];
            for _ in 0..300 {
                let start = rig.random(capacity / BLOCK) * BLOCK;
                let range = start..(start + BLOCK * (1 + rig.random(12))).min(capacity);
                let is_free = !live.iter().any(|(_, other, _)| other.start < range.end && range.start < other.end);
                if is_free && live.len() < 6 && rig.random(3) == 0 {
                    let is_write = rig.random(2) == 0;
                    let bytes = pattern(range.end - range.start, rig.random(256) as u8);
                    let id = if is_write {
                        model[range.start as usize..range.end as usize].copy_from_slice(&bytes);
                        rig.submit_write(range.start, &bytes)
                    } else {
                        rig.submit_read(range.start, range.end - range.start)
                    };
                    live.push((id, range, is_write));
                }
                rig.step();
                live.retain(|(id, range, is_write)| {
                    let Some(result) = rig.result(*id) else { return true };
                    let bytes = rig.take_bytes(*id);
                    assert_eq!(result, Ok(()));
                    let is_right = *is_write || bytes == model[range.start as usize..range.end as usize];
                    assert!(is_right, "{level:?} seed {seed}: {range:?}");
                    false
                });
            }
            rig.run();
            assert!(rig.events.contains(&Event::ResyncFinished));
            assert_eq!(mismatched_bytes(&mut rig), 0, "{level:?} seed {seed}");
            assert!(rig.read(0, capacity).unwrap() == model);
        }
    }
}
