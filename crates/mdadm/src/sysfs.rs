//! What `/sys/block/mdN/md` says, at one moment. Reading is here, understanding is pure: a tree
//! becomes a map of names and lines, and that a [`Snapshot`]. Sizes are bytes, whatever unit the
//! file is in: sectors of 512 bytes, or KiB.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use shoal_volume::{DiskLevel, Level};

/// Why a tree is not understood.
#[derive(Debug, thiserror::Error)]
pub enum SysfsError {
    /// It cannot be read.
    #[error("{}: {source}: is the array still there?", path.display())]
    Read {
        /// Which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is missing, or says something else than this kernel's documentation.
    #[error("{name} of the array says `{value}`, which is not understood: this kernel's md is too old or too new")]
    Value {
        /// The file.
        name: String,
        /// Its line; empty if the file is not there.
        value: String,
    },
}

/// Names of files, relative to `md/`, and their first lines.
pub(crate) type Lines = BTreeMap<String, String>;

/// What md does in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Idle,
    /// Nothing, and it shall not begin.
    Frozen,
    /// Parity or copies are made to agree after a crash, or for the first time.
    Resync,
    /// Members are filled.
    Recover,
    /// Parity or copies are compared.
    Check,
    /// The same, and made to agree.
    Repair,
    /// Data move to another shape.
    Reshape,
}

/// A device of the array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// As the kernel calls it: `sdb1`, `loop3`.
    pub name: String,
    /// Its role; none for spares and those that failed.
    pub slot: Option<u16>,
    /// It holds all of its role's data.
    pub is_in_sync: bool,
    /// It failed, and is not used any more.
    pub is_faulty: bool,
    /// It is being filled to take the place of another one with the same slot.
    pub is_replacement: bool,
    /// It is the array's journal.
    pub is_journal: bool,
    /// Bytes of its data area that a recovery has filled; none if there is nothing to recover.
    pub recovered_bytes: Option<u64>,
    /// Read errors that were corrected.
    pub corrected_errors: u64,
    /// Bytes that its log says hold nothing.
    pub bad_bytes: u64,
}

/// The array at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// As the kernel says it: `clean`, `active`, `readonly`, ...
    pub array_state: String,
    /// Members that are missing or not in sync.
    pub degraded: u32,
    /// What goes on.
    pub action: Action,
    /// How far it is, in bytes: done, of all.
    pub completed: Option<(u64, u64)>,
    /// Bytes that the last check found to disagree, in the kernel's coarse units.
    pub mismatched_bytes: u64,
    /// Whether a resync is due or under way.
    pub needs_resync: bool,
    /// `resync`, `bitmap`, `ppl`, `journal`, `none` or `unknown`.
    pub consistency_policy: String,
    /// Bytes of each member that are used; 0 where they differ.
    pub component_bytes: u64,
    /// Where content lies; none if this kernel has a level that is not understood.
    pub shape: Option<Shape>,
    /// In no order.
    pub devices: Vec<Device>,
}

/// Where content lies. While an array is reshaped, that is where it will lie at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Level and layout.
    pub level: Level,
    /// 0 where the level has none.
    pub chunk_bytes: u32,
    /// Members of the complete array.
    pub members: u16,
    /// Content still lies elsewhere, too.
    pub is_changing: bool,
}

/// Reads the files that [`Snapshot::parse`] looks at.
pub(crate) fn read(md: &Path) -> Result<Lines, SysfsError> {
    let mut lines = Lines::new();
    let failed = |source| SysfsError::Read { path: md.to_owned(), source };
    for name in ATTRIBUTES {
        if let Ok(line) = first_line(&md.join(name)) {
            lines.insert(name.to_owned(), line);
        }
    }
    for entry in std::fs::read_dir(md).map_err(failed)? {
        let entry = entry.map_err(failed)?.file_name();
        let Some(device) = entry.to_str().filter(|name| name.starts_with("dev-")) else { continue };
        for name in DEVICE_ATTRIBUTES {
            let path = md.join(device).join(name);
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            // All of what is listed; the other files have one line.
            lines.insert(format!("{device}/{name}"), text.trim_end().to_owned());
        }
    }
    Ok(lines)
}

/// A file of the array's.
const ATTRIBUTES: [&str; 12] = [
    "array_state",
    "degraded",
    "sync_action",
    "sync_completed",
    "mismatch_cnt",
    "resync_start",
    "consistency_policy",
    "component_size",
    "level",
    "layout",
    "chunk_size",
    "raid_disks",
];
/// A file of each device's.
const DEVICE_ATTRIBUTES: [&str; 5] = ["slot", "state", "recovery_start", "errors", "bad_blocks"];

/// Some of these files grow while they are read, so only the first line counts.
fn first_line(path: &Path) -> io::Result<String> {
    let text = std::fs::read_to_string(path)?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

impl Snapshot {
    /// Reads an array's `md` directory.
    pub fn read(md: &Path) -> Result<Self, SysfsError> {
        Self::parse(&read(md)?)
    }

    /// Understands what was read. A level without redundancy has no files about synchronisation.
    pub fn parse(lines: &Lines) -> Result<Self, SysfsError> {
        let array_state = text(lines, "array_state")?;
        let action = lines.get("sync_action").map_or(Ok(Action::Idle), |line| parse_action(line))?;
        let resync_start = lines.get("resync_start").map_or("none", String::as_str);
        Ok(Self {
            array_state: array_state.to_owned(),
            degraded: u32::try_from(number_or(lines, "degraded", 0)?).unwrap_or(u32::MAX),
            action,
            completed: completed(lines.get("sync_completed").map_or("none", String::as_str))?,
            mismatched_bytes: sectors(number_or(lines, "mismatch_cnt", 0)?),
            needs_resync: resync_start != "none" || action == Action::Resync,
            consistency_policy: lines.get("consistency_policy").cloned().unwrap_or_default(),
            component_bytes: number_or(lines, "component_size", 0)?.saturating_mul(1024),
            shape: shape(lines),
            devices: devices(lines)?,
        })
    }

    /// The device that has a role, if it is neither failed nor a replacement for it.
    pub fn member(&self, role: u16) -> Option<&Device> {
        self.devices.iter().find(|device| device.slot == Some(role) && !device.is_replacement && !device.is_faulty)
    }

    /// The device that is being filled to take a role's place.
    pub fn replacement(&self, role: u16) -> Option<&Device> {
        self.devices.iter().find(|device| device.slot == Some(role) && device.is_replacement && !device.is_faulty)
    }

    /// Devices that wait.
    pub fn spares(&self) -> impl Iterator<Item = &Device> {
        self.devices.iter().filter(|device| device.slot.is_none() && !device.is_faulty && !device.is_journal)
    }

    /// The array does not run: too little of it is there, or nobody has started it.
    pub fn is_inactive(&self) -> bool {
        matches!(self.array_state.as_str(), "inactive" | "clear")
    }

    /// Content is being moved to another shape, or is about to be.
    pub fn is_reshaping(&self) -> bool {
        self.action == Action::Reshape || self.shape.is_some_and(|shape| shape.is_changing)
    }

    /// Nothing is written to it.
    pub fn is_read_only(&self) -> bool {
        self.array_state == "readonly"
    }
}

impl Action {
    /// Whether parity and copies are compared.
    pub fn is_scrub(self) -> bool {
        matches!(self, Self::Check | Self::Repair)
    }
}

fn sectors(count: u64) -> u64 {
    count.saturating_mul(512)
}

fn not_understood(name: &str, value: &str) -> SysfsError {
    SysfsError::Value { name: name.to_owned(), value: value.to_owned() }
}

fn text<'a>(lines: &'a Lines, name: &str) -> Result<&'a str, SysfsError> {
    lines.get(name).map(String::as_str).ok_or_else(|| not_understood(name, ""))
}

fn number(name: &str, text: &str) -> Result<u64, SysfsError> {
    text.parse().map_err(|_| not_understood(name, text))
}

fn number_or(lines: &Lines, name: &str, otherwise: u64) -> Result<u64, SysfsError> {
    lines.get(name).map_or(Ok(otherwise), |text| number(name, text))
}

fn parse_action(line: &str) -> Result<Action, SysfsError> {
    Ok(match line {
        "idle" => Action::Idle,
        "frozen" => Action::Frozen,
        "resync" => Action::Resync,
        "recover" => Action::Recover,
        "check" => Action::Check,
        "repair" => Action::Repair,
        "reshape" => Action::Reshape,
        other => return Err(not_understood("sync_action", other)),
    })
}

/// `none`, `delayed`, or `DONE / ALL` in sectors.
fn completed(line: &str) -> Result<Option<(u64, u64)>, SysfsError> {
    if matches!(line, "none" | "delayed" | "") {
        return Ok(None);
    }
    let name = "sync_completed";
    let (done, all) = line.split_once(" / ").ok_or_else(|| not_understood(name, line))?;
    let (done, all) = (sectors(number(name, done)?), sectors(number(name, all)?));
    Ok(Some((done.min(all), all)))
}

/// `NEW (OLD)` while it changes, else one number each.
fn shape(lines: &Lines) -> Option<Shape> {
    let line = |name: &str| lines.get(name).map(String::as_str);
    let new = |name: &str| line(name)?.split_whitespace().next();
    let level = new("level")?;
    let level = if level == "linear" { -1 } else { level.strip_prefix("raid")?.parse().ok()? };
    let disk_level = DiskLevel { level, layout: new("layout")?.parse().ok()? };
    Some(Shape {
        level: disk_level.level().ok()?,
        chunk_bytes: new("chunk_size")?.parse().ok()?,
        members: new("raid_disks")?.parse().ok()?,
        is_changing: ["layout", "chunk_size", "raid_disks"].into_iter().filter_map(line).any(|line| line.contains('(')),
    })
}

fn devices(lines: &Lines) -> Result<Vec<Device>, SysfsError> {
    let directories = lines.keys().filter_map(|name| name.strip_suffix("/state"));
    directories.map(|directory| device(lines, directory)).collect()
}

fn device(lines: &Lines, directory: &str) -> Result<Device, SysfsError> {
    let line = |name: &str| lines.get(&format!("{directory}/{name}")).map_or("", String::as_str);
    let has = |word: &str| line("state").split(',').any(|one| one.trim() == word);
    let slot = match line("slot") {
        "none" | "journal" => None,
        slot => Some(slot.parse().map_err(|_| not_understood(&format!("{directory}/slot"), slot))?),
    };
    let recovered_bytes = match line("recovery_start") {
        "none" | "" => None,
        start => Some(sectors(number("recovery_start", start)?)),
    };
    Ok(Device {
        name: directory.strip_prefix("dev-").unwrap_or(directory).to_owned(),
        slot,
        is_in_sync: has("in_sync"),
        is_faulty: has("faulty"),
        is_replacement: has("replacement"),
        is_journal: has("journal") || line("slot") == "journal",
        recovered_bytes,
        corrected_errors: number("errors", line("errors")).unwrap_or(0),
        bad_bytes: bad_bytes(line("bad_blocks")),
    })
}

/// Lines of `START LENGTH`, in sectors; the list may be cut off where a page ends.
fn bad_bytes(list: &str) -> u64 {
    let length = |line: &str| line.split_once(' ')?.1.parse::<u64>().ok();
    list.lines().filter_map(length).fold(0, |sum, length| sum.saturating_add(sectors(length)))
}

#[cfg(test)]
pub(crate) mod tests;
