//! Who uses an attached device or file, beside file systems: devices on top of it, swapping,
//! programs.

use std::fs;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::error::AttachError;

/// How long a program that only looks at a device may have it open.
const PATIENCE: Duration = Duration::from_secs(2);

/// Refuses to take away what is used, and says by whom; `own` is a loop device over it that goes
/// with it.
pub(super) fn refuse_used(device: &Path, own: Option<&Path>) -> Result<(), AttachError> {
    if let Some(holder) = holders(device).iter().find(|holder| own != Some(Path::new(holder))) {
        return Err(AttachError::Held { device: device.to_owned(), holder: holder.clone() });
    }
    if let Some(device) = swap(device) {
        return Err(AttachError::Swapped { device });
    }
    let begun = Instant::now();
    while let Some(process_id) = user(device) {
        // udev looks at devices that somebody has closed.
        if begun.elapsed() < PATIENCE {
            std::thread::sleep(PATIENCE / 20);
            continue;
        }
        return Err(AttachError::Open { device: device.to_owned(), process_id });
    }
    Ok(())
}

/// Refuses to take away what is used by somebody who does not show. Only while it is served: to
/// open a device may be to read it.
pub(super) fn refuse_claimed(device: &Path) -> Result<(), AttachError> {
    if is_claimed(device) {
        return Err(AttachError::Claimed { device: device.to_owned() });
    }
    Ok(())
}

/// Whether a block device is mounted, swapped to, or held in another way, wherever that shows.
fn is_claimed(device: &Path) -> bool {
    let is_device = fs::metadata(device).is_ok_and(|told| told.file_type().is_block_device());
    let alone = OFlags::EXCL.bits().cast_signed();
    let opened = || fs::File::options().read(true).custom_flags(alone).open(device);
    is_device && opened().is_err_and(|error| error.raw_os_error() == Some(Errno::BUSY.raw_os_error()))
}

/// A device and its partitions, by their names.
fn names(device: &Path) -> Vec<PathBuf> {
    let mut names = vec![device.to_owned()];
    let Some(name) = device.file_name().and_then(|name| name.to_str()) else { return names };
    for entry in fs::read_dir(format!("/sys/class/block/{name}")).into_iter().flatten().flatten() {
        if entry.path().join("partition").exists() {
            names.push(Path::new("/dev").join(entry.file_name()));
        }
    }
    names
}

/// Devices on top: of the device mapper, md, or loop devices over a file.
fn holders(device: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for path in names(device) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let entries = fs::read_dir(format!("/sys/class/block/{name}/holders")).into_iter().flatten().flatten();
        found.extend(entries.map(|entry| format!("/dev/{}", entry.file_name().to_string_lossy())));
    }
    for entry in fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        let backing = fs::read_to_string(entry.path().join("loop/backing_file"));
        if backing.is_ok_and(|backing| Path::new(backing.trim_end()) == device) {
            found.push(format!("/dev/{}", entry.file_name().to_string_lossy()));
        }
    }
    found
}

fn swap(device: &Path) -> Option<PathBuf> {
    let table = fs::read_to_string("/proc/swaps").ok()?;
    let names = names(device);
    table
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next().map(PathBuf::from))
        .find(|it| names.contains(it))
}

/// A process that has it open, as far as this user may see.
fn user(device: &Path) -> Option<u32> {
    let names = names(device);
    fs::read_dir("/proc").ok()?.flatten().find_map(|process| {
        let number: u32 = process.file_name().to_str()?.parse().ok()?;
        let files = fs::read_dir(process.path().join("fd")).ok()?.flatten();
        let mut opened = files.filter_map(|file| fs::read_link(file.path()).ok());
        opened.any(|path| names.contains(&path)).then_some(number)
    })
}
