//! What buses carry, with the sources.

use crate::BusKind;

impl BusKind {
    /// The largest request that Linux's driver for this kind of bus sends.
    pub const fn max_request_bytes(self) -> u32 {
        match self {
            // usb-storage: `.max_sectors = 240`, and 2048 for SuperSpeed.
            Self::Usb2 => 240 * 512,
            Self::Usb3 => 2048 * 512,
            // LBA28: 256 sectors a command.
            Self::Ata133 => 256 * 512,
            Self::Pci | Self::Sata3 | Self::Sata6 | Self::GigabitNetwork | Self::FastNetwork | Self::Direct => u32::MAX,
        }
    }
}
