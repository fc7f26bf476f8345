//! mdadm reads every field of the superblocks that we write, for every level, layout, and sizes
//! from 16 MiB to 8 TiB.
//!
//! `mdadm --examine` needs no privileges and no kernel with md, but mdadm itself: without it these
//! tests say so and do nothing. The drives are sparse files; only their superblocks are written.
mod drives;
mod expected;
mod versions;

use std::io::Write;

use shoal_array::{Level, ParityLayout, Raid0Layout, Raid10Layout, Role};
use shoal_md::{Features, Membership, Timestamp};

use drives::Drives;
use expected::{Expected, STATE_LEGEND, fields, mdadm, mdadm_program};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;
const CREATED: u64 = 1_700_000_000;

/// False, and one loud line, if there is no mdadm.
fn mdadm_is_there(test: &str) -> bool {
    let there = mdadm_program().is_some();
    if !there {
        // Not by `eprintln!`, which the test harness hides when a test passes.
        let line = format!("SKIPPED: {test} needs mdadm (Debian: apt-get install mdadm)\n");
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    there
}

/// Creates an array and has mdadm examine its first and last member and its spares.
fn create_and_examine(level: Level, chunk_bytes: Option<u32>, sizes: &[u64], spares: usize, clean: bool) {
    let drives = Drives::new(sizes);
    let creation = drives.create(level, chunk_bytes, spares, clean);
    let clean = clean || matches!(level, Level::Linear | Level::Raid0(_));
    let expected = Expected::new(level, chunk_bytes, &creation, &drives, clean);
    let last = sizes.len() - spares - 1;
    for number in std::iter::once(0).chain(last..sizes.len()) {
        expected.check(number, &creation.superblocks[number], &drives.path(number));
    }
}

fn levels() -> Vec<Level> {
    let mut levels = vec![Level::Linear, Level::Raid1, Level::Raid4];
    levels.extend([Raid0Layout::Original, Raid0Layout::Alternate].map(Level::Raid0));
    levels.extend(ParityLayout::ALL[..6].iter().copied().map(Level::Raid5));
    levels.extend(ParityLayout::ALL.map(Level::Raid6));
    for (near, far, offset, far_sets) in [
        (2, 1, false, false),
        (3, 1, false, false),
        (1, 2, false, false),
        (1, 3, false, false),
        (1, 2, true, false),
        (1, 3, true, false),
        (2, 2, false, false),
        (1, 2, false, true),
    ] {
        levels.push(Level::Raid10(Raid10Layout { near, far, offset, far_sets }));
    }
    levels
}

#[test]
fn needs_mdadm_reads_every_level_layout_and_size() {
    if !mdadm_is_there("needs_mdadm_reads_every_level_layout_and_size") {
        return;
    }
    for level in levels() {
        for size in [16 * MIB, 100 * MIB, GIB + 5 * 512, 9 * GIB, 64 * GIB, 201 * GIB, 8 * TIB] {
            create_and_examine(level, None, &[size; 5], 0, true);
        }
    }
}

#[test]
fn needs_mdadm_reads_every_chunk() {
    if !mdadm_is_there("needs_mdadm_reads_every_chunk") {
        return;
    }
    let raid5 = Level::Raid5(ParityLayout::LeftSymmetric);
    for level in levels().into_iter().filter(|level| *level != Level::Raid1) {
        for shift in 12..=22 {
            create_and_examine(level, Some(1 << shift), &[48 * MIB + 512 * 9; 4], 0, true);
        }
    }
    create_and_examine(raid5, Some(4 << 20), &[16 * MIB; 3], 0, true);
}

#[test]
fn needs_mdadm_reads_unequal_drives_and_spares() {
    if !mdadm_is_there("needs_mdadm_reads_unequal_drives_and_spares") {
        return;
    }
    for level in levels() {
        let spares = if matches!(level, Level::Linear | Level::Raid0(_)) { 0 } else { 2 };
        for clean in [true, false] {
            create_and_examine(level, None, &[40 * MIB, 16 * MIB, 24 * MIB, GIB, 31 * MIB, 25 * MIB], spares, clean);
        }
    }
}

#[test]
fn needs_mdadm_reads_a_failed_member_and_its_rebuild() {
    if !mdadm_is_there("needs_mdadm_reads_a_failed_member_and_its_rebuild") {
        return;
    }
    let drives = Drives::new(&[64 * MIB; 4]);
    let level = Level::Raid5(ParityLayout::LeftSymmetric);
    let mut members = Membership::of_creation(&drives.create(level, None, 1, true));
    let said = |drive: usize| fields(&mdadm(&["--examine"], &drives.path(drive)), " : ");

    members.fail(1).unwrap();
    members.advance(Timestamp::from_seconds(CREATED + 60));
    drives.write(members.superblocks());
    for drive in [0, 2, 3] {
        let said = said(drive);
        assert_eq!(said["Array State"], format!("A.A {STATE_LEGEND}"));
        assert_eq!(said["Update Time"], "Tue Nov 14 22:14:20 2023");
        assert_eq!(said["Events"], "1");
        assert!(said["Checksum"].ends_with("correct"));
    }
    assert_eq!(said(1)["Array State"], format!("AAA {STATE_LEGEND}"), "nobody writes to a failed member");

    members.start_rebuild(3, Role(1)).unwrap();
    members.record_rebuild_position(3, 8 * MIB).unwrap();
    members.advance(Timestamp::from_seconds(CREATED + 180));
    drives.write(members.superblocks());
    let rebuilding = said(3);
    assert_eq!(rebuilding["Feature Map"], format!("{:#x}", Features::RECOVERY_OFFSET.0));
    assert_eq!(rebuilding["Recovery Offset"], "16384 sectors");
    assert_eq!(rebuilding["Device Role"], "Active device 1");

    members.finish_rebuild(3).unwrap();
    members.mark_active();
    members.advance(Timestamp::from_seconds(CREATED + 300));
    drives.write(members.superblocks());
    for drive in [0, 2, 3] {
        let said = said(drive);
        assert_eq!((&said["State"][..], &said["Feature Map"][..]), ("active", "0x0"));
        assert_eq!(said["Array State"], format!("AAA {STATE_LEGEND}"));
    }
}
