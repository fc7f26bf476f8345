//! What mdadm says of a member, and what it should say.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use shoal_array::{Level, Raid10Layout};
use shoal_md::{Creation, SECTOR_BYTES, Superblock};

use crate::mdadm_examine::drives::Drives;
use crate::mdadm_examine::{CREATED, GIB, KIB};

/// mdadm, which users' search paths often leave out; none if it is not installed.
pub(crate) fn mdadm_program() -> Option<&'static str> {
    let runs = |program: &&str| Command::new(program).arg("--version").output().is_ok_and(|out| out.status.success());
    ["mdadm", "/usr/sbin/mdadm", "/sbin/mdadm"].into_iter().find(runs)
}

pub(crate) fn mdadm(arguments: &[&str], drive: &Path) -> String {
    let output = Command::new(mdadm_program().unwrap())
        .args(arguments)
        .arg(drive)
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .output()
        .unwrap();
    assert!(output.status.success(), "mdadm {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// `key SEPARATOR value` lines.
pub(crate) fn fields(text: &str, separator: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|line| line.split_once(separator));
    pairs.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect()
}

pub(crate) const STATE_LEGEND: &str = "('A' == active, '.' == missing, 'R' == replacing)";

/// What mdadm said of one member. Every field is to be checked once.
struct Said {
    text: String,
    unchecked: BTreeMap<String, String>,
}

impl Said {
    fn new(text: String) -> Self {
        Self { unchecked: fields(&text, " : "), text }
    }

    fn check(&mut self, key: &str, expected: impl Into<String>) {
        self.check_if(key, Some(expected.into()));
    }

    fn check_if(&mut self, key: &str, expected: Option<String>) {
        assert_eq!(self.unchecked.remove(key), expected, "{key} in\n{}", self.text);
    }

    /// For fields that repeat their value in a form for people.
    fn check_before_parenthesis(&mut self, key: &str, expected: Option<String>) {
        let value = self.unchecked.remove(key).map(|value| value.split(" (").next().unwrap().to_owned());
        assert_eq!(value, expected, "{key} in\n{}", self.text);
    }

    fn check_that_nothing_is_left(&self) {
        let left: Vec<&String> = self.unchecked.keys().collect();
        assert!(left.is_empty(), "nobody has checked {left:?} in\n{}", self.text);
    }
}

/// What mdadm should say of one member: worked out from the request, not from the superblock.
pub(crate) struct Expected {
    level: Level,
    chunk_bytes: u64,
    devices: usize,
    /// Of all drives, spares too.
    sizes: Vec<u64>,
    data_offset: u64,
    clean: bool,
}

impl Expected {
    pub(crate) fn new(
        level: Level,
        chunk_bytes: Option<u32>,
        creation: &Creation,
        drives: &Drives,
        clean: bool,
    ) -> Self {
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

    /// Where mdadm puts the bad-block log: behind space for a bitmap, by what is used of each
    /// member.
    fn bad_block_log(&self) -> u64 {
        8 + match self.used() {
            None => 0,
            Some(used) if used >= 200 * GIB + 64 * KIB => 256,
            Some(used) if used > 8 * GIB + 4 * KIB => 128,
            Some(_) => 8,
        }
    }

    /// Free sectors before and after the data. mdadm says nothing if there are none, for which it
    /// also takes one sector after the data.
    fn unused(&self, number: usize) -> Option<String> {
        let taken = 8 + (self.bad_block_log() + 8).max(72);
        let before = self.data_offset / SECTOR_BYTES - taken;
        let after = (self.available(number) - self.used().unwrap_or(self.available(number))) / SECTOR_BYTES;
        let said = (before > 0 || after > 0) && after != 1;
        said.then(|| format!("before={before} sectors, after={after} sectors"))
    }

    pub(crate) fn check(&self, number: usize, superblock: &Superblock, drive: &Path) {
        let mut said = Said::new(mdadm(&["--examine"], drive));
        self.check_identity(&mut said, superblock);
        self.check_places(&mut said, number);
        self.check_state(&mut said, number);
        said.check_that_nothing_is_left();
        self.check_export(superblock, drive);
    }

    fn check_identity(&self, said: &mut Said, superblock: &Superblock) {
        said.check("Magic", "a92b4efc");
        said.check("Version", "1.2");
        said.check("Feature Map", format!("{:#x}", superblock.features.0));
        said.check("Array UUID", "01020304:05060708:090a0b0c:0d0e0f10");
        said.check("Device UUID", superblock.device_uuid.to_string());
        said.check("Name", "lab:examined");
        said.check("Creation Time", "Tue Nov 14 22:13:20 2023");
        said.check("Update Time", "Tue Nov 14 22:13:20 2023");
        said.check("Checksum", format!("{:x} - correct", superblock.checksum()));
        said.check("Events", "0");
    }

    fn check_places(&self, said: &mut Said, number: usize) {
        let sectors = |bytes: u64| format!("{} sectors", bytes / SECTOR_BYTES);
        said.check("Data Offset", sectors(self.data_offset));
        said.check("Super Offset", "8 sectors");
        said.check_if("Unused Space", self.unused(number));
        said.check("Bad Block Log", format!("512 entries available at offset {} sectors", self.bad_block_log()));
        said.check_before_parenthesis("Avail Dev Size", Some(sectors(self.available(number))));
        // For linear, mdadm prints what the field holds.
        let used = if self.level == Level::Linear { Some(0) } else { self.used() };
        let differing = used.filter(|used| *used != self.available(number));
        said.check_before_parenthesis("Used Dev Size", differing.map(sectors));
        said.check_before_parenthesis("Array Size", self.array_size().map(|size| format!("{} KiB", size / KIB)));
    }

    fn check_state(&self, said: &mut Said, number: usize) {
        said.check("Raid Level", self.level.to_string());
        said.check("Raid Devices", self.devices.to_string());
        said.check_if("Layout", self.layout());
        let chunk = format!("{}K", self.chunk_bytes / KIB);
        match self.level {
            Level::Linear => said.check("Rounding", chunk),
            Level::Raid1 => {}
            _ => said.check("Chunk Size", chunk),
        }
        said.check("State", if self.clean { "clean" } else { "active" });
        let spare = number >= self.devices;
        said.check("Device Role", if spare { "spare".to_owned() } else { format!("Active device {number}") });
        said.check("Array State", format!("{} {STATE_LEGEND}", "A".repeat(self.devices)));
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
