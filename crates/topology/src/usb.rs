//! USB: devices, hubs, and the protocol by which a stick is driven.

use std::path::Path;

use crate::attribute::{bits_per_s, link_name, number, text};
use crate::station::{Station, StationKind};

const MEGABIT: u64 = 1_000_000;

/// The link of a USB drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsbLink {
    /// Bus and chain of ports: `2-1.4` is port 4 of the hub at port 1 of bus 2.
    pub port: String,
    /// Bits a second that were negotiated.
    pub bits_per_s: Option<u64>,
    /// The version of USB that the drive says it has, as its descriptor writes it: (3, 20) is 3.2.
    pub version: Option<(u8, u8)>,
    /// How the kernel drives it; `None` if no driver has it.
    pub driver: Option<UsbDriver>,
}

/// How the kernel drives a USB drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsbDriver {
    /// Bulk-only transport: one request at a time.
    UsbStorage,
    /// USB attached SCSI: many requests at a time.
    Uas,
}

impl UsbDriver {
    /// The driver's name in the kernel.
    pub fn name(self) -> &'static str {
        match self {
            Self::UsbStorage => "usb-storage",
            Self::Uas => "uas",
        }
    }
}

impl UsbLink {
    /// Reads a USB device's directory; `interface` is that of the drive.
    pub(crate) fn read(device: &Path, interface: Option<&Path>) -> Option<Self> {
        let driver = match interface.and_then(|interface| link_name(interface, "driver")).as_deref() {
            Some("usb-storage") => Some(UsbDriver::UsbStorage),
            Some("uas") => Some(UsbDriver::Uas),
            _ => None,
        };
        Some(Self {
            port: device.file_name()?.to_string_lossy().into_owned(),
            bits_per_s: text(device, "speed").and_then(|speed| bits_per_s(&speed, MEGABIT)),
            version: text(device, "version").as_deref().and_then(version),
            driver,
        })
    }

    /// Whether the drive can do USB 3 and the link does not: a drive of USB 3 says 2.10 on a link
    /// of USB 2 (USB 3.2 specification, 9.6.1), one of USB 2 says 2.00.
    pub fn is_below_its_version(&self) -> bool {
        let is_slow = self.bits_per_s.is_some_and(|rate| rate <= 480 * MEGABIT);
        is_slow && self.version.is_some_and(|version| version >= (2, 10))
    }
}

/// " 2.10" is version 2, 0x10.
fn version(text: &str) -> Option<(u8, u8)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The bus or hub that a USB device's directory is.
pub(crate) fn station(directory: &Path) -> Option<Station> {
    let name = directory.file_name()?.to_string_lossy().into_owned();
    let kind = match name.strip_prefix("usb") {
        Some(bus) if bus.parse::<u32>().is_ok() => StationKind::UsbBus,
        _ if number(directory, "maxchild").is_some_and(|ports| ports > 0) => StationKind::UsbHub,
        _ => return None,
    };
    let title = text(directory, "product").filter(|_| kind == StationKind::UsbHub);
    let link_bits_per_s = text(directory, "speed").and_then(|speed| bits_per_s(&speed, MEGABIT));
    Some(Station { kind, name, title, link_bits_per_s })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(bits_per_s: u64, version: (u8, u8)) -> UsbLink {
        UsbLink { port: "1-1".to_owned(), bits_per_s: Some(bits_per_s), version: Some(version), driver: None }
    }

    #[test]
    fn a_drive_of_usb_3_on_a_link_of_usb_2_is_told_from_one_of_usb_2() {
        assert!(link(480 * MEGABIT, (2, 10)).is_below_its_version());
        assert!(link(480 * MEGABIT, (3, 0)).is_below_its_version());
        assert!(!link(480 * MEGABIT, (2, 0)).is_below_its_version());
        assert!(!link(5_000 * MEGABIT, (3, 20)).is_below_its_version());
    }

    #[test]
    fn versions_are_read_as_descriptors_write_them() {
        assert_eq!(version("2.10"), Some((2, 10)));
        assert_eq!(version("3.00"), Some((3, 0)));
        assert_eq!(version("fast"), None);
    }
}
