//! Where devices and what lies on them are: md's devices, the devices below them, the files behind
//! loop devices.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use shoal_drive::DriveKey;

use crate::error::KernelError;
use crate::sysfs::Snapshot;
use crate::tools;

/// A device of the kernel's md, by name: `md127`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MdDevice(String);

impl MdDevice {
    /// All that there are, running or not.
    pub fn all() -> Vec<Self> {
        let entries = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name.starts_with("md")).map(Self).filter(|device| device.directory().exists()).collect()
    }

    /// The highest number that nobody uses, as mdadm chooses.
    pub(crate) fn unused() -> Option<Self> {
        let unused = |device: &Self| !Path::new("/sys/block").join(&device.0).exists();
        (0..128).rev().map(|number| Self(format!("md{number}"))).find(unused)
    }

    /// `/dev/mdN`
    pub fn path(&self) -> PathBuf {
        Path::new("/dev").join(&self.0)
    }

    /// `/sys/block/mdN/md`
    pub(crate) fn directory(&self) -> PathBuf {
        Path::new("/sys/block").join(&self.0).join("md")
    }

    /// Bytes of content.
    pub(crate) fn size_bytes(&self) -> u64 {
        let size = std::fs::read_to_string(Path::new("/sys/block").join(&self.0).join("size"));
        size.ok().and_then(|size| size.trim().parse::<u64>().ok()).unwrap_or(0).saturating_mul(512)
    }

    /// The names of the devices that it is made of.
    pub(crate) fn device_names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory()).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| name.strip_prefix("dev-").map(str::to_owned)).collect()
    }

    /// It holds devices, and nothing runs on them: too few were there, or nobody has started it.
    pub fn is_inactive(&self) -> bool {
        Snapshot::read(&self.directory()).is_ok_and(|snapshot| snapshot.is_inactive())
    }

    /// Has md let its devices go, if nobody uses it.
    pub fn let_go(&self) -> Result<(), KernelError> {
        tools::run("mdadm", ["--stop".as_ref(), self.path().as_os_str()]).map(drop)
    }

    /// What it lies on, as people name it: devices, and the files behind loop devices.
    pub fn drives(&self) -> Vec<PathBuf> {
        self.device_names().iter().map(|name| drive_behind(name)).collect()
    }
}

/// The array of the kernel's that has a drive: the device, or the file through a loop device.
pub fn holder_of(drive: &Path) -> Option<MdDevice> {
    let key = DriveKey::of_path(drive).ok()?;
    let is_it = |path: &Path| DriveKey::of_path(path).is_ok_and(|other| other == key);
    let holds = |device: &MdDevice| {
        let names = device.device_names();
        names.iter().any(|name| is_it(&device_path(name)) || is_it(&drive_behind(name)))
    };
    MdDevice::all().into_iter().find(holds)
}

/// `/dev/NAME`; in names of sysfs, `!` stands for `/`.
pub(crate) fn device_path(name: &str) -> PathBuf {
    Path::new("/dev").join(name.replace('!', "/"))
}

/// The file behind a loop device; for any other the device itself.
pub(crate) fn drive_behind(name: &str) -> PathBuf {
    backing_file(name).unwrap_or_else(|| device_path(name))
}

/// The file behind a loop device, while there is one.
pub(crate) fn backing_file(name: &str) -> Option<PathBuf> {
    let backing = std::fs::read(Path::new("/sys/block").join(name).join("loop/backing_file")).ok()?;
    Some(PathBuf::from(OsStr::from_bytes(backing.trim_ascii_end())))
}

/// Whether it is a loop device that goes through the page cache.
pub(crate) fn is_buffered(name: &str) -> bool {
    loop_says(name, "dio", "0")
}

/// Whether it is a loop device that goes with its last user.
pub(crate) fn goes_by_itself(name: &str) -> bool {
    loop_says(name, "autoclear", "1")
}

fn loop_says(name: &str, attribute: &str, value: &str) -> bool {
    let path = Path::new("/sys/block").join(name).join("loop").join(attribute);
    std::fs::read_to_string(path).is_ok_and(|line| line.trim() == value)
}

/// The name by which the kernel knows a block device: `sdb1` of `/dev/disk/by-id/...`.
pub(crate) fn kernel_name(device: &Path) -> Option<String> {
    let path = std::fs::canonicalize(device).ok()?;
    let name = path.strip_prefix("/dev").ok()?.to_str()?.replace('/', "!");
    Some(name)
}

/// Whether two names are one drive's.
pub(crate) fn same_drive(left: &Path, right: &Path) -> bool {
    let key = |path| shoal_drive::DriveKey::of_path(path).ok();
    left == right || key(left).is_some() && key(left) == key(right)
}
