//! What the system knows of a device: who made it, and where it is plugged in. Reads sysfs, and
//! takes what is there.

pub(crate) mod hardware;

use std::path::{Path, PathBuf};

use shoal_topology::attribute::{bits_per_s, text as attribute};

use crate::drive::DeviceNumber;

/// In which the kernel tells the speed of a USB device.
const MEGABIT: u64 = 1_000_000;

/// Who a drive is. Everything is optional: sticks lie, card readers hide their cards, files have no
/// identity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Manufacturer, as the drive reports it.
    pub vendor: Option<String>,
    /// Model, as the drive reports it.
    pub model: Option<String>,
    /// Serial number; cheap sticks share theirs with their whole batch.
    pub serial: Option<String>,
    /// World-wide identifier.
    pub wwid: Option<String>,
    /// Where it is plugged in, if on USB.
    pub usb: Option<UsbPort>,
    /// The parent in the tree of devices: an ATA port, a PCI function, a memory card's slot.
    pub bus_path: Option<String>,
    /// Whether the system thinks of it as removable.
    pub is_removable: Option<bool>,
    /// Whether it reports itself as rotating; many sticks do.
    pub is_rotational_as_reported: Option<bool>,
}

/// A place on a USB bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsbPort {
    /// Bus and chain of ports as the kernel writes it: `2-1.4` is port 4 of the hub at port 1 of
    /// bus 2.
    pub path: String,
    /// The hub it hangs on, in the same notation: `2-1`; drives with the same hub share its uplink.
    pub hub: String,
    /// Speed that was negotiated for the link.
    pub link_bits_per_s: Option<u64>,
}

impl Identity {
    /// What the system knows of the block device at a path, which is not opened: a drive that hangs
    /// is known, too. Nothing of what is no block device, or not there.
    pub fn of_path(path: &Path) -> Self {
        let Ok(stat) = rustix::fs::stat(path) else { return Self::default() };
        if rustix::fs::FileType::from_raw_mode(stat.st_mode) != rustix::fs::FileType::BlockDevice {
            return Self::default();
        }
        Self::of_device(DeviceNumber::from_raw(stat.st_rdev))
    }

    /// Looks a block device up by its number.
    pub(crate) fn of_device(number: DeviceNumber) -> Self {
        Self::of_directory(&PathBuf::from(format!("/sys/dev/block/{number}")))
    }

    /// Reads a block device's directory in sysfs; a partition is asked for its disk.
    fn of_directory(directory: &Path) -> Self {
        let Ok(mut disk) = directory.canonicalize() else { return Self::default() };
        if disk.join("partition").exists() {
            disk.pop();
        }
        let device = disk.join("device").canonicalize().unwrap_or_else(|_| disk.clone());
        let usb_device = device.ancestors().find(|ancestor| ancestor.join("idVendor").exists());
        let serial = attribute(&device, "serial")
            .or_else(|| attribute(&disk, "serial"))
            .or_else(|| usb_device.and_then(|usb| attribute(usb, "serial")));
        Self {
            vendor: attribute(&device, "vendor").filter(|vendor| !vendor.starts_with("0x")),
            model: attribute(&device, "model").or_else(|| attribute(&device, "name")),
            serial,
            wwid: attribute(&disk, "wwid").or_else(|| attribute(&device, "wwid")),
            usb: usb_device.and_then(UsbPort::of_directory),
            bus_path: (!device.starts_with("/sys/devices/virtual")).then(|| file_name(&device)).flatten(),
            is_removable: flag(&disk, "removable"),
            is_rotational_as_reported: flag(&disk, "queue/rotational"),
        }
    }
}

impl UsbPort {
    fn of_directory(directory: &Path) -> Option<Self> {
        let path = file_name(directory)?;
        let hub = match path.rsplit_once('.') {
            Some((hub, _port)) => hub.to_owned(),
            None => format!("usb{}", path.split_once('-')?.0),
        };
        Some(Self {
            path,
            hub,
            link_bits_per_s: attribute(directory, "speed").and_then(|speed| bits_per_s(&speed, MEGABIT)),
        })
    }
}

fn flag(directory: &Path, name: &str) -> Option<bool> {
    match attribute(directory, name)?.as_str() {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

fn file_name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests;
