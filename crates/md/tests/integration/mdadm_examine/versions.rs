//! What mdadm says of the areas beside the data in every minor version, and of members in the
//! middle of something.

use std::collections::BTreeMap;

use shoal_array::{Level, ParityLayout, Role};
use shoal_md::{
    Candidate, ConsistencyPolicy, Membership, MinorVersion, SinceItLeft, Superblock, Timestamp, plan_creation,
};

use crate::mdadm_examine::drives::Drives;
use crate::mdadm_examine::expected::{STATE_LEGEND, fields, mdadm};
use crate::mdadm_examine::{CREATED, GIB, MIB, mdadm_is_there};

const RAID5: Level = Level::Raid5(ParityLayout::LeftSymmetric);
const BITMAP: ConsistencyPolicy = ConsistencyPolicy::Bitmap { chunk_bytes: None };

fn examine(drives: &Drives, number: u32) -> BTreeMap<String, String> {
    fields(&mdadm(&["--examine"], &drives.path(number as usize)), " : ")
}

/// Bitmap, PPL and bad-block log lie where we put them, on members and on one that is added later.
#[test]
fn needs_mdadm_finds_the_areas_of_every_version() {
    if !mdadm_is_there("needs_mdadm_finds_the_areas_of_every_version") {
        return;
    }
    for minor in MinorVersion::ALL {
        for consistency in [ConsistencyPolicy::Resync, BITMAP, ConsistencyPolicy::Ppl] {
            let drives = Drives::new(&[64 * MIB, 70 * MIB, 9 * GIB, 65 * MIB + 5 * 512]);
            let mut request = drives.request(RAID5, None, 1, true);
            let newcomer = request.spares.remove(0);
            request.minor = minor;
            request.consistency = consistency;
            let creation = plan_creation(&request).unwrap();
            let mut members = Membership::of_creation(&creation);
            assert_eq!(members.add_spare(&newcomer), Ok(3));
            drives.write(members.superblocks());
            if let Some(header) = &creation.bitmap {
                drives.write_bitmap_header(members.superblocks(), header);
            }
            for own in members.superblocks() {
                check_areas(&examine(&drives, own.dev_number), own, minor, consistency);
            }
        }
    }
}

fn check_areas(said: &BTreeMap<String, String>, own: &Superblock, minor: MinorVersion, consistency: ConsistencyPolicy) {
    assert_eq!(said["Version"], format!("1.{}", minor.number()));
    assert!(said["Checksum"].ends_with("correct"), "{said:?}");
    assert_eq!(said["Super Offset"], format!("{} sectors", own.super_offset_sectors));
    let data_offset = (minor != MinorVersion::End).then(|| format!("{} sectors", own.data_offset_sectors));
    assert_eq!(said.get("Data Offset").cloned(), data_offset);
    let from_superblock = |area: shoal_md::Area| (area.offset_bytes as i64 - own.super_offset_bytes() as i64) / 512;
    for (name, area) in [("Internal Bitmap", own.bitmap_area()), ("PPL", own.ppl_area())] {
        let place = said.get(name).map(|value| value.rsplit(' ').nth(3).unwrap().parse().unwrap());
        assert_eq!(place, area.map(from_superblock), "{name} in {said:?}");
    }
    assert_eq!(said.contains_key("PPL"), consistency == ConsistencyPolicy::Ppl);
    assert_eq!(said.contains_key("Internal Bitmap"), consistency == BITMAP);
    let log = from_superblock(own.bad_block_log_area().unwrap());
    assert_eq!(said["Bad Block Log"], format!("512 entries available at offset {log} sectors"));
}

/// An array of three with a bitmap, and a spare, on drives.
fn with_bitmap() -> (Drives, Membership) {
    let drives = Drives::new(&[64 * MIB; 4]);
    let mut request = drives.request(RAID5, None, 1, true);
    request.consistency = BITMAP;
    let creation = plan_creation(&request).unwrap();
    drives.write_bitmap_header(&creation.superblocks, creation.bitmap.as_ref().unwrap());
    (drives, Membership::of_creation(&creation))
}

fn write(drives: &Drives, members: &mut Membership) {
    members.advance(Timestamp::from_seconds(CREATED + 60));
    drives.write(members.superblocks());
}

#[test]
fn needs_mdadm_reads_a_replacement() {
    if !mdadm_is_there("needs_mdadm_reads_a_replacement") {
        return;
    }
    let (drives, mut members) = with_bitmap();
    members.start_replacement(3, Role(1)).unwrap();
    members.record_rebuild_position(3, MIB).unwrap();
    write(&drives, &mut members);
    let replacement = examine(&drives, 3);
    assert_eq!(replacement["Device Role"], "Replacement device 1");
    assert_eq!(replacement["Recovery Offset"], "2048 sectors");
    assert_eq!(replacement["Feature Map"], "0x13");
    assert_eq!(examine(&drives, 0)["Array State"], format!("ARA {STATE_LEGEND}"));

    assert_eq!(members.finish_replacement(3), Ok(Some(1)));
    write(&drives, &mut members);
    assert_eq!(examine(&drives, 3)["Device Role"], "Active device 1");
    assert_eq!(examine(&drives, 0)["Array State"], format!("AAA {STATE_LEGEND}"));
}

#[test]
fn needs_mdadm_reads_a_member_that_came_back() {
    if !mdadm_is_there("needs_mdadm_reads_a_member_that_came_back") {
        return;
    }
    let (drives, mut members) = with_bitmap();
    let superblock = members.superblock(1).unwrap().clone();
    members.fail(1).unwrap();
    write(&drives, &mut members);
    assert_eq!(examine(&drives, 0)["Array State"], format!("A.A {STATE_LEGEND}"));
    members.re_add(&Candidate { drive: "former".to_owned(), superblock }, Some(0), SinceItLeft::Unknown).unwrap();
    write(&drives, &mut members);
    let back = examine(&drives, 1);
    assert_eq!(back["Feature Map"], "0x83");
    assert_eq!(back["Recovery Offset"], "0 sectors");
    assert_eq!(back["Device Role"], "Active device 1");
    assert_eq!(examine(&drives, 0)["Array State"], format!("AAA {STATE_LEGEND}"));
}
