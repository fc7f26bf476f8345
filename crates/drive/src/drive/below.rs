//! What lies below a loop device, claimed along with it: whoever writes to the device writes there.
//!
//! A file that somebody writes to can be had once more through a loop device over it, which has no
//! claim to the file. So what the kernel says is below is claimed as if it had been named itself. A
//! loop device over a part of a file, or a partition of one, has the file with others that do the
//! same: which bytes of it are whose is not looked at.
//!
//! Not meant: other drivers above a drive (device mapper, md), which claim what they lie on; a file
//! that was deleted, or is called otherwise here than where the loop device was made.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::key::DeviceNumber;
use super::lock::{FileLock, Kind, patiently};
use crate::limits::LOOP_DEPTH_MAX;

/// Something below a loop device, claimed until this is dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "what is kept is kept open, and locked")]
pub(super) enum Claim {
    File(FileLock),
    Device(File),
}

/// Somebody else has it.
#[derive(Debug)]
pub(super) struct Taken {
    /// What lies below.
    pub(super) path: PathBuf,
}

/// Claims what lies below a device; nothing if that is no loop device.
pub(super) fn claim(device: DeviceNumber) -> Result<Vec<Claim>, Taken> {
    let (mut claims, mut number) = (Vec::new(), device);
    while let Some((path, kind)) = backing_file(number).filter(|_| claims.len() < LOOP_DEPTH_MAX) {
        let taken = |errno| (errno == Errno::BUSY).then(|| Taken { path: path.clone() });
        match claim_path(&path, kind).map_err(taken) {
            Ok((claim, below)) => {
                claims.extend(claim);
                let Some(below) = below else { break };
                number = below;
            }
            Err(Some(taken)) => return Err(taken),
            // It is not there by this name, or cannot be opened: as if it could not be known.
            Err(None) => break,
        }
    }
    Ok(claims)
}

/// Claims a file or device; its number, if it is a device.
fn claim_path(path: &Path, kind: Kind) -> Result<(Option<Claim>, Option<DeviceNumber>), Errno> {
    let open = |flags| {
        patiently(|| rustix::fs::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | flags, Mode::empty()))
    };
    let stat = rustix::fs::stat(path)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice {
        let flags = if kind == Kind::Alone { OFlags::EXCL } else { OFlags::empty() };
        let device = File::from(open(flags)?);
        return Ok((Some(Claim::Device(device)), Some(DeviceNumber::from_raw(stat.st_rdev))));
    }
    let file = Arc::new(File::from(open(OFlags::empty())?));
    Ok((FileLock::take(&file, kind)?.map(Claim::File), None))
}

/// What a loop device lies on, and whether it has all of it.
fn backing_file(number: DeviceNumber) -> Option<(PathBuf, Kind)> {
    let own = PathBuf::from(format!("/sys/dev/block/{number}")).canonicalize().ok()?;
    let is_partition = own.join("partition").exists();
    let device = if is_partition { own.parent()? } else { &own };
    let attribute = |name: &str| std::fs::read_to_string(device.join("loop").join(name)).ok();
    let path = attribute("backing_file")?;
    let is_zero = |name: &str| attribute(name).is_some_and(|value| value.trim_end() == "0");
    let is_whole = !is_partition && is_zero("offset") && is_zero("sizelimit");
    Some((path.trim_end_matches('\n').into(), if is_whole { Kind::Alone } else { Kind::Shared }))
}
