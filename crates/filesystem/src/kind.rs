//! The kinds of file system, their tools, and what each can hold.

use std::fmt;
use std::str::FromStr;

const MIB: u64 = 1 << 20;
const TIB: u64 = 1 << 40;

/// A kind of file system that can be made on an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Linux's own, journaled.
    Ext4,
    /// For large files and many writers, journaled.
    Xfs,
    /// Copy on write, with checksums and snapshots.
    Btrfs,
    /// For flash: writes only in large logs.
    F2fs,
    /// FAT16 or FAT32, which everything can read.
    Vfat,
    /// What cameras and other systems read beyond FAT's limits.
    Exfat,
    /// Windows' own.
    Ntfs,
}

/// What a kind of file system cannot go beyond.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Smaller than this its tool refuses, or makes something of no use.
    pub(crate) least_bytes: u64,
    /// Larger than this its fields do not count, with the logical block that counts in them.
    pub(crate) most_bytes: fn(logical_block_bytes: u64) -> u64,
    /// Why not larger.
    pub(crate) most_because: &'static str,
    /// The longest label.
    pub(crate) label: LabelLimit,
}

/// How long a label may be, and of what.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LabelLimit {
    /// So many bytes of UTF-8, without control characters.
    Bytes(usize),
    /// So many units of UTF-16, without control characters.
    Utf16(usize),
    /// FAT's eleven bytes of a directory entry: ASCII, upper case, without the characters that
    /// short names reserve.
    Fat,
}

impl Kind {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 7] = [Self::Ext4, Self::Xfs, Self::Btrfs, Self::F2fs, Self::Vfat, Self::Exfat, Self::Ntfs];

    /// As mount(8) and blkid(8) call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
            Self::F2fs => "f2fs",
            Self::Vfat => "vfat",
            Self::Exfat => "exfat",
            Self::Ntfs => "ntfs",
        }
    }

    /// The program that makes it.
    pub fn mkfs(self) -> &'static str {
        match self {
            Self::Ext4 => "mkfs.ext4",
            Self::Xfs => "mkfs.xfs",
            Self::Btrfs => "mkfs.btrfs",
            Self::F2fs => "mkfs.f2fs",
            Self::Vfat => "mkfs.vfat",
            Self::Exfat => "mkfs.exfat",
            Self::Ntfs => "mkfs.ntfs",
        }
    }

    /// The package that Debian and its children have that program in.
    pub fn package(self) -> &'static str {
        match self {
            Self::Ext4 => "e2fsprogs",
            Self::Xfs => "xfsprogs",
            Self::Btrfs => "btrfs-progs",
            Self::F2fs => "f2fs-tools",
            Self::Vfat => "dosfstools",
            Self::Exfat => "exfatprogs",
            Self::Ntfs => "ntfs-3g",
        }
    }

    /// The command that looks for damage and changes nothing, without the device.
    pub fn check(self) -> &'static [&'static str] {
        match self {
            Self::Ext4 => &["fsck.ext4", "-f", "-n"],
            Self::Xfs => &["xfs_repair", "-n"],
            Self::Btrfs => &["btrfs", "check", "--readonly"],
            Self::F2fs => &["fsck.f2fs", "--dry-run"],
            Self::Vfat => &["fsck.vfat", "-n"],
            Self::Exfat => &["fsck.exfat", "-n"],
            Self::Ntfs => &["ntfsfix", "--no-action"],
        }
    }

    pub(crate) fn limits(self) -> Limits {
        match self {
            // mke2fs makes smaller ones, whose journal leaves no room. ext4(5): 2^32 blocks of 4
            // KiB without 64bit, 2^48 with it, of which e2fsprogs takes 2^60 bytes. s_volume_name
            // has 16 bytes.
            Self::Ext4 => limits(8 * MIB, |_| 1 << 60, "it has 2^48 blocks of 4 KiB", LabelLimit::Bytes(16)),
            // mkfs.xfs(8) refuses less than 300 MB since xfsprogs 5.19. xfs(5): 8 EiB. sb_fname has
            // 12 bytes.
            Self::Xfs => limits(300 * MIB, |_| (1 << 63) - 1, "its sizes have 63 bits", LabelLimit::Bytes(12)),
            // mkfs.btrfs refuses less than 114294784 bytes with two copies of metadata.
            // mkfs.btrfs(8): label below 256.
            Self::Btrfs => limits(109 * MIB, |_| (1 << 63) - 1, "its sizes have 63 bits", LabelLimit::Bytes(255)),
            // mkfs.f2fs fails on less than about 50 MB. Kernel, Documentation/filesystems/f2fs.rst:
            // 16 TB.
            Self::F2fs => limits(64 * MIB, |_| 16 * TIB - 1, "it has 2^32 blocks of 4 KiB", LabelLimit::Utf16(255)),
            // Below this a FAT16 has too few clusters, and Windows and Linux disagree on what it
            // is. mkfs.fat(8).
            Self::Vfat => limits(
                16 * MIB,
                |block_bytes| u64::from(u32::MAX) * block_bytes,
                "FAT counts logical blocks in 32 bits",
                LabelLimit::Fat,
            ),
            // exFAT specification, 3.1: at least 1 MiB, at most 2^32-11 clusters of at most 32 MiB.
            Self::Exfat => {
                limits(4 * MIB, |_| 128 * 1024 * TIB, "it has 2^32 clusters of 32 MiB", LabelLimit::Utf16(11))
            }
            // mkntfs refuses less than 1 MiB; 2^32 clusters of at most 64 KiB. Windows takes 32
            // characters.
            Self::Ntfs => {
                limits(2 * MIB, |_| 256 * TIB - (64 << 10), "it has 2^32 clusters of 64 KiB", LabelLimit::Utf16(32))
            }
        }
    }
}

fn limits(least_bytes: u64, most_bytes: fn(u64) -> u64, most_because: &'static str, label: LabelLimit) -> Limits {
    Limits { least_bytes, most_bytes, most_because, label }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        let names = || Self::ALL.map(Self::name).join(", ");
        found.ok_or_else(|| format!("`{text}` is no file system that can be made: take one of {}", names()))
    }
}
