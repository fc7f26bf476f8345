mod one_number;

use proptest::prelude::*;
use shoal_array::{Geometry, ParityLayout};

use super::reasons::REFUSED;
use super::*;
use crate::limits::NUMBER_LIMIT;
use crate::{ConsistencyPolicy, CreateRequest, Membership, MinorVersion, NewMember, Timestamp, Uuid, plan_creation};

const MIB: u64 = 1 << 20;
const RAID5: Level = Level::Raid5(ParityLayout::LeftSymmetric);
const RAID0: Level = Level::Raid0(Raid0Layout::Original);

/// The members of a new array of equal drives; `array` makes its UUIDs.
fn array(array: u8, level: Level, members: u8, spares: u8) -> Vec<Candidate> {
    let drives = |numbers: std::ops::Range<u8>| {
        let drive = |number| NewMember {
            drive: format!("drive{number}"),
            size_bytes: 64 * MIB,
            uuid: Uuid([array, number, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
        };
        numbers.map(drive).collect()
    };
    let request = CreateRequest {
        minor: MinorVersion::Start4K,
        level,
        chunk_bytes: None,
        members: drives(0..members),
        spares: drives(members..members + spares),
        name: format!("array{array}"),
        homehost: None,
        array_uuid: Uuid([array; 16]),
        creation_time: Timestamp::from_seconds(1_700_000_000),
        clean: true,
        consistency: ConsistencyPolicy::Resync,
    };
    let superblocks = plan_creation(&request).unwrap().superblocks;
    let name = |(number, mut superblock): (usize, Superblock)| {
        superblock.events = 100;
        Candidate { drive: format!("drive{number}"), superblock }
    };
    superblocks.into_iter().enumerate().map(name).collect()
}

fn set_use(candidate: &mut Candidate, number: u32, member_use: MemberUse) {
    assert!(candidate.superblock.set_member_use(number, member_use));
}

fn refusal(candidates: &[Candidate]) -> String {
    assemble(candidates).unwrap_err().to_string()
}

#[test]
fn members_one_update_behind_are_taken_and_older_ones_are_not() {
    let mut members = array(1, RAID5, 4, 0);
    members[1].superblock.events = 99;
    members[2].superblock.events = 98;
    let assembly = assemble(&members).unwrap();
    let in_sync = |role| Verdict::InSync(Role(role));
    assert_eq!(assembly.verdicts, [in_sync(0), in_sync(1), Verdict::Stale { updates_missed: 2 }, in_sync(3)]);
    assert_eq!(assembly.missing_roles(), [Role(2)]);
    assert_eq!(assembly.freshest, 0);
}

#[test]
fn the_freshest_table_decides() {
    let mut members = array(1, RAID5, 3, 0);
    members[1].superblock.events = 99;
    set_use(&mut members[0], 1, MemberUse::Faulty);
    set_use(&mut members[2], 1, MemberUse::Faulty);
    members.swap(0, 1);
    let assembly = assemble(&members).unwrap();
    assert_eq!(assembly.verdicts, [Verdict::Faulty, Verdict::InSync(Role(0)), Verdict::InSync(Role(2))]);
}

#[test]
fn a_spare_that_missed_its_promotion_is_rebuilt_from_the_start() {
    let mut members = array(1, RAID5, 3, 1);
    let mut spare = members.remove(3);
    members.remove(1);
    for member in &mut members {
        set_use(member, 1, MemberUse::Faulty);
        set_use(member, 3, MemberUse::Active(Role(1)));
    }
    spare.superblock.events = 99;
    members.push(spare);
    let assembly = assemble(&members).unwrap();
    assert_eq!(assembly.verdicts[2], Verdict::Rebuilding { role: Role(1), position_bytes: 0, by_bitmap: false });

    // What is recorded next says so too.
    let membership = Membership::of_assembly(&assembly, &members);
    let recorded = membership.superblock(3).unwrap();
    assert!(recorded.features.any_of(Features::RECOVERY_OFFSET));
}

#[test]
fn wrong_company_is_named() {
    let mut members = array(1, RAID5, 3, 0);
    members.push(array(2, RAID5, 3, 0).remove(0));
    members[3].drive = "stranger".to_owned();
    let message = refusal(&members);
    assert!(message.contains("drive0 belongs to array 01010101:"), "{message}");
    assert!(message.contains("stranger to array 02020202:"), "{message}");
    assert_eq!(group_by_array(&members), [vec![0, 1, 2], vec![3]]);

    let mut members = array(1, RAID5, 3, 0);
    members.push(members[1].clone());
    members[3].drive = "again".to_owned();
    assert_eq!(refusal(&members), "drive1 and again are the same member: give it once");
    assert_eq!(assemble(&[]), Err(AssembleError::Nothing));
}

#[test]
fn shapes_must_agree_unless_they_are_old() {
    let mut members = array(1, RAID5, 3, 0);
    members[1].superblock.chunk_sectors = 128;
    assert_eq!(refusal(&members), "drive0 and drive1 disagree about their array's shape: leave one of them out");
    members[1].superblock.events = 50;
    assert_eq!(assemble(&members).unwrap().verdicts[1], Verdict::Stale { updates_missed: 50 });
}

#[test]
fn one_role_goes_to_the_fresher_of_two() {
    let mut members = array(1, RAID5, 3, 0);
    let mut twin = members[1].clone();
    twin.drive = "twin".to_owned();
    twin.superblock.device_uuid = Uuid([9; 16]);
    members.push(twin);
    assert!(refusal(&members).contains("drive1 and twin disagree"));
    for (older, fresher) in [(1, 3), (3, 1)] {
        let mut members = members.clone();
        members[older].superblock.events = 99;
        let assembly = assemble(&members).unwrap();
        assert_eq!(assembly.verdicts[older], Verdict::RoleTaken(Role(1)));
        assert_eq!(assembly.slots[1].candidate, Some(fresher));
    }
}

#[test]
fn spares_wait_whatever_they_missed() {
    let mut members = array(1, RAID5, 3, 2);
    members[3].superblock.events = 7;
    let assembly = assemble(&members).unwrap();
    assert_eq!(assembly.spares(), [3, 4]);
    assert_eq!(assembly.member_states(), [MemberState::InSync; 3]);
    members[4].superblock.dev_number = 128;
    assert_eq!(assemble(&members).unwrap().verdicts[4], Verdict::Spare, "it is in no table");
}

#[test]
fn every_feature_that_forbids_something_is_named() {
    for (feature, expected) in REFUSED {
        let mut members = array(1, RAID5, 3, 0);
        members[1].superblock.features = feature;
        let assembly = assemble(&members).unwrap();
        assert_eq!((&assembly.read_only[..], &assembly.refused[..]), (&[][..], &[expected][..]), "{feature}");
        let message = assembly.shape().unwrap_err().to_string();
        assert!(message.contains("array1") && message.contains(&expected.to_string()), "{message}");
    }
    let mut members = array(1, RAID5, 3, 0);
    members[1].superblock.logical_block_bytes = 4096;
    members[2].superblock.padding[27] = 1;
    members.iter_mut().for_each(|member| member.superblock.events = u64::MAX - 1);
    let expected = [ReadOnlyReason::LogicalBlockSize, ReadOnlyReason::UnknownField, ReadOnlyReason::CountedOut];
    assert_eq!(assemble(&members).unwrap().read_only, expected);
}

#[test]
fn a_replacement_sits_beside_its_member() {
    let mut members = array(1, RAID5, 3, 1);
    for member in &mut members {
        set_use(member, 3, MemberUse::Active(Role(1)));
    }
    members[3].superblock.features = Features::REPLACEMENT | Features::RECOVERY_OFFSET;
    members[3].superblock.recovery_offset_sectors = 2048;
    let assembly = assemble(&members).unwrap();
    assert_eq!(assembly.verdicts[3], Verdict::Replacement { role: Role(1), position_bytes: MIB });
    assert_eq!(assembly.slots[1].replacement, Some(Replacement { candidate: 3, position_bytes: MIB }));
    assert_eq!((assembly.slots[1].candidate, assembly.slots[1].state), (Some(1), MemberState::InSync));

    // Its member is gone: it takes the place as it is.
    let alone: Vec<Candidate> = [0, 2, 3].map(|index| members[index].clone()).to_vec();
    let assembly = assemble(&alone).unwrap();
    assert_eq!(assembly.slots[1].candidate, Some(2));
    assert_eq!(assembly.slots[1].state, MemberState::Rebuilding { position: MIB });
    assert_eq!(assembly.slots[1].replacement, None);

    // It was complete.
    let mut alone = alone;
    alone[2].superblock.features = Features::REPLACEMENT;
    let assembly = assemble(&alone).unwrap();
    assert_eq!((assembly.slots[1].state, assembly.verdicts[2]), (MemberState::InSync, Verdict::InSync(Role(1))));

    // Two for one place.
    let mut twin = members[3].clone();
    twin.drive = "twin".to_owned();
    twin.superblock.device_uuid = Uuid([9; 16]);
    members.push(twin);
    assert!(refusal(&members).contains("drive3 and twin disagree"));
    members[3].superblock.events = 99;
    assert_eq!(assemble(&members).unwrap().verdicts[3], Verdict::RoleTaken(Role(1)));
}

#[test]
fn a_member_that_came_back_goes_on_by_the_bitmap() {
    let mut members = array(1, RAID5, 3, 0);
    members[1].superblock.features = Features::BITMAP | Features::RECOVERY_OFFSET | Features::RECOVERY_BITMAP;
    members[1].superblock.recovery_offset_sectors = 2048;
    let assembly = assemble(&members).unwrap();
    assert_eq!(assembly.verdicts[1], Verdict::Rebuilding { role: Role(1), position_bytes: MIB, by_bitmap: true });
    assert!(assembly.slots[1].by_bitmap);
    assert_eq!(assembly.slots[1].state, MemberState::Rebuilding { position: MIB });
    let recorded = Membership::of_assembly(&assembly, &members);
    assert_eq!(recorded.superblock(1).unwrap().features, Features::RECOVERY_OFFSET | Features::RECOVERY_BITMAP);
}

#[test]
fn a_spare_that_has_seen_more_is_not_believed() {
    let mut members = array(1, RAID5, 3, 1);
    members[3].superblock.events = 107;
    set_use(&mut members[3], 1, MemberUse::Faulty);
    let assembly = assemble(&members).unwrap();
    assert_eq!(assembly.freshest, 0);
    assert_eq!(assembly.verdicts[3], Verdict::Spare);
    assert_eq!(assembly.missing_roles(), []);
}

#[test]
fn a_growing_array_that_was_cut_off_is_put_together() {
    let mut members = array(1, RAID5, 3, 1);
    for member in &mut members {
        member.superblock.size_sectors -= 1024;
    }
    members[0].superblock.size_sectors += 1024;
    members[0].superblock.events = 101;
    let assembly = assemble(&members).unwrap();
    assert_eq!(assembly.shape().unwrap().member_bytes, [62 * MIB; 3], "by the freshest superblock");
    members[1].superblock.data_size_sectors = members[1].superblock.size_sectors;
    assert!(refusal(&members).contains("drive0 and drive1 disagree about their array's shape"));
}

#[test]
fn a_resync_goes_on_where_it_was() {
    let mut members = array(1, RAID5, 3, 0);
    assert_eq!(assemble(&members).unwrap().resync_position_bytes(), None);
    for member in &mut members {
        member.superblock.resync_offset_sectors = 2048;
    }
    assert_eq!(assemble(&members).unwrap().resync_position_bytes(), Some(MIB));
    members[0].superblock.resync_offset_sectors = u64::MAX - 1;
    assert!(assemble(&members).unwrap().resync_position_bytes().is_some(), "a damaged one does not overflow");
}

#[test]
fn dirty_and_degraded_is_noticed_where_it_matters() {
    for (level, members_given, clean, expected) in
        [(RAID5, 3, false, false), (RAID5, 2, false, true), (RAID5, 2, true, false), (Level::Raid1, 2, false, false)]
    {
        let mut members = array(1, level, 3, 0);
        members.truncate(members_given);
        for member in &mut members {
            member.superblock.resync_offset_sectors = if clean { Superblock::CLEAN } else { 0 };
        }
        assert_eq!(assemble(&members).unwrap().is_dirty_and_degraded(), expected, "{level} {members_given} {clean}");
    }
}

#[test]
fn raid0_of_unequal_members_needs_its_layout() {
    let mut members = array(1, RAID0, 2, 0);
    members[1].superblock.data_size_sectors -= 8;
    assert!(assemble(&members).unwrap().shape().unwrap_err().to_string().contains("which RAID0 layout"));
    for member in &mut members {
        member.superblock.features = Features::RAID0_LAYOUT;
    }
    assert!(assemble(&members).unwrap().shape().is_ok());
}

#[test]
fn impossible_numbers_of_members_are_refused() {
    for raid_devices in [0, 1921, u32::MAX] {
        let mut members = array(1, RAID5, 3, 0);
        members[0].superblock.raid_devices = raid_devices;
        assert!(refusal(&members[..1]).contains(&format!("claims an array of {raid_devices} members")));
    }
}

/// One field of a superblock with a value that somebody else chose.
fn tamper(superblock: &mut Superblock, field: u8, value: u64) {
    let low = value as u32;
    match field {
        0 => superblock.features = Features(low & 0x1fff),
        1 => superblock.level_number = [-1, 0, 1, 4, 5, 6, 10][value as usize % 7],
        2 => superblock.layout_number = low,
        3 => superblock.chunk_sectors = low,
        4 => superblock.raid_devices = low,
        5 => superblock.dev_number = low,
        6 => superblock.recovery_offset_sectors = value,
        7 => superblock.events = value,
        8 => superblock.resync_offset_sectors = value,
        9 => superblock.size_sectors = value % superblock.data_size_sectors,
        10 => assert!(superblock.set_member_use(low % 1920, MemberUse::Unknown((value >> 32) as u16))),
        _ => superblock.device_uuid = Uuid([low as u8; 16]),
    }
}

proptest! {
    #[test]
    fn hostile_superblocks_do_not_make_it_panic(
        changes in proptest::collection::vec((0..5_usize, 0..12_u8, prop_oneof![any::<u64>(), 0..8_u64]), 1..12),
    ) {
        let mut members = array(1, RAID5, 4, 1);
        for (member, field, value) in changes {
            tamper(&mut members[member].superblock, field, value);
        }
        members.retain(|member| member.superblock.level().is_ok());
        let Ok(assembly) = assemble(&members) else { return Ok(()) };
        if let Ok(shape) = assembly.shape() {
            prop_assert_eq!(shape.member_bytes.len(), assembly.slots.len());
            let _refused_or_not = Geometry::new(shape);
        }
        let mut membership = Membership::of_assembly(&assembly, &members);
        let numbers: Vec<u32> = membership.superblocks().iter().map(|member| member.dev_number).collect();
        // Two members that claim one number leave together, and then there is none for the second
        // time.
        let are_distinct = (1..numbers.len()).all(|place| !numbers[..place].contains(&numbers[place]));
        for dev_number in numbers {
            let begun = membership.start_rebuild(dev_number, Role(0));
            let failed = membership.fail(dev_number);
            prop_assert!(!are_distinct || begun.is_ok() && failed.is_ok());
        }
        prop_assert!(membership.superblocks().is_empty());
    }
}

/// A copy under another UUID, with a number that nobody has or can have, is no spare; nor is a
/// second one of a number.
#[test]
fn changed_copies_of_a_superblock_are_strays() {
    let mut members = array(1, RAID5, 3, 1);
    let mut copies = Vec::new();
    for (place, number) in [u32::MAX, NUMBER_LIMIT, 3].into_iter().enumerate() {
        let mut copy = members[3].clone();
        copy.superblock.device_uuid.0[2] = 0x50 + place as u8;
        copy.superblock.dev_number = number;
        copies.push(copy);
    }
    members.extend(copies);
    let assembly = assemble(&members).unwrap();
    assert_eq!(assembly.verdicts[3..], [Verdict::Spare, Verdict::Stray, Verdict::Stray, Verdict::Stray]);
    let membership = Membership::of_assembly(&assembly, &members);
    let number = |index: usize| membership.number_of(&members[index].superblock).map(|number| number.get());
    assert_eq!([number(0), number(3), number(4), number(6)], [Some(0), Some(3), None, None]);
}

/// A copy of a member that says that it is to replace it would get that one's superblocks.
#[test]
fn a_replacement_of_the_same_number_is_a_stray() {
    let mut members = array(1, RAID5, 3, 0);
    let mut copy = members[1].clone();
    copy.superblock.device_uuid.0[2] = 0x50;
    copy.superblock.features = copy.superblock.features | Features::REPLACEMENT;
    members.push(copy);
    let assembly = assemble(&members).unwrap();
    assert_eq!(assembly.verdicts[3], Verdict::Stray);
    assert_eq!(assembly.slots[1].replacement, None);
    assert_eq!(assembly.slots[1].candidate, Some(1));
}
