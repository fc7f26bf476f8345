//! A second fault at every step of a rebuild, on small arrays, exhaustively: what can be saved is,
//! what cannot is named by its exact position, and nothing else is lost.
//!
//! What can be saved is reckoned here from the layout and from who holds what, without the engine.

use alloc::{collections::BTreeSet, vec};

use super::*;

const ROWS: u64 = 3;
const LOG: usize = 64;

/// An array that lacks members, of which the first is being filled.
fn degraded(level: Level, member_count: usize, missing: &[u16], seed: u64) -> Rig {
    let mut rig = Rig::new(shape(level, member_count, CHUNK, ROWS), seed);
    let capacity = rig.array.geometry().capacity_bytes();
    rig.write(0, &pattern(capacity, 1)).unwrap();
    missing.iter().for_each(|role| fail(&mut rig, *role));
    rig.array.set_bad_blocks(Role(missing[0]), BadBlocks::new(LOG)).unwrap();
    fresh(&mut rig, missing[0]);
    rig.poll();
    rig.events.clear();
    rig
}

/// Whether a member has the block at this offset of its data area, and can read it.
fn has(rig: &Rig, role: Role, offset: u64) -> bool {
    let is_held = match rig.array.member_states()[role.index()] {
        MemberState::InSync => true,
        MemberState::Rebuilding { position } => offset < position,
        MemberState::Missing => false,
    };
    let is_bad = rig.array.bad_blocks(role).touches(&(offset..offset + BLOCK));
    is_held && !is_bad && !rig.unreadable.contains(&(role.0, offset / BLOCK))
}

/// The blocks of content that can be had from nobody, by array offset.
fn beyond_saving(rig: &Rig) -> BTreeSet<u64> {
    let geometry = rig.array.geometry();
    let is_lost = |offset: &u64| {
        let piece = geometry.piece(*offset, BLOCK);
        if piece.copies.iter().any(|(role, at)| has(rig, *role, *at)) {
            return false;
        }
        let Some(position) = geometry.position(*offset) else { return true };
        let stripe = geometry.stripe(position.row).unwrap();
        let at = stripe.member_offset + u64::from(position.within);
        let lost = stripe.data.iter().filter(|role| !has(rig, **role, at)).count();
        let parities = [Some(stripe.p), stripe.q].into_iter().flatten().filter(|role| has(rig, *role, at)).count();
        lost > parities
    };
    (0..geometry.capacity_bytes()).step_by(BLOCK as usize).filter(is_lost).collect()
}

/// Reads every block; those that cannot be read. What is read has to be right.
fn unreadable_blocks(rig: &mut Rig) -> BTreeSet<u64> {
    let capacity = rig.array.geometry().capacity_bytes();
    let right = pattern(capacity, 1);
    let blocks = (0..capacity).step_by(BLOCK as usize);
    let bad = blocks.filter(|offset| match rig.read(*offset, BLOCK) {
        Ok(bytes) => {
            assert!(bytes == right[*offset as usize..][..BLOCK as usize], "wrong bytes at {offset}");
            false
        }
        Err(_) => true,
    });
    bad.collect()
}

/// What was told to be lost, by block.
fn told(rig: &Rig) -> BTreeSet<u64> {
    let ranges = rig.events.iter().filter_map(|event| match event {
        Event::Lost { member_range, offset, .. } => Some(*offset..offset + (member_range.end - member_range.start)),
        _ => None,
    });
    ranges.flat_map(|range| range.step_by(BLOCK as usize)).collect()
}

fn levels() -> Vec<(Level, usize)> {
    let far2 = Level::Raid10(Raid10Layout { near: 1, far: 2, offset: false, far_sets: false });
    vec![
        (Level::Raid1, 2),
        (Level::Raid1, 3),
        (Level::Raid4, 3),
        (RAID5, 4),
        (RAID6, 5),
        (NEAR2, 3),
        (NEAR2, 4),
        (far2, 4),
    ]
}

/// Steps until the rebuild is over; the number of steps.
fn steps_of_rebuild(level: Level, member_count: usize, missing: &[u16]) -> usize {
    let mut rig = degraded(level, member_count, missing, 1);
    (0..).find(|_| rig.array.is_idle() || !rig.step()).unwrap()
}

#[test]
fn a_second_member_that_fails_at_any_step_of_a_rebuild() {
    let mut lost_blocks = 0;
    for (level, member_count) in levels() {
        for target in [0, member_count as u16 - 1] {
            for steps in 0..=steps_of_rebuild(level, member_count, &[target]) {
                for second in 0..member_count as u16 {
                    let mut rig = degraded(level, member_count, &[target], 1);
                    (0..steps).for_each(|_| {
                        rig.step();
                    });
                    if rig.array.fail_member(rig.now, Role(second)).is_err() {
                        continue;
                    }
                    let lost_then = beyond_saving(&rig);
                    rig.run();
                    let lost = beyond_saving(&rig);
                    assert!(lost.is_subset(&lost_then), "{level:?} {target} {second} {steps}");
                    assert_eq!(unreadable_blocks(&mut rig), lost, "{level:?} {target} {second} {steps}");
                    lost_blocks += lost.len();
                }
            }
        }
    }
    assert!(lost_blocks > 0);
}

/// Blocks of a rebuild's sources that cannot be read from some step on.
fn meet_unreadable(level: Level, member_count: usize, missing: &[u16], steps: usize, bad: &[(u16, u64)]) -> usize {
    let context = std::format!("{level:?} of {member_count}, {missing:?} missing, {bad:?} unreadable at step {steps}");
    let mut rig = degraded(level, member_count, missing, 1);
    (0..steps).for_each(|_| {
        rig.step();
    });
    rig.unreadable.extend(bad);
    let lost_then = beyond_saving(&rig);
    rig.run();
    assert_eq!(rig.array.member_states()[usize::from(missing[0])], MemberState::InSync, "{context}");
    let told = told(&rig);
    assert!(told.is_subset(&lost_then), "{context}: told {told:?}");
    assert!(steps > 0 || told == lost_then, "{context}: told {told:?} instead of {lost_then:?}");
    let (logged, _) = &rig.logs[usize::from(missing[0])];
    assert_eq!(logged.ranges(), rig.array.bad_blocks(Role(missing[0])).ranges(), "{context}");
    assert_eq!(unreadable_blocks(&mut rig), told, "{context}");
    // If the others' blocks can be read after all, nothing at all is lost.
    if missing.len() == 1 {
        rig.unreadable.clear();
        assert_eq!(unreadable_blocks(&mut rig), BTreeSet::new(), "{context}");
    }
    told.len()
}

#[test]
fn an_unreadable_block_at_any_place_and_any_step_of_a_rebuild() {
    let mut lost_blocks = 0;
    for (level, member_count, missing) in [
        (Level::Raid1, 2, vec![0]),
        (Level::Raid4, 3, vec![0]),
        (Level::Raid4, 3, vec![2]),
        (RAID5, 3, vec![1]),
        (RAID6, 4, vec![0, 2]),
        (NEAR2, 3, vec![0]),
        (NEAR2, 4, vec![1]),
    ] {
        let last = steps_of_rebuild(level, member_count, &missing);
        for steps in 0..=last {
            for role in (0..member_count as u16).filter(|role| !missing.contains(role)) {
                for block in 0..ROWS * u64::from(CHUNK) / BLOCK {
                    lost_blocks += meet_unreadable(level, member_count, &missing, steps, &[(role, block)]);
                }
            }
        }
    }
    assert!(lost_blocks > 1000, "{lost_blocks}");
}

#[test]
fn two_unreadable_blocks_of_a_raid6_at_any_place_of_a_rebuild() {
    let mut lost_blocks = 0;
    for block in 0..ROWS * u64::from(CHUNK) / BLOCK {
        for (first, second) in [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)] {
            for other in [block, (block + 1) % 24] {
                for steps in [0, 20] {
                    let bad = [(first, block), (second, other)];
                    lost_blocks += meet_unreadable(RAID6, 5, &[0], steps, &bad);
                }
            }
        }
    }
    assert!(lost_blocks > 100, "{lost_blocks}");
}

#[test]
fn a_cut_at_any_step_of_a_rebuild_that_leaves_blocks_out() {
    for (level, member_count) in [(Level::Raid1, 2), (RAID5, 3), (NEAR2, 4)] {
        let bad = [(1, 3), (1, 9), (1, 10), (1, 20)];
        for steps in 0..200 {
            let mut rig = degraded(level, member_count, &[0], 1);
            rig.unreadable.extend(bad);
            let lost_then = beyond_saving(&rig);
            (0..steps).for_each(|_| {
                rig.step();
            });
            // What was recorded last is what is known afterwards.
            let (logs, mut states): (Vec<_>, Vec<_>) = rig.logs.iter().cloned().unzip();
            if states.first().is_none_or(|state| *state == MemberState::Missing) {
                states = vec![MemberState::InSync; member_count];
                states[0] = MemberState::Rebuilding { position: 0 };
            }
            let shape = rig.array.geometry().shape().clone();
            let mut after = Rig::assemble(rig.members, 2, |scratch| Config {
                bad_blocks: logs,
                writable: false,
                ..Config::new(shape, states, scratch)
            });
            after.unreadable = rig.unreadable;
            let lost = unreadable_blocks(&mut after);
            assert!(lost.is_subset(&lost_then), "{level:?} {steps}: {lost:?}");
        }
    }
}
