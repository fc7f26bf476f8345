//! Members of md arrays and of ZFS pools, whose marks are at places that follow from the size.

use super::{Ends, Signature};

/// md's mark, in the byte order of the machine for 0.90, little-endian for the others.
const MD_MARK: u32 = 0xa92b_4efc;
const ZFS_MARK: u64 = 0x00ba_b10c;
const KIB: u64 = 1024;

pub(super) fn find(ends: &Ends) -> Vec<Signature> {
    md(ends).into_iter().chain(zfs(ends)).collect()
}

/// Superblocks 1.1 at the start, 1.2 at 4 KiB, 1.0 at least 8 KiB before the end and 0.90 in the
/// last whole 64 KiB but one.
fn md(ends: &Ends) -> Vec<Signature> {
    let sectors = ends.size_bytes / 512;
    let before_the_end = sectors.checked_sub(16).map(|sector| (sector & !7) * 512);
    let last_but_one = (ends.size_bytes / (64 * KIB)).checked_sub(1).map(|block| block * 64 * KIB);
    let places = [("1.1", Some(0)), ("1.2", Some(4 * KIB)), ("1.0", before_the_end), ("0.90", last_but_one)];
    let mut found = Vec::new();
    for (version, place) in places {
        let Some(offset) = place else { continue };
        let Some(mark) = ends.array_at::<4>(offset) else { continue };
        let major = ends.u32_at(offset + 4);
        let is_there = match version {
            "0.90" => u32::from_le_bytes(mark) == MD_MARK && major == Some(0) || u32::from_be_bytes(mark) == MD_MARK,
            _ => u32::from_le_bytes(mark) == MD_MARK && major == Some(1),
        };
        if is_there {
            found.push(Signature { what: format!("md RAID member (superblock {version})"), offset });
        }
    }
    found
}

/// Four labels of 256 KiB, two on either end; each has a ring of uberblocks in its second half.
fn zfs(ends: &Ends) -> Option<Signature> {
    const LABEL_BYTES: u64 = 256 * KIB;
    let whole = ends.size_bytes - ends.size_bytes % LABEL_BYTES;
    let labels = [Some(0), Some(LABEL_BYTES), whole.checked_sub(2 * LABEL_BYTES), whole.checked_sub(LABEL_BYTES)];
    let uberblocks = labels.into_iter().flatten().flat_map(|label| (128..256).map(move |kib| label + kib * KIB));
    let mark_at =
        |offset: u64| ends.array_at(offset).map(|bytes| (u64::from_le_bytes(bytes), u64::from_be_bytes(bytes)));
    let is_there = |offset: &u64| matches!(mark_at(*offset), Some((ZFS_MARK, _) | (_, ZFS_MARK)));
    uberblocks.into_iter().find(is_there).map(|offset| Signature { what: "ZFS pool member".to_owned(), offset })
}
