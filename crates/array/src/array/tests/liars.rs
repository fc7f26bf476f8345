//! Scrubs that say who is wrong.

use std::format;

use super::*;

const NEAR3: Level = Level::Raid10(Raid10Layout { near: 3, far: 1, offset: false, far_sets: false });

/// What a scrub finds, and whether it was mended; ordered.
fn scrub(rig: &mut Rig, mode: ScrubMode) -> Vec<(u16, u64, Blame, bool)> {
    rig.events.clear();
    rig.array.scrub(rig.now, mode).unwrap();
    rig.run();
    let mut found = Vec::new();
    for event in &rig.events {
        if let Event::Mismatch(Mismatch { role, blame, member_range, repaired, .. }) = event {
            found.extend(member_range.clone().step_by(BLOCK as usize).map(|at| (role.0, at, *blame, *repaired)));
        }
    }
    found.sort_by_key(|(role, at, ..)| (*at, *role));
    found
}

fn spoil(rig: &mut Rig, role: usize, block: u64, mask: u8) {
    rig.members[role][(block * BLOCK + 77) as usize] ^= mask;
}

#[test]
fn one_wrong_block_of_a_stripe_is_named_whoever_has_it() {
    for (level, members) in [(RAID6, 4), (RAID6, 7), (Level::Raid1, 3), (Level::Raid1, 4), (NEAR3, 5)] {
        for role in 0..members {
            let (mut rig, _) = filled(level, members);
            let before = rig.members.clone();
            // Two blocks beside each other, and one on its own.
            for (block, mask) in [(1, 0x40), (2, 0x01), (9, 0xff)] {
                spoil(&mut rig, role, block, mask);
            }
            let spoilt = rig.members.clone();
            let told = |repaired| [1, 2, 9].map(|block| (role as u16, block * BLOCK, Blame::Likely, repaired)).to_vec();
            let what = format!("{level:?} of {members}, member {role}");
            assert_eq!(scrub(&mut rig, ScrubMode::Check), told(false), "{what}");
            assert!(rig.members == spoilt, "{what}");
            assert_eq!(scrub(&mut rig, ScrubMode::Repair), told(true), "{what}");
            assert_eq!(scrub(&mut rig, ScrubMode::Check), [], "{what}");
            for at in [1, 2, 9].map(|block| block * BLOCK) {
                let home = rig.array.geometry().home(Role(role as u16), at);
                let is_data = level == RAID6 && matches!(home, Home::Data { .. });
                let expected = if is_data { &spoilt } else { &before };
                let range = at as usize..(at + BLOCK) as usize;
                assert!(
                    rig.members[role][range.clone()] == expected[role][range],
                    "{what}: data are kept, copies outvoted"
                );
            }
        }
    }
}

#[test]
fn wrong_blocks_of_several_members_are_named_each_in_its_own_place() {
    let (mut rig, _) = filled(RAID6, 6);
    let told: Vec<_> = (0..6).map(|role| (role as u16, role * BLOCK, Blame::Likely, true)).collect();
    (0..6).for_each(|role| spoil(&mut rig, role as usize, role, 0x11));
    assert_eq!(scrub(&mut rig, ScrubMode::Repair), told);
    assert_eq!(scrub(&mut rig, ScrubMode::Check), []);
}

/// A write over rot leaves both parities off by it, and the data right.
#[test]
fn what_was_written_over_rot_is_never_taken_back() {
    for block in 0..12 {
        let (mut rig, _) = filled(RAID6, 7);
        let Home::Data { offset, .. } = rig.array.geometry().home(Role(2), block * BLOCK) else { continue };
        spoil(&mut rig, 2, block, 0x5a);
        let fresh = pattern(BLOCK, 9);
        rig.write(offset, &fresh).unwrap();
        assert_eq!(
            scrub(&mut rig, ScrubMode::Check),
            [(2, block * BLOCK, Blame::Likely, false)],
            "both parities are off"
        );
        for mode in [ScrubMode::Check, ScrubMode::Repair] {
            scrub(&mut rig, mode);
            assert!(rig.read(offset, BLOCK).unwrap() == fresh, "block {block}, {mode:?}");
        }
    }
}

#[test]
fn where_nobody_can_tell_nothing_is_mended_unasked() {
    for (level, members, wrong) in [
        (RAID5, 4, vec![0]),
        (Level::Raid1, 2, vec![0]),
        (NEAR2, 4, vec![0]),
        (Level::Raid1, 4, vec![1, 2]),
        (RAID6, 6, vec![0, 1]),
        (RAID6, 6, vec![0, 1, 2]),
    ] {
        let (mut rig, _) = filled(level, members);
        // Different bytes: those that are wrong in the same way would agree.
        wrong.iter().for_each(|&role| rig.members[role][(3 * BLOCK) as usize + role] ^= 0x5a);
        let before = rig.members.clone();
        let found = scrub(&mut rig, ScrubMode::Check);
        let unknown =
            found.iter().all(|(_, at, blame, repaired)| (*at, *blame, *repaired) == (3 * BLOCK, Blame::Unknown, false));
        assert!(!found.is_empty() && unknown, "{level:?} {wrong:?}: {found:?}");
        assert!(rig.members == before, "{level:?} {wrong:?}: something was written");
        assert!(scrub(&mut rig, ScrubMode::Repair).iter().all(|(.., repaired)| *repaired), "{level:?}");
        assert_eq!(scrub(&mut rig, ScrubMode::Check), [], "{level:?} {wrong:?}");
    }
}

#[test]
fn without_a_second_witness_nobody_is_named() {
    for lost in 0..6 {
        let (mut rig, _) = filled(RAID6, 6);
        fail(&mut rig, lost);
        let wrong = (lost as usize + 1) % 6;
        spoil(&mut rig, wrong, 3, 0x5a);
        let found = scrub(&mut rig, ScrubMode::Check);
        assert!(
            found.iter().all(|(_, _, blame, repaired)| (*blame, *repaired) == (Blame::Unknown, false)),
            "{found:?}"
        );
        assert_eq!(found.len(), 1, "without {lost}: {found:?}");
    }
}

/// A member rots, and others are rebuilt from it: those that are wrong may be the most, so nothing
/// is written unasked.
#[test]
fn rot_that_a_rebuild_has_spread_convicts_nobody_who_is_right() {
    for (level, members) in [(RAID6, 6), (Level::Raid1, 3), (Level::Raid1, 4), (NEAR3, 3)] {
        for rotten in 0..members {
            let (mut rig, _) = filled(level, members);
            (0..8).for_each(|block| spoil(&mut rig, rotten, block, 0x5a));
            // Of mirrors all but one are lost, one after the other.
            let others = (0..members).filter(|lost| *lost != rotten);
            let lost = others.take(if level == RAID6 { 1 } else { members - 2 });
            for lost in lost {
                fail(&mut rig, lost as u16);
                rig.members[lost].fill(0);
                rig.array.rebuild_member(rig.now, Role(lost as u16), 0, None).unwrap();
                rig.run();
            }
            let before = rig.members.clone();
            scrub(&mut rig, ScrubMode::Check);
            assert!(rig.members == before, "{level:?}: {rotten} rots: nobody is proven wrong");
        }
    }
}

/// The members of a scrubbed array as somebody reads them who may not resync what is due.
fn in_doubt(rig: Rig, resync: Resync) -> Rig {
    let shape = rig.array.geometry().shape().clone();
    let states = rig.array.member_states().to_vec();
    let resync = Some(resync);
    Rig::assemble(rig.members, 1, |scratch| Config { resync, writable: false, ..Config::new(shape, states, scratch) })
}

#[test]
fn nobody_is_blamed_where_a_resync_is_due() {
    for (level, members) in [(RAID6, 6), (Level::Raid1, 3), (Level::Raid1, 4), (NEAR3, 3)] {
        let (mut rig, _) = filled(level, members);
        [3, 51].into_iter().for_each(|block| spoil(&mut rig, 1, block, 0x5a));
        // A step, of 12 KiB, that goes beyond the position is all in doubt.
        let position = 48 * BLOCK;
        let mut rig = in_doubt(rig, Resync { position, only: None });
        for (role, at, blame, _) in scrub(&mut rig, ScrubMode::Check) {
            assert_eq!(blame != Blame::Unknown, at < position, "{level:?} of {members}: member {role} at {at}");
        }
    }
}

/// Who was healed, and by what that is proven to be right; who was not.
fn heals(rig: &Rig) -> (Vec<(u16, bool)>, Vec<u16>) {
    let healed =
        |event: &Event| if let Event::Healed { role, proven, .. } = event { Some((role.0, *proven)) } else { None };
    let left = |event: &Event| if let Event::Unhealed { role, .. } = event { Some(role.0) } else { None };
    (rig.events.iter().filter_map(healed).collect(), rig.events.iter().filter_map(left).collect())
}

/// The members that hold a block of the first row: data in order, then P and Q; or all copies.
fn row(level: Level, members: usize) -> Vec<usize> {
    let geometry = filled(level, members).0.array.geometry().clone();
    match geometry.stripe(0) {
        Some(stripe) => stripe.data.iter().chain([&stripe.p]).chain(&stripe.q).map(|role| role.index()).collect(),
        None => (0..members).collect(),
    }
}

#[test]
fn what_cannot_be_read_is_healed_from_those_that_agree() {
    for (level, members) in [(RAID5, 4), (RAID6, 6), (Level::Raid1, 2), (Level::Raid1, 4), (NEAR3, 3)] {
        for &bad in &row(level, members) {
            let (mut rig, _) = filled(level, members);
            let before = rig.members.clone();
            rig.members[bad][3 * BLOCK as usize] ^= 0x5a;
            rig.unreadable.push((bad as u16, 3));
            assert_eq!(scrub(&mut rig, ScrubMode::Check), []);
            assert_eq!(heals(&rig), (vec![(bad as u16, true)], vec![]), "{level:?} of {members}");
            assert!(rig.members == before, "{level:?} of {members}: {bad} is healed");
        }
    }
}

/// Rot beside a block that cannot be read: to heal from the rot would make two that agree.
#[test]
fn what_cannot_be_read_is_not_healed_where_the_others_disagree() {
    for (level, members) in [(RAID6, 6), (Level::Raid1, 3), (NEAR3, 3)] {
        let row = row(level, members);
        for &bad in &row {
            for &rotten in row.iter().filter(|rotten| **rotten != bad) {
                let (mut rig, _) = filled(level, members);
                spoil(&mut rig, rotten, 3, 0x5a);
                rig.unreadable.push((bad as u16, 3));
                let before = rig.members.clone();
                let found = scrub(&mut rig, ScrubMode::Check);
                assert!(found.iter().all(|(.., blame, _)| *blame == Blame::Unknown) && !found.is_empty(), "{found:?}");
                let what = format!("{level:?}: {bad} cannot be read, {rotten} rots");
                assert_eq!(heals(&rig), (vec![], vec![bad as u16]), "{what}");
                assert!(rig.members == before, "{what}: nothing is written");
                scrub(&mut rig, ScrubMode::Repair);
                assert_eq!(heals(&rig), (vec![(bad as u16, false)], vec![]), "{what}");
                assert_eq!(scrub(&mut rig, ScrubMode::Check), [], "{what}");
            }
        }
    }
}

#[test]
fn what_cannot_be_read_is_healed_from_the_copies_that_are_elected() {
    for rotten in 0..4 {
        for bad in (0..4).filter(|bad| *bad != rotten) {
            let (mut rig, _) = filled(Level::Raid1, 4);
            let before = rig.members[bad].clone();
            spoil(&mut rig, rotten, 3, 0x5a);
            rig.members[bad][3 * BLOCK as usize] ^= 0x77;
            rig.unreadable.push((bad as u16, 3));
            assert_eq!(scrub(&mut rig, ScrubMode::Check), [(rotten as u16, 3 * BLOCK, Blame::Likely, false)]);
            assert_eq!(heals(&rig), (vec![(bad as u16, false)], vec![]), "{rotten} rots, {bad} cannot be read");
            assert!(rig.members[bad] == before, "{rotten} rots, {bad} cannot be read");
        }
    }
}

#[test]
fn what_cannot_be_read_is_told_where_nothing_may_be_written() {
    let (rig, _) = filled(RAID5, 4);
    let mut rig = in_doubt(rig, Resync { position: u64::MAX, only: None });
    rig.unreadable.push((2, 3));
    assert_eq!(scrub(&mut rig, ScrubMode::Check), []);
    assert_eq!((heals(&rig), rig.writes), ((vec![], vec![2]), 0));
}

/// Both parities are to be written where data are wrong; one of them does not take it.
#[test]
fn a_mend_that_fails_is_told_as_such() {
    for (level, members) in [(RAID6, 6), (RAID5, 4), (Level::Raid1, 3)] {
        let row = row(level, members);
        let stuck = if level == Level::Raid1 { vec![1] } else { row[members - level_parities(level)..].to_vec() };
        for stuck in stuck {
            let (mut rig, _) = filled(level, members);
            spoil(&mut rig, if level == Level::Raid1 { stuck } else { row[0] }, 3, 0x5a);
            rig.stuck.push(stuck as u16);
            let found = scrub(&mut rig, ScrubMode::Repair);
            assert!(found.len() == 1 && !found[0].3, "{level:?}, {stuck} takes no write: {found:?}");
        }
    }
}

fn level_parities(level: Level) -> usize {
    if level == RAID6 { 2 } else { 1 }
}

#[test]
fn a_copy_that_missed_a_write_is_no_witness() {
    let (mut rig, _) = filled(Level::Raid1, 3);
    spoil(&mut rig, 2, 3, 0x5a);
    rig.array.members.distrust(Role(0));
    assert_eq!(scrub(&mut rig, ScrubMode::Check), [(2, 3 * BLOCK, Blame::Unknown, false)]);
}
