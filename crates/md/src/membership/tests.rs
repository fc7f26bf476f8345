use shoal_array::{Level, ParityLayout};

use super::*;
use crate::{ConsistencyPolicy, CreateRequest, MinorVersion, Uuid, Verdict, assemble, plan_creation};

const MIB: u64 = 1 << 20;
const SIZE: u64 = 64 * MIB;

fn drive(number: u8) -> NewMember {
    NewMember { drive: format!("drive{number}"), size_bytes: SIZE, uuid: Uuid([number + 1; 16]) }
}

fn time(seconds: u64) -> Timestamp {
    Timestamp::from_seconds(1_700_000_000 + seconds)
}

fn raid5() -> Membership {
    let request = CreateRequest {
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
    };
    Membership::of_creation(&plan_creation(&request).unwrap())
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
    let rebuilding = |position_bytes| Verdict::Rebuilding { role: Role(1), position_bytes };
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
    assert_eq!(message, "drive8 is too small: it has 67108352 bytes, 67108864 are needed");
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
