//! Drives for tests.

use shoal_sim::{Bus, BusKind, Disk, DriveModel, Flash, Medium, PerDirection, Zone};

use crate::drives::{Certainty, Inventory, PlannedDrive, Writes};
use crate::reliability::find_rate;
use crate::units::GB;

/// A stick that reads 20 MB/s and writes 8.
pub(crate) fn stick(size_bytes: u64) -> PlannedDrive {
    let flash = Flash {
        bytes_per_s: PerDirection { read: 20_000_000, write: 8_000_000 },
        random_ns: PerDirection { read: 500_000, write: 4_000_000 },
        program_erase_cycles: Some(3_000),
        ..Flash::default()
    };
    drive("stick", size_bytes, BusKind::Usb2, Medium::Flash(flash), 20)
}

/// A disk of 100 MB/s outside and 50 inside.
pub(crate) fn disk(size_bytes: u64) -> PlannedDrive {
    let zone = |start_byte, bytes_per_s| Zone { start_byte, bytes_per_s };
    let disk = Disk {
        zones: vec![zone(0, 100_000_000), zone(size_bytes / 2, 50_000_000)],
        track_seek_ns: 1_000_000,
        average_seek_ns: 9_000_000,
        full_seek_ns: 18_000_000,
        rotation_ns: 8_333_333,
    };
    drive("disk", size_bytes, BusKind::Sata3, Medium::Disk(disk), 80)
}

fn drive(name: &str, size_bytes: u64, bus: BusKind, medium: Medium, usd: u64) -> PlannedDrive {
    let is_flash = matches!(medium, Medium::Flash(_));
    PlannedDrive {
        name: name.to_owned(),
        model: DriveModel {
            name: name.to_owned(),
            title: name.to_owned(),
            size_bytes,
            logical_block_bytes: 512,
            bus,
            command_ns: PerDirection { read: 375_000, write: 375_000 },
            page_bytes: if is_flash { 4096 } else { 65_536 },
            page_buffers: if is_flash { 1 } else { 128 },
            write_through: false,
            medium,
            queued_commands: 1,
            fake: None,
        },
        bus: 0,
        price: Some((usd * 100, "2008".to_owned())),
        idle_mw: Some(300),
        active_mw: Some(700),
        start_mw: Some(900),
        failure: find_rate(if is_flash { "sticks" } else { "eide" }).unwrap().into(),
        unreadable_per_bit: 1e-14,
        certainty: Certainty::Published,
        writes: Writes::Known,
    }
}

/// Drives dealt out in turn over so many buses of their kind.
pub(crate) fn inventory(drives: Vec<PlannedDrive>, bus_count: usize) -> Inventory {
    let kind = drives.first().map_or(BusKind::Usb2, |drive| drive.model.bus);
    let numbered = |(number, drive): (usize, PlannedDrive)| PlannedDrive {
        name: format!("{} #{}", drive.name, number + 1),
        bus: number % bus_count,
        ..drive
    };
    Inventory {
        buses: vec![Bus { kind, upstream: None }; bus_count],
        drives: drives.into_iter().enumerate().map(numbered).collect(),
    }
}

/// Six sticks of 64 GB.
pub(crate) fn six_sticks(bus_count: usize) -> Inventory {
    inventory((0..6).map(|_| stick(64 * GB)).collect(), bus_count)
}
