//! Short stories of the engine.
#![allow(clippy::unwrap_used)]

mod bad_blocks;
mod double_faults;
mod fuzz;
mod guided;
mod hostile;
mod liars;
mod put_off;
mod rebuilds;
mod renewals;
mod resync;
mod rig;

use alloc::{vec, vec::Vec};

use crate::*;
use rig::{BLOCK, Rig, shape};

const RAID5: Level = Level::Raid5(ParityLayout::LeftSymmetric);
const RAID6: Level = Level::Raid6(ParityLayout::LeftSymmetric);
const NEAR2: Level = Level::Raid10(Raid10Layout { near: 2, far: 1, offset: false, far_sets: false });
const CHUNK: u32 = 4096;

fn pattern(length: u64, seed: u8) -> Vec<u8> {
    (0..length).map(|at| seed ^ (at / BLOCK) as u8 ^ (at % 251) as u8).collect()
}

/// An array of eight rows, filled with [`pattern`]; its capacity.
fn filled(level: Level, member_count: usize) -> (Rig, u64) {
    let mut rig = Rig::new(shape(level, member_count, CHUNK, 8), 1);
    let capacity = rig.array.geometry().capacity_bytes();
    rig.write(0, &pattern(capacity, 1)).unwrap();
    (rig.reads, rig.writes) = (0, 0);
    rig.events.clear();
    (rig, capacity)
}

fn fail(rig: &mut Rig, role: u16) {
    rig.array.fail_member(rig.now, Role(role)).unwrap();
    rig.run();
}

fn fresh(rig: &mut Rig, role: u16) {
    rig.members[usize::from(role)].fill(0x99);
    rig.array.rebuild_member(rig.now, Role(role), 0, None).unwrap();
}

#[test]
fn a_full_stripe_is_written_without_reading() {
    let (mut rig, _) = filled(RAID6, 6);
    rig.write(4 * u64::from(CHUNK), &pattern(4 * u64::from(CHUNK), 7)).unwrap();
    assert_eq!((rig.reads, rig.writes), (0, 6));
}

#[test]
fn a_small_write_reads_and_writes_one_block_and_parity() {
    let (mut rig, _) = filled(RAID6, 6);
    rig.write(BLOCK, &pattern(BLOCK, 7)).unwrap();
    assert_eq!((rig.reads, rig.writes), (3, 3));
}

#[test]
fn a_write_of_most_of_a_stripe_reads_the_rest() {
    let (mut rig, _) = filled(RAID5, 6);
    rig.write(0, &pattern(4 * u64::from(CHUNK), 7)).unwrap();
    assert_eq!((rig.reads, rig.writes), (1, 5));
}

#[test]
fn small_writes_submitted_together_become_a_full_stripe() {
    let (mut rig, _) = filled(RAID5, 5);
    for index in (0..4 * u64::from(CHUNK) / BLOCK).rev() {
        rig.submit_write(index * BLOCK, &pattern(BLOCK, index as u8));
    }
    rig.run();
    assert_eq!((rig.reads, rig.writes), (0, 5));
}

#[test]
fn overlapping_writes_end_in_the_order_they_came() {
    for level in [Level::Raid0(Raid0Layout::Original), Level::Raid1, RAID5, NEAR2] {
        let (mut rig, _) = filled(level, 4);
        rig.submit_write(0, &pattern(8 * BLOCK, 2));
        rig.submit_write(4 * BLOCK, &pattern(8 * BLOCK, 3));
        assert_eq!(rig.read(4 * BLOCK, 8 * BLOCK).unwrap(), pattern(8 * BLOCK, 3));
    }
}

#[test]
fn a_write_to_a_missing_member_is_read_back_from_parity() {
    let (mut rig, capacity) = filled(RAID5, 4);
    fail(&mut rig, 1);
    let mut expected = pattern(capacity, 1);
    for offset in (0..capacity).step_by(3 * BLOCK as usize) {
        let new = pattern(BLOCK, offset as u8);
        expected[offset as usize..][..BLOCK as usize].copy_from_slice(&new);
        rig.write(offset, &new).unwrap();
    }
    assert!(rig.read(0, capacity).unwrap() == expected);
    assert_eq!(rig.array.health(), Health::Degraded);
}

#[test]
fn writes_are_answered_after_the_failure_is_recorded() {
    for level in [Level::Raid1, RAID5, NEAR2] {
        let (mut rig, _) = filled(level, 4);
        rig.hold_records = true;
        rig.gone.push(0);
        let write = rig.submit_write(0, &pattern(16 * BLOCK, 9));
        rig.run();
        assert_eq!(rig.events, [Event::MemberFailed(Role(0))]);
        let read = rig.submit_read(32 * BLOCK, BLOCK);
        rig.run();
        assert_eq!((rig.result(write), rig.result(read)), (None, Some(Ok(()))));
        rig.hold_records = false;
        rig.run();
        assert_eq!(rig.result(write), Some(Ok(())));
    }
}

#[test]
fn the_last_mirror_stays_and_its_errors_are_passed_on() {
    for level in [Level::Raid1, NEAR2] {
        let (mut rig, _) = filled(level, 2);
        fail(&mut rig, 0);
        assert_eq!(rig.array.fail_member(rig.now, Role(1)), Err(CommandError::NoRedundancy));
        rig.gone.push(1);
        assert_eq!(rig.write(BLOCK, &pattern(BLOCK, 5)), Err(RequestError::Lost { offset: BLOCK }));
        assert_eq!(rig.read(BLOCK, BLOCK), Err(RequestError::Lost { offset: BLOCK }));
        rig.gone.clear();
        rig.write(BLOCK, &pattern(BLOCK, 6)).unwrap();
        assert_eq!(rig.read(BLOCK, BLOCK).unwrap(), pattern(BLOCK, 6));
    }
}

#[test]
fn only_the_block_that_cannot_be_read_is_written_anew() {
    for level in [Level::Raid1, NEAR2, RAID5, RAID6] {
        let (mut rig, capacity) = filled(level, 4);
        // Of the third chunk of data, wherever it lies.
        let (role, at) = rig.array.geometry().piece(2 * u64::from(CHUNK) + 3 * BLOCK, BLOCK).copies[0];
        rig.unreadable.push((role.0, at / BLOCK));
        assert!(rig.read(0, capacity).unwrap() == pattern(capacity, 1));
        let healed = Event::Healed { role, member_range: at..at + BLOCK, proven: true };
        let healings: Vec<_> = rig.events.iter().filter(|event| matches!(event, Event::Healed { .. })).collect();
        assert_eq!((healings, rig.writes), (vec![&healed], 1), "{level:?}");
        assert!(rig.unreadable.is_empty());
    }
}

#[test]
fn bad_blocks_of_two_members_in_different_places_are_no_loss() {
    let (mut rig, capacity) = filled(RAID5, 4);
    rig.unreadable.extend((0..4).map(|role| (role, u64::from(role))));
    rig.unreadable.push((0, 7));
    assert!(rig.read(0, capacity).unwrap() == pattern(capacity, 1));
    rig.array.scrub(rig.now, ScrubMode::Check).unwrap();
    rig.run();
    assert!(rig.unreadable.is_empty());
    assert_eq!(rig.array.health(), Health::Optimal);
}

#[test]
fn a_bad_block_without_redundancy_is_named_and_its_member_stays() {
    let (mut rig, capacity) = filled(RAID5, 3);
    let geometry = rig.array.geometry().clone();
    let (role, at) = geometry.piece(5 * BLOCK, BLOCK).copies[0];
    let (partner, _) = geometry.piece(u64::from(CHUNK), BLOCK).copies[0];
    fail(&mut rig, partner.0);
    rig.unreadable.push((role.0, at / BLOCK));
    let error = Err(RequestError::Unreadable { offset: 5 * BLOCK });
    assert_eq!(rig.read(0, u64::from(CHUNK)), error);
    assert_eq!(rig.read(0, capacity), error);
    assert_eq!(rig.read(0, 5 * BLOCK).unwrap(), pattern(5 * BLOCK, 1));
    assert!(rig.read(6 * BLOCK, u64::from(CHUNK) - BLOCK).is_ok(), "the same stripe, other columns");
    assert_eq!(rig.write(5 * BLOCK, &pattern(BLOCK, 4)), Err(RequestError::Unreadable { offset: 5 * BLOCK }));
    assert_eq!(rig.array.health(), Health::Degraded);
}

#[test]
fn a_write_that_cannot_be_done_does_not_hurt_its_neighbours() {
    let (mut rig, _) = filled(RAID5, 4);
    let geometry = rig.array.geometry().clone();
    let chunk = u64::from(CHUNK);
    let [lost, bad, _good] = [0, chunk, 2 * chunk].map(|offset| geometry.piece(offset, BLOCK).copies[0]);
    fail(&mut rig, lost.0.0);
    rig.unreadable.push((bad.0.0, bad.1 / BLOCK));
    let (fails, works) = (rig.submit_write(chunk, &pattern(BLOCK, 3)), rig.submit_write(2 * chunk, &pattern(BLOCK, 4)));
    rig.run();
    assert_eq!(rig.result(fails), Some(Err(RequestError::Unreadable { offset: chunk })));
    assert_eq!(rig.result(works), Some(Ok(())));
    assert_eq!(rig.read(2 * chunk, BLOCK).unwrap(), pattern(BLOCK, 4));
}

#[test]
fn a_rebuild_stops_at_a_block_that_no_member_has_and_can_go_on_later() {
    let (mut rig, capacity) = filled(RAID5, 3);
    fail(&mut rig, 0);
    rig.unreadable.push((1, 30));
    fresh(&mut rig, 0);
    rig.run();
    let stopped = Event::RebuildStopped { role: Role(0), member_offset: 30 * BLOCK };
    assert!(rig.events.contains(&stopped), "{:?}", rig.events);
    let position = 30 * BLOCK / u64::from(CHUNK) * u64::from(CHUNK);
    assert_eq!(rig.array.member_states()[0], MemberState::Rebuilding { position });
    rig.unreadable.clear();
    rig.array.rebuild_member(rig.now, Role(0), position, None).unwrap();
    rig.run();
    assert_eq!(rig.array.health(), Health::Optimal);
    assert!(rig.read(0, capacity).unwrap() == pattern(capacity, 1));
}

#[test]
fn two_members_are_rebuilt_one_after_the_other() {
    for (level, lost) in [(RAID6, [0, 3]), (NEAR2, [0, 3])] {
        let (mut rig, capacity) = filled(level, 5);
        lost.into_iter().for_each(|role| fail(&mut rig, role));
        lost.into_iter().for_each(|role| fresh(&mut rig, role));
        rig.run();
        assert_eq!(rig.array.health(), Health::Optimal);
        assert!(rig.read(0, capacity).unwrap() == pattern(capacity, 1));
    }
}

#[test]
fn beyond_what_the_level_survives_the_rest_is_read_and_nothing_written() {
    let (mut rig, _) = filled(RAID5, 3);
    let (kept, _) = rig.array.geometry().piece(0, 1).copies[0];
    (0..3).filter(|role| *role != kept.0).for_each(|role| fail(&mut rig, role));
    assert_eq!(rig.array.health(), Health::Failed);
    let chunk = u64::from(CHUNK);
    assert_eq!(rig.read(0, chunk).unwrap(), pattern(chunk, 1));
    assert_eq!(rig.read(0, 2 * chunk), Err(RequestError::Lost { offset: chunk }));
    assert_eq!(rig.write(0, &pattern(BLOCK, 1)), Err(RequestError::Failed));
    let flush = rig.submit(Command::Flush);
    rig.run();
    assert_eq!(rig.result(flush), Some(Err(RequestError::Failed)));
}

#[test]
fn a_scrub_finds_what_disagrees_and_repairs_it_if_told_to() {
    for (level, role) in [(RAID5, 3), (RAID6, 3), (Level::Raid1, 2), (NEAR2, 1)] {
        let (mut rig, capacity) = filled(level, 4);
        // In row 0 of the left-symmetric layouts P lies on the last member; the others are a second
        // copy.
        rig.members[role][600] ^= 1;
        for (mode, repaired, left) in
            [(ScrubMode::Check, false, BLOCK), (ScrubMode::Repair, true, BLOCK), (ScrubMode::Check, false, 0)]
        {
            rig.events.clear();
            rig.array.scrub(rig.now, mode).unwrap();
            rig.run();
            let finished = Event::ScrubFinished { mismatched_bytes: left, completed: true };
            assert_eq!(rig.events.last(), Some(&finished), "{level:?} {mode:?}");
            for event in &rig.events[..rig.events.len() - 1] {
                let Event::Mismatch(mismatch) = event else { panic!("{event:?}") };
                assert_eq!((mismatch.role, mismatch.repaired), (Role(role as u16), repaired));
                assert_eq!(mismatch.member_range, BLOCK..2 * BLOCK);
            }
        }
        assert!(rig.read(0, capacity).unwrap() == pattern(capacity, 1));
    }
}

#[test]
fn a_scrub_needs_something_to_compare_with() {
    for (level, lost) in [(Level::Raid0(Raid0Layout::Original), vec![]), (RAID5, vec![0]), (RAID6, vec![0, 1])] {
        let (mut rig, _) = filled(level, 4);
        lost.into_iter().for_each(|role| fail(&mut rig, role));
        assert_eq!(rig.array.scrub(rig.now, ScrubMode::Check), Err(CommandError::NoRedundancy));
    }
    let (mut rig, _) = filled(RAID6, 5);
    fail(&mut rig, 1);
    rig.array.scrub(rig.now, ScrubMode::Check).unwrap();
    assert_eq!(rig.array.scrub(rig.now, ScrubMode::Check), Err(CommandError::Busy));
    rig.run();
    assert_eq!(rig.events.last(), Some(&Event::ScrubFinished { mismatched_bytes: 0, completed: true }));
}

#[test]
fn members_that_are_read_only_are_never_written() {
    for level in [Level::Raid1, RAID5] {
        let states = vec![MemberState::InSync; 3];
        let mut rig = Rig::with_states(shape(level, 3, CHUNK, 8), states, 1, false);
        rig.unreadable.push((0, 1));
        assert_eq!(rig.read(0, 16 * BLOCK).unwrap(), vec![0; 16 * BLOCK as usize]);
        assert_eq!(rig.write(0, &pattern(BLOCK, 1)), Err(RequestError::ReadOnly));
        rig.array.fail_member(rig.now, Role(1)).unwrap();
        assert_eq!(rig.array.rebuild_member(rig.now, Role(1), 0, None), Err(CommandError::ReadOnly));
        assert_eq!(rig.array.scrub(rig.now, ScrubMode::Repair), Err(CommandError::ReadOnly));
        rig.run();
        assert_eq!(rig.writes, 0);
    }
}

#[test]
fn discards_go_to_members_or_are_refused() {
    for (level, expected) in
        [(Level::Linear, Ok(())), (Level::Raid1, Ok(())), (NEAR2, Ok(())), (RAID5, Err(RequestError::Unsupported))]
    {
        let (mut rig, capacity) = filled(level, 4);
        let discard = rig.submit(Command::Discard { offset: 0, length: capacity });
        rig.run();
        assert_eq!(rig.result(discard), Some(expected));
    }
}

#[test]
fn requests_that_cannot_be_are_answered_at_once() {
    let (mut rig, capacity) = filled(RAID5, 4);
    for (offset, length, expected) in [
        (1, BLOCK, Err(RequestError::Misaligned)),
        (0, 1, Err(RequestError::Misaligned)),
        (capacity, BLOCK, Err(RequestError::OutOfRange)),
        (u64::MAX - BLOCK + 1, BLOCK, Err(RequestError::OutOfRange)),
        (capacity, 0, Ok(())),
    ] {
        let id = rig.submit_read(offset, length);
        rig.poll();
        assert_eq!(rig.result(id), Some(expected), "{offset} {length}");
    }
}

#[test]
fn a_rebuild_yields_to_requests_but_never_stands_still() {
    let (mut rig, _) = filled(RAID5, 3);
    fail(&mut rig, 0);
    let slow = Background { rate_min_bytes_per_s: 4_096_000, rate_max_bytes_per_s: 1 << 40, depth: 4 };
    rig.array.set_background(rig.now, slow);
    fresh(&mut rig, 0);
    rig.submit_read(0, BLOCK);
    let start = rig.now;
    rig.run();
    let took_ns = rig.now.since_ns(start);
    assert!((1_000_000..120_000_000).contains(&took_ns), "{took_ns}");
    assert_eq!(rig.array.health(), Health::Optimal);
}

#[test]
fn a_request_of_thousands_of_pieces_is_cut_bit_by_bit() {
    for level in [Level::Raid0(Raid0Layout::Original), RAID5] {
        let mut rig = Rig::new(shape(level, 3, CHUNK, 1500), 1);
        let capacity = rig.array.geometry().capacity_bytes();
        let write = rig.submit_write(0, &pattern(capacity, 3));
        rig.poll();
        assert!(rig.in_flight() < 1200, "{}", rig.in_flight());
        rig.run();
        assert_eq!(rig.result(write), Some(Ok(())));
        assert_eq!((rig.reads, rig.writes), (0, 1500 * 3), "whole stripes only");
        assert!(rig.read(0, capacity).unwrap() == pattern(capacity, 3));
    }
}

#[test]
fn a_mirror_that_missed_a_write_but_has_to_stay_is_not_believed() {
    // Chunks lie on members 0 and 1, 2 and 0, 1 and 2, in turn.
    let (mut rig, _) = filled(NEAR2, 3);
    fail(&mut rig, 1);
    rig.gone.push(0);
    let chunk = u64::from(CHUNK);
    assert_eq!(rig.write(chunk, &pattern(BLOCK, 9)), Err(RequestError::Lost { offset: chunk }));
    rig.gone.clear();
    for _ in 0..10 {
        assert_eq!(rig.read(chunk, BLOCK).unwrap(), pattern(BLOCK, 9), "from member 2, always");
    }
    assert_eq!(rig.array.fail_member(rig.now, Role(2)), Err(CommandError::NoRedundancy));
    assert_eq!(rig.read(0, chunk).unwrap(), pattern(chunk, 1), "what only member 0 has");
}

#[test]
fn a_sequential_writer_with_several_requests_in_flight_writes_whole_stripes() {
    for (step, in_flight) in [(3 * BLOCK, 24), (u64::from(CHUNK), 8), (5 * BLOCK, 40), (5 * u64::from(CHUNK), 3)] {
        let (mut rig, capacity) = filled(RAID5, 5);
        let mut sent = Vec::new();
        let mut offset = 0;
        while offset < capacity || !sent.is_empty() {
            sent.retain(|id| rig.result(*id).is_none());
            if offset < capacity && sent.len() < in_flight {
                let length = step.min(capacity - offset);
                sent.push(rig.submit_write(offset, &pattern(length, 5)));
                offset += length;
                rig.poll();
            } else {
                rig.step();
            }
        }
        // The first write begins the stream and is done at once; answers come in any order.
        assert!(rig.reads <= 20, "{} reads with steps of {step}", rig.reads);
        assert!(rig.writes <= 8 * 5 + 10, "{} writes with steps of {step}", rig.writes);
    }
}
