//! Identities read from a copy of sysfs as it looks for a stick on a hub.

use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// A stick at port 4 of a hub at port 1 of bus 2, with one partition.
fn stick_on_a_hub() -> (TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let usb = root.path().join("devices/usb2/2-1/2-1.4");
    let scsi = usb.join("2-1.4:1.0/host0/target0:0:0/0:0:0:0");
    let disk = scsi.join("block/sdb");
    std::fs::create_dir_all(disk.join("sdb1")).unwrap();
    std::fs::create_dir_all(disk.join("queue")).unwrap();
    let files = [
        (usb.join("idVendor"), "0781\n"),
        (usb.join("serial"), "2004 1100\n"),
        (usb.join("speed"), "480\n"),
        (scsi.join("vendor"), "SanDisk \n"),
        (scsi.join("model"), "Cruzer Titanium \n"),
        (disk.join("removable"), "1\n"),
        (disk.join("queue/rotational"), "1\n"),
        (disk.join("sdb1/partition"), "1\n"),
    ];
    files.iter().for_each(|(path, text)| std::fs::write(path, text).unwrap());
    symlink(&scsi, disk.join("device")).unwrap();
    (root, disk)
}

#[test]
fn a_stick_is_described_with_its_place_on_the_bus() {
    let (_root, disk) = stick_on_a_hub();
    let port = UsbPort { path: "2-1.4".into(), hub: "2-1".into(), link_bits_per_s: Some(480_000_000) };
    let expected = Identity {
        vendor: Some("SanDisk".into()),
        model: Some("Cruzer Titanium".into()),
        serial: Some("2004 1100".into()),
        wwid: None,
        usb: Some(port),
        bus_path: Some("0:0:0:0".into()),
        is_removable: Some(true),
        is_rotational_as_reported: Some(true),
    };
    assert_eq!(Identity::of_directory(&disk), expected);
    assert_eq!(Identity::of_directory(&disk.join("sdb1")), expected, "a partition has its disk's identity");
}

#[test]
fn a_stick_at_a_root_port_hangs_on_the_bus_itself() {
    let root = tempfile::tempdir().unwrap();
    let usb = root.path().join("3-2");
    std::fs::create_dir(&usb).unwrap();
    let port = UsbPort { path: "3-2".into(), hub: "usb3".into(), link_bits_per_s: None };
    assert_eq!(UsbPort::of_directory(&usb), Some(port));
}

#[test]
fn nothing_known_is_no_error() {
    assert_eq!(Identity::of_directory(Path::new("/nonexistent")), Identity::default());
}
