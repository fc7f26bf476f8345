//! The tree of drives, for people.
//!
//! ```text
//! controller 0000:00:14.0 (xhci_hcd)
//!   USB bus 1, 480 Mbit/s: 2 drives share it
//!     hub 1-1 (USB2.0 Hub), 480 Mbit/s: 2 drives share it
//!       /dev/sda  31.9 GB  SanDisk Ultra, serial 4C53, 480 Mbit/s at 1-1.4 (usb-storage)
//!         array pond
//!         ! it can do USB 3: plug it into a port, and a hub, that can
//! ```

use shoal_text::{Outside, format_bit_rate};

use super::document::{
    AdviceDocument, DriveDocument, DrivesDocument, HoldsDocument, LinkDocument, PartDocument, StationDocument,
    StationKindDocument,
};

pub(super) fn of(document: &DrivesDocument) -> String {
    if document.drives.is_empty() {
        return "no drive is plugged in\n".to_owned();
    }
    let mut drives: Vec<&DriveDocument> = document.drives.iter().collect();
    let way_of = |drive: &DriveDocument| drive.way.iter().map(|station| station.name.clone()).collect::<Vec<_>>();
    drives.sort_by_key(|drive| way_of(drive));
    let mut lines = Vec::new();
    let mut above: &[StationDocument] = &[];
    for drive in &drives {
        let common = drive.way.iter().zip(above).take_while(|(own, other)| own == other).count();
        for (depth, station) in drive.way.iter().enumerate().skip(common) {
            let sharing = drives.iter().filter(|other| other.way.get(..=depth) == drive.way.get(..=depth)).count();
            lines.push(format!("{}{}", indent(depth), station_line(station, sharing)));
        }
        above = &drive.way;
        lines.extend(drive_lines(drive).into_iter().map(|line| indent(drive.way.len()) + &line));
    }
    lines.join("\n") + "\n"
}

fn indent(depth: usize) -> String {
    "  ".repeat(depth)
}

fn station_line(station: &StationDocument, sharing: usize) -> String {
    let StationDocument { kind, name, title, link_bits_per_s } = station;
    let what = match kind {
        StationKindDocument::Controller => format!("controller {name}"),
        StationKindDocument::UsbBus => format!("USB bus {}", name.trim_start_matches("usb")),
        StationKindDocument::UsbHub => format!("hub {name}"),
        StationKindDocument::AtaPort => format!("ATA port {name}"),
        StationKindDocument::CardSlot => format!("card slot {name}"),
    };
    let title = title.as_ref().map(|title| format!(" ({})", Outside(title))).unwrap_or_default();
    let rate = link_bits_per_s.map(|rate| format!(", {}", format_bit_rate(rate))).unwrap_or_default();
    let is_bottleneck = sharing > 1 && *kind != StationKindDocument::Controller;
    let shared = if is_bottleneck { format!(": {sharing} drives share it") } else { String::new() };
    format!("{what}{title}{rate}{shared}")
}

/// A drive in one line, and what there is to say of it below.
pub(super) fn drive_lines(drive: &DriveDocument) -> Vec<String> {
    let names = [drive.vendor.as_deref(), drive.model.as_deref()];
    let name = names.into_iter().flatten().map(|name| Outside(name).to_string()).collect::<Vec<_>>().join(" ");
    let name = if name.is_empty() { "unknown model".to_owned() } else { name };
    let serial = drive.serial.as_ref().map(|serial| format!(", serial {}", Outside(serial))).unwrap_or_default();
    let size = size(drive.size_bytes);
    let mut lines = vec![format!("{}  {size}  {name}{serial}, {}", drive.path, link(&drive.link))];
    lines.extend(holds(drive).into_iter().chain(warnings(drive)).map(|line| indent(1) + &line));
    lines
}

/// Powers of ten, as drives are sold.
pub(super) fn size(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes >= 1e12 => format!("{:.2} TB", bytes / 1e12),
        bytes if bytes >= 1e9 => format!("{:.1} GB", bytes / 1e9),
        bytes => format!("{:.0} MB", bytes / 1e6),
    }
}

fn link(link: &LinkDocument) -> String {
    let rate = link.bits_per_s.map_or_else(|| link.kind.clone(), format_bit_rate);
    let port = match (&link.port, link.kind.as_str()) {
        (Some(port), "usb" | "nvme") => format!(" at {port}"),
        _ => String::new(),
    };
    let driver = link.driver.as_ref().map(|driver| format!(" ({driver})")).unwrap_or_default();
    format!("{rate}{port}{driver}")
}

fn holds(drive: &DriveDocument) -> Vec<String> {
    match &drive.holds {
        HoldsDocument::Silent => vec!["! does not answer: look at the drive, or plug it in anew".to_owned()],
        HoldsDocument::NoMedium => vec!["no card in it".to_owned()],
        HoldsDocument::Parts(parts) => parts.iter().map(|part| part_line(drive, part)).collect(),
    }
}

fn part_line(drive: &DriveDocument, part: &PartDocument) -> String {
    let place = if part.path == drive.path { String::new() } else { format!("{}: ", part.path) };
    let mut words = Vec::new();
    words.extend(part.array.as_ref().map(|array| format!("member of array {}", Outside(&array.name))));
    words.extend(part.findings.iter().map(|finding| Outside(finding).to_string()));
    words.extend(part.error.as_ref().map(|error| format!("cannot be read: {error}")));
    if words.is_empty() {
        words.push("carries nothing that is known".to_owned());
    }
    format!("{place}{}", words.join("; "))
}

fn warnings(drive: &DriveDocument) -> Vec<String> {
    let advice = drive.advice.map(|advice| match advice {
        AdviceDocument::PlugIntoUsb3 => "! it can do USB 3, and is on USB 2: plug it into a port, and a hub, of USB 3",
        AdviceDocument::PlugIntoFasterSlot => "! its slot gives it fewer lanes, or slower ones, than it has",
        AdviceDocument::CheckCable => {
            "! its port can do more than was negotiated: the drive is older, or the cable bad"
        }
    });
    let poses = (!drive.poses_as.is_empty()).then(|| {
        format!("! poses as {} as well, with programs of its maker: arrays do not use that", drive.poses_as.join(", "))
    });
    let shared = drive.serial_is_shared.then(|| {
        "! another drive reports the same serial number: only what an array writes to them tells them apart".to_owned()
    });
    advice.map(str::to_owned).into_iter().chain(poses).chain(shared).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail by panic")]
pub(super) mod tests {
    use super::*;

    fn station(kind: StationKindDocument, name: &str, link_bits_per_s: Option<u64>) -> StationDocument {
        StationDocument { kind, name: name.to_owned(), title: None, link_bits_per_s }
    }

    /// A stick at this port of a hub.
    pub(in super::super) fn stick(path: &str, port: &str) -> DriveDocument {
        DriveDocument {
            path: path.to_owned(),
            size_bytes: 31_900_000_000,
            vendor: Some("SanDisk".to_owned()),
            model: Some("Ultra\u{1b}[2J".to_owned()),
            serial: Some("4C53".to_owned()),
            serial_is_shared: false,
            wwid: None,
            way: vec![
                station(StationKindDocument::Controller, "0000:00:14.0", None),
                station(StationKindDocument::UsbBus, "usb1", Some(480_000_000)),
                station(StationKindDocument::UsbHub, "1-1", Some(480_000_000)),
            ],
            link: LinkDocument {
                kind: "usb".to_owned(),
                port: Some(port.to_owned()),
                bits_per_s: Some(480_000_000),
                driver: Some("usb-storage".to_owned()),
                usb_version: Some("2.10".to_owned()),
            },
            request_bytes_max: Some(120 << 10),
            advice: None,
            poses_as: Vec::new(),
            holds: HoldsDocument::Parts(vec![PartDocument {
                path: path.to_owned(),
                findings: Vec::new(),
                error: None,
                array: None,
            }]),
        }
    }

    #[test]
    fn what_drives_share_is_told_once_above_them() {
        let (mut one, two) = (stick("/dev/sda", "1-1.1"), stick("/dev/sdb", "1-1.2"));
        one.advice = Some(AdviceDocument::PlugIntoUsb3);
        one.poses_as = vec!["sr0".to_owned()];
        let text = of(&DrivesDocument { drives: vec![one, two] });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "controller 0000:00:14.0");
        assert_eq!(lines[1], "  USB bus 1, 480 Mbit/s: 2 drives share it");
        assert_eq!(lines[2], "    hub 1-1, 480 Mbit/s: 2 drives share it");
        assert!(lines[3].starts_with("      /dev/sda  31.9 GB  SanDisk Ultra"), "{text}");
        assert!(lines[3].ends_with(", serial 4C53, 480 Mbit/s at 1-1.1 (usb-storage)"), "{text}");
        assert_eq!(lines[4], "        carries nothing that is known");
        assert!(lines[5].contains("plug it into a port") && lines[6].contains("poses as sr0"), "{text}");
        assert!(lines[7].starts_with("      /dev/sdb"), "the hub is not told twice: {text}");
        assert!(!text.contains('\u{1b}'), "what a drive calls itself does not reach the terminal as it is");
    }

    #[test]
    fn a_machine_without_drives_says_so() {
        assert_eq!(of(&DrivesDocument { drives: Vec::new() }), "no drive is plugged in\n");
    }
}
