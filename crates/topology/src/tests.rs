//! Trees of the kernel's form, made in a directory.

mod tree;

use super::*;
use tree::Tree;

const GIGABYTE: u64 = 1_000_000_000;

fn kinds(drive: &PluggedDrive) -> Vec<(StationKind, &str)> {
    drive.way.iter().map(|station| (station.kind, station.name.as_str())).collect()
}

#[test]
fn a_stick_behind_a_hub_has_its_way_and_its_link() {
    let tree = Tree::new();
    let bus = tree.usb_bus("0000:00:14.0", 1, 480);
    let hub = bus.hub("1-1", "USB2.0 Hub", 480);
    hub.stick("1-1.4", "sda", "usb-storage", "2.10", 32 * GIGABYTE);
    let found = Topology::read(tree.root()).unwrap();
    let [drive] = &found.drives[..] else { panic!("{found:?}") };
    assert_eq!((drive.name.as_str(), drive.size_bytes), ("sda", 32 * GIGABYTE));
    assert_eq!(
        kinds(drive),
        [(StationKind::Controller, "0000:00:14.0"), (StationKind::UsbBus, "usb1"), (StationKind::UsbHub, "1-1"),]
    );
    assert_eq!(drive.way[0].title.as_deref(), Some("xhci_hcd"));
    assert_eq!((drive.way[2].title.as_deref(), drive.way[2].link_bits_per_s), (Some("USB2.0 Hub"), Some(480_000_000)));
    let Link::Usb(usb) = &drive.link else { panic!("{drive:?}") };
    assert_eq!((usb.port.as_str(), usb.driver, usb.version), ("1-1.4", Some(UsbDriver::UsbStorage), Some((2, 10))));
    assert_eq!(drive.link.advice(), Some(Advice::PlugIntoUsb3));
    assert_eq!(drive.request_bytes_max, Some(120 << 10));
}

#[test]
fn drives_that_share_a_hub_or_a_bus_have_it_in_their_ways() {
    let tree = Tree::new();
    let bus = tree.usb_bus("0000:00:14.0", 2, 5000);
    let hub = bus.hub("2-1", "USB3.0 Hub", 5000);
    hub.stick("2-1.1", "sdb", "uas", "3.20", GIGABYTE);
    hub.stick("2-1.2", "sda", "uas", "3.20", GIGABYTE);
    bus.stick("2-2", "sdaa", "uas", "3.20", GIGABYTE);
    let found = Topology::read(tree.root()).unwrap();
    assert_eq!(found.drives.iter().map(|drive| drive.name.as_str()).collect::<Vec<_>>(), ["sda", "sdb", "sdaa"]);
    let behind =
        |name| found.drives.iter().filter(|drive| drive.way.iter().any(|station| station.name == name)).count();
    assert_eq!(["0000:00:14.0", "usb2", "2-1"].map(behind), [3, 3, 2]);
    assert_eq!(found.drives[0].way, found.drives[1].way, "what they share is told alike");
    assert!(found.drives.iter().all(|drive| drive.link.advice().is_none()));
}

#[test]
fn a_stick_that_poses_as_a_cd_rom_is_told() {
    let tree = Tree::new();
    let stick = tree.usb_bus("0000:00:1d.7", 1, 480).stick("1-3", "sda", "usb-storage", "2.00", GIGABYTE);
    stick.optical("sr0");
    let found = Topology::read(tree.root()).unwrap();
    assert_eq!(found.drives.len(), 1, "the CD-ROM itself is no drive: {found:?}");
    assert_eq!(found.drives[0].poses_as, ["sr0"]);
}

#[test]
fn disks_on_sata_nvme_and_cards_are_found() {
    let tree = Tree::new();
    tree.ata("0000:00:1f.2", 3, "sda", "3.0 Gbps", "6.0 Gbps");
    tree.nvme("0000:03:00.0", "nvme0n1", ("8.0 GT/s PCIe", "1"), ("8.0 GT/s PCIe", "4"));
    tree.card("3f300000.mmc", "mmc0", "mmcblk0", "SD");
    let found = Topology::read(tree.root()).unwrap();
    let of = |name: &str| found.drives.iter().find(|drive| drive.name == name).unwrap();
    let disk = of("sda");
    assert_eq!(kinds(disk), [(StationKind::Controller, "0000:00:1f.2"), (StationKind::AtaPort, "ata3")]);
    assert_eq!((disk.link.bits_per_s(), disk.link.advice()), (Some(3_000_000_000), Some(Advice::CheckCable)));
    let nvme = of("nvme0n1");
    assert_eq!((nvme.link.bits_per_s(), nvme.link.advice()), (Some(8_000_000_000), Some(Advice::PlugIntoFasterSlot)));
    let card = of("mmcblk0");
    assert_eq!(card.link, Link::Card { slot: "mmc0".to_owned(), kind: Some("SD".to_owned()) });
    assert_eq!(kinds(card), [(StationKind::Controller, "3f300000.mmc"), (StationKind::CardSlot, "mmc0")]);
}

#[test]
fn partitions_are_named_by_their_numbers() {
    let tree = Tree::new();
    tree.ata("0000:00:1f.2", 1, "sda", "6.0 Gbps", "6.0 Gbps");
    for number in [10, 2, 1] {
        tree.partition("sda", number);
    }
    let found = Topology::read(tree.root()).unwrap();
    assert_eq!(found.drives[0].partitions, ["/dev/sda1", "/dev/sda2", "/dev/sda10"].map(PathBuf::from));
}

#[test]
fn what_the_kernel_makes_itself_is_no_drive() {
    let tree = Tree::new();
    for name in ["loop0", "md127", "dm-0", "zram0"] {
        tree.virtual_device(name);
    }
    assert_eq!(Topology::read(tree.root()).unwrap(), Topology::default());
}

#[test]
fn a_machine_without_the_kernels_tree_is_an_error_and_this_one_is_read() {
    let directory = tempfile::tempdir().unwrap();
    assert!(Topology::read(directory.path()).is_err());
    if std::path::Path::new("/sys/block").exists() {
        Topology::read(std::path::Path::new("/sys")).unwrap();
    }
}
