use shoal_array::ParityLayout;

use super::*;
use crate::{ConsistencyPolicy, CreateRequest, MinorVersion, Timestamp, Unverified, Uuid, assemble, plan_creation};

const SIZE: u64 = 64 << 20;

fn drive(number: u8) -> NewMember {
    NewMember { drive: format!("drive{number}"), size_bytes: SIZE, uuid: Uuid([number + 1; 16]) }
}

fn array(level: Level, count: u8) -> Membership {
    let request = CreateRequest {
        minor: MinorVersion::Start4K,
        level,
        chunk_bytes: matches!(level, Level::Raid5(_)).then_some(64 << 10),
        members: (0..count).map(drive).collect(),
        spares: Vec::new(),
        name: "lab".to_owned(),
        homehost: None,
        array_uuid: Uuid([0xee; 16]),
        creation_time: Timestamp::from_seconds(1_700_000_000),
        clean: true,
        consistency: ConsistencyPolicy::Resync,
    };
    Membership::of_creation(&plan_creation(&request).unwrap())
}

const RAID5: Level = Level::Raid5(ParityLayout::LeftSymmetric);

fn candidates(superblocks: &[Superblock]) -> Vec<Candidate> {
    let found = |superblock: &Superblock| {
        let superblock = Unverified::parse_and_verify(&superblock.encode(), MinorVersion::Start4K, SIZE).unwrap();
        Candidate { drive: format!("drive{}", superblock.dev_number), superblock }
    };
    superblocks.iter().map(found).collect()
}

fn started() -> [Membership; 2] {
    let before = array(RAID5, 3);
    let mut members = before.clone();
    let number = members.add_newcomer(&drive(3)).unwrap();
    let target = ReshapeTarget { level: RAID5, chunk_bytes: 128 << 10, shift_bytes: 256 << 10 };
    members.start_reshape(target, &[number]).unwrap();
    members.advance(Timestamp::from_seconds(1_700_000_001));
    [before, members]
}

/// As Linux 6.1 has it after `mdadm --grow --raid-devices 4`: the old shape, the new number of
/// members, and where to.
#[test]
fn a_reshape_is_told_in_mds_fields() {
    let [before, mut members] = started();
    members.record_reshape_position(3 << 20);
    for own in members.superblocks() {
        assert_eq!(own.features.0, 0x44);
        let was = &before.superblocks()[0];
        let shape = |own: &Superblock| (own.level_number, own.layout_number, own.chunk_sectors, own.size_sectors);
        assert_eq!((shape(own), own.raid_devices), (shape(was), 4));
        assert_eq!(own.data_offset_sectors, was.data_offset_sectors);
        let reshape = Reshape {
            new_level: 5,
            position_sectors: 6144,
            delta_devices: 1,
            new_layout: 2,
            new_chunk_sectors: 256,
            new_offset_sectors: -512,
        };
        assert_eq!((own.reshape, own.own_use()), (reshape, MemberUse::Active(Role(own.dev_number as u16))));
    }
    members.finish_reshape();
    let (was, own) = (&before.superblocks()[0], &members.superblocks()[0]);
    assert_eq!((own.features, own.reshape, own.chunk_sectors), (Features(0), Reshape::default(), 256));
    assert_eq!(own.data_offset_sectors + 512, was.data_offset_sectors);
    assert_eq!(own.data_size_sectors, was.data_size_sectors + 512);
}

#[test]
fn members_that_did_not_hear_of_the_start_are_told() {
    let [before, members] = started();
    for (heard, deaf) in [(0, 1), (1, 0), (2, 0)] {
        let mut mixed = members.superblocks().to_vec();
        mixed[deaf] = before.superblocks()[deaf].clone();
        assert!(in_one_voice(&candidates(&mixed)).iter().all(|told| {
            told.superblock.reshape == mixed[heard].reshape && told.superblock.features == mixed[heard].features
        }));
    }
    let mut further = members.clone();
    further.record_reshape_position(3 << 20);
    further.advance(Timestamp::from_seconds(1_700_000_002));
    let mut mixed = further.superblocks().to_vec();
    mixed[0] = before.superblocks()[0].clone();
    assert_eq!(in_one_voice(&candidates(&mixed)), candidates(&mixed), "data may have moved since");
}

#[test]
fn members_are_told_where_their_data_move_by_a_member_and_not_by_a_spare() {
    let mut before = array(RAID5, 3);
    before.add_newcomer(&drive(3)).unwrap();
    let mut members = before.clone();
    let target = ReshapeTarget { level: RAID5, chunk_bytes: 128 << 10, shift_bytes: 256 << 10 };
    members.start_reshape(target, &[]).unwrap();
    members.advance(Timestamp::from_seconds(1_700_000_001));
    for deaf in 0..4 {
        let mut mixed = members.superblocks().to_vec();
        mixed[deaf] = before.superblocks()[deaf].clone();
        let told: Vec<_> = in_one_voice(&candidates(&mixed)).into_iter().map(|told| told.superblock).collect();
        for (told, heard) in told.iter().zip(members.superblocks()) {
            assert_eq!((told.reshape, told.features), (heard.reshape, heard.features), "{deaf} is deaf");
        }
    }
}

/// Nobody takes a member that did not hear of the end for a good one, as its data are no longer
/// where it says.
#[test]
fn members_that_did_not_hear_of_the_end_are_stale_until_they_are_told() {
    let [_, members] = started();
    let mut ended = members.clone();
    ended.finish_reshape();
    ended.advance(Timestamp::from_seconds(1_700_000_002));
    let mut mixed = ended.superblocks().to_vec();
    mixed[1] = members.superblocks()[1].clone();
    assert!(mixed[1].events + 1 < mixed[0].events);
    let told = in_one_voice(&candidates(&mixed));
    let assembly = assemble(&told).unwrap();
    assert!(assembly.missing_roles().is_empty() && assembly.refused.is_empty());
    let levelled = Membership::levelled(&assembly, &told);
    assert_eq!(levelled, [(1, ended.superblocks()[1].clone())]);
}

#[test]
fn a_mirror_gets_a_member_to_fill_and_a_linear_array_one_that_counts() {
    for (level, features) in [(Level::Raid1, Features::RECOVERY_OFFSET), (Level::Linear, Features(0))] {
        let mut members = array(level, 2);
        let number = members.add_newcomer(&drive(3)).unwrap();
        members.widen(&[number]).unwrap();
        members.advance(Timestamp::from_seconds(1_700_000_001));
        let own = members.superblock(number).unwrap();
        assert_eq!((own.features, own.own_use(), own.raid_devices), (features, MemberUse::Active(Role(2)), 3));
        let found = candidates(members.superblocks());
        assert!(assemble(&found).unwrap().missing_roles().is_empty());
    }
}
