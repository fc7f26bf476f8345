//! The walk through a log.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use shoal_array::{Geometry, Home, Role, Stripe};

use super::block::{MetaBlock, Payload, flushed};
use super::{BLOCK_SECTORS, JOURNAL_BLOCK_BYTES, Journal, JournalBlock, JournalError, SEQUENCE_JUMP};
use crate::limits::JOURNAL_PENDING_LIMIT;
use crate::place::SECTOR_BYTES;

/// What a replay needs of the outside.
pub trait JournalIo {
    /// What may go wrong; it ends the replay.
    type Error;

    /// Reads the journal's block at this sector of its data area.
    fn read(&mut self, sector: u64, block: &mut JournalBlock) -> Result<(), Self::Error>;

    /// Writes the journal's block at `row.journal_sector` to a member. A member that is not there
    /// is passed over.
    fn write(&mut self, row: RowBlock) -> Result<(), Self::Error>;
}

/// A block of a row with data and parity: what a member is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowBlock {
    /// The member.
    pub role: Role,
    /// Where on it, in bytes from the start of its data area.
    pub member_offset: u64,
    /// Where in the journal's data area it lies.
    pub journal_sector: u64,
}

/// A block that was acknowledged, and has not been given to the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataBlock {
    /// Where in the array it belongs, in bytes.
    pub offset: u64,
    /// Where in the journal's data area it lies.
    pub journal_sector: u64,
}

/// Where a log ended, and what is still to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEnd {
    /// To be written to the array, after the rows are flushed.
    pub data: Vec<DataBlock>,
    /// How many blocks of rows were written to members.
    pub row_blocks: u64,
    /// Where the empty block goes, and then the tail: when all of the above is flushed.
    pub sector: u64,
    /// The empty block's sequence.
    pub sequence: u64,
}

/// Walks through the log of an array of this geometry, and hands out the rows that are to be
/// written.
pub fn replay_journal<I: JournalIo>(
    journal: &Journal,
    geometry: &Geometry,
    io: &mut I,
) -> Result<Result<JournalEnd, JournalError>, I::Error> {
    replay_within(journal, geometry, io, JOURNAL_PENDING_LIMIT)
}

/// Remembers no more than `limit` blocks.
pub(super) fn replay_within<I: JournalIo>(
    journal: &Journal,
    geometry: &Geometry,
    io: &mut I,
    limit: usize,
) -> Result<Result<JournalEnd, JournalError>, I::Error> {
    let chunk_bytes = geometry.shape().chunk_bytes as usize;
    if geometry.data_count() == 0 || !chunk_bytes.is_multiple_of(JOURNAL_BLOCK_BYTES) {
        return Ok(Err(JournalError::NoParity));
    }
    let rows = Rows { geometry, pending: BTreeMap::new(), limit, is_short: false, written: 0 };
    Walk { journal, io, rows, block: Box::new([0; JOURNAL_BLOCK_BYTES]) }.run()
}

struct Walk<'a, I> {
    journal: &'a Journal,
    io: &'a mut I,
    rows: Rows<'a>,
    /// For content that is only checked.
    block: Box<JournalBlock>,
}

impl<I: JournalIo> Walk<'_, I> {
    fn run(mut self) -> Result<Result<JournalEnd, JournalError>, I::Error> {
        let mut sector = self.journal.tail_sector;
        let mut expected = None;
        let mut bytes = Box::new([0; JOURNAL_BLOCK_BYTES]);
        loop {
            self.io.read(sector, &mut bytes)?;
            let meta = MetaBlock::parse(self.journal, sector, &bytes);
            let Some(meta) = meta.filter(|meta| expected.is_none_or(|expected| meta.sequence == expected)) else {
                break;
            };
            let Ok(blocks) = self.blocks_are_whole(sector, &meta)? else {
                return Ok(Err(JournalError::Meaningless { sector }));
            };
            expected = Some(meta.sequence.wrapping_add(u64::from(blocks.is_some())));
            let Some(blocks) = blocks else { break };
            if let Err(error) = self.take(sector, &meta)? {
                return Ok(Err(error));
            }
            sector = self.journal.advance(sector, 1 + blocks);
        }
        let Some(sequence) = expected else {
            return Ok(Err(JournalError::NoLog { sector }));
        };
        self.rows.write_complete(self.io)?;
        let (data, row_blocks) = (self.rows.data(), self.rows.written);
        Ok(Ok(JournalEnd { data, row_blocks, sector, sequence: sequence.wrapping_add(SEQUENCE_JUMP) }))
    }

    /// How many blocks belong to a meta block, if all have their checksums; `Err` if it is not
    /// understood.
    fn blocks_are_whole(&mut self, sector: u64, meta: &MetaBlock<'_>) -> Result<Result<Option<u64>, ()>, I::Error> {
        let mut blocks = 0;
        for payload in meta.payloads() {
            let Ok(payload) = payload else { return Ok(Err(())) };
            for sum in payload.sums() {
                blocks += 1;
                // More than the ring holds: what is behind cannot be what it was.
                if blocks * BLOCK_SECTORS >= self.journal.size_sectors {
                    return Ok(Err(()));
                }
                self.io.read(self.journal.advance(sector, blocks), &mut self.block)?;
                if self.journal.checksum(&[self.block.as_slice()]) != sum {
                    return Ok(Ok(None));
                }
            }
        }
        Ok(Ok(Some(blocks)))
    }

    /// Takes up what a whole meta block describes.
    fn take(&mut self, sector: u64, meta: &MetaBlock<'_>) -> Result<Result<(), JournalError>, I::Error> {
        let meaningless = JournalError::Meaningless { sector };
        let mut at = self.journal.advance(sector, 1);
        for payload in meta.payloads().filter_map(Result::ok) {
            let understood = match payload {
                Payload::Data { array_sector, .. } => self.rows.take_data(array_sector, at),
                Payload::Parity { member_sector, sums } => {
                    let q = sums[1].is_some().then(|| self.journal.advance(at, 1));
                    self.rows.take_parity(member_sector, at, q)
                }
                Payload::Flush { member_sectors } => {
                    self.rows.flush(flushed(member_sectors));
                    Some(())
                }
            };
            if understood.is_none() {
                return Ok(Err(meaningless));
            }
            at = self.journal.advance(at, payload.sums().count() as u64);
        }
        let limit = self.rows.limit;
        if self.rows.pending.len() > limit {
            self.rows.is_short = true;
            self.rows.write_complete(self.io)?;
        }
        Ok(if self.rows.pending.len() > limit { Err(JournalError::TooMuch { limit }) } else { Ok(()) })
    }
}

/// Where in the journal the newest content of a member's block is.
#[derive(Clone, Copy, Debug, Default)]
struct Newest {
    /// As of the row's newest parity. On parity's own blocks, that.
    settled: Option<u64>,
    /// Written since.
    fresh: Option<u64>,
}

/// The blocks that the log has named, by member sector and role: row by row.
struct Rows<'a> {
    geometry: &'a Geometry,
    pending: BTreeMap<(u64, Role), Newest>,
    limit: usize,
    /// Rows have been written before the end of the log. From then on no flush is heeded: were
    /// newer blocks of such a row dropped, it would be left as it was written, which is older.
    is_short: bool,
    written: u64,
}

impl Rows<'_> {
    /// None if the array has no such place.
    fn take_data(&mut self, array_sector: u64, journal_sector: u64) -> Option<()> {
        let offset = array_sector.checked_mul(SECTOR_BYTES)?;
        let is_block = array_sector.is_multiple_of(BLOCK_SECTORS) && offset < self.geometry.capacity_bytes();
        let position = self.geometry.position(offset).filter(|_| is_block)?;
        let stripe = self.geometry.stripe(position.row)?;
        let member_sector = (stripe.member_offset + u64::from(position.within)) / SECTOR_BYTES;
        self.pending.entry((member_sector, stripe.data[position.index])).or_default().fresh = Some(journal_sector);
        Some(())
    }

    /// P lies at `p`, and Q at `q`: with them, all data before is settled. None if the array has no
    /// such row, or no Q.
    fn take_parity(&mut self, member_sector: u64, p: u64, q: Option<u64>) -> Option<()> {
        let stripe = self.stripe(member_sector)?;
        if !member_sector.is_multiple_of(BLOCK_SECTORS) || stripe.q.is_some() != q.is_some() {
            return None;
        }
        for (_, newest) in self.pending.range_mut(row(member_sector)) {
            newest.settled = newest.fresh.take().or(newest.settled);
        }
        self.pending.entry((member_sector, stripe.p)).or_default().settled = Some(p);
        if let Some(role) = stripe.q {
            self.pending.entry((member_sector, role)).or_default().settled = q;
        }
        Some(())
    }

    fn stripe(&self, member_sector: u64) -> Option<Stripe> {
        let chunk_sectors = u64::from(self.geometry.shape().chunk_bytes) / SECTOR_BYTES;
        self.geometry.stripe(member_sector / chunk_sectors)
    }

    fn flush(&mut self, member_sectors: impl Iterator<Item = u64>) {
        if self.is_short {
            return;
        }
        for member_sector in member_sectors {
            let blocks: Vec<_> = self.pending.range(row(member_sector)).map(|(&block, _)| block).collect();
            for block in blocks {
                self.pending.remove(&block);
            }
        }
    }

    /// Writes what is settled, and forgets it.
    fn write_complete<I: JournalIo>(&mut self, io: &mut I) -> Result<(), I::Error> {
        for (&(member_sector, role), newest) in &self.pending {
            let Some(journal_sector) = newest.settled.filter(|_| self.has_settled_data(member_sector)) else {
                continue;
            };
            io.write(RowBlock { role, member_offset: member_sector * SECTOR_BYTES, journal_sector })?;
            self.written += 1;
        }
        self.pending.retain(|_, newest| {
            newest.settled = None;
            newest.fresh.is_some()
        });
        Ok(())
    }

    /// Parity alone says that the row was on the members before the log starts.
    fn has_settled_data(&self, member_sector: u64) -> bool {
        let member_offset = member_sector * SECTOR_BYTES;
        let mut settled = self.pending.range(row(member_sector)).filter(|(_, newest)| newest.settled.is_some());
        settled.any(|(&(_, role), _)| matches!(self.geometry.home(role, member_offset), Home::Data { .. }))
    }

    /// The data that no parity followed.
    fn data(&self) -> Vec<DataBlock> {
        let block = |(&(member_sector, role), newest): (&(u64, Role), &Newest)| {
            let journal_sector = newest.fresh?;
            match self.geometry.home(role, member_sector * SECTOR_BYTES) {
                Home::Data { offset, .. } => Some(DataBlock { offset, journal_sector }),
                _ => None,
            }
        };
        self.pending.iter().filter_map(block).collect()
    }
}

/// All blocks of a row.
fn row(member_sector: u64) -> RangeInclusive<(u64, Role)> {
    (member_sector, Role(0))..=(member_sector, Role(u16::MAX))
}
