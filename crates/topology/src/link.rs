//! The link of a drive, and what could be better about it.

use crate::pci::PciLink;
use crate::usb::UsbLink;

/// What joins a drive to the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// USB.
    Usb(UsbLink),
    /// SATA, or an older ATA.
    Ata {
        /// The port: `ata3`.
        port: String,
        /// Bits a second that were negotiated.
        bits_per_s: Option<u64>,
        /// Bits a second that the port can do.
        bits_per_s_max: Option<u64>,
    },
    /// NVMe over PCI Express.
    Nvme(PciLink),
    /// A memory card, or a chip that is driven like one.
    Card {
        /// The slot: `mmc0`.
        slot: String,
        /// "SD" or "MMC".
        kind: Option<String>,
    },
    /// Something else, by the kernel's name for its bus: "virtio", "scsi".
    Other(Option<String>),
}

/// What would make a drive faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// It can do USB 3, and its port or a hub on the way cannot.
    PlugIntoUsb3,
    /// Its PCI Express slot gives it less than it has.
    PlugIntoFasterSlot,
    /// The SATA port could do more than was negotiated: a bad cable, or an old drive.
    CheckCable,
}

impl Link {
    /// Bits a second that were negotiated, if that is one rate.
    pub fn bits_per_s(&self) -> Option<u64> {
        match self {
            Self::Usb(usb) => usb.bits_per_s,
            Self::Ata { bits_per_s, .. } => *bits_per_s,
            Self::Nvme(pci) => pci.transfers_per_s.zip(pci.lanes).map(|(rate, lanes)| rate.saturating_mul(lanes)),
            Self::Card { .. } | Self::Other(_) => None,
        }
    }

    /// What would make the drive faster, if anything is known.
    pub fn advice(&self) -> Option<Advice> {
        match self {
            Self::Usb(usb) => usb.is_below_its_version().then_some(Advice::PlugIntoUsb3),
            Self::Nvme(pci) => pci.is_below_its_most().then_some(Advice::PlugIntoFasterSlot),
            Self::Ata { bits_per_s: Some(now), bits_per_s_max: Some(most), .. } => {
                (now < most).then_some(Advice::CheckCable)
            }
            Self::Ata { .. } | Self::Card { .. } | Self::Other(_) => None,
        }
    }
}
