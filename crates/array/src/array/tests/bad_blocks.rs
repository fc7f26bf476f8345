//! Bad blocks: never read, made good by writes, and left by rebuilds where nobody has the content.

#![allow(clippy::single_range_in_vec_init)]

use alloc::vec;

use super::*;

const LOG: usize = 16;

/// An array of eight rows filled with [`pattern`], whose member `role` holds nothing at `bad`, and
/// knows it.
fn with_bad_blocks(level: Level, member_count: usize, role: u16, bad: core::ops::Range<u64>) -> (Rig, u64) {
    let (mut rig, capacity) = filled(level, member_count);
    rig.members[usize::from(role)][bad.start as usize..bad.end as usize].fill(0xdd);
    let members = core::mem::take(&mut rig.members);
    let mut logs = vec![BadBlocks::new(LOG); member_count];
    logs[usize::from(role)] = BadBlocks::from_ranges(LOG, [bad]);
    let shape = rig.array.geometry().shape().clone();
    let states = vec![MemberState::InSync; member_count];
    let rig = Rig::assemble(members, 1, |scratch| Config { bad_blocks: logs, ..Config::new(shape, states, scratch) });
    (rig, capacity)
}

fn changed(rig: &Rig) -> bool {
    rig.events.iter().any(|event| matches!(event, Event::BadBlocksChanged(_)))
}

/// What was lost, in array bytes.
fn lost(rig: &Rig) -> Vec<core::ops::Range<u64>> {
    let lost = rig.events.iter().filter_map(|event| match event {
        Event::Lost { member_range, offset, .. } => Some(*offset..offset + member_range.end - member_range.start),
        _ => None,
    });
    let mut lost: Vec<_> = lost.collect();
    lost.sort_unstable_by_key(|range| range.start);
    lost
}

#[test]
fn a_bad_block_is_not_read_but_taken_from_redundancy_and_made_good() {
    for level in [Level::Raid1, NEAR2, RAID5, RAID6] {
        for role in 0..4 {
            let (mut rig, capacity) = with_bad_blocks(level, 4, role, 3 * BLOCK..5 * BLOCK);
            let mut health = (false, 0);
            for _ in 0..3 {
                assert!(rig.read(0, capacity).unwrap() == pattern(capacity, 1), "{level:?} {role}");
                health = (changed(&rig), rig.writes);
            }
            if rig.array.bad_blocks(Role(role)).is_empty() {
                assert_eq!(health, (true, 2), "{level:?} {role}");
                assert_eq!(rig.logs[usize::from(role)].0, BadBlocks::new(LOG), "recorded");
            } else {
                assert_eq!(health, (false, 0), "a copy or parity that nobody needed");
            }
            rig.array.scrub(rig.now, ScrubMode::Check).unwrap();
            rig.run();
            assert!(rig.array.bad_blocks(Role(role)).is_empty());
            let finished = Event::ScrubFinished { mismatched_bytes: 0, completed: true };
            assert_eq!(rig.events.last(), Some(&finished));
        }
    }
}

#[test]
fn a_bad_block_without_redundancy_is_an_error_and_no_data() {
    for level in [Level::Linear, Level::Raid0(Raid0Layout::Original)] {
        let (mut rig, capacity) = with_bad_blocks(level, 3, 0, 3 * BLOCK..5 * BLOCK);
        assert_eq!(rig.read(0, capacity), Err(RequestError::Unreadable { offset: 3 * BLOCK }));
        assert_eq!(rig.read(4 * BLOCK, BLOCK), Err(RequestError::Unreadable { offset: 4 * BLOCK }));
        assert_eq!(rig.read(0, 3 * BLOCK).unwrap(), pattern(3 * BLOCK, 1));
        rig.write(3 * BLOCK, &pattern(BLOCK, 7)).unwrap();
        assert_eq!(rig.read(3 * BLOCK, BLOCK).unwrap(), pattern(BLOCK, 7));
        assert_eq!(rig.array.bad_blocks(Role(0)).ranges(), [4 * BLOCK..5 * BLOCK]);
    }
}

#[test]
fn a_write_over_a_bad_block_is_answered_after_the_log_forgets_it() {
    for level in [Level::Raid0(Raid0Layout::Original), Level::Raid1, RAID5] {
        let (mut rig, _) = with_bad_blocks(level, 3, 0, 0..BLOCK);
        let offset = match rig.array.geometry().home(Role(0), 0) {
            Home::Data { offset, .. } => offset,
            home => panic!("{home:?}"),
        };
        rig.hold_records = true;
        let write = rig.submit_write(offset, &pattern(BLOCK, 9));
        rig.run();
        let flush = rig.submit(Command::Flush);
        rig.run();
        assert_eq!((rig.result(write), rig.result(flush)), (None, None), "{level:?}");
        rig.hold_records = false;
        rig.run();
        assert_eq!((rig.result(write), rig.result(flush)), (Some(Ok(())), Some(Ok(()))));
        assert!(changed(&rig) && rig.array.bad_blocks(Role(0)).is_empty());
        assert_eq!(rig.read(offset, BLOCK).unwrap(), pattern(BLOCK, 9));
    }
}

/// A RAID5 of three, filled; member 0 is replaced by a fresh one with a log, and of member 1 these
/// blocks are unreadable.
fn rebuild_with_unreadable(limit: usize, blocks: &[u64]) -> Rig {
    let (mut rig, _) = filled(RAID5, 3);
    fail(&mut rig, 0);
    rig.unreadable.extend(blocks.iter().map(|block| (1, *block)));
    rig.array.set_bad_blocks(Role(0), BadBlocks::new(limit)).unwrap();
    fresh(&mut rig, 0);
    rig
}

#[test]
fn a_rebuild_leaves_what_nobody_has_and_tells_where_it_is() {
    let mut rig = rebuild_with_unreadable(LOG, &[30, 31, 40]);
    rig.run();
    assert!(rig.events.contains(&Event::RebuildFinished(Role(0))), "{:?}", rig.events);
    let bad = [30 * BLOCK..32 * BLOCK, 40 * BLOCK..41 * BLOCK];
    assert_eq!(rig.array.bad_blocks(Role(0)).ranges(), bad);
    assert_eq!(rig.logs[0].0.ranges(), bad);
    let geometry = rig.array.geometry().clone();
    let mut expected = vec![];
    for (role, range) in [0, 1].into_iter().flat_map(|role| bad.clone().map(|range| (Role(role), range))) {
        if let Home::Data { offset, .. } = geometry.home(role, range.start) {
            expected.push(offset..offset + range.end - range.start);
        }
    }
    expected.sort_unstable_by_key(|range| range.start);
    assert_eq!(lost(&rig), expected);
    let capacity = geometry.capacity_bytes();
    for offset in (0..capacity).step_by(BLOCK as usize) {
        let is_lost = expected.iter().any(|range| range.contains(&offset));
        let read = rig.read(offset, BLOCK);
        match is_lost {
            true => assert_eq!(read, Err(RequestError::Unreadable { offset })),
            false => assert!(read.unwrap() == pattern(capacity, 1)[offset as usize..][..BLOCK as usize], "{offset}"),
        }
    }
}

#[test]
fn a_rebuild_does_not_pass_a_bad_block_before_it_is_recorded() {
    let mut rig = rebuild_with_unreadable(LOG, &[30]);
    rig.hold_records = true;
    rig.run();
    let row = 30 * BLOCK / u64::from(CHUNK) * u64::from(CHUNK);
    assert_eq!(rig.array.member_states()[0], MemberState::Rebuilding { position: row });
    assert!(!rig.array.is_idle());
    rig.hold_records = false;
    rig.run();
    assert_eq!(rig.array.member_states()[0], MemberState::InSync);
    let at_record = (BadBlocks::from_ranges(LOG, [30 * BLOCK..31 * BLOCK]), MemberState::Rebuilding { position: row });
    assert_eq!(rig.logs[0], at_record);
}

#[test]
fn a_rebuild_stops_where_the_log_has_no_room() {
    let mut rig = rebuild_with_unreadable(1, &[17, 30]);
    rig.run();
    let stopped = Event::RebuildStopped { role: Role(0), member_offset: 30 * BLOCK };
    assert!(rig.events.contains(&stopped), "{:?}", rig.events);
    assert_eq!(rig.array.bad_blocks(Role(0)).ranges(), [17 * BLOCK..18 * BLOCK]);
    // What can be read again is written over what was left out.
    rig.unreadable.clear();
    rig.array.rebuild_member(rig.now, Role(0), 0, None).unwrap();
    rig.run();
    assert!(rig.array.bad_blocks(Role(0)).is_empty() && rig.array.health() == Health::Optimal);
    let capacity = rig.array.geometry().capacity_bytes();
    assert!(rig.read(0, capacity).unwrap() == pattern(capacity, 1));
}

#[test]
fn a_member_that_fails_takes_its_bad_blocks_with_it() {
    let (mut rig, _) = with_bad_blocks(RAID5, 4, 2, 0..BLOCK);
    fail(&mut rig, 2);
    assert_eq!(rig.array.bad_blocks(Role(2)), &BadBlocks::default());
    rig.array.rebuild_member(rig.now, Role(2), 0, None).unwrap();
    let refused = rig.array.set_bad_blocks(Role(2), BadBlocks::new(1));
    assert!(matches!(refused, Err(CommandError::State(MemberState::Rebuilding { .. }))), "the engine knows better");
}
