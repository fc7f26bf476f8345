//! Limits of what surrounds an array: bridges, partition tables, file systems.

use shoal_sim::BusKind;

use crate::arrays::Arrangement;
use crate::drives::Inventory;
use crate::units::GB;

/// 2^32 sectors of 512 bytes: what a block number of 32 bits can name.
const TWO_TIB: u64 = 1 << 41;
/// The largest file on FAT32: a length of 32 bits.
const FAT32_FILE: u64 = (1 << 32) - 1;
/// The largest FAT16 with clusters of 32 KiB.
const FAT16: u64 = 2 << 30;

/// What is in the way of an array of this capacity, a sentence each.
pub fn limits(inventory: &Inventory, array: &Arrangement, usable_bytes: u64) -> Vec<String> {
    let mut limits = Vec::new();
    let behind_bridge = array.drives().find(|&(drive, bus)| {
        inventory.drives[drive].model.size_bytes > TWO_TIB
            && matches!(inventory.buses[bus].kind, BusKind::Usb2 | BusKind::Usb3)
    });
    if let Some((drive, _)) = behind_bridge {
        limits.push(format!(
            "{} has more than 2 TiB: older USB bridges, which count blocks in 32 bits, show less; look at the size that \
             Linux reports before you trust it",
            inventory.drives[drive].name
        ));
    }
    if usable_bytes > TWO_TIB {
        limits.push(
            "more than 2 TiB: an MBR partition table cannot name all of it, nor can Linux 2.4 or FAT32; use GPT, or no table"
                .to_owned(),
        );
    } else if usable_bytes > FAT32_FILE {
        limits.push("with FAT32 no file can be larger than 4 GiB: use ext4, XFS or exFAT".to_owned());
    }
    if (FAT16 + 1..=4 * GB).contains(&usable_bytes) {
        limits.push("FAT16 ends at 2 GiB".to_owned());
    }
    limits
}
