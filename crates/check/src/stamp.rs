//! Blocks that say where they belong.
//!
//! A sector begins with a mark, the run, its own offset and the pass that wrote it, 8 bytes each,
//! little endian; the rest follows from these by a generator, so that nothing of it can be
//! compressed, and any bit that changes is seen.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const MARK: &[u8; 8] = b"shoalchk";
const SECTOR_BYTES: usize = 512;
const HEAD_BYTES: usize = 32;

/// One pass over a drive in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pass {
    /// Which run: no other run's stamps are believed.
    pub(crate) run: u64,
    /// Which pass of it, from 1.
    pub(crate) number: u64,
}

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// What was written there last.
    Held,
    /// What was written elsewhere in this run.
    Elsewhere {
        /// Where that was.
        offset: u64,
    },
    /// Nothing of what was written there last: zeros, something old.
    Lost,
    /// What was written, or parts of it, with other bytes among it.
    Changed,
    /// It could not be written or read.
    Failed,
}

/// Whether bytes begin with a sector that a check has written.
#[must_use]
pub fn wrote(bytes: &[u8]) -> bool {
    let sector = bytes.get(..SECTOR_BYTES);
    sector.is_some_and(|sector| match head(sector) {
        Some((run, offset, number)) => is_intact(sector, Pass { run, number }, offset),
        None => false,
    })
}

/// Fills bytes with what is to be written at an offset.
pub(crate) fn fill(pass: Pass, offset: u64, bytes: &mut [u8]) {
    for (sector, at) in bytes.chunks_mut(SECTOR_BYTES).zip((offset..).step_by(SECTOR_BYTES)) {
        fill_sector(pass, at, sector);
    }
}

/// What a block at an offset holds, after that pass has written it.
pub(crate) fn read(pass: Pass, offset: u64, block: &[u8]) -> Reading {
    let sectors = block.chunks(SECTOR_BYTES).zip((offset..).step_by(SECTOR_BYTES));
    let mut readings = sectors.map(|(sector, at)| match read_sector(pass, at, sector) {
        // Where the block begins, and not the sector, so that sectors of one block agree.
        Reading::Elsewhere { offset: other } => Reading::Elsewhere { offset: other.wrapping_sub(at - offset) },
        reading => reading,
    });
    let first = readings.next().unwrap_or(Reading::Lost);
    if readings.all(|reading| reading == first) { first } else { Reading::Changed }
}

fn read_sector(pass: Pass, offset: u64, sector: &[u8]) -> Reading {
    match head(sector) {
        Some((run, found, number)) if run == pass.run => {
            let is_own = found == offset;
            match is_intact(sector, Pass { run, number }, found) {
                false => Reading::Changed,
                true if !is_own => Reading::Elsewhere { offset: found },
                true if number == pass.number => Reading::Held,
                true => Reading::Lost,
            }
        }
        _ => Reading::Lost,
    }
}

/// Run, offset and pass, if the mark is there.
fn head(sector: &[u8]) -> Option<(u64, u64, u64)> {
    let word = |place: usize| {
        let bytes = sector.get(place * 8..place * 8 + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    if !sector.starts_with(MARK) {
        return None;
    }
    Some((word(1)?, word(2)?, word(3)?))
}

fn is_intact(sector: &[u8], pass: Pass, offset: u64) -> bool {
    let mut own = [0; SECTOR_BYTES];
    fill_sector(pass, offset, &mut own);
    own[..] == *sector
}

fn fill_sector(pass: Pass, offset: u64, sector: &mut [u8]) {
    let mut bytes = [0; SECTOR_BYTES];
    bytes[..8].copy_from_slice(MARK);
    for (place, word) in [pass.run, offset, pass.number].into_iter().enumerate() {
        bytes[(place + 1) * 8..(place + 2) * 8].copy_from_slice(&word.to_le_bytes());
    }
    let mix = pass.run ^ offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ pass.number.rotate_left(32);
    Xoshiro256PlusPlus::seed_from_u64(mix).fill_bytes(&mut bytes[HEAD_BYTES..]);
    let length = sector.len().min(SECTOR_BYTES);
    sector[..length].copy_from_slice(&bytes[..length]);
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASS: Pass = Pass { run: 7, number: 2 };

    fn block(pass: Pass, offset: u64) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        fill(pass, offset, &mut bytes);
        bytes
    }

    #[test]
    fn a_block_says_where_it_belongs() {
        let held = block(PASS, 1 << 40);
        assert_eq!(read(PASS, 1 << 40, &held), Reading::Held);
        assert_eq!(read(PASS, 4096, &held), Reading::Elsewhere { offset: 1 << 40 });
        assert!(wrote(&held) && !wrote(&held[..511]) && !wrote(&[0; 4096]));
    }

    #[test]
    fn what_was_there_before_is_no_write_of_this_pass() {
        assert_eq!(read(PASS, 0, &block(Pass { number: 1, ..PASS }, 0)), Reading::Lost);
        assert_eq!(read(PASS, 0, &block(Pass { run: 8, ..PASS }, 0)), Reading::Lost);
        assert_eq!(read(PASS, 0, &[0xff; 4096]), Reading::Lost);
    }

    #[test]
    fn every_bit_that_changes_is_seen() {
        for bit in 0..4096 * 8 {
            let mut bytes = block(PASS, 8192);
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(PASS, 8192, &bytes), Reading::Changed, "bit {bit}");
        }
    }
}
