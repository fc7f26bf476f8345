//! How rebuilds end.

use super::*;

const LEVELS: [(Level, usize); 4] = [(Level::Raid1, 2), (RAID5, 4), (RAID6, 5), (NEAR2, 4)];

/// Steps until the member is in sync, or nothing moves any more.
fn rebuild(rig: &mut Rig, role: u16) {
    let is_over = |rig: &Rig| {
        let ends = |event: &Event| matches!(event, Event::RebuildFinished(_) | Event::RebuildStopped { .. });
        rig.array.member_states()[usize::from(role)] == MemberState::InSync || rig.events.iter().any(ends)
    };
    while !is_over(rig) && rig.step() {}
}

#[test]
fn a_member_is_in_sync_when_all_that_it_was_filled_with_is_flushed() {
    for (level, members) in LEVELS {
        for seed in 0..20 {
            let (mut rig, _) = filled(level, members);
            rig.random_seed(seed);
            fail(&mut rig, 1);
            fresh(&mut rig, 1);
            rebuild(&mut rig, 1);
            assert_eq!(rig.array.member_states()[1], MemberState::InSync, "{level:?}");
            assert_eq!(rig.flushed[1], rig.written[1], "{level:?}: it may lose what it was filled with");
        }
    }
}

/// One that was filled when the array was stopped, and not recorded as in sync.
#[test]
fn a_rebuild_that_is_found_at_its_end_is_flushed_too() {
    let shape = shape(Level::Raid1, 2, CHUNK, 8);
    let position = shape.member_bytes[1];
    let states = vec![MemberState::InSync, MemberState::Rebuilding { position }];
    let mut rig = Rig::with_states(shape, states, 1, true);
    rig.unflushable.push(1);
    rebuild(&mut rig, 1);
    assert_eq!(rig.array.member_states()[1], MemberState::Missing);
}

/// Else the others could be let go, and it would be the last copy of what it may lose.
#[test]
fn a_member_that_does_not_take_the_flush_of_what_it_was_filled_with_fails() {
    for (level, members) in LEVELS {
        let (mut rig, _) = filled(level, members);
        fail(&mut rig, 1);
        rig.unflushable.push(1);
        fresh(&mut rig, 1);
        rebuild(&mut rig, 1);
        rig.run();
        assert_eq!(rig.array.member_states()[1], MemberState::Missing, "{level:?}");
        let is_finished = |event: &Event| matches!(event, Event::RebuildFinished(_));
        assert!(!rig.events.iter().any(is_finished), "{level:?}");
        assert!(rig.array.is_idle(), "{level:?}");
    }
}
