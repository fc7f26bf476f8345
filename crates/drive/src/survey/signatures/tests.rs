//! Marks planted into blank and into random drives. Real images are in the survey's tests.

use super::*;

fn found_in(image: &[u8]) -> Vec<String> {
    let read_at = |offset: u64, bytes: &mut [u8]| {
        bytes.copy_from_slice(&image[offset as usize..][..bytes.len()]);
        Ok(())
    };
    let ends = Ends::read(image.len() as u64, read_at).unwrap();
    find(&ends).into_iter().map(|signature| format!("{} at {}", signature.what, signature.offset)).collect()
}

fn blank_with(size_bytes: usize, marks: &[(usize, &[u8])]) -> Vec<u8> {
    let mut image = vec![0; size_bytes];
    for (offset, bytes) in marks {
        image[*offset..][..bytes.len()].copy_from_slice(bytes);
    }
    image
}

const MIB: usize = 1 << 20;

#[test]
fn random_bytes_of_any_size_carry_nothing_and_do_no_harm() {
    let mut state = 7_u64;
    let mut byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    for size_bytes in [0, 1, 3, 511, 512, 513, 1023, 1082, 4096, 8191, 65_536, 70_000, 262_144, MIB, 3 * MIB + 512] {
        let image: Vec<u8> = (0..size_bytes).map(|_| byte()).collect();
        assert_eq!(found_in(&image), [""; 0], "{size_bytes} bytes");
        assert_eq!(found_in(&vec![0xff; size_bytes]), [""; 0], "{size_bytes} bytes");
    }
}

#[test]
fn marks_of_the_table_are_found_at_both_ends() {
    let image = blank_with(4 * MIB, &[(0, b"LUKS\xba\xbe\x00\x02"), (16_384, b"SKUL\xba\xbe")]);
    assert_eq!(found_in(&image), ["LUKS2 encryption at 0", "LUKS2 encryption (second header) at 16384"]);
    let image = blank_with(4 * MIB, &[(512, b"EFI PART"), (4 * MIB - 512, b"EFI PART")]);
    assert_eq!(found_in(&image), ["GPT partition table at 512", "GPT partition table (backup) at 4193792"]);
}

/// A boot sector with room for code, and partition entries.
fn mbr(entries: &[(usize, u8)]) -> Vec<u8> {
    let mut image = blank_with(MIB, &[(0, b"\xfa\x31\xc0\x8e"), (510, b"\x55\xaa")]);
    for &(index, kind) in entries {
        let entry = &mut image[446 + 16 * index..][..16];
        entry[4] = kind;
        entry[8..12].copy_from_slice(&2048_u32.to_le_bytes());
        entry[12..16].copy_from_slice(&1000_u32.to_le_bytes());
    }
    image
}

#[test]
fn a_partition_table_has_valid_entries() {
    assert_eq!(found_in(&mbr(&[(0, 0x83)])), ["MBR partition table at 510"]);
    assert_eq!(found_in(&mbr(&[(3, 0x0c)])), ["MBR partition table at 510"]);
    assert_eq!(found_in(&mbr(&[(0, 0xee)])), ["GPT partition table (protective MBR) at 510"]);
    assert_eq!(found_in(&mbr(&[])), [""; 0], "boot code alone");
    let mut broken = mbr(&[(0, 0x83)]);
    broken[446 + 16] = 0x17;
    assert_eq!(found_in(&broken), [""; 0], "text where entries should be");
}

#[test]
fn a_fat_boot_sector_is_no_partition_table() {
    let geometry: &[u8] = &[0x00, 0x02, 8, 32, 0, 2, 0, 0, 0, 0, 0xf8];
    let fat = |name: (usize, &[u8])| {
        let mut image = mbr(&[(0, 0x83)]); // what looks like an entry is boot code here
        image[11..22].copy_from_slice(geometry);
        image[name.0..][..name.1.len()].copy_from_slice(name.1);
        found_in(&image)
    };
    assert_eq!(fat((82, b"FAT32   ")), ["FAT32 file system at 0"]);
    assert_eq!(fat((54, b"FAT16   ")), ["FAT16 file system at 0"]);
    assert_eq!(fat((54, b"        ")), ["FAT file system at 0"]);
    assert_eq!(found_in(&blank_with(MIB, &[(3, b"NTFS    "), (510, b"\x55\xaa")])), ["NTFS file system at 3"]);
}

#[test]
fn md_superblocks_are_found_where_each_version_puts_them() {
    let (mark, one, zero) = (0xa92b_4efc_u32.to_le_bytes(), 1_u32.to_le_bytes(), 0_u32.to_le_bytes());
    let size_bytes = 3 * MIB + 4096;
    let with =
        |offset: usize, version: [u8; 4]| found_in(&blank_with(size_bytes, &[(offset, &[mark, version].concat())]));
    assert_eq!(with(0, one), ["md RAID member (superblock 1.1) at 0"]);
    assert_eq!(with(4096, one), ["md RAID member (superblock 1.2) at 4096"]);
    assert_eq!(with(size_bytes - 8192, one), ["md RAID member (superblock 1.0) at 3141632"]);
    assert_eq!(with(3 * MIB - 65_536, zero), ["md RAID member (superblock 0.90) at 3080192"]);
    assert_eq!(with(4096, [9; 4]), [""; 0], "no such version");
}

#[test]
fn generations_of_ext_are_told_apart_by_their_features() {
    let ext = |compatible: u32, incompatible: u32| {
        let marks =
            [(1080, [0x53, 0xef].as_slice()), (1116, &compatible.to_le_bytes()), (1120, &incompatible.to_le_bytes())];
        found_in(&blank_with(MIB, &marks))
    };
    assert_eq!(ext(0, 2), ["ext2 file system at 1080"]);
    assert_eq!(ext(4, 6), ["ext3 file system at 1080"]);
    assert_eq!(ext(4, 0x2c2), ["ext4 file system at 1080"]);
    assert_eq!(ext(0, 8), ["ext3/ext4 journal at 1080"]);
}

#[test]
fn lvm_and_zfs_are_found_at_any_of_their_places() {
    let image = blank_with(MIB, &[(1024, b"LABELONE"), (1048, b"LVM2 001")]);
    assert_eq!(found_in(&image), ["LVM physical volume at 1024"]);
    let uberblock = 0x00ba_b10c_u64;
    for (offset, bytes) in [(131_072, uberblock.to_le_bytes()), (4 * MIB - 1024, uberblock.to_be_bytes())] {
        assert_eq!(found_in(&blank_with(4 * MIB, &[(offset, &bytes)])), [format!("ZFS pool member at {offset}")]);
    }
}
