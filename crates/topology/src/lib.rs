//! Where the machine's drives are plugged in: controllers, buses, hubs, links, and what is slower
//! than it could be.
//!
//! The kernel shows each block device as a directory below the directories of all that leads to it:
//!
//! ```text
//! /sys/block/sda -> devices/pci0000:00/0000:00:14.0/usb1/1-1/1-1.4/1-1.4:1.0/host2/target2:0:0/2:0:0:0/block/sda
//!                           │           │            │    │   │     │                           └ SCSI device
//!                           │           │            │    │   │     └ interface: its driver is usb-storage or uas
//!                           │           │            │    │   └ USB device: the stick
//!                           │           │            │    └ USB device with ports: a hub
//!                           │           │            └ root hub: the bus
//!                           │           └ PCI function: the controller
//!                           └ not shown: bridges are not where bandwidth is lost
//! ```
//!
//! [`Topology::read`] walks up from each block device, and keeps what shares a bandwidth or limits
//! one: controller, root hub, hubs, the drive's own link. Everything that a drive or an attribute
//! does not say is `None`. A drive that goes away meanwhile is left out.
//!
//! Not meant: what is on a drive (`shoal_inventory`), how fast it is (`shoal_profile`).

#![forbid(unsafe_code)]

pub mod attribute;
mod link;
mod pci;
mod read;
mod station;
mod usb;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests;

use std::path::PathBuf;

pub use link::{Advice, Link};
pub use pci::PciLink;
pub use station::{Station, StationKind};
pub use usb::{UsbDriver, UsbLink};

/// All drives of the machine, and what leads to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// In the order of their names.
    pub drives: Vec<PluggedDrive>,
}

/// A whole drive that is plugged in: no partition, no loop device, nothing that the kernel makes of
/// other drives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluggedDrive {
    /// The kernel's name: `sda`. It goes to another drive after the next start.
    pub name: String,
    /// Its device file: `/dev/sda`.
    pub path: PathBuf,
    /// Bytes; 0 for a card reader without a card.
    pub size_bytes: u64,
    /// The device files of its partitions, by their numbers.
    pub partitions: Vec<PathBuf>,
    /// What lies between the drive and the processor, the controller first.
    pub way: Vec<Station>,
    /// The drive's own link.
    pub link: Link,
    /// The largest request that the driver gives to it, in bytes.
    pub request_bytes_max: Option<u64>,
    /// Other devices that the same stick poses as: `sr0`, a CD-ROM with the maker's programs (U3).
    pub poses_as: Vec<String>,
}
