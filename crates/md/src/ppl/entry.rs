//! One entry: a write to some columns of one stripe.

use shoal_array::{Geometry, PartialParity, Role};

use super::PplEntryError;
use crate::SECTOR_BYTES;
use crate::field::Field;

pub(super) const ENTRY_BYTES: usize = 24;

/// An entry of a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PplEntry {
    /// First array sector that is written.
    pub data_sector: u64,
    /// Bytes of partial parity.
    pub partial_parity_bytes: u32,
    /// Bytes of data that are written.
    pub data_bytes: u32,
    /// The role of the member that holds the stripe's parity, and this log.
    pub parity_role: u32,
    /// CRC-32C of the partial parity; 0 if there is none.
    pub checksum: u32,
}

/// How to make parity anew in some columns of a stripe: the XOR of what `data` hold there, and of
/// the partial parity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PplRun {
    /// The member that holds the parity.
    pub parity: Role,
    /// The members whose chunks were being written.
    pub data: Vec<Role>,
    /// First byte of the columns, from the start of each member's data area.
    pub member_offset: u64,
    /// Columns, in bytes.
    pub length: u32,
    /// Where in the entry's partial parity; `None` if there is none.
    pub partial_parity_offset: Option<u32>,
}

/// Columns, counted from the first that is written, in which the same number of chunks is written.
struct Segment {
    start: u32,
    end: u32,
    chunks: u32,
}

impl PplEntry {
    /// The entry of a write; `checksum` is that of its partial parity. `None` if it is too long for
    /// one.
    pub fn new(write: &PartialParity, parity: Role, checksum: u32) -> Option<Self> {
        Some(Self {
            data_sector: write.offset / SECTOR_BYTES,
            partial_parity_bytes: write.parity.map_or(0, |span| span.length),
            data_bytes: write.length.checked_mul(write.chunks)?,
            parity_role: u32::from(parity.0),
            checksum,
        })
    }

    /// The CRC-32C of partial parity.
    pub fn checksum_of(partial_parity: &[u8]) -> u32 {
        Self::checksum_on(0, partial_parity)
    }

    /// The CRC-32C of what `checksum` is of, and `more` behind it; 0 is the checksum of nothing.
    pub fn checksum_on(checksum: u32, more: &[u8]) -> u32 {
        crc32c::crc32c_append(checksum, more)
    }

    /// What is to be done to replay it, on an array of this geometry (RAID5): at most four runs,
    /// all in one stripe.
    pub fn runs(&self, geometry: &Geometry) -> Result<Vec<PplRun>, PplEntryError> {
        let first = self.data_sector.checked_mul(SECTOR_BYTES).ok_or(PplEntryError::Place)?;
        if first >= geometry.capacity_bytes() {
            return Err(PplEntryError::Place);
        }
        let position = geometry.position(first).ok_or(PplEntryError::Place)?;
        let stripe = geometry.stripe(position.row).ok_or(PplEntryError::Place)?;
        if self.parity_role != u32::from(stripe.p.0) {
            return Err(PplEntryError::Parity);
        }
        let chunk_bytes = geometry.shape().chunk_bytes;
        let mut runs = Vec::new();
        for segment in self.segments(chunk_bytes, geometry.data_count())? {
            // Where columns reach the chunk's end, they go on at the start of the next.
            let border = (chunk_bytes - position.within).clamp(segment.start, segment.end);
            for (start, end) in [(segment.start, border), (border, segment.end)] {
                if start == end || segment.chunks == 0 {
                    continue;
                }
                let from = u64::from(position.within) + u64::from(start);
                let index = position.index + (from / u64::from(chunk_bytes)) as usize;
                let written = stripe.data.get(index..index + segment.chunks as usize).ok_or(PplEntryError::Place)?;
                runs.push(PplRun {
                    parity: stripe.p,
                    data: written.to_vec(),
                    member_offset: stripe.member_offset + from % u64::from(chunk_bytes),
                    length: end - start,
                    partial_parity_offset: (self.partial_parity_bytes > 0).then_some(start),
                });
            }
        }
        Ok(runs)
    }

    /// By the table in [`super`].
    fn segments(&self, chunk_bytes: u32, data_count: usize) -> Result<Vec<Segment>, PplEntryError> {
        let (parity, data) = (self.partial_parity_bytes, self.data_bytes);
        let all = u32::try_from(data_count).map_err(|_| PplEntryError::Sizes)?;
        let sector = SECTOR_BYTES as u32;
        if !parity.is_multiple_of(sector) || !data.is_multiple_of(sector) || parity > chunk_bytes || data == 0 {
            return Err(PplEntryError::Sizes);
        }
        if parity == chunk_bytes {
            let (whole, rest) = (data / chunk_bytes, data % chunk_bytes);
            let longer = Segment { start: 0, end: rest, chunks: whole + 1 };
            return Ok(vec![longer, Segment { start: rest, end: chunk_bytes, chunks: whole }]);
        }
        let (chunks, length) = match data.checked_div(parity) {
            Some(chunks) => (chunks, parity),
            None => (all, data / all.max(1)),
        };
        let fits = u64::from(length) * u64::from(chunks) == u64::from(data) && length.is_multiple_of(sector);
        if !fits || length > chunk_bytes || chunks > all {
            return Err(PplEntryError::Sizes);
        }
        Ok(vec![Segment { start: 0, end: length, chunks }])
    }

    pub(super) fn read(bytes: &[u8]) -> Self {
        Self {
            data_sector: Field::read(&bytes[..8]),
            partial_parity_bytes: Field::read(&bytes[8..12]),
            data_bytes: Field::read(&bytes[12..16]),
            parity_role: Field::read(&bytes[16..20]),
            checksum: Field::read(&bytes[20..24]),
        }
    }

    pub(super) fn write(&self, bytes: &mut [u8]) {
        self.data_sector.write(&mut bytes[..8]);
        self.partial_parity_bytes.write(&mut bytes[8..12]);
        self.data_bytes.write(&mut bytes[12..16]);
        self.parity_role.write(&mut bytes[16..20]);
        self.checksum.write(&mut bytes[20..24]);
    }
}
