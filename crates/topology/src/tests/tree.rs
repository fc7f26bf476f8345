//! Makes directories as sysfs has them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A tree, gone with this.
pub(crate) struct Tree(tempfile::TempDir);

/// A USB bus or hub.
pub(crate) struct Hub<'a> {
    tree: &'a Tree,
    path: PathBuf,
}

/// A stick.
pub(crate) struct Stick {
    interface: PathBuf,
}

fn directory(path: &Path, attributes: &[(&str, &str)]) {
    fs::create_dir_all(path).unwrap();
    for (name, text) in attributes {
        fs::write(path.join(name), format!("{text}\n")).unwrap();
    }
}

/// A link by whose last part the kernel names a driver or subsystem.
fn named(path: &Path, link: &str, name: &str) {
    symlink(format!("../{link}s/{name}"), path.join(link)).unwrap();
}

impl Tree {
    pub(crate) fn new() -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(tree.root().join("block")).unwrap();
        tree
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    fn pci(&self, function: &str, driver: &str) -> PathBuf {
        let path = self.root().join("devices/pci0000:00").join(function);
        if !path.exists() {
            directory(&path, &[]);
            named(&path, "subsystem", "pci");
            named(&path, "driver", driver);
        }
        path
    }

    pub(crate) fn usb_bus(&self, function: &str, bus: u32, megabits: u32) -> Hub<'_> {
        let path = self.pci(function, "xhci_hcd").join(format!("usb{bus}"));
        directory(&path, &[("idVendor", "1d6b"), ("maxchild", "4"), ("speed", &megabits.to_string())]);
        Hub { tree: self, path }
    }

    pub(crate) fn ata(&self, function: &str, port: u32, name: &str, now: &str, most: &str) {
        let path = self.pci(function, "ahci").join(format!("ata{port}"));
        let link = path.join(format!("link{port}/ata_link/link{port}"));
        directory(&link, &[("sata_spd", now), ("hw_sata_spd_limit", most)]);
        self.block(&path.join("host2/target2:0:0/2:0:0:0"), name, "scsi", 1 << 40);
    }

    pub(crate) fn nvme(&self, function: &str, name: &str, now: (&str, &str), most: (&str, &str)) {
        let path = self.pci(function, "nvme");
        let [speed, width] = ["current_link_speed", "current_link_width"];
        directory(&path, &[(speed, now.0), (width, now.1), ("max_link_speed", most.0), ("max_link_width", most.1)]);
        let controller = path.join("nvme/nvme0");
        directory(&controller, &[]);
        let block = controller.join(name);
        directory(&block, &[("size", "2048")]);
        symlink(&controller, block.join("device")).unwrap();
        symlink(&block, self.root().join("block").join(name)).unwrap();
    }

    pub(crate) fn card(&self, host: &str, slot: &str, name: &str, kind: &str) {
        let path = self.root().join("devices/platform/soc").join(host);
        directory(&path, &[]);
        named(&path, "subsystem", "platform");
        named(&path, "driver", "sdhost-bcm2835");
        let card = path.join("mmc_host").join(slot).join(format!("{slot}:aaaa"));
        directory(&card, &[("type", kind)]);
        self.block(&card, name, "mmc", 1 << 34);
    }

    pub(crate) fn virtual_device(&self, name: &str) {
        let block = self.root().join("devices/virtual/block").join(name);
        directory(&block, &[("size", "2048")]);
        symlink(&block, self.root().join("block").join(name)).unwrap();
    }

    pub(crate) fn partition(&self, drive: &str, number: u32) {
        let path = self.root().join("block").join(drive).join(format!("{drive}{number}"));
        directory(&path, &[("partition", &number.to_string())]);
    }

    /// A block device below a device.
    fn block(&self, device: &Path, name: &str, subsystem: &str, size_bytes: u64) {
        let block = device.join("block").join(name);
        directory(&block, &[("size", &(size_bytes / 512).to_string())]);
        directory(&block.join("queue"), &[("max_sectors_kb", "120")]);
        named(device, "subsystem", subsystem);
        symlink(device, block.join("device")).unwrap();
        symlink(&block, self.root().join("block").join(name)).unwrap();
    }
}

impl Hub<'_> {
    pub(crate) fn hub(&self, name: &str, product: &str, megabits: u32) -> Hub<'_> {
        let path = self.path.join(name);
        let speed = megabits.to_string();
        directory(&path, &[("idVendor", "05e3"), ("maxchild", "4"), ("speed", &speed), ("product", product)]);
        Hub { tree: self.tree, path }
    }

    pub(crate) fn stick(&self, port: &str, name: &str, driver: &str, version: &str, size_bytes: u64) -> Stick {
        let device = self.path.join(port);
        let speed = fs::read_to_string(self.path.join("speed")).unwrap();
        let facts = [("idVendor", "0781"), ("maxchild", "0"), ("speed", speed.trim()), ("version", version)];
        directory(&device, &facts);
        let interface = device.join(format!("{port}:1.0"));
        directory(&interface, &[("bInterfaceNumber", "00")]);
        named(&interface, "driver", driver);
        self.tree.block(&interface.join("host2/target2:0:0/2:0:0:0"), name, "scsi", size_bytes);
        Stick { interface }
    }
}

impl Stick {
    /// A CD-ROM that the stick poses as.
    pub(crate) fn optical(&self, name: &str) {
        directory(&self.interface.join("host2/target2:0:0/2:0:0:1/block").join(name), &[]);
    }
}
