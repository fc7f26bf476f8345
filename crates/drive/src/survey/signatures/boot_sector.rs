//! The first blocks, where a partition table and a FAT file system look alike, and the families
//! that share a mark: ext2, ext3 and ext4; the versions of LVM's label.

use super::{Ends, Signature};

/// Ends both an MBR and a FAT boot sector.
const BOOT_MARK: [u8; 2] = [0x55, 0xaa];
/// A partition's type in an MBR that only says "see the GPT".
const PROTECTIVE_TYPE: u8 = 0xee;

/// What the first blocks are.
pub(super) fn find(ends: &Ends) -> Vec<Signature> {
    [fat_or_partition_table(ends), ext(ends), lvm(ends)].into_iter().flatten().collect()
}

fn fat_or_partition_table(ends: &Ends) -> Option<Signature> {
    let sector: [u8; 512] = ends.array_at(0)?;
    if sector[510..] != BOOT_MARK {
        return None;
    }
    if let Some(what) = fat(&sector) {
        return Some(Signature { what: format!("{what} file system"), offset: 0 });
    }
    let has_name_of_its_own = [b"NTFS    ", b"EXFAT   ", b"-FVE-FS-"].iter().any(|name| &sector[3..11] == *name);
    let what = (!has_name_of_its_own).then(|| partition_table(&sector)).flatten()?;
    Some(Signature { what: what.to_owned(), offset: 510 })
}

/// A FAT boot sector has sane geometry where an MBR has code.
fn fat(sector: &[u8; 512]) -> Option<&'static str> {
    let u16_at = |offset: usize| u16::from_le_bytes([sector[offset], sector[offset + 1]]);
    let (block_bytes, cluster_blocks, reserved_blocks) = (u16_at(11), sector[13], u16_at(14));
    let (copies, medium) = (sector[16], sector[21]);
    let is_sane = matches!(block_bytes, 512 | 1024 | 2048 | 4096)
        && cluster_blocks.is_power_of_two()
        && reserved_blocks > 0
        && matches!(copies, 1 | 2)
        && (medium == 0xf0 || medium >= 0xf8);
    match (&sector[54..62], &sector[82..90]) {
        _ if !is_sane => None,
        (b"FAT12   ", _) => Some("FAT12"),
        (b"FAT16   ", _) => Some("FAT16"),
        (_, b"FAT32   ") => Some("FAT32"),
        _ => Some("FAT"),
    }
}

/// An MBR has four entries, each empty or sane, and one at least not empty.
fn partition_table(sector: &[u8; 512]) -> Option<&'static str> {
    let mut types = Vec::new();
    for entry in sector[446..510].chunks_exact(16) {
        let (status, kind) = (entry[0], entry[4]);
        let has_size = entry[12..16] != [0; 4];
        if !matches!(status, 0 | 0x80) {
            return None;
        }
        if kind != 0 && has_size {
            types.push(kind);
        }
    }
    match types.as_slice() {
        [] => None,
        [PROTECTIVE_TYPE] => Some("GPT partition table (protective MBR)"),
        _ => Some("MBR partition table"),
    }
}

/// The superblock begins at 1024; its mark is 56 bytes in, and its features tell the generations
/// apart.
fn ext(ends: &Ends) -> Option<Signature> {
    const MARK_OFFSET: u64 = 1024 + 56;
    const HAS_JOURNAL: u32 = 0x4;
    const JOURNAL_DEVICE: u32 = 0x8;
    /// Extents, 64 bit, flexible groups and what else ext3 cannot read.
    const EXT4_ONLY: u32 = !0x1f;
    if ends.array_at(MARK_OFFSET)? != [0x53, 0xef] {
        return None;
    }
    let (compatible, incompatible) = (ends.u32_at(1024 + 92)?, ends.u32_at(1024 + 96)?);
    let what = match () {
        () if incompatible & JOURNAL_DEVICE != 0 => "ext3/ext4 journal",
        () if incompatible & EXT4_ONLY != 0 => "ext4 file system",
        () if compatible & HAS_JOURNAL != 0 => "ext3 file system",
        () => "ext2 file system",
    };
    Some(Signature { what: what.to_owned(), offset: MARK_OFFSET })
}

/// LVM's label is in one of the first four sectors.
fn lvm(ends: &Ends) -> Option<Signature> {
    let offset = [0, 512, 1024, 1536].into_iter().find(|&offset| ends.array_at(offset) == Some(*b"LABELONE"))?;
    (ends.array_at(offset + 24)? == *b"LVM2 001").then(|| Signature { what: "LVM physical volume".to_owned(), offset })
}
