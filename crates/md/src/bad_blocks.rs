//! The bad-block log: which sectors of a member hold no data, though the member works.
//!
//! A list of up to 512 entries in the sectors that the superblock reserves ([`BadBlockLog`]). An
//! entry is a 64-bit number: the sector where a run starts, shifted left by 10, and its length. All
//! ones end the list; it is not sorted, longer runs take several entries. Sectors are counted
//! **from the start of the member**, not of its data (Linux 6.1, `is_badblock` in md.h; seen with a
//! member whose data start at 1 MiB). A superblock may name larger blocks than sectors for its log;
//! nobody makes such logs, and a page of them could list any number of gigabytes, so they are
//! refused.
//!
//! A log counts only if the superblock carries [`Features::BAD_BLOCKS`]; what an older list left
//! there means nothing.
//!
//! [`Features::BAD_BLOCKS`]: crate::Features::BAD_BLOCKS

use std::ops::Range;

use shoal_array::BadBlocks;

use crate::limits::BAD_BLOCK_LOG_LIMIT_SECTORS;
use crate::place::SECTOR_BYTES;
use crate::{BadBlockLog, Superblock};

const ENTRY_BYTES: usize = 8;
const LENGTH_BITS: u32 = 10;
const LENGTH_MASK: u64 = (1 << LENGTH_BITS) - 1;
/// Sectors of an entry that md writes, though the field would hold twice as many.
const ENTRY_LIMIT_SECTORS: u64 = 512;
/// No entry can name a sector from here on, and no drive has one.
const SECTOR_LIMIT: u64 = 1 << (u64::BITS - LENGTH_BITS);
const END_OF_LIST: u64 = u64::MAX;

/// What may be wrong with a bad-block log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBlocksError {
    /// The superblock has no log, or claims one that cannot be.
    #[error(
        "there is no bad-block log of {sectors} sectors with blocks of 2^{shift} sectors: 1 to 8, and blocks of 1, can be"
    )]
    NoSuchLog {
        /// Its length.
        sectors: u16,
        /// How many sectors make a block.
        shift: u8,
    },
    /// There are more bad blocks than the log can list. As md does, the member then has to be taken
    /// for failed.
    #[error("{needed} runs of bad blocks do not fit in a log for {limit}: the drive is worn out, replace it")]
    DoesNotFit {
        /// Entries that it takes.
        needed: u64,
        /// Entries that there are.
        limit: u64,
    },
}

impl BadBlockLog {
    /// How many entries the log has room for, each of up to 512 sectors; 0 if there is no log, or
    /// none that can be one.
    pub fn entries(&self) -> u64 {
        self.bytes().map_or(0, |bytes| (bytes / ENTRY_BYTES) as u64)
    }

    /// Bytes of the log; none if there is no log, or none that can be one.
    pub fn bytes(&self) -> Option<usize> {
        let is_there = self.offset_sectors != 0 && (1..=BAD_BLOCK_LOG_LIMIT_SECTORS).contains(&self.size_sectors);
        (is_there && self.shift == 0)
            .then(|| usize::from(self.size_sectors) * usize::try_from(SECTOR_BYTES).expect("512"))
    }

    fn checked_bytes(&self) -> Result<usize, BadBlocksError> {
        self.bytes().ok_or(BadBlocksError::NoSuchLog { sectors: self.size_sectors, shift: self.shift })
    }
}

/// The sectors of a member that hold no data, wherever on it they lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadBlockList {
    /// In sectors from the start of the member; sorted, apart from each other, none empty.
    runs: Vec<Range<u64>>,
}

impl BadBlockList {
    /// Reads a log: its [`BadBlockLog::bytes`], or fewer if that is all there is.
    pub fn decode(log: BadBlockLog, bytes: &[u8]) -> Result<Self, BadBlocksError> {
        let length = log.checked_bytes()?.min(bytes.len());
        let mut runs = Vec::new();
        for entry in bytes[..length].chunks_exact(ENTRY_BYTES) {
            let entry = u64::from_le_bytes(entry.try_into().expect("cut to size"));
            if entry == END_OF_LIST {
                break;
            }
            let [start, sectors] = [entry >> LENGTH_BITS, entry & LENGTH_MASK];
            // A log of zeros is one that nobody has written yet.
            if sectors > 0 {
                runs.push(start..(start + sectors).min(SECTOR_LIMIT));
            }
        }
        Ok(Self { runs: merged(runs) })
    }

    /// The whole log, as it is to be written.
    pub fn encode(&self, log: BadBlockLog) -> Result<Vec<u8>, BadBlocksError> {
        let mut bytes = vec![0xff; log.checked_bytes()?];
        let needed = self.entries();
        if needed > log.entries() {
            return Err(BadBlocksError::DoesNotFit { needed, limit: log.entries() });
        }
        let entries = self.runs.iter().flat_map(split);
        for (place, entry) in bytes.chunks_exact_mut(ENTRY_BYTES).zip(entries) {
            let value = entry.start << LENGTH_BITS | (entry.end - entry.start);
            place.copy_from_slice(&value.to_le_bytes());
        }
        Ok(bytes)
    }

    /// How many entries of a log the list takes.
    pub fn entries(&self) -> u64 {
        self.runs.iter().map(|run| (run.end - run.start).div_ceil(ENTRY_LIMIT_SECTORS)).sum()
    }

    /// Whether no sector is bad.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The bad ranges in the member's data area, in bytes from its start; sorted, apart from each
    /// other.
    pub fn within_data(&self, superblock: &Superblock) -> Vec<Range<u64>> {
        let data = data_sectors(superblock);
        let bytes = |sector: u64| (sector - data.start) * SECTOR_BYTES;
        let clipped = self.runs.iter().map(|run| run.start.max(data.start)..run.end.min(data.end));
        clipped.filter(|run| !run.is_empty()).map(|run| bytes(run.start)..bytes(run.end)).collect()
    }

    /// The same as the engine has it. What is listed outside the data area takes its room in the
    /// log.
    pub fn bad_blocks(&self, superblock: &Superblock) -> BadBlocks {
        let log = superblock.bad_block_log;
        let mut elsewhere = self.clone();
        elsewhere.set_within_data(superblock, &[]);
        let limit = log.entries().saturating_sub(elsewhere.entries());
        BadBlocks::from_ranges(usize::try_from(limit).expect("at most 512"), self.within_data(superblock))
    }

    /// Replaces the bad ranges in the member's data area by these, in bytes from its start, widened
    /// to sectors. What is listed outside the data area stays.
    pub fn set_within_data(&mut self, superblock: &Superblock, ranges: &[Range<u64>]) {
        let data = data_sectors(superblock);
        let outside = |run: &Range<u64>| [run.start..run.end.min(data.start), run.start.max(data.end)..run.end];
        let kept = self.runs.iter().flat_map(outside);
        let sectors = |range: &Range<u64>| {
            let start = data.start.saturating_add(range.start / SECTOR_BYTES);
            start..data.start.saturating_add(range.end.div_ceil(SECTOR_BYTES)).min(data.end)
        };
        let replaced = ranges.iter().map(sectors);
        self.runs = merged(kept.chain(replaced).filter(|run| !run.is_empty()).collect());
    }
}

/// The member's data area. Verified superblocks have one that does not overflow.
fn data_sectors(superblock: &Superblock) -> Range<u64> {
    superblock.data_offset_sectors..superblock.data_offset_sectors + superblock.data_size_sectors
}

/// Sorts runs, and joins those that overlap or touch.
fn merged(mut runs: Vec<Range<u64>>) -> Vec<Range<u64>> {
    runs.sort_by_key(|run| run.start);
    let mut apart: Vec<Range<u64>> = Vec::with_capacity(runs.len());
    for run in runs {
        match apart.last_mut() {
            Some(last) if run.start <= last.end => last.end = last.end.max(run.end),
            _ => apart.push(run),
        }
    }
    apart
}

/// Cuts a run into pieces that an entry can hold.
fn split(run: &Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let end = run.end;
    let starts = run.clone().step_by(usize::try_from(ENTRY_LIMIT_SECTORS).expect("512"));
    starts.map(move |start| start..(start + ENTRY_LIMIT_SECTORS).min(end))
}

#[cfg(test)]
mod tests;
