//! Superblocks of version 0.90 that Linux wrote, read in the words of version 1, and held against
//! what mdadm says of them.
//!
//! `tests/fixtures/README.md` says how they were made. `mdadm --examine` needs no privileges;
//! without mdadm its part says so.
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use shoal_array::{Level, MemberState, ParityLayout, Raid10Layout, Role};
use shoal_md::{
    Candidate, Features, MemberUse, Membership, MetadataVersion, ReadOnlyReason, SUPERBLOCK_BYTES, Superblock,
    SuperblockError, Unverified, Verdict, assemble,
};

const MIB: u64 = 1 << 20;
const KIB: u64 = 1 << 10;
const SIZES: [u64; 4] = [32 * MIB, 36 * MIB, 44 * MIB, 32 * MIB];
/// What the array uses of the smallest drive: 64 KiB are kept at its end.
const USED: u64 = 32 * MIB - 64 * KIB;

type Area = [u8; SUPERBLOCK_BYTES];

fn areas(file: &str) -> Vec<Area> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/legacy-{file}.superblocks"));
    std::fs::read(path).unwrap().chunks(SUPERBLOCK_BYTES).map(|area| area.try_into().unwrap()).collect()
}

fn candidates(file: &str) -> Vec<Candidate> {
    let read = |(area, size): (Area, u64)| Unverified::parse_and_verify(&area, MetadataVersion::Legacy, size).unwrap();
    let superblocks = areas(file).into_iter().zip(SIZES).map(read);
    superblocks.zip('b'..).map(|(superblock, letter)| Candidate { drive: letter.to_string(), superblock }).collect()
}

#[test]
fn a_raid5_with_a_spare_is_put_together_and_only_read() {
    let members = candidates("raid5");
    let assembly = assemble(&members).unwrap();
    let in_sync = |role| Verdict::InSync(Role(role));
    assert_eq!(assembly.verdicts, [in_sync(0), in_sync(1), in_sync(2), Verdict::Spare]);
    let shape = assembly.shape().unwrap();
    assert_eq!(shape.level, Level::Raid5(ParityLayout::LeftSymmetric));
    assert_eq!((shape.chunk_bytes, shape.member_bytes), (64 << 10, vec![USED; 3]));
    assert_eq!(assembly.read_only, [ReadOnlyReason::Legacy]);
    assert!(assembly.refused.is_empty() && assembly.superblock.is_clean());
    for (member, size) in members.iter().zip(SIZES) {
        let own = &member.superblock;
        assert_eq!((own.version().to_string(), own.data_offset_bytes()), ("0.90".to_owned(), 0));
        assert_eq!(own.super_offset_bytes(), size - 64 * KIB);
        assert_eq!(own.data_size_sectors * 512, size - 64 * KIB);
    }
    // Nothing can be added without a place for it being known.
    assert_eq!(assembly.name(), assembly.superblock.array_uuid.to_string());
}

#[test]
fn every_byte_goes_back_as_it_was() {
    for file in ["raid5", "failed", "raid1", "linear", "raid10"] {
        for (member, area) in candidates(file).iter().zip(areas(file)) {
            assert_eq!(member.superblock.encode()[..], area[..], "{file}");
        }
    }
}

#[test]
fn a_member_that_was_removed_is_stale() {
    let assembly = assemble(&candidates("failed")).unwrap();
    assert_eq!(assembly.verdicts[0], Verdict::InSync(Role(0)));
    assert!(matches!(assembly.verdicts[1], Verdict::Stale { updates_missed: 2.. }), "{:?}", assembly.verdicts);
    let states = assembly.member_states();
    assert_eq!(states, [MemberState::InSync, MemberState::Missing, MemberState::InSync]);
    assert!(assembly.shape().is_ok());
}

#[test]
fn other_levels_are_read_too() {
    let raid1 = assemble(&candidates("raid1")).unwrap();
    assert_eq!(raid1.shape().unwrap().member_bytes, [USED; 2]);
    assert!(raid1.superblock.features.any_of(Features::BITMAP));
    assert_eq!(raid1.superblock.bitmap_area().unwrap().offset_bytes, USED + 4 * KIB, "behind the superblock");

    let linear = assemble(&candidates("linear")).unwrap();
    let sizes = [32, 36, 44].map(|mib| mib * MIB - 64 * KIB);
    assert_eq!(linear.shape().unwrap().member_bytes, sizes);

    let raid10 = assemble(&candidates("raid10")).unwrap();
    let near_2 = Raid10Layout { near: 2, far: 1, offset: false, far_sets: false };
    assert_eq!(raid10.shape().unwrap().level, Level::Raid10(near_2));
    let position = raid10.resync_position_bytes().unwrap();
    assert!(position > 0 && position < USED, "it was stopped in the middle of its resync: {position}");
}

#[test]
fn what_is_damaged_or_strange_is_refused_by_name() {
    let good = areas("raid5")[0];
    let read = |area: &Area| Unverified::parse_and_verify(area, MetadataVersion::Legacy, SIZES[0]);
    let mut swapped = good;
    swapped.chunks_exact_mut(4).for_each(<[u8]>::reverse);
    assert_eq!(read(&swapped), Err(SuperblockError::BigEndian));
    assert!(Unverified::has_magic(&swapped) && Unverified::has_magic(&good));
    for (byte, value) in [(0, 1), (8, 92), (4 * 7, 9), (4 * 10, 200), (2000, 1)] {
        let mut area = good;
        area[byte] ^= value;
        assert!(read(&area).is_err(), "byte {byte}");
    }
    let small = Unverified::parse_and_verify(&good, MetadataVersion::Legacy, 16 * MIB);
    assert!(matches!(small, Err(SuperblockError::DataArea { .. })), "{small:?}");
    let tiny = Unverified::parse_and_verify(&good, MetadataVersion::Legacy, 64 * KIB - 512);
    assert!(matches!(tiny, Err(SuperblockError::DriveTooSmall { .. })), "{tiny:?}");
}

/// Puts a right checksum on changed bytes.
fn sign(area: &mut Area) {
    area[152..156].fill(0);
    let words = area.chunks_exact(4).map(|word| u64::from(u32::from_le_bytes(word.try_into().unwrap())));
    let sum: u64 = words.sum();
    let folded = ((sum & 0xffff_ffff) + (sum >> 32)) as u32;
    area[152..156].copy_from_slice(&folded.to_le_bytes());
}

proptest! {
    #[test]
    fn hostile_words_do_not_make_it_panic(
        changes in proptest::collection::vec((2..1024_usize, prop_oneof![any::<u32>(), 0..40_u32]), 1..6),
        drive_bytes in prop_oneof![Just(SIZES[0]), any::<u64>()],
    ) {
        let mut members = candidates("raid5");
        let mut area = areas("raid5")[0];
        for (word, value) in changes {
            area[4 * word..4 * word + 4].copy_from_slice(&value.to_le_bytes());
        }
        sign(&mut area);
        let Ok(superblock) = Unverified::parse_and_verify(&area, MetadataVersion::Legacy, drive_bytes) else {
            return Ok(());
        };
        prop_assert_eq!(&superblock.encode()[..], &area[..]);
        members[0].superblock = superblock;
        if let Ok(assembly) = assemble(&members) {
            prop_assert!(!assembly.read_only.is_empty());
            let _known_or_not = assembly.shape();
            prop_assert!(Membership::of_assembly(&assembly, &members).superblocks().len() <= members.len());
        }
    }
}

#[test]
fn needs_mdadm_says_the_same_of_version_0_90() {
    let runs = |program: &&str| Command::new(program).arg("--version").output().is_ok_and(|out| out.status.success());
    let Some(mdadm) = ["mdadm", "/usr/sbin/mdadm", "/sbin/mdadm"].into_iter().find(runs) else {
        let line = "SKIPPED: needs_mdadm_says_the_same_of_version_0_90 needs mdadm (Debian: apt-get install mdadm)\n";
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for file in ["raid5", "failed", "raid1", "linear", "raid10"] {
        for (number, (member, area)) in candidates(file).iter().zip(areas(file)).enumerate() {
            let path = folder.path().join(format!("{file}{number}"));
            let drive = File::create(&path).unwrap();
            drive.set_len(SIZES[number]).unwrap();
            drive.write_all_at(&area, member.superblock.super_offset_bytes()).unwrap();
            let output = Command::new(mdadm).arg("--examine").arg(&path).env("LC_ALL", "C").output().unwrap();
            check_what_was_said(&String::from_utf8(output.stdout).unwrap(), &member.superblock);
        }
    }
}

fn check_what_was_said(said: &str, own: &Superblock) {
    let value = |key: &str| {
        let pairs = said.lines().filter_map(|line| line.split_once(" : "));
        let mut values = pairs.filter(|(name, _)| name.trim() == key);
        values.next().map(|(_, value)| value.split(" (").next().unwrap().trim().to_owned()).unwrap()
    };
    assert_eq!(value("Version"), "0.90.00", "{said}");
    assert_eq!(value("UUID"), own.array_uuid.to_string(), "{said}");
    assert_eq!(value("Raid Level"), own.level().unwrap().to_string(), "{said}");
    assert_eq!(value("Raid Devices"), own.raid_devices.to_string(), "{said}");
    // Where mdadm finds no bitmap beside the superblock, it expects another one.
    assert!(value("Checksum").starts_with(&format!("{:x} - ", own.checksum())), "{said}");
    assert_eq!(value("Events"), own.events.to_string(), "{said}");
    assert_eq!(value("State"), if own.is_clean() { "clean" } else { "active" }, "{said}");
    if own.level_number > 0 {
        assert_eq!(value("Used Dev Size"), (own.used_bytes() / KIB).to_string(), "{said}");
    }
    let this = said.lines().find(|line| line.starts_with("this")).unwrap();
    let words: Vec<&str> = this.split_whitespace().collect();
    assert_eq!(words[1], own.dev_number.to_string(), "{said}");
    match own.own_use() {
        MemberUse::Active(role) => assert_eq!((words[4], words[5]), (&role.0.to_string()[..], "active"), "{said}"),
        MemberUse::Spare => assert_eq!(words[5], "spare", "{said}"),
        other => panic!("{other:?}: {said}"),
    }
}
