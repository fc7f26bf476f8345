//! What drives are plugged into.

/// Something that drives are plugged into, and that they share.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Station {
    /// What it is.
    pub kind: StationKind,
    /// What the kernel calls it: `0000:00:14.0`, `usb2`, `2-1`, `ata3`, `mmc0`.
    pub name: String,
    /// Who it says it is, or the driver of a controller: "USB2.0 Hub", "xhci_hcd".
    pub title: Option<String>,
    /// What its link to the station before it carries, in bits a second; of a bus, what the bus
    /// carries.
    pub link_bits_per_s: Option<u64>,
}

/// What a station is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StationKind {
    /// A controller: a PCI function, or a part of a system on a chip.
    Controller,
    /// A USB bus: the root hub.
    UsbBus,
    /// A USB hub.
    UsbHub,
    /// An ATA port.
    AtaPort,
    /// A slot for memory cards.
    CardSlot,
}
