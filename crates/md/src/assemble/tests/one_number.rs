//! Superblocks of one number that say different things.

use super::*;

#[test]
fn an_array_that_was_run_in_two_halves_is_refused() {
    let mut members = array(1, Level::Raid1, 2, 0);
    set_use(&mut members[0], 1, MemberUse::Faulty);
    set_use(&mut members[1], 0, MemberUse::Faulty);
    assert_eq!(refusal(&members), "drive0 and drive1 disagree about their array's members: leave one of them out");
}

/// An update was cut short when one member had it. The others were started without that one, and
/// power was cut when one of them had been told so: as many updates, and no write since.
#[test]
fn who_missed_the_later_of_two_updates_with_one_number_has_failed() {
    for absent in [MemberUse::Faulty, MemberUse::Spare] {
        for alone in 0..3 {
            let mut members = array(1, RAID5, 3, 0);
            for other in (0..3).filter(|other| *other != alone) {
                set_use(&mut members[other], alone as u32, absent);
                members[other].superblock.events += u64::from(other == (alone + 1) % 3);
            }
            members[alone].superblock.events += 1;
            let assembly = assemble(&members).unwrap();
            let expected =
                if absent == MemberUse::Faulty { Verdict::Faulty } else { Verdict::Stale { updates_missed: 0 } };
            assert_eq!(assembly.verdicts[alone], expected);
            assert_eq!(assembly.slots.iter().filter(|slot| slot.state == MemberState::InSync).count(), 2);
        }
    }
}

/// It was made a spare in an update that was cut short, and got its role in the next one, which has
/// the same count: spares elect nobody.
#[test]
fn a_spare_as_fresh_as_those_that_give_it_a_role_is_filled_anew() {
    let mut members = array(1, RAID5, 3, 0);
    for number in 0..3 {
        set_use(&mut members[1], number, if number == 1 { MemberUse::Spare } else { MemberUse::Faulty });
    }
    let assembly = assemble(&members).unwrap();
    assert_eq!(assembly.slots[1].state, MemberState::Rebuilding { position: 0 });
}

/// The one that had the earlier update was failed by the later one, which gave its role to a spare:
/// both tables count on as many.
#[test]
fn the_later_of_two_updates_may_count_on_as_many() {
    let mut members = array(1, Level::Raid1, 3, 1);
    for later in &mut members[1..] {
        set_use(later, 0, MemberUse::Faulty);
        set_use(later, 3, MemberUse::Active(Role(0)));
    }
    let assembly = assemble(&members).unwrap();
    assert_eq!(assembly.verdicts[0], Verdict::Faulty);
    assert_eq!(assembly.slots[0].candidate, Some(3));
}
