//! Meta blocks: from bytes to payloads.

use super::{
    BLOCK_SECTORS, CHECKSUM_PLACE, JOURNAL_BLOCK_BYTES, Journal, JournalBlock, MAGIC, MAGIC_PLACE, META_SIZE_PLACE,
    POSITION_PLACE, SEQUENCE_PLACE, VERSION, VERSION_PLACE,
};
use crate::field::Field;

/// Bytes before the payloads.
pub(super) const META_HEADER_BYTES: usize = 32;
const TYPE_DATA: u16 = 0;
const TYPE_PARITY: u16 = 1;
const TYPE_FLUSH: u16 = 2;
/// Type, flags, size.
const PAYLOAD_HEADER_BYTES: usize = 8;
const PLACE_BYTES: usize = 8;
const SUM_BYTES: usize = 4;

/// A meta block whose magic, version, place and checksum are right.
#[derive(Debug)]
pub(super) struct MetaBlock<'a> {
    pub(super) sequence: u64,
    payloads: &'a [u8],
}

/// What a meta block describes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Payload<'a> {
    /// A block of content.
    Data { array_sector: u64, sum: u32 },
    /// P of a row, or P and Q.
    Parity { member_sector: u64, sums: [Option<u32>; 2] },
    /// All before this of these rows, as member sectors (u64 each), is on the members.
    Flush { member_sectors: &'a [u8] },
}

impl<'a> MetaBlock<'a> {
    /// The meta block at `sector`; none if the log has ended there.
    pub(super) fn parse(journal: &Journal, sector: u64, bytes: &'a JournalBlock) -> Option<Self> {
        let word = |place: usize| u32::read(&bytes[place..place + 4]);
        let long = |place: usize| u64::read(&bytes[place..place + 8]);
        let size = usize::try_from(word(META_SIZE_PLACE)).ok()?;
        let is_right = word(MAGIC_PLACE) == MAGIC
            && bytes[VERSION_PLACE] == VERSION
            && long(POSITION_PLACE) == sector
            && word(CHECKSUM_PLACE) == journal.meta_checksum(bytes)
            && (META_HEADER_BYTES..=JOURNAL_BLOCK_BYTES).contains(&size);
        is_right.then(|| Self { sequence: long(SEQUENCE_PLACE), payloads: &bytes[META_HEADER_BYTES..size] })
    }

    /// The payloads in their order; `Err` where one is not understood, and nothing behind it.
    pub(super) fn payloads(&self) -> impl Iterator<Item = Result<Payload<'a>, ()>> {
        let mut rest = Some(self.payloads);
        std::iter::from_fn(move || {
            let bytes = rest.take().filter(|bytes| !bytes.is_empty())?;
            Some(Payload::parse(bytes).ok_or(()).map(|(payload, behind)| {
                rest = Some(behind);
                payload
            }))
        })
    }
}

impl<'a> Payload<'a> {
    /// The first payload, and the bytes behind it.
    fn parse(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (header, rest) = bytes.split_at_checked(PAYLOAD_HEADER_BYTES)?;
        let [kind, flags] = [u16::read(&header[..2]), u16::read(&header[2..4])];
        let size = u32::read(&header[4..]);
        if kind == TYPE_FLUSH {
            let (member_sectors, behind) = rest.split_at_checked(usize::try_from(size).ok()?)?;
            let is_list = member_sectors.len().is_multiple_of(PLACE_BYTES);
            return is_list.then_some((Self::Flush { member_sectors }, behind));
        }
        let blocks = usize::try_from(u64::from(size) / BLOCK_SECTORS).ok()?;
        if flags != 0 || !u64::from(size).is_multiple_of(BLOCK_SECTORS) || !(1..=2).contains(&blocks) {
            return None;
        }
        let (place, rest) = rest.split_at_checked(PLACE_BYTES)?;
        let (sums, behind) = rest.split_at_checked(blocks * SUM_BYTES)?;
        let place = u64::read(place);
        let mut sums = sums.chunks_exact(SUM_BYTES).map(u32::read);
        let sums = [sums.next(), sums.next()];
        let payload = match (kind, sums) {
            (TYPE_DATA, [Some(sum), None]) => Self::Data { array_sector: place, sum },
            (TYPE_PARITY, sums) => Self::Parity { member_sector: place, sums },
            _ => return None,
        };
        Some((payload, behind))
    }

    /// Checksums of the blocks that belong to it.
    pub(super) fn sums(&self) -> impl Iterator<Item = u32> + use<> {
        let sums = match *self {
            Self::Data { sum, .. } => [Some(sum), None],
            Self::Parity { sums, .. } => sums,
            Self::Flush { .. } => [None, None],
        };
        sums.into_iter().flatten()
    }
}

/// The member sectors of a flush.
pub(super) fn flushed(member_sectors: &[u8]) -> impl Iterator<Item = u64> + '_ {
    member_sectors.chunks_exact(PLACE_BYTES).map(u64::read)
}
