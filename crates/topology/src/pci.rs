//! PCI functions: controllers of buses, and NVMe drives.

use std::path::Path;

use crate::attribute::{bits_per_s, link_name, number, text};
use crate::station::{Station, StationKind};

const GIGATRANSFER: u64 = 1_000_000_000;

/// The PCI Express link of a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PciLink {
    /// The function: `0000:03:00.0`.
    pub function: String,
    /// Transfers a second on each lane that were negotiated: bits, before the coding.
    pub transfers_per_s: Option<u64>,
    /// Lanes that were negotiated.
    pub lanes: Option<u64>,
    /// Transfers a second that the drive can do.
    pub transfers_per_s_max: Option<u64>,
    /// Lanes that the drive has.
    pub lanes_max: Option<u64>,
}

impl PciLink {
    pub(crate) fn read(function: &Path) -> Option<Self> {
        let rate = |name| text(function, name).and_then(|rate| bits_per_s(&rate, GIGATRANSFER));
        Some(Self {
            function: function.file_name()?.to_string_lossy().into_owned(),
            transfers_per_s: rate("current_link_speed"),
            lanes: number(function, "current_link_width"),
            transfers_per_s_max: rate("max_link_speed"),
            lanes_max: number(function, "max_link_width"),
        })
    }

    /// Whether the slot gives fewer lanes, or slower ones, than the drive has.
    pub fn is_below_its_most(&self) -> bool {
        let is_less = |now: Option<u64>, most: Option<u64>| now.zip(most).is_some_and(|(now, most)| now < most);
        is_less(self.transfers_per_s, self.transfers_per_s_max) || is_less(self.lanes, self.lanes_max)
    }
}

/// The controller that a device's directory is: the one that a bus hangs on.
pub(crate) fn controller(directory: &Path) -> Option<Station> {
    let name = directory.file_name()?.to_string_lossy().into_owned();
    Some(Station { kind: StationKind::Controller, name, title: link_name(directory, "driver"), link_bits_per_s: None })
}
