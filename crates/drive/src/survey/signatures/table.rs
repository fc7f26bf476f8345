//! Marks that are fixed bytes at fixed offsets.

use super::{Ends, Signature};

/// One mark.
struct Mark {
    what: &'static str,
    place: Place,
    bytes: &'static [u8],
}

/// Where a mark is.
enum Place {
    /// So many bytes from the start.
    Start(u64),
    /// So many bytes before the end.
    End(u64),
}

use Place::{End, Start};

const fn mark(what: &'static str, place: Place, bytes: &'static [u8]) -> Mark {
    Mark { what, place, bytes }
}

const KIB: u64 = 1024;

/// Shared by both; what follows tells them apart.
const BCACHE_UUID: [u8; 16] = *b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81";
const BCACHEFS_UUID: [u8; 16] = *b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef";

/// All of them. Offsets and bytes are each format's own, as its documentation or headers have them.
const MARKS: &[Mark] = &[
    // Partition tables; the MBR needs a closer look.
    mark("GPT partition table", Start(512), b"EFI PART"),
    mark("GPT partition table", Start(4096), b"EFI PART"),
    mark("GPT partition table (backup)", End(512), b"EFI PART"),
    mark("GPT partition table (backup)", End(4096), b"EFI PART"),
    // Encryption and volume managers.
    mark("LUKS encryption", Start(0), b"LUKS\xba\xbe\x00\x01"),
    mark("LUKS2 encryption", Start(0), b"LUKS\xba\xbe\x00\x02"),
    mark("LUKS2 encryption (second header)", Start(16 * KIB), b"SKUL\xba\xbe"),
    mark("LUKS2 encryption (second header)", Start(32 * KIB), b"SKUL\xba\xbe"),
    mark("LUKS2 encryption (second header)", Start(64 * KIB), b"SKUL\xba\xbe"),
    mark("BitLocker encryption", Start(3), b"-FVE-FS-"),
    mark("bcache device", Start(4 * KIB + 24), &BCACHE_UUID),
    mark("bcachefs file system", Start(4 * KIB + 24), &BCACHEFS_UUID),
    mark("bluestore device", Start(0), b"bluestore block device"),
    // File systems; FAT needs a closer look.
    mark("XFS file system", Start(0), b"XFSB"),
    mark("btrfs file system", Start(64 * KIB + 64), b"_BHRfS_M"),
    mark("f2fs file system", Start(KIB), b"\x10\x20\xf5\xf2"),
    mark("exFAT file system", Start(3), b"EXFAT   "),
    mark("NTFS file system", Start(3), b"NTFS    "),
    mark("ISO 9660 file system", Start(32 * KIB + 1), b"CD001"),
    mark("UDF file system", Start(34 * KIB + 1), b"NSR0"),
    mark("squashfs file system", Start(0), b"hsqs"),
    mark("EROFS file system", Start(KIB), b"\xe2\xe1\xf5\xe0"),
    mark("ReiserFS file system", Start(64 * KIB + 52), b"ReIsEr"),
    mark("JFS file system", Start(32 * KIB), b"JFS1"),
    mark("HFS+ file system", Start(KIB), b"H+\x00\x04"),
    mark("HFSX file system", Start(KIB), b"HX\x00\x05"),
    mark("APFS container", Start(32), b"NXSB"),
    // Swap, by the page size of the machine that made it.
    mark("swap", Start(4 * KIB - 10), b"SWAPSPACE2"),
    mark("swap", Start(8 * KIB - 10), b"SWAPSPACE2"),
    mark("swap", Start(16 * KIB - 10), b"SWAPSPACE2"),
    mark("swap", Start(64 * KIB - 10), b"SWAPSPACE2"),
    mark("hibernation image", Start(4 * KIB - 10), b"S1SUSPEND"),
    // Other systems' arrays; md needs a closer look.
    mark("Intel (IMSM) RAID member", End(KIB), b"Intel Raid ISM Cfg Sig. "),
    mark("DDF RAID member", End(512), b"\xde\x11\xde\x11"),
    mark("DRBD volume", End(4 * KIB - 60), b"\x83\x74\x02\x6b"),
    mark("DRBD volume", End(4 * KIB - 60), b"\x83\x74\x02\x6c"),
    mark("DRBD volume", End(4 * KIB - 60), b"\x83\x74\x02\x6d"),
];

/// The marks of the table that a drive carries.
pub(super) fn find(ends: &Ends) -> Vec<Signature> {
    let offset_of = |place: &Place| match *place {
        Start(offset) => Some(offset),
        End(before) => ends.size_bytes.checked_sub(before),
    };
    let found = MARKS.iter().filter_map(|mark| {
        let offset = offset_of(&mark.place)?;
        let is_there = ends.bytes_at(offset, mark.bytes.len())? == mark.bytes;
        is_there.then(|| Signature { what: mark.what.to_owned(), offset })
    });
    found.collect()
}
