//! What a drive carries, by the marks that formats leave at known places. Reads only.
//!
//! Most marks are a few fixed bytes at a fixed offset, and live in one table. Those that need a
//! second look (an MBR and a FAT boot sector end alike) or whose place follows from the size have a
//! function each.

mod boot_sector;
mod raid;
mod table;

use std::io;

/// A mark that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signature {
    pub(super) what: String,
    /// Where its bytes are.
    pub(super) offset: u64,
}

/// Bytes looked at on either end: all formats that are known here have their marks there.
const END_BYTES: u64 = 1 << 20;

/// The two ends of a drive, which overlap on a small one.
pub(super) struct Ends {
    size_bytes: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Ends {
    /// Reads them through `read_at`, which fills a buffer from an offset.
    pub(super) fn read(size_bytes: u64, mut read_at: impl FnMut(u64, &mut [u8]) -> io::Result<()>) -> io::Result<Self> {
        let length = size_bytes.min(END_BYTES) as usize;
        let mut ends = Self { size_bytes, head: vec![0; length], tail: vec![0; length] };
        read_at(0, &mut ends.head)?;
        read_at(size_bytes - length as u64, &mut ends.tail)?;
        Ok(ends)
    }

    /// Bytes at an offset, if they are on the drive and within one of its ends.
    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let tail_start = self.size_bytes - self.tail.len() as u64;
        let within = |bytes: &'_ [u8], start: u64| {
            let first = usize::try_from(offset.checked_sub(start)?).ok()?;
            let end = first.checked_add(length)?;
            (end <= bytes.len()).then_some(first..end)
        };
        match within(&self.head, 0) {
            Some(range) => Some(&self.head[range]),
            None => Some(&self.tail[within(&self.tail, tail_start)?]),
        }
    }

    fn array_at<const N: usize>(&self, offset: u64) -> Option<[u8; N]> {
        self.bytes_at(offset, N)?.try_into().ok()
    }

    fn u32_at(&self, offset: u64) -> Option<u32> {
        self.array_at(offset).map(u32::from_le_bytes)
    }
}

/// Everything that was recognised, in the order of the offsets.
pub(super) fn find(ends: &Ends) -> Vec<Signature> {
    let mut found = table::find(ends);
    found.extend(boot_sector::find(ends));
    found.extend(raid::find(ends));
    found.sort_by_key(|signature| signature.offset);
    found
}

#[cfg(test)]
mod tests;
