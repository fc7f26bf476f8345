//! The walk from a block device up to its controller.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::attribute::{bits_per_s, link_name, number, text};
use crate::{Link, PciLink, PluggedDrive, Station, StationKind, Topology, UsbLink, pci, usb};

/// What `size` counts in, whatever the drive's blocks are.
const SECTOR_BYTES: u64 = 512;
const GIGABIT: u64 = 1_000_000_000;

impl Topology {
    /// Reads what is plugged in at this moment. `sysfs` is where the kernel's tree is mounted:
    /// `/sys`.
    ///
    /// # Errors
    /// `sysfs` has no list of block devices.
    pub fn read(sysfs: &Path) -> io::Result<Self> {
        let mut drives = Vec::new();
        for entry in fs::read_dir(sysfs.join("block"))? {
            drives.extend(drive(&entry?.path()));
        }
        drives.sort_by(|left, right| by_name(&left.name).cmp(&by_name(&right.name)));
        Ok(Self { drives })
    }
}

/// `sdb` before `sdaa`, `nvme2n1` before `nvme10n1`.
fn by_name(name: &str) -> (usize, &str) {
    (name.len(), name)
}

/// A block device, if it is a drive: what the kernel makes of files, memory or other drives has no
/// device behind it. Optical drives and floppies are none that arrays are made of.
fn drive(entry: &Path) -> Option<PluggedDrive> {
    let block = entry.canonicalize().ok()?;
    let device = block.join("device").canonicalize().ok()?;
    let name = block.file_name()?.to_string_lossy().into_owned();
    let is_other = ["sr", "fd", "nbd", "ublkb"].iter().any(|kind| name.starts_with(kind));
    let is_part_of_a_chip = name.contains("boot") || name.contains("rpmb");
    if is_other || is_part_of_a_chip {
        return None;
    }
    let above: Vec<&Path> = device.ancestors().collect();
    Some(PluggedDrive {
        path: Path::new("/dev").join(&name),
        size_bytes: number(&block, "size")?.checked_mul(SECTOR_BYTES)?,
        partitions: partitions(&block),
        way: way(&above),
        link: link(&above),
        request_bytes_max: number(&block.join("queue"), "max_sectors_kb").and_then(|kib| kib.checked_mul(1024)),
        poses_as: poses_as(&above),
        name,
    })
}

/// The partitions that the kernel has found on a drive.
fn partitions(block: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(block).into_iter().flatten().flatten();
    let numbered = entries.filter_map(|entry| Some((number(&entry.path(), "partition")?, entry.file_name())));
    let mut numbered: Vec<_> = numbered.collect();
    numbered.sort_unstable();
    numbered.into_iter().map(|(_, name)| Path::new("/dev").join(name)).collect()
}

/// The directory of the USB device that the drive is: the nearest one.
fn usb_device<'a>(above: &[&'a Path]) -> Option<&'a Path> {
    above.iter().copied().find(|directory| directory.join("idVendor").exists() && !is_interface(directory))
}

fn is_interface(directory: &Path) -> bool {
    directory.join("bInterfaceNumber").exists()
}

fn link(above: &[&Path]) -> Link {
    if let Some(device) = usb_device(above) {
        let interface = above.iter().copied().find(|directory| is_interface(directory));
        if let Some(usb) = UsbLink::read(device, interface) {
            return Link::Usb(usb);
        }
    }
    let named = |prefix: &str| above.iter().copied().find(|directory| is_numbered(directory, prefix));
    if let Some(port) = named("ata") {
        return ata(port);
    }
    if let Some(function) = named("nvme").and_then(|_| above.iter().copied().find(|directory| is_pci(directory))) {
        return PciLink::read(function).map_or(Link::Other(None), Link::Nvme);
    }
    if let Some(slot) = named("mmc") {
        let kind = above.first().and_then(|card| text(card, "type"));
        return Link::Card { slot: name_of(slot), kind };
    }
    Link::Other(above.iter().find_map(|directory| link_name(directory, "subsystem")).filter(|name| name != "block"))
}

fn ata(port: &Path) -> Link {
    let name = name_of(port);
    let number = name.trim_start_matches("ata");
    let facts = port.join(format!("link{number}")).join("ata_link").join(format!("link{number}"));
    let rate = |attribute| text(&facts, attribute).and_then(|rate| bits_per_s(&rate, GIGABIT));
    Link::Ata { bits_per_s: rate("sata_spd"), bits_per_s_max: rate("hw_sata_spd_limit"), port: name }
}

/// What lies between the drive and the processor, the controller first.
fn way(above: &[&Path]) -> Vec<Station> {
    let own = usb_device(above);
    let mut way: Vec<Station> = Vec::new();
    for directory in above.iter().rev() {
        if is_host_of(directory) {
            // The last one before the bus counts: what lies above it are bridges.
            way.retain(|station| station.kind != StationKind::Controller);
            way.extend(pci::controller(directory));
        } else if Some(*directory) != own && directory.join("idVendor").exists() {
            way.extend(usb::station(directory));
        } else if is_numbered(directory, "ata") {
            way.push(Station {
                kind: StationKind::AtaPort,
                name: name_of(directory),
                title: None,
                link_bits_per_s: None,
            });
        } else if is_numbered(directory, "mmc") {
            way.push(Station {
                kind: StationKind::CardSlot,
                name: name_of(directory),
                title: None,
                link_bits_per_s: None,
            });
        }
    }
    way
}

/// A device that a bus hangs on: a PCI function, or a part of a system on a chip.
fn is_host_of(directory: &Path) -> bool {
    let subsystem = link_name(directory, "subsystem");
    matches!(subsystem.as_deref(), Some("pci" | "platform" | "amba")) && link_name(directory, "driver").is_some()
}

fn is_pci(directory: &Path) -> bool {
    link_name(directory, "subsystem").as_deref() == Some("pci")
}

/// Whether a directory is called like this, with a number behind: `ata3`, `mmc0`.
fn is_numbered(directory: &Path, prefix: &str) -> bool {
    let name = name_of(directory);
    name.strip_prefix(prefix).is_some_and(|number| !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()))
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Optical drives that the same USB device poses as: their directories lie below its interfaces.
fn poses_as(above: &[&Path]) -> Vec<String> {
    let Some(device) = usb_device(above) else { return Vec::new() };
    let mut found = Vec::new();
    // host2/target2:0:0/2:0:0:1/block/sr0, below the interface
    collect_optical(device, 6, &mut found);
    found.sort();
    found
}

fn collect_optical(directory: &Path, depth: usize, found: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        // Links lead out of the device.
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let path: PathBuf = entry.path();
        if directory.ends_with("block") && is_numbered(&path, "sr") {
            found.push(name_of(&path));
        } else if depth > 0 {
            collect_optical(&path, depth - 1, found);
        }
    }
}
