//! Who uses a drive: mounts, swap, and drivers above it, asked of procfs and sysfs.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::DriveKey;
use crate::drive::{DeviceNumber, holder_of, patiently};
use crate::mounts::{Mount, mounts, unescaped};

/// The first use, if there is any, in a few words.
pub(crate) fn describe(path: &Path) -> Option<String> {
    uses_of(path).into_iter().next()
}

/// The program that has it alone, or else the first one that has it open, in a few words. Those of
/// other users are seen by root only.
pub(crate) fn describe_program(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let holder = rustix::fs::stat(&path).ok().and_then(|stat| holder_of(&stat));
    if let Some(name) = holder.and_then(|it| std::fs::read_to_string(format!("/proc/{it}/comm")).ok()) {
        return Some(format!("in use by {} (process {})", name.trim_end(), holder.unwrap_or_default()));
    }
    let entries = std::fs::read_dir("/proc").ok()?.flatten();
    let is_other = |process: &u32| *process != std::process::id();
    let number = |entry: &std::fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok().filter(is_other);
    // Links are read and never followed: the file that one leads to may not answer.
    let leads_here = |link: std::fs::DirEntry| std::fs::read_link(link.path()).is_ok_and(|it| it == path);
    let has_it_open =
        |process: &Path| std::fs::read_dir(process.join("fd")).is_ok_and(|it| it.flatten().any(leads_here));
    let program = |entry: std::fs::DirEntry| {
        let (process_id, process) = (number(&entry)?, entry.path());
        let name = has_it_open(&process).then(|| std::fs::read_to_string(process.join("comm")).ok())??;
        Some(format!("in use by {} (process {process_id})", name.trim_end()))
    };
    entries.into_iter().find_map(program)
}

/// All uses: `mounted on /media/x`, `swap`, `in use by md0`.
pub(super) fn uses_of(path: &Path) -> Vec<String> {
    let Ok(key) = DriveKey::of_path(path) else { return Vec::new() };
    let tables = Tables::read();
    match key.device_number() {
        Some(number) => {
            let mut uses = uses_of_device(number, &tables);
            if uses.is_empty() && is_claimed(path) {
                uses.push("in use by another program or driver".to_owned());
            }
            uses
        }
        None => uses_of_file(key, &tables),
    }
}

/// The kernel's lists, read once for all devices that are looked up in them.
struct Tables {
    mounts: Vec<Mount>,
    swaps: Vec<PathBuf>,
}

impl Tables {
    fn read() -> Self {
        let swaps = std::fs::read("/proc/swaps").unwrap_or_default();
        Self { mounts: mounts().unwrap_or_default(), swaps: parse_swaps(&swaps) }
    }
}

/// A disk is used if one of its partitions is.
fn uses_of_device(number: DeviceNumber, tables: &Tables) -> Vec<String> {
    let directory = PathBuf::from(format!("/sys/dev/block/{number}"));
    let mut uses = uses_of_one_device(number, &directory, tables);
    for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
        let partition = entry.path();
        let Some(number) = device_number(&partition).filter(|_| partition.join("partition").exists()) else { continue };
        let name = entry.file_name();
        let of_partition = uses_of_one_device(number, &partition, tables);
        uses.extend(of_partition.iter().map(|one| format!("partition {} is {one}", name.display())));
    }
    uses
}

fn uses_of_one_device(number: DeviceNumber, directory: &Path, tables: &Tables) -> Vec<String> {
    let is_it = |path: &Path| DriveKey::of_path(path).is_ok_and(|key| key.device_number() == Some(number));
    let written = number.to_string();
    let mounted = tables.mounts.iter().filter(|mount| mount.number == written || is_it(&mount.source));
    let mut uses: Vec<_> = mounted.map(|mount| format!("mounted on {}", mount.place.display())).collect();
    if tables.swaps.iter().any(|swap| is_it(swap)) {
        uses.push("in use as swap".to_owned());
    }
    let holders = std::fs::read_dir(directory.join("holders")).into_iter().flatten().flatten();
    uses.extend(holders.map(|holder| format!("in use by {}", holder.file_name().display())));
    uses
}

/// A file is used as swap, or through loop devices.
fn uses_of_file(key: DriveKey, tables: &Tables) -> Vec<String> {
    let is_it = |path: &Path| DriveKey::of_path(path).is_ok_and(|other| other == key);
    let mut uses = Vec::new();
    if tables.swaps.iter().any(|swap| is_it(swap)) {
        uses.push("in use as swap".to_owned());
    }
    for entry in std::fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        let device = entry.path();
        let Ok(backing) = std::fs::read(device.join("loop/backing_file")) else { continue };
        let backing = PathBuf::from(std::ffi::OsStr::from_bytes(backing.trim_ascii_end()));
        if is_elsewhere(&backing, key, &tables.mounts) || !is_it(&backing) {
            continue;
        }
        let name = entry.file_name();
        let above = device_number(&device).map(|number| uses_of_device(number, tables)).unwrap_or_default();
        uses.extend(above.iter().map(|one| format!("{one} through {}", name.display())));
        if above.is_empty() {
            uses.push(format!("in use by {}", name.display()));
        }
    }
    uses
}

/// Whether a path leads into a file system that another process or machine answers for, and that
/// the file is not in. Such a path is not to be looked at: who does not answer would be waited for
/// without limit. For these kinds stat(2) has the number that the table of mounts has; btrfs and
/// overlays have others, but answer by themselves.
fn is_elsewhere(path: &Path, file: DriveKey, mounts: &[Mount]) -> bool {
    let below = mounts.iter().filter(|mount| path.starts_with(&mount.place));
    let Some(mount) = below.max_by_key(|mount| mount.place.components().count()) else { return false };
    let is_answered_for = ["fuse", "nfs", "cifs", "smb3", "9p"].iter().any(|kind| mount.kind.starts_with(kind));
    is_answered_for && file.file_system().is_some_and(|number| number.to_string() != mount.number)
}

/// Whether somebody holds a device exclusively. A claim for reading changes nothing and ends at
/// once.
fn is_claimed(path: &Path) -> bool {
    let is_device = path.metadata().is_ok_and(|metadata| metadata.file_type().is_block_device());
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let claim = || rustix::fs::open(path, flags, Mode::empty()).map(File::from);
    is_device && matches!(patiently(claim), Err(Errno::BUSY))
}

fn device_number(directory: &Path) -> Option<DeviceNumber> {
    let text = std::fs::read_to_string(directory.join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

/// A heading, then lines that begin with the path.
fn parse_swaps(table: &[u8]) -> Vec<PathBuf> {
    let lines = table.split(|&byte| byte == b'\n').skip(1);
    let paths = lines.filter_map(|line| line.split(|byte| byte.is_ascii_whitespace()).next());
    paths.filter(|path| !path.is_empty()).map(unescaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_that_others_answer_for_is_not_asked_for_files_of_another() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let key = DriveKey::of_path(file.path()).unwrap();
        let own = key.file_system().unwrap().to_string();
        let mount = |number: &str, place: &str, kind: &str| Mount {
            number: number.to_owned(),
            source: "shoal:pond".into(),
            place: place.into(),
            kind: kind.to_owned(),
            options: String::new(),
        };
        let elsewhere = |mounts: &[Mount]| is_elsewhere(Path::new("/run/shoal/u.file/pond"), key, mounts);
        let root = mount("0:1", "/", "ext4");
        assert!(elsewhere(&[root.clone(), mount("9999:1", "/run/shoal/u.file", "fuse")]));
        assert!(!elsewhere(&[root.clone(), mount(&own, "/run/shoal/u.file", "fuse")]), "the file is there");
        assert!(!elsewhere(&[root, mount("9999:1", "/run/shoal/other.file", "fuse")]));
        assert!(!elsewhere(&[mount("9999:1", "/run", "overlay")]) && !elsewhere(&[]));
    }

    #[test]
    fn swaps_are_read_behind_their_heading() {
        let table =
            b"Filename\tType\tSize\tUsed\tPriority\n/dev/sda2   partition\t1\t0\t-2\n/swap\\040file file 1 0 -3\n";
        assert_eq!(parse_swaps(table), [PathBuf::from("/dev/sda2"), PathBuf::from("/swap file")]);
        assert!(parse_swaps(b"").is_empty());
    }
}
