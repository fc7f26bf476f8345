use shoal_array::{Level, ParityLayout, Raid10Layout};

use super::*;
use crate::{
    Candidate, ConsistencyPolicy, CreateRequest, NewMember, Timestamp, Unverified, Uuid, assemble, plan_creation,
};

const DRIVE_BYTES: u64 = 64 << 20;
const MINORS: [MinorVersion; 3] = [MinorVersion::Start4K, MinorVersion::Start, MinorVersion::End];

fn array(minor: MinorVersion, level: Level) -> Membership {
    let drive = |number: u8| NewMember {
        drive: format!("drive{number}"),
        size_bytes: DRIVE_BYTES + (u64::from(number) << 20),
        uuid: Uuid([number + 1; 16]),
    };
    let request = CreateRequest {
        minor,
        level,
        chunk_bytes: None,
        members: (0..4).map(drive).collect(),
        spares: Vec::new(),
        name: "lab".to_owned(),
        homehost: None,
        array_uuid: Uuid([0xee; 16]),
        creation_time: Timestamp::from_seconds(0),
        clean: true,
        consistency: ConsistencyPolicy::Resync,
    };
    Membership::of_creation(&plan_creation(&request).unwrap())
}

/// What would be read of a drive with this superblock.
fn found(own: &Superblock, minor: MinorVersion) -> Candidate {
    let size_bytes = DRIVE_BYTES + (u64::from(own.dev_number) << 20);
    let superblock = Unverified::parse_and_verify(&own.encode(), minor, size_bytes).unwrap();
    Candidate { drive: format!("drive{}", own.dev_number), superblock }
}

#[test]
fn a_bitmap_that_comes_lies_where_one_of_a_new_array_would() {
    let near = Raid10Layout { near: 2, far: 1, offset: false, far_sets: false };
    let levels = [Level::Raid1, Level::Raid6(ParityLayout::LeftSymmetric), Level::Raid10(near)];
    for (minor, level) in MINORS.into_iter().flat_map(|minor| levels.map(|level| (minor, level))) {
        let mut members = array(minor, level);
        let without = members.superblocks().to_vec();
        let header = members.add_bitmap(None).unwrap();
        assert_eq!(header.chunk_bytes, 64 << 20, "what mdadm takes");
        for own in members.superblocks() {
            let room_bytes = found(own, minor).superblock.bitmap_area().unwrap().size_bytes;
            assert!(room_bytes >= bitmap_sectors(header.bits()) * SECTOR_BYTES, "{minor:?} {level:?}");
        }
        members.remove_bitmap();
        assert_eq!(members.superblocks(), without);
    }
}

#[test]
fn a_chunk_that_is_none_or_has_no_room_is_refused_and_changes_nothing() {
    let mut members = array(MinorVersion::Start4K, Level::Raid1);
    let before = members.clone();
    for chunk_bytes in [0, 512, 3 << 20, 1 << 40] {
        let refused = members.add_bitmap(Some(chunk_bytes));
        assert!(matches!(refused, Err(BitmapRefusal::Chunk { least_bytes: 4096, .. })), "{refused:?}");
        assert_eq!(members, before);
    }
    assert_eq!(members.add_bitmap(Some(4096)).unwrap().chunk_bytes, 4096);
}

/// The bad-block log begins in the middle of a page: the bits that fit before it do not fill that
/// page, but the page would be written.
#[test]
fn pages_of_a_bitmap_end_before_what_lies_behind_it() {
    let mut members = array(MinorVersion::Start4K, Level::Raid1);
    for own in &mut members.members {
        own.bad_block_log.offset_sectors = BEHIND_SECTORS + 12;
        own.size_sectors = (160 << 20) / SECTOR_BYTES;
    }
    let refused = members.add_bitmap(Some(4096));
    assert!(matches!(refused, Err(BitmapRefusal::Chunk { least_bytes: 8192, .. })), "{refused:?}");
    let bits = members.add_bitmap(Some(8192)).unwrap().bits();
    assert_eq!(bitmap_sectors(bits), 8);
}

/// Power was cut while superblocks were written that speak of a bitmap, or do not any more.
#[test]
fn a_member_that_has_not_heard_of_a_bitmap_is_told_where_it_lies() {
    for minor in MINORS {
        let mut members = array(minor, Level::Raid1);
        for gives in [true, false] {
            let behind = members.superblocks()[2].clone();
            match gives {
                true => drop(members.add_bitmap(None).unwrap()),
                false => members.remove_bitmap(),
            }
            members.advance(Timestamp::from_seconds(1));
            let mut own = members.superblocks().to_vec();
            own[2] = behind;
            let candidates: Vec<_> = own.iter().map(|own| found(own, minor)).collect();
            let levelled = Membership::levelled(&assemble(&candidates).unwrap(), &candidates);
            assert_eq!(levelled, [(2, members.superblocks()[2].clone())]);
        }
    }
}
