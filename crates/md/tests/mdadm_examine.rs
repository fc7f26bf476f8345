//! mdadm reads every field of the superblocks that we write, for every level, layout, and sizes from 16 MiB to 8 TiB.
//!
//! `mdadm --examine` needs no privileges and no kernel with md, but mdadm itself: without it these tests say so and do
//! nothing. The drives are sparse files; only their superblocks are written.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use shoal_array::{Level, ParityLayout, Raid0Layout, Raid10Layout, Role};
use shoal_md::{
    CreateRequest, Creation, Features, Membership, NewMember, SECTOR_BYTES, Superblock, Timestamp, Uuid, plan_creation,
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;
const CREATED: u64 = 1_700_000_000;

/// False, and one loud line, if there is no mdadm.
fn mdadm_is_there(test: &str) -> bool {
    let there = Command::new("mdadm").arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("SKIPPED: {test} needs mdadm (Debian: apt-get install mdadm)");
    }
    there
}

fn mdadm(arguments: &[&str], drive: &Path) -> String {
    let output = Command::new("mdadm").args(arguments).arg(drive).env("LC_ALL", "C").env("TZ", "UTC").output().unwrap();
    assert!(output.status.success(), "mdadm {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// `key SEPARATOR value` lines.
fn fields(text: &str, separator: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|line| line.split_once(separator));
    pairs.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect()
}

/// Sparse files as drives, gone afterwards.
struct Drives {
    folder: tempfile::TempDir,
    sizes: Vec<u64>,
}

impl Drives {
    fn new(sizes: &[u64]) -> Self {
        let drives = Self { folder: tempfile::tempdir().unwrap(), sizes: sizes.to_vec() };
        for (number, size) in sizes.iter().enumerate() {
            File::create(drives.path(number)).unwrap().set_len(*size).unwrap();
        }
        drives
    }

    fn path(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("drive{number}"))
    }

    fn members(&self, numbers: std::ops::Range<usize>) -> Vec<NewMember> {
        let member = |number: usize| NewMember {
            drive: format!("drive{number}"),
            size_bytes: self.sizes[number],
            uuid: Uuid((0x1122_3344_5566_7788_99aa_bbcc_ddee_0000 + number as u128).to_be_bytes()),
        };
        numbers.map(member).collect()
    }

    fn write(&self, superblocks: &[Superblock]) {
        for superblock in superblocks {
            let file = File::options().write(true).open(self.path(superblock.dev_number as usize)).unwrap();
            file.write_all_at(&superblock.encode()[..], superblock.super_offset_bytes()).unwrap();
        }
    }

    /// Creates an array of all drives, the last `spares` of them spares.
    fn create(&self, level: Level, chunk_bytes: Option<u32>, spares: usize, clean: bool) -> Creation {
        let members = self.sizes.len() - spares;
        let request = CreateRequest {
            level,
            chunk_bytes,
            members: self.members(0..members),
            spares: self.members(members..self.sizes.len()),
            name: "examined".to_owned(),
            homehost: Some("lab".to_owned()),
            array_uuid: Uuid(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10_u128.to_be_bytes()),
            creation_time: Timestamp::from_seconds(CREATED),
            clean,
        };
        let creation = plan_creation(&request).unwrap();
        self.write(&creation.superblocks);
        creation
    }
}

/// What mdadm should say of one member: worked out from the request, not from the superblock.
struct Expected {
    level: Level,
    chunk_bytes: u64,
    devices: usize,
    /// Of all drives, spares too.
    sizes: Vec<u64>,
    data_offset: u64,
    clean: bool,
}

impl Expected {
    fn new(level: Level, chunk_bytes: Option<u32>, creation: &Creation, drives: &Drives, clean: bool) -> Self {
        let no_chunk = matches!(level, Level::Raid1 | Level::Linear);
        Self {
            level,
            chunk_bytes: chunk_bytes.map_or(if no_chunk { 0 } else { 512 * KIB }, u64::from),
            devices: creation.shape.member_bytes.len(),
            sizes: drives.sizes.clone(),
            data_offset: creation.superblocks[0].data_offset_bytes(),
            clean,
        }
    }

    fn available(&self, number: usize) -> u64 {
        self.sizes[number] - self.data_offset
    }

    /// Bytes used of each member; none where members may differ.
    fn used(&self) -> Option<u64> {
        if matches!(self.level, Level::Linear | Level::Raid0(_)) {
            return None;
        }
        let rounding = if self.level == Level::Raid1 { 64 * KIB } else { self.chunk_bytes };
        (0..self.sizes.len()).map(|number| self.available(number) / rounding * rounding).min()
    }

    fn array_size(&self) -> Option<u64> {
        let devices = self.devices as u64;
        self.used().map(|used| match self.level {
            Level::Raid1 => used,
            Level::Raid6(_) => used * (devices - 2),
            Level::Raid10(layout) => used * devices / (u64::from(layout.near) * u64::from(layout.far)),
            _ => used * (devices - 1),
        })
    }

    fn layout(&self) -> Option<String> {
        let unequal = self.sizes.iter().any(|size| *size != self.sizes[0]);
        match self.level {
            Level::Raid0(layout) => unequal.then(|| layout.to_string()),
            Level::Raid5(layout) | Level::Raid6(layout) => Some(layout.to_string()),
            // mdadm 4.2 does not print far sets.
            Level::Raid10(layout) => Some(Raid10Layout { far_sets: false, ..layout }.to_string()),
            Level::Linear | Level::Raid1 | Level::Raid4 => None,
        }
    }

    /// Where mdadm puts the bad-block log: behind space for a bitmap, by what is used of each member.
    fn bad_block_log(&self) -> u64 {
        8 + match self.used() {
            None => 0,
            Some(used) if used >= 200 * GIB + 64 * KIB => 256,
            Some(used) if used > 8 * GIB + 4 * KIB => 128,
            Some(_) => 8,
        }
    }

    /// Free sectors before and after the data. mdadm says nothing if there are none, for which it also takes one sector
    /// after the data.
    fn unused(&self, number: usize) -> Option<String> {
        let taken = 8 + (self.bad_block_log() + 8).max(72);
        let before = self.data_offset / SECTOR_BYTES - taken;
        let after = (self.available(number) - self.used().unwrap_or(self.available(number))) / SECTOR_BYTES;
        let said = (before > 0 || after > 0) && after != 1;
        said.then(|| format!("before={before} sectors, after={after} sectors"))
    }

    fn check(&self, number: usize, superblock: &Superblock, drive: &Path) {
        let text = mdadm(&["--examine"], drive);
        let mut said = fields(&text, " : ");
        let mut check =
            |key: &str, expected: Option<String>| assert_eq!(said.remove(key), expected, "{key} in\n{text}");
        let sectors = |bytes: u64| format!("{} sectors", bytes / SECTOR_BYTES);
        let spare = number >= self.devices;
        check("Magic", Some("a92b4efc".to_owned()));
        check("Version", Some("1.2".to_owned()));
        check("Feature Map", Some(format!("{:#x}", superblock.features.0)));
        check("Array UUID", Some("01020304:05060708:090a0b0c:0d0e0f10".to_owned()));
        check("Name", Some("lab:examined".to_owned()));
        check("Creation Time", Some("Tue Nov 14 22:13:20 2023".to_owned()));
        check("Raid Level", Some(self.level.to_string()));
        check("Raid Devices", Some(self.devices.to_string()));
        check("Data Offset", Some(sectors(self.data_offset)));
        check("Super Offset", Some("8 sectors".to_owned()));
        check("Unused Space", self.unused(number));
        check("State", Some(if self.clean { "clean" } else { "active" }.to_owned()));
        check("Device UUID", Some(superblock.device_uuid.to_string()));
        check("Update Time", Some("Tue Nov 14 22:13:20 2023".to_owned()));
        let log = self.bad_block_log();
        check("Bad Block Log", Some(format!("512 entries available at offset {log} sectors")));
        check("Checksum", Some(format!("{:x} - correct", superblock.checksum())));
        check("Events", Some("0".to_owned()));
        check("Layout", self.layout());
        let chunk = format!("{}K", self.chunk_bytes / KIB);
        let [chunk_key, no_chunk_key] =
            if self.level == Level::Linear { ["Rounding", "Chunk Size"] } else { ["Chunk Size", "Rounding"] };
        check(chunk_key, (self.level != Level::Raid1).then_some(chunk));
        check(no_chunk_key, None);
        check("Device Role", Some(if spare { "spare".to_owned() } else { format!("Active device {number}") }));
        let state = format!("{} ('A' == active, '.' == missing, 'R' == replacing)", "A".repeat(self.devices));
        check("Array State", Some(state));
        // These three have sizes for people behind them.
        let mut check_start = |key: &str, expected: Option<String>| {
            let value = said.remove(key).map(|value| value.split(" (").next().unwrap().to_owned());
            assert_eq!(value, expected, "{key} in\n{text}");
        };
        check_start("Avail Dev Size", Some(sectors(self.available(number))));
        // For linear, mdadm prints what the field holds.
        let used = if self.level == Level::Linear { Some(0) } else { self.used() };
        check_start("Used Dev Size", used.filter(|used| *used != self.available(number)).map(sectors));
        check_start("Array Size", self.array_size().map(|size| format!("{} KiB", size / KIB)));
        assert_eq!(said.into_keys().collect::<Vec<_>>(), [""; 0], "fields that nobody has checked in\n{text}");
        self.check_export(superblock, drive);
    }

    fn check_export(&self, superblock: &Superblock, drive: &Path) {
        let text = mdadm(&["--examine", "--export"], drive);
        let mut said = fields(&text, "=");
        for (key, expected) in [
            ("MD_LEVEL", self.level.to_string()),
            ("MD_DEVICES", self.devices.to_string()),
            ("MD_NAME", "lab:examined".to_owned()),
            ("MD_UUID", "01020304:05060708:090a0b0c:0d0e0f10".to_owned()),
            ("MD_UPDATE_TIME", CREATED.to_string()),
            ("MD_DEV_UUID", superblock.device_uuid.to_string()),
            ("MD_EVENTS", "0".to_owned()),
        ] {
            assert_eq!(said.remove(key), Some(expected), "{key} in\n{text}");
        }
        let size = said.remove("MD_ARRAY_SIZE").map(|size| parse_size(&size));
        match (size, self.array_size()) {
            (None, None) => {}
            (Some(size), Some(expected)) => {
                assert!((size / expected as f64 - 1.0).abs() < 0.01, "{expected} bytes are {size} in\n{text}");
            }
            (size, expected) => panic!("{expected:?} bytes are {size:?} in\n{text}"),
        }
        assert!(said.is_empty(), "fields that nobody has checked: {said:?}");
    }
}

/// `48.76MB`, in powers of ten.
fn parse_size(text: &str) -> f64 {
    let unit = text.find(char::is_alphabetic).unwrap();
    let exponent = ["KB", "MB", "GB", "TB"].iter().position(|name| *name == &text[unit..]).unwrap();
    text[..unit].parse::<f64>().unwrap() * 1000_f64.powi(exponent as i32 + 1)
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
    let legend = "('A' == active, '.' == missing, 'R' == replacing)";

    members.fail(1, Timestamp::from_seconds(CREATED + 60)).unwrap();
    drives.write(members.superblocks());
    for drive in [0, 2, 3] {
        let said = said(drive);
        assert_eq!(said["Array State"], format!("A.A {legend}"));
        assert_eq!(said["Update Time"], "Tue Nov 14 22:14:20 2023");
        assert_eq!(said["Events"], "1");
        assert!(said["Checksum"].ends_with("correct"));
    }
    assert_eq!(said(1)["Array State"], format!("AAA {legend}"), "nobody writes to a failed member");

    members.start_rebuild(3, Role(1), Timestamp::from_seconds(CREATED + 120)).unwrap();
    members.record_rebuild_position(3, 8 * MIB, Timestamp::from_seconds(CREATED + 180)).unwrap();
    drives.write(members.superblocks());
    let rebuilding = said(3);
    assert_eq!(rebuilding["Feature Map"], format!("{:#x}", Features::RECOVERY_OFFSET.0));
    assert_eq!(rebuilding["Recovery Offset"], "16384 sectors");
    assert_eq!(rebuilding["Device Role"], "Active device 1");

    members.finish_rebuild(3, Timestamp::from_seconds(CREATED + 240)).unwrap();
    members.mark_active(Timestamp::from_seconds(CREATED + 300));
    drives.write(members.superblocks());
    for drive in [0, 2, 3] {
        let said = said(drive);
        assert_eq!((&said["State"][..], &said["Feature Map"][..]), ("active", "0x0"));
        assert_eq!(said["Array State"], format!("AAA {legend}"));
    }
}
