//! Finds what an open file or device is like: size, blocks, cache, discard.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use rustix::fs::{AtFlags, OFlags, Stat, StatxFlags};

use super::DriveKind;
use super::key::DeviceNumber;
use super::order::WriteOrder;
use super::synchronous::AlignedBuffer;

/// Block size where nothing demands a larger one: the unit in which Linux counts, and the least
/// that any drive has.
const SMALLEST_BLOCK_BYTES: u32 = 512;
/// The next block size that drives and file systems demand.
const LARGE_BLOCK_BYTES: u32 = 4096;
/// File systems that live in the page cache: they take O_DIRECT, and read and write memory all the
/// same.
const TMPFS_MAGIC: u64 = 0x0102_1994;
const RAMFS_MAGIC: u64 = 0x8584_58f6;

/// What was found. Sizes are powers of two, except the capacity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) kind: DriveKind,
    pub(super) size_bytes: u64,
    pub(super) logical_block_bytes: u32,
    pub(super) physical_block_bytes: u32,
    pub(super) is_direct: bool,
    pub(super) is_in_memory: bool,
    pub(super) waits_in_submission: bool,
    pub(super) can_discard: bool,
    pub(super) write_order: WriteOrder,
}

impl Facts {
    /// Finds them. Turns O_DIRECT off where it was accepted at opening but does not work.
    pub(super) fn find(file: &File, kind: DriveKind, stat: &Stat) -> io::Result<Self> {
        let opened_direct = rustix::fs::fcntl_getfl(file)?.contains(OFlags::DIRECT);
        let alignment = if opened_direct { direct_alignment(file, kind)? } else { None };
        if opened_direct && alignment.is_none() {
            let flags = rustix::fs::fcntl_getfl(file)?;
            rustix::fs::fcntl_setfl(file, flags - OFlags::DIRECT)?;
        }
        let logical_block_bytes = match kind {
            DriveKind::BlockDevice => rustix::fs::ioctl_blksszget(file)?,
            DriveKind::File => alignment.unwrap_or(SMALLEST_BLOCK_BYTES),
        }
        .max(SMALLEST_BLOCK_BYTES);
        let physical = match kind {
            DriveKind::BlockDevice => rustix::fs::ioctl_blkpbszget(file)?,
            DriveKind::File => u32::try_from(stat.st_blksize).unwrap_or(LARGE_BLOCK_BYTES),
        };
        let is_in_memory = lives_in_page_cache(file, kind);
        Ok(Self {
            kind,
            size_bytes: size_bytes(file, logical_block_bytes)?,
            logical_block_bytes,
            physical_block_bytes: physical.max(logical_block_bytes),
            is_direct: alignment.is_some() && !is_in_memory,
            is_in_memory,
            waits_in_submission: waits_in_submission(file, kind),
            can_discard: can_discard(file, kind, stat),
            write_order: write_order(kind, stat),
        })
    }
}

/// Capacity in whole blocks.
pub(super) fn size_bytes(mut file: &File, logical_block_bytes: u32) -> io::Result<u64> {
    let size_bytes = file.seek(SeekFrom::End(0))?; // for devices, too, this is their capacity
    Ok(size_bytes - size_bytes % u64::from(logical_block_bytes))
}

/// What direct I/O has to be aligned to: offset, length and memory alike; nothing if it does not
/// work here.
fn direct_alignment(file: &File, kind: DriveKind) -> io::Result<Option<u32>> {
    if kind == DriveKind::BlockDevice {
        return Ok(Some(rustix::fs::ioctl_blksszget(file)?));
    }
    // Kernels and sandboxes without statx say so, and are probed like file systems that do not fill
    // the field in.
    if let Ok(statx) = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)
        && statx.stx_mask & StatxFlags::DIOALIGN.bits() != 0
    {
        let (memory, offset) = (statx.stx_dio_mem_align, statx.stx_dio_offset_align);
        return Ok((memory != 0 && offset != 0).then(|| memory.max(offset)));
    }
    Ok(probed_alignment(file))
}

/// Finds the alignment by reading with none better than what is asked for.
fn probed_alignment(file: &File) -> Option<u32> {
    [SMALLEST_BLOCK_BYTES, LARGE_BLOCK_BYTES].into_iter().find(|&block_bytes| {
        let block = block_bytes as usize;
        let mut buffer = AlignedBuffer::new(2 * block, 2 * block);
        file.read_at(&mut buffer.bytes_mut()[block..], u64::from(block_bytes)).is_ok()
    })
}

fn lives_in_page_cache(file: &File, kind: DriveKind) -> bool {
    let magic = rustix::fs::fstatfs(file).map(|statistics| u64::try_from(statistics.f_type).unwrap_or(0));
    kind == DriveKind::File && matches!(magic, Ok(TMPFS_MAGIC | RAMFS_MAGIC))
}

/// Whether somebody else has to answer before I/O of the file is so much as begun: by the type of
/// its file system.
fn waits_in_submission(file: &File, kind: DriveKind) -> bool {
    /// FUSE, NFS, SMB 2 and 1, 9P, Ceph: `f_type` of statfs(2).
    const ELSEWHERE: [u64; 6] = [0x6573_5546, 0x6969, 0xfe53_4d42, 0xff53_4d42, 0x0102_1997, 0x00c3_6400];
    kind == DriveKind::File && file_system_type(file).is_some_and(|kind| ELSEWHERE.contains(&kind))
}

/// The type of the file's file system, as statfs(2) numbers them.
fn file_system_type(file: &File) -> Option<u64> {
    // It is 32 bits wide, in a field of the machine's word with or without a sign.
    Some(rustix::fs::fstatfs(file).ok()?.f_type as u64 & 0xffff_ffff)
}

/// Whether a hole can be punched. For devices that is a write of zeroes that lets go of the blocks.
fn can_discard(file: &File, kind: DriveKind, stat: &Stat) -> bool {
    match kind {
        DriveKind::BlockDevice => {
            let number = DeviceNumber::from_raw(stat.st_rdev);
            queue_limit(number, "discard_max_bytes") > 0 && queue_limit(number, "write_zeroes_max_bytes") > 0
        }
        DriveKind::File => punches_holes(file),
    }
}

fn write_order(kind: DriveKind, stat: &Stat) -> WriteOrder {
    match kind {
        DriveKind::File => WriteOrder::Any,
        DriveKind::BlockDevice => {
            let number = DeviceNumber::from_raw(stat.st_rdev);
            WriteOrder::of_device(&PathBuf::from(format!("/sys/dev/block/{number}")))
        }
    }
}

/// A limit of a device's queue from sysfs; partitions have their disk's. Nothing found is no
/// ability.
fn queue_limit(number: DeviceNumber, name: &str) -> u64 {
    let device = PathBuf::from(format!("/sys/dev/block/{number}"));
    let places = [device.join("queue").join(name), device.join("../queue").join(name)];
    let text = places.iter().find_map(|place| std::fs::read_to_string(place).ok());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Whether the file's file system punches holes, by its type: trying would count as a change of the
/// file.
fn punches_holes(file: &File) -> bool {
    /// ext2/3/4, XFS, btrfs, tmpfs, F2FS: `f_type` of statfs(2).
    const PUNCHING: [u64; 5] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010];
    file_system_type(file).is_some_and(|kind| PUNCHING.contains(&kind))
}
