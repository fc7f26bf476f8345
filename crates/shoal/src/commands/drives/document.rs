//! What `shoal drives --json` prints.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use shoal_inventory::{Holds, Part, Plugged};
use shoal_topology::{Advice, Link, Station, StationKind};

/// `drives`: what is plugged in.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct DrivesDocument {
    /// In the order of their names.
    pub(crate) drives: Vec<DriveDocument>,
}

/// A drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct DriveDocument {
    /// Its device file. It may belong to another drive after the next start.
    pub(crate) path: String,
    /// Bytes; 0 without a medium.
    pub(crate) size_bytes: u64,
    /// Manufacturer, as the drive reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) vendor: Option<String>,
    /// Model, as the drive reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// Serial number, as the drive or its enclosure reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) serial: Option<String>,
    /// Other drives that are plugged in report the same serial number: it tells none of them apart.
    pub(crate) serial_is_shared: bool,
    /// World-wide identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wwid: Option<String>,
    /// What lies between the drive and the processor, the controller first.
    pub(crate) way: Vec<StationDocument>,
    /// The drive's own link.
    pub(crate) link: LinkDocument,
    /// The largest request that the driver gives to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_bytes_max: Option<u64>,
    /// What would make it faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) advice: Option<AdviceDocument>,
    /// Other devices that the same stick poses as.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) poses_as: Vec<String>,
    /// What is on it.
    pub(crate) holds: HoldsDocument,
}

/// What drives are plugged into.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct StationDocument {
    /// What it is.
    pub(crate) kind: StationKindDocument,
    /// What the kernel calls it.
    pub(crate) name: String,
    /// Who it says it is; of a controller its driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// What its link carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) link_bits_per_s: Option<u64>,
}

/// What a station is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StationKindDocument {
    /// A controller.
    Controller,
    /// A USB bus: its root hub.
    UsbBus,
    /// A USB hub.
    UsbHub,
    /// An ATA port.
    AtaPort,
    /// A slot for memory cards.
    CardSlot,
}

/// A drive's link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct LinkDocument {
    /// What it is: `usb`, `ata`, `nvme`, `card`, or the kernel's name of another bus.
    pub(crate) kind: String,
    /// The port, function or slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) port: Option<String>,
    /// What was negotiated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bits_per_s: Option<u64>,
    /// USB: `usb-storage` or `uas`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) driver: Option<String>,
    /// USB: the version that the drive says it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usb_version: Option<String>,
}

/// What would make a drive faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AdviceDocument {
    /// It can do USB 3, and its port or a hub on the way cannot.
    PlugIntoUsb3,
    /// Its slot gives it less than it has.
    PlugIntoFasterSlot,
    /// The SATA port could do more than was negotiated.
    CheckCable,
}

/// What is on a drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HoldsDocument {
    /// Its partitions, or the whole drive if it has none.
    Parts(Vec<PartDocument>),
    /// A card reader without a card.
    NoMedium,
    /// It did not answer.
    Silent,
}

/// A partition, or a drive without partitions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct PartDocument {
    /// Its device file.
    pub(crate) path: String,
    /// Signatures and uses, as clauses.
    pub(crate) findings: Vec<String>,
    /// Why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// The array that it is a member of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) array: Option<MembershipDocument>,
}

/// An array's member, by what its superblock says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct MembershipDocument {
    /// The array's UUID.
    pub(crate) uuid: String,
    /// The array's name.
    pub(crate) name: String,
}

impl DrivesDocument {
    pub(super) fn of(plugged: &[Plugged]) -> Self {
        let mut serials: BTreeMap<&str, usize> = BTreeMap::new();
        for serial in plugged.iter().filter_map(|drive| drive.identity.serial.as_deref()) {
            *serials.entry(serial).or_default() += 1;
        }
        let is_shared = |drive: &Plugged| drive.identity.serial.as_deref().is_some_and(|serial| serials[serial] > 1);
        Self { drives: plugged.iter().map(|drive| DriveDocument::of(drive, is_shared(drive))).collect() }
    }
}

impl DriveDocument {
    fn of(plugged: &Plugged, serial_is_shared: bool) -> Self {
        let Plugged { drive, identity, holds } = plugged;
        Self {
            path: drive.path.display().to_string(),
            size_bytes: drive.size_bytes,
            vendor: identity.vendor.clone(),
            model: identity.model.clone(),
            serial: identity.serial.clone(),
            serial_is_shared,
            wwid: identity.wwid.clone(),
            way: drive.way.iter().map(StationDocument::of).collect(),
            link: LinkDocument::of(&drive.link),
            request_bytes_max: drive.request_bytes_max,
            advice: drive.link.advice().map(AdviceDocument::of),
            poses_as: drive.poses_as.clone(),
            holds: match holds {
                Holds::Parts(parts) => HoldsDocument::Parts(parts.iter().map(PartDocument::of).collect()),
                Holds::NoMedium => HoldsDocument::NoMedium,
                Holds::Silent => HoldsDocument::Silent,
            },
        }
    }
}

impl StationDocument {
    fn of(station: &Station) -> Self {
        let kind = match station.kind {
            StationKind::Controller => StationKindDocument::Controller,
            StationKind::UsbBus => StationKindDocument::UsbBus,
            StationKind::UsbHub => StationKindDocument::UsbHub,
            StationKind::AtaPort => StationKindDocument::AtaPort,
            StationKind::CardSlot => StationKindDocument::CardSlot,
        };
        let Station { name, title, link_bits_per_s, .. } = station.clone();
        Self { kind, name, title, link_bits_per_s }
    }
}

impl LinkDocument {
    fn of(link: &Link) -> Self {
        let (kind, port) = match link {
            Link::Usb(usb) => ("usb", Some(usb.port.clone())),
            Link::Ata { port, .. } => ("ata", Some(port.clone())),
            Link::Nvme(pci) => ("nvme", Some(pci.function.clone())),
            Link::Card { slot, .. } => ("card", Some(slot.clone())),
            Link::Other(bus) => (bus.as_deref().unwrap_or("unknown"), None),
        };
        let usb = if let Link::Usb(usb) = link { Some(usb) } else { None };
        Self {
            kind: kind.to_owned(),
            port,
            bits_per_s: link.bits_per_s(),
            driver: usb.and_then(|usb| usb.driver).map(|driver| driver.name().to_owned()),
            usb_version: usb.and_then(|usb| usb.version).map(|(major, minor)| format!("{major}.{minor:02}")),
        }
    }
}

impl AdviceDocument {
    fn of(advice: Advice) -> Self {
        match advice {
            Advice::PlugIntoUsb3 => Self::PlugIntoUsb3,
            Advice::PlugIntoFasterSlot => Self::PlugIntoFasterSlot,
            Advice::CheckCable => Self::CheckCable,
        }
    }
}

impl PartDocument {
    fn of(part: &Part) -> Self {
        let findings = part.findings.iter().map(ToString::to_string).collect();
        let array = part.member.as_ref().map(|seen| MembershipDocument {
            uuid: seen.superblock.array_uuid.to_string(),
            name: seen.superblock.name(),
        });
        Self { path: part.path.display().to_string(), findings, error: part.error.clone(), array }
    }
}
