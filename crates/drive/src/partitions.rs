//! Where the partitions of a drive, or of an image of one, lie. Reads only.
//!
//! GPT (UEFI specification 2.10, chapter 5) and MBR with logical partitions. Tables may be damaged
//! or made to harm: what decides over memory or how long is read is bounded here, and nothing is
//! multiplied unchecked. (The crates for this reserve memory for as many entries as a header
//! claims.)

use std::collections::HashSet;
use std::io;

use crate::limits::{GPT_ENTRIES_MAX, LOGICAL_PARTITIONS_MAX};

/// One partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its number, from 1; logical partitions of an MBR count from 5.
    pub number: u32,
    /// First byte.
    pub offset: u64,
    /// Size; never 0, and never beyond what the table's numbers can say.
    pub size_bytes: u64,
}

/// The sizes that tables count in.
const SECTOR_SIZES: [u64; 2] = [512, 4096];
/// Bytes of a GPT entry that count; larger ones are allowed.
const GPT_ENTRY_BYTES: usize = 128;

/// Reads `bytes` from an offset.
type ReadAt<'a> = dyn FnMut(u64, &mut [u8]) -> io::Result<()> + 'a;

/// The partitions that a drive's table names, in its order; none if there is no table. The drive
/// may be an image that was cut off: what lies beyond its end is named all the same.
pub fn partitions(read_at: &mut ReadAt<'_>) -> io::Result<Vec<Partition>> {
    let mut sector = [0; 512];
    if read_at(0, &mut sector).is_err() || sector[510..] != [0x55, 0xaa] {
        return Ok(Vec::new());
    }
    for sector_bytes in SECTOR_SIZES {
        if let Some(found) = gpt(sector_bytes, read_at) {
            return Ok(found);
        }
    }
    // A FAT boot sector ends like an MBR; what it has in the table's place makes no partitions that
    // lie apart.
    let found = mbr(&sector, read_at);
    let overlap = |own: &Partition, other: &Partition| {
        own.offset < other.offset + other.size_bytes && other.offset < own.offset + own.size_bytes
    };
    let lie_apart = (1..).zip(&found).all(|(next, own)| !found[next..].iter().any(|other| overlap(own, other)));
    Ok(if lie_apart { found } else { Vec::new() })
}

fn gpt(sector_bytes: u64, read_at: &mut ReadAt<'_>) -> Option<Vec<Partition>> {
    let mut header = [0; 92];
    read_at(sector_bytes, &mut header).ok()?;
    if &header[..8] != b"EFI PART" {
        return None;
    }
    let table = u64_at(&header, 72).checked_mul(sector_bytes)?;
    let count = u32_at(&header, 80).min(GPT_ENTRIES_MAX);
    let entry_bytes = u64::from(u32_at(&header, 84));
    if entry_bytes < GPT_ENTRY_BYTES as u64 {
        return None;
    }
    let mut found = Vec::new();
    for index in 0..count {
        let mut entry = [0; GPT_ENTRY_BYTES];
        let place = u64::from(index).checked_mul(entry_bytes).and_then(|skipped| table.checked_add(skipped))?;
        if read_at(place, &mut entry).is_err() {
            break;
        }
        let (first, last) = (u64_at(&entry, 32), u64_at(&entry, 40));
        let is_used = entry[..16].iter().any(|byte| *byte != 0) && first <= last;
        let length = if is_used { last.checked_sub(first).and_then(|length| length.checked_add(1)) } else { None };
        let sized = length.and_then(|length| partition(index + 1, first, length, sector_bytes));
        found.extend(sized);
    }
    Some(found)
}

fn mbr(sector: &[u8; 512], read_at: &mut ReadAt<'_>) -> Vec<Partition> {
    let mut found = Vec::new();
    for (number, entry) in (1..).zip(entries(sector)) {
        match entry.kind {
            0x05 | 0x0f | 0x85 => logical(u64::from(entry.first), &mut found, read_at),
            0x00 | 0xee => {}
            _ => found.extend(partition(number, entry.first.into(), entry.sectors.into(), 512)),
        }
    }
    found
}

/// Follows the chain of tables in an extended partition: each names one partition, relative to
/// itself, and the next table, relative to the extended partition.
fn logical(extended: u64, found: &mut Vec<Partition>, read_at: &mut ReadAt<'_>) {
    let (mut table, mut seen) = (extended, HashSet::new());
    for number in 5..5 + LOGICAL_PARTITIONS_MAX {
        let mut sector = [0; 512];
        if !seen.insert(table) || read_at(table * 512, &mut sector).is_err() || sector[510..] != [0x55, 0xaa] {
            return;
        }
        let [own, next, ..] = entries(&sector);
        found.extend(partition(number, table + u64::from(own.first), own.sectors.into(), 512));
        if next.first == 0 {
            return;
        }
        table = extended + u64::from(next.first);
    }
}

/// An entry of an MBR.
#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: u8,
    first: u32,
    sectors: u32,
}

fn entries(sector: &[u8; 512]) -> [Entry; 4] {
    let entry = |bytes: &[u8]| Entry { kind: bytes[4], first: u32_at(bytes, 8), sectors: u32_at(bytes, 12) };
    [446, 462, 478, 494].map(|place| entry(&sector[place..place + 16]))
}

fn partition(number: u32, first: u64, length: u64, sector_bytes: u64) -> Option<Partition> {
    let (offset, size_bytes) = (first.checked_mul(sector_bytes)?, length.checked_mul(sector_bytes)?);
    offset.checked_add(size_bytes)?;
    (offset > 0 && size_bytes > 0).then_some(Partition { number, offset, size_bytes })
}

fn u32_at(bytes: &[u8], place: usize) -> u32 {
    u32::from_le_bytes(bytes[place..place + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], place: usize) -> u64 {
    u64::from_le_bytes(bytes[place..place + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::os::unix::fs::FileExt;
    use std::process::{Command, Stdio};

    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;

    /// The partitions of an image of 64 MiB that sfdisk(8) has partitioned.
    fn partitioned(script: &str) -> Option<Vec<Partition>> {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.as_file().set_len(64 * MIB).expect("a sparse file");
        let sfdisk = Command::new("sfdisk").arg("--quiet").arg(file.path()).stdin(Stdio::piped()).spawn();
        let Ok(mut sfdisk) = sfdisk else {
            eprintln!("SKIPPED: reading partition tables needs sfdisk (fdisk)");
            return None;
        };
        sfdisk.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("sfdisk reads");
        assert!(sfdisk.wait().expect("sfdisk ends").success());
        let file = File::open(file.path()).expect("it was made");
        Some(partitions(&mut |offset, bytes| file.read_exact_at(bytes, offset)).expect("files can be read"))
    }

    fn at(number: u32, start_mib: u64, size_mib: u64) -> Partition {
        Partition { number, offset: start_mib * MIB, size_bytes: size_mib * MIB }
    }

    #[test]
    fn tables_that_sfdisk_made_are_read() {
        let gpt = "label: gpt\nstart=2048, size=20480\nstart=40960, size=61440\n";
        let mbr = "label: dos\nstart=2048, size=20480, type=fd\nstart=40960, type=5\nstart=43008, size=2048\nstart=47104, size=4096\n";
        if let Some(found) = partitioned(gpt) {
            assert_eq!(found, [at(1, 1, 10), at(2, 20, 30)]);
        }
        if let Some(found) = partitioned(mbr) {
            assert_eq!(found, [at(1, 1, 10), at(5, 21, 1), at(6, 23, 2)]);
        }
    }

    proptest! {
        /// Whatever lies there, the search ends, and what it names can be added up.
        #[test]
        fn any_bytes_are_read_without_harm(mut bytes in prop::collection::vec(any::<u8>(), 8192), gpt in any::<bool>()) {
            bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
            if gpt {
                bytes[512..520].copy_from_slice(b"EFI PART");
            }
            let mut read_at = |offset: u64, target: &mut [u8]| {
                let start = usize::try_from(offset).unwrap_or(usize::MAX) % 4096;
                target.copy_from_slice(&bytes[start..start + target.len()]);
                Ok(())
            };
            for found in partitions(&mut read_at).expect("reads do not fail") {
                prop_assert!(found.offset.checked_add(found.size_bytes).is_some() && found.size_bytes > 0);
            }
        }
    }
}
