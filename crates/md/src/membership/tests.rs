use shoal_array::{Level, ParityLayout};

use super::*;
use crate::{Candidate, ConsistencyPolicy, CreateRequest, MinorVersion, Uuid, Verdict, assemble, plan_creation};

const MIB: u64 = 1 << 20;
const SIZE: u64 = 64 * MIB;

fn drive(number: u8) -> NewMember {
    NewMember { drive: format!("drive{number}"), size_bytes: SIZE, uuid: Uuid([number + 1; 16]) }
}

fn time(seconds: u64) -> Timestamp {
    Timestamp::from_seconds(1_700_000_000 + seconds)
}

fn raid5_request() -> CreateRequest {
    CreateRequest {
        minor: MinorVersion::Start4K,
        level: Level::Raid5(ParityLayout::LeftSymmetric),
        chunk_bytes: None,
        members: (0..3).map(drive).collect(),
        spares: Vec::new(),
        name: "lab".to_owned(),
        homehost: None,
        array_uuid: Uuid([0xee; 16]),
        creation_time: time(0),
        clean: true,
        consistency: ConsistencyPolicy::Resync,
    }
}

fn raid5() -> Membership {
    Membership::of_creation(&plan_creation(&raid5_request()).unwrap())
}

/// What would be found on the drives if these were written.
fn candidates(superblocks: &[Superblock]) -> Vec<Candidate> {
    let found = |superblock: &Superblock| {
        let bytes = superblock.encode();
        let superblock = crate::Unverified::parse_and_verify(&bytes, MinorVersion::Start4K, 2 * SIZE).unwrap();
        Candidate { drive: format!("drive{}", superblock.dev_number), superblock }
    };
    superblocks.iter().map(found).collect()
}

fn verdicts(superblocks: &[Superblock]) -> Vec<Verdict> {
    assemble(&candidates(superblocks)).unwrap().verdicts
}

#[test]
fn a_failed_member_is_out_even_if_it_comes_back() {
    let mut members = raid5();
    let lost = members.superblock(1).unwrap().clone();
    members.fail(1).unwrap();
    members.advance(time(1));
    assert_eq!(members.fail(1), Err(NotAMember { dev_number: 1 }));
    let mut found = members.superblocks().to_vec();
    assert_eq!(found.len(), 2);
    for superblock in &found {
        assert_eq!((superblock.events, superblock.update_time), (1, time(1)));
        assert_eq!(superblock.member_use(1), MemberUse::Faulty);
    }
    found.push(lost);
    assert_eq!(verdicts(&found), [Verdict::InSync(Role(0)), Verdict::InSync(Role(2)), Verdict::Faulty]);
}

#[test]
fn a_spare_is_added_rebuilt_and_in_sync() {
    let mut members = raid5();
    members.fail(1).unwrap();
    members.advance(time(1));
    let number = members.add_spare(&drive(7)).unwrap();
    members.advance(time(2));
    assert_eq!(number, 3, "the number of the failed member is not given out again");
    assert_eq!(verdicts(members.superblocks())[2], Verdict::Spare);

    members.start_rebuild(number, Role(1)).unwrap();
    members.advance(time(3));
    let rebuilding = |position_bytes| Verdict::Rebuilding { role: Role(1), position_bytes, by_bitmap: false };
    assert_eq!(verdicts(members.superblocks())[2], rebuilding(0));
    members.record_rebuild_position(number, 5 * MIB).unwrap();
    members.advance(time(4));
    assert_eq!(verdicts(members.superblocks())[2], rebuilding(5 * MIB));
    members.finish_rebuild(number).unwrap();
    members.advance(time(5));
    assert_eq!(verdicts(members.superblocks())[2], Verdict::InSync(Role(1)));

    let own = members.superblock(number).unwrap();
    assert_eq!((own.features, own.recovery_offset_sectors, own.events), (Features(0), 0, 5));
    assert_eq!((own.device_uuid, own.data_size_sectors), (drive(7).uuid, (SIZE - 2 * MIB) / 512));
    let log = own.bad_block_log;
    assert_eq!((log.size_sectors, log.offset_sectors), (8, 16));
}

#[test]
fn a_member_that_was_missing_at_assembly_is_forgotten_by_the_next_update() {
    let all = candidates(raid5().superblocks());
    let assembly = assemble(&all[..2]).unwrap();
    let mut members = Membership::of_assembly(&assembly, &all[..2]);
    members.mark_active();
    members.advance(time(1));
    let mut found = members.superblocks().to_vec();
    found.push(all[2].superblock.clone());
    let found = verdicts(&found);
    assert_eq!(found, [Verdict::InSync(Role(0)), Verdict::InSync(Role(1)), Verdict::Stale { updates_missed: 1 }]);
}

#[test]
fn members_catch_up_with_the_freshest() {
    let mut superblocks = raid5().superblocks().to_vec();
    superblocks[2].events = 5;
    superblocks[0].events = 4;
    superblocks[1].events = 4;
    superblocks[2].resync_offset_sectors = 0;
    let all = candidates(&superblocks);
    let members = Membership::of_assembly(&assemble(&all).unwrap(), &all);
    for (own, before) in members.superblocks().iter().zip(&superblocks) {
        assert_eq!((own.events, own.is_clean()), (5, false));
        assert_eq!(own.device_uuid, before.device_uuid);
        assert_eq!((own.dev_number, own.own_use()), (before.dev_number, before.own_use()));
    }
}

#[test]
fn clean_active_and_resync_are_recorded_on_all() {
    let mut members = raid5();
    members.mark_active();
    members.advance(time(1));
    assert!(members.superblocks().iter().all(|own| own.resync_offset_sectors == 0 && own.events == 1));
    members.record_resync_position(MIB);
    members.advance(time(2));
    assert!(members.superblocks().iter().all(|own| own.resync_offset_sectors == 2048 && own.events == 2));
    members.mark_clean();
    members.advance(time(3));
    assert!(members.superblocks().iter().all(|own| own.is_clean() && own.events == 3 && own.update_time == time(3)));
}

#[test]
fn drives_that_cannot_be_added_are_refused_by_name() {
    let mut members = raid5();
    let small = NewMember { size_bytes: SIZE - 512, ..drive(8) };
    let message = members.add_spare(&small).unwrap_err().to_string();
    assert_eq!(
        message,
        "drive8 is too small: it has 64.00 MiB, and 64 MiB are needed, 512 B more: give a larger drive"
    );
    let mut superblocks = members.superblocks().to_vec();
    for superblock in &mut superblocks {
        superblock.level_number = 0;
        superblock.layout_number = 1;
    }
    let mut raid0 = Membership { members: superblocks };
    let message = raid0.add_spare(&drive(8)).unwrap_err().to_string();
    assert_eq!(message, "drive8 cannot be added: raid0 arrays do not take spares");
    assert_eq!(raid0.superblocks()[0].events, 0, "a refusal changes nothing");
}

#[test]
fn numbers_are_given_out_until_the_table_is_full() {
    let mut members = raid5();
    let expected = (3..1920).map(Some).chain([None]);
    for (count, number) in expected.enumerate() {
        let uuid = Uuid((count as u128 + 1000).to_le_bytes());
        assert_eq!(members.add_spare(&NewMember { uuid, ..drive(9) }).ok(), number);
        members.members.truncate(4);
        if let Some(number) = number {
            members.fail(number).unwrap();
            members.advance(time(1));
        }
    }
}

/// A RAID5 of three members and one spare (number 3), with a bitmap.
fn raid5_with_bitmap() -> Membership {
    let consistency = ConsistencyPolicy::Bitmap { chunk_bytes: None };
    let request = CreateRequest { spares: vec![drive(3)], consistency, ..raid5_request() };
    Membership::of_creation(&plan_creation(&request).unwrap())
}

#[test]
fn a_replacement_stands_beside_its_member_until_it_is_complete() {
    let mut members = raid5_with_bitmap();
    members.start_replacement(3, Role(1)).unwrap();
    members.advance(time(1));
    let own = members.superblock(3).unwrap();
    assert_eq!(own.features, Features::BITMAP | Features::REPLACEMENT | Features::RECOVERY_OFFSET);
    members.record_rebuild_position(3, 5 * MIB).unwrap();
    members.advance(time(2));
    let found = candidates(members.superblocks());
    let assembly = assemble(&found).unwrap();
    assert_eq!(assembly.verdicts[1], Verdict::InSync(Role(1)));
    assert_eq!(assembly.verdicts[3], Verdict::Replacement { role: Role(1), position_bytes: 5 * MIB });
    let assembled = Membership::of_assembly(&assembly, &found);
    assert!(members.superblocks().iter().all(|own| assembled.superblock(own.dev_number) == Ok(own)));

    assert_eq!(members.finish_replacement(3), Ok(Some(1)));
    members.advance(time(3));
    assert_eq!(members.superblock(3).unwrap().features, Features::BITMAP);
    let mut found = members.superblocks().to_vec();
    found.push(raid5_with_bitmap().superblock(1).unwrap().clone());
    let in_sync = |role| Verdict::InSync(Role(role));
    assert_eq!(verdicts(&found), [in_sync(0), in_sync(2), in_sync(1), Verdict::Faulty]);
}

#[test]
fn a_replacement_inherits_the_role_of_a_member_that_fails_first() {
    let mut members = raid5_with_bitmap();
    members.start_replacement(3, Role(1)).unwrap();
    members.record_rebuild_position(3, 5 * MIB).unwrap();
    members.fail(1).unwrap();
    members.advance(time(1));
    let heir = Verdict::Rebuilding { role: Role(1), position_bytes: 5 * MIB, by_bitmap: false };
    assert_eq!(verdicts(members.superblocks())[2], heir);
    assert_eq!(members.superblock(0).unwrap().member_use(1), MemberUse::Faulty);

    let mut members = raid5_with_bitmap();
    members.start_replacement(3, Role(1)).unwrap();
    members.fail(3).unwrap();
    members.advance(time(1));
    assert_eq!(verdicts(members.superblocks())[1], Verdict::InSync(Role(1)), "only the replacement is lost");
}

/// The original is away at assembly: the replacement is all there is of it, and comes to its role
/// by the next update.
#[test]
fn a_replacement_alone_is_a_member_that_is_being_rebuilt() {
    let mut members = raid5_with_bitmap();
    members.start_replacement(3, Role(1)).unwrap();
    members.record_rebuild_position(3, 5 * MIB).unwrap();
    members.advance(time(1));
    let mut found = candidates(members.superblocks());
    let original = found.remove(1);
    found[2].superblock.events -= 1;
    let assembly = assemble(&found).unwrap();
    let heir = Verdict::Rebuilding { role: Role(1), position_bytes: 5 * MIB, by_bitmap: false };
    assert_eq!(assembly.verdicts[2], heir);
    let levelled = Membership::levelled(&assembly, &found);
    assert_eq!((levelled.len(), levelled[0].0), (1, 2));
    let features = levelled[0].1.features;
    assert!(features.any_of(Features::REPLACEMENT), "power may be cut here, and the original come back");
    let mut recorded = Membership::of_assembly(&assembly, &found);
    assert_eq!(recorded.superblock(3).unwrap().features, Features::BITMAP | Features::RECOVERY_OFFSET);
    recorded.advance(time(2));
    let mut found = recorded.superblocks().to_vec();
    found.push(original.superblock);
    assert_eq!(verdicts(&found)[3], Verdict::Stale { updates_missed: 1 });
}

#[test]
fn spares_and_failed_members_leave_and_their_numbers_are_free_again() {
    let mut members = raid5_with_bitmap();
    let in_use = RemoveError::InUse { dev_number: 1, role: Role(1) };
    assert_eq!(members.remove(1), Err(in_use));
    assert_eq!(in_use.to_string(), "member 1 (number 1) is in use: let it fail first, or replace it");
    assert_eq!(members.remove(3), Ok(()));
    assert_eq!(members.remove(3), Err(RemoveError::NotAMember(NotAMember { dev_number: 3 })));
    members.fail(1).unwrap();
    assert_eq!(members.add_spare(&drive(7)), Ok(3));
    assert_eq!(members.add_spare(&drive(8)), Ok(4));
    assert_eq!(members.remove(1), Ok(()));
    assert_eq!(members.superblock(0).unwrap().member_use(1), MemberUse::Spare);
    assert_eq!((members.add_spare(&drive(9)), members.add_spare(&drive(10))), (Ok(5), Ok(6)));
    for number in 7..1920 {
        assert_eq!(
            members.add_spare(&NewMember { uuid: Uuid((number + 1000_u128).to_le_bytes()), ..drive(9) }),
            Ok(number as u32)
        );
    }
    assert_eq!(members.add_spare(&drive(11)), Ok(1), "the number of the one that left, when all others are given out");
}

#[test]
fn whether_a_log_has_bad_blocks_is_recorded_on_its_member_alone() {
    let mut members = raid5_with_bitmap();
    members.record_bad_blocks(1, true).unwrap();
    let marked = |members: &Membership| {
        members.superblocks().iter().filter(|own| own.features.any_of(Features::BAD_BLOCKS)).count()
    };
    assert_eq!(marked(&members), 1);
    let found = candidates(members.superblocks());
    assert_eq!(assemble(&found).unwrap().verdicts[1], Verdict::InSync(Role(1)));
    members.record_bad_blocks(1, false).unwrap();
    assert_eq!(marked(&members), 0);
}

/// Where bitmap, PPL and bad-block log lie, counted from the superblock, and their sizes.
fn areas(own: &Superblock) -> [Option<(i64, u64)>; 3] {
    let from_superblock =
        |area: crate::Area| (area.offset_bytes as i64 - own.super_offset_bytes() as i64, area.size_bytes);
    [own.bitmap_area(), own.ppl_area(), own.bad_block_log_area()].map(|area| area.map(from_superblock))
}

fn check_newcomers(members: &mut Membership, minor: MinorVersion) {
    let old = members.superblock(0).unwrap().clone();
    let sized = |size_bytes| NewMember { size_bytes, ..drive(7) };
    let check = |members: &mut Membership, size_bytes: u64| {
        let number = members.add_spare(&sized(size_bytes)).unwrap();
        let new = members.superblock(number).unwrap().clone();
        let verified = crate::Unverified::parse_and_verify(&new.encode(), minor, size_bytes).unwrap();
        assert_eq!((&verified, areas(&new)), (&new, areas(&old)), "{size_bytes}");
        assert!(new.data_size_sectors >= new.size_sectors);
        members.remove(number).unwrap();
    };
    for size_bytes in [SIZE, SIZE + 512 * 9, 3 * SIZE] {
        check(members, size_bytes);
    }
    let Err(AddError::DriveTooSmall { needed_bytes, .. }) = members.add_spare(&sized(MIB)) else { panic!() };
    let end_of_members = if minor == MinorVersion::End { old.super_offset_bytes() + 8192 } else { SIZE };
    assert!(needed_bytes <= end_of_members, "{needed_bytes} {end_of_members}");
    assert!(members.add_spare(&sized(needed_bytes - 512)).is_err());
    check(members, needed_bytes);
}

#[test]
fn new_members_have_the_areas_of_the_old_ones() {
    let bitmap = ConsistencyPolicy::Bitmap { chunk_bytes: None };
    for minor in MinorVersion::ALL {
        for consistency in [ConsistencyPolicy::Resync, bitmap, ConsistencyPolicy::Ppl] {
            let request = CreateRequest { minor, consistency, ..raid5_request() };
            check_newcomers(&mut Membership::of_creation(&plan_creation(&request).unwrap()), minor);
        }
    }
}

#[test]
fn an_array_counts_on_members_that_it_has_not_given_up() {
    let mut members = raid5();
    let all = members.superblocks().to_vec();
    let of = |superblocks: &[Superblock]| {
        let candidates = candidates(superblocks);
        Membership::of_assembly(&assemble(&candidates).unwrap(), &candidates)
    };
    // Not given when it was put together, and nothing written since.
    assert!(of(&all[..2]).counts_on(&all[2]));
    assert!(of(&all[..1]).counts_on(&all[2]), "too little of the array is there, and it is needed all the more");
    assert!(!members.counts_on(&all[2]), "one that is there is not counted on twice: this is a copy");
    members.fail(1).unwrap();
    members.advance(time(1));
    let left = members.superblocks().to_vec();
    assert!(!members.counts_on(&all[1]), "it was seen to fail");
    assert!(of(&left[..1]).counts_on(&left[1]));
    // Gone on without it.
    let mut gone_on = of(&left[..1]);
    gone_on.advance(time(2));
    gone_on.advance(time(3));
    assert!(!gone_on.counts_on(&left[1]));
    // The freshest table decides, whoever has it.
    assert!(of(&all[1..2]).counts_on(&left[0]));
    let other = plan_creation(&CreateRequest { array_uuid: Uuid([0xdd; 16]), ..raid5_request() }).unwrap();
    assert!(!members.counts_on(&other.superblocks[0]), "another array's member is not this one's");
}

#[test]
fn an_array_does_not_count_on_its_spares() {
    let spare = NewMember { drive: "spare".to_owned(), size_bytes: SIZE, uuid: Uuid([9; 16]) };
    let mut members = raid5();
    let number = members.add_spare(&spare).unwrap();
    members.advance(time(1));
    let superblock = members.superblock(number).unwrap().clone();
    members.remove(number).unwrap();
    assert!(!members.counts_on(&superblock));
}

/// Whoever starts an array without a member takes it out of the table, and does not call it faulty.
#[test]
fn a_member_that_was_run_without_one_of_us_is_not_re_added() {
    for absent in [MemberUse::Spare, MemberUse::Faulty, MemberUse::Active(Role(0))] {
        let mut members = raid5_with_bitmap();
        let mut back = members.superblock(1).unwrap().clone();
        assert!(back.set_member_use(0, absent));
        members.fail(1).unwrap();
        members.advance(time(1));
        let back = Candidate { drive: "back".to_owned(), superblock: back };
        let re_added = |since| members.clone().re_add(&back, Some(0), since);
        let ran_alone = re_added(SinceItLeft::Unknown).is_err_and(|error| error.why == ReAddProblem::RunAlone);
        assert_eq!(ran_alone, !matches!(absent, MemberUse::Active(_)), "{absent:?}");
        assert!(re_added(SinceItLeft::AsItWas).is_ok(), "who failed before it may be back");
    }
}

#[test]
fn an_array_whose_journal_failed_starts_without_it_and_it_is_out_should_it_come_back() {
    let creation = CreateRequest { spares: vec![drive(3)], ..raid5_request() };
    let mut members = Membership::of_creation(&plan_creation(&creation).unwrap());
    for member in &mut members.members {
        member.features = member.features.with(Features::JOURNAL, true);
    }
    members.record(3, MemberUse::Journal);
    let [missed, journal] = [0, 3].map(|number| members.superblock(number).unwrap().clone());
    let without = |members: &Membership| assemble(&candidates(&members.superblocks()[..3])).unwrap().refused;
    assert!(!without(&members).is_empty(), "the journal may hold what the members do not");
    members.retire_journal(3).unwrap();
    members.advance(time(1));
    assert!(without(&members).is_empty());
    let back = assemble(&candidates(&[members.superblocks(), &[journal]].concat())).unwrap();
    assert_eq!(back.verdicts[3], Verdict::Faulty);
    let one_behind = assemble(&candidates(&[&[missed], &members.superblocks()[1..3]].concat())).unwrap();
    assert!(back.refused.is_empty() && one_behind.refused.is_empty());
}
