//! Ends what a drive was: zeros over the places where formats keep the marks by which they are
//! known.
//!
//! Those places are at both ends of the drive, and of each partition that its table names:
//! superblocks of arrays with their bitmaps, partition tables and their copies, the superblocks of
//! file systems. What lies between is left as it is.

use std::io;
use std::ops::Range;

use crate::drive::Drive;
use crate::partitions::{Partition, partitions};

/// So much is overwritten at either end.
pub const ERASED_END_BYTES: u64 = 4 << 20;

impl Drive {
    /// Overwrites the marks of whatever the drive holds, durably. The table comes last: an erasure
    /// that was cut short can be done again.
    ///
    /// # Errors
    /// If the drive does not take a write; some of the marks may be gone then.
    pub fn erase_marks(&self) -> io::Result<()> {
        // A table that cannot be read names no partitions.
        let partitions = partitions(&mut |offset, bytes| self.read_at(offset, bytes)).unwrap_or_default();
        let zeros = vec![0; ERASED_END_BYTES as usize];
        for range in ranges(self.size_bytes(), &partitions) {
            self.write_at(range.start, &zeros[..(range.end - range.start) as usize])?;
        }
        self.sync()
    }
}

/// What is overwritten, in order; never beyond the drive, whatever its table says.
fn ranges(size_bytes: u64, partitions: &[Partition]) -> Vec<Range<u64>> {
    let ends = |start: u64, end: u64| {
        let length = ERASED_END_BYTES.min(end.saturating_sub(start));
        [end.saturating_sub(length)..end, start..start + length]
    };
    let of_partition = |partition: &Partition| {
        let end = partition.offset.saturating_add(partition.size_bytes).min(size_bytes);
        ends(partition.offset.min(end), end)
    };
    partitions.iter().flat_map(of_partition).chain(ends(0, size_bytes)).filter(|range| !range.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::{Access, survey};

    const MIB: u64 = 1 << 20;

    fn partition(offset: u64, size_bytes: u64) -> Partition {
        Partition { number: 1, offset, size_bytes }
    }

    #[test]
    fn both_ends_of_all_there_is_are_overwritten_and_nothing_beyond() {
        assert_eq!(ranges(100 * MIB, &[]), [96 * MIB..100 * MIB, 0..4 * MIB]);
        assert_eq!(ranges(3 * MIB, &[]), [0..3 * MIB, 0..3 * MIB]);
        assert_eq!(ranges(0, &[]), []);
        let found = ranges(100 * MIB, &[partition(10 * MIB, 20 * MIB)]);
        assert_eq!(found, [26 * MIB..30 * MIB, 10 * MIB..14 * MIB, 96 * MIB..100 * MIB, 0..4 * MIB]);
        // A table may name what is not there.
        for foreign in [partition(99 * MIB, 50 * MIB), partition(200 * MIB, MIB), partition(u64::MAX, u64::MAX)] {
            assert!(ranges(100 * MIB, &[foreign]).iter().all(|range| range.end <= 100 * MIB));
        }
    }

    #[test]
    fn marks_are_gone_and_what_lies_between_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("drive");
        let file = std::fs::File::create_new(&path).unwrap();
        file.set_len(20 * MIB).unwrap();
        let marks: [(&[u8], u64); 4] =
            [(b"XFSB", 0), (b"EFI PART", 512), (b"\xfc\x4e\x2b\xa9\x01\0\0\0", 4096), (b"EFI PART", 20 * MIB - 512)];
        for (bytes, offset) in marks {
            file.write_all_at(bytes, offset).unwrap();
        }
        file.write_all_at(b"content", 10 * MIB).unwrap();
        assert_eq!(survey(&path).unwrap().findings.len(), marks.len());
        Drive::open(&path, Access::Write).unwrap().erase_marks().unwrap();
        assert_eq!(survey(&path).unwrap().findings, []);
        let mut content = [0; 7];
        file.read_exact_at(&mut content, 10 * MIB).unwrap();
        assert_eq!(&content, b"content");
    }

    #[test]
    fn what_partitions_hold_is_gone_too() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("drive");
        let file = std::fs::File::create_new(&path).unwrap();
        file.set_len(64 * MIB).unwrap();
        // An MBR whose first partition begins at 16 MiB and has 16 MiB.
        let mut entry = [0; 16];
        entry[4] = 0x83;
        entry[8..12].copy_from_slice(&(16 * 2048_u32).to_le_bytes());
        entry[12..].copy_from_slice(&(16 * 2048_u32).to_le_bytes());
        file.write_all_at(&entry, 446).unwrap();
        file.write_all_at(b"\x55\xaa", 510).unwrap();
        file.write_all_at(b"XFSB", 16 * MIB).unwrap();
        Drive::open(&path, Access::Write).unwrap().erase_marks().unwrap();
        let mut mark = [1; 4];
        file.read_exact_at(&mut mark, 16 * MIB).unwrap();
        assert_eq!(mark, [0; 4]);
        assert_eq!(survey(&path).unwrap().findings, []);
    }
}
