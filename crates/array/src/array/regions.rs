//! Sets of regions: which parts of an array are to be synchronised, or written to a member that
//! came back.
//!
//! What a set goes over are *sync bytes*, as in md: bytes of a member's data area for RAID1 and the
//! parity levels, bytes of array content for RAID10 (see [`crate::Geometry::sync_bytes`]). A
//! write-intent bitmap has a bit for each region.

use alloc::{vec, vec::Vec};
use core::ops::Range;

/// Regions in a word of the set.
const WORD_REGIONS: u64 = u64::BITS as u64;

/// A set of equal regions of what a resync goes over. The last one may be shorter than the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regions {
    region_bytes: u64,
    total_bytes: u64,
    words: Vec<u64>,
    count: u64,
}

impl Regions {
    /// The empty set over `total_bytes`. It takes a bit of memory for each region: whoever takes
    /// the sizes from outside bounds their ratio first.
    ///
    /// # Panics
    /// If a region has no bytes: a bug in the caller.
    pub fn new(region_bytes: u64, total_bytes: u64) -> Self {
        assert!(region_bytes > 0, "a region has bytes");
        let words = total_bytes.div_ceil(region_bytes).div_ceil(WORD_REGIONS);
        let words = vec![0; usize::try_from(words).expect("the caller bounds the number of regions")];
        Self { region_bytes, total_bytes, words, count: 0 }
    }

    /// Bytes of a region.
    pub fn region_bytes(&self) -> u64 {
        self.region_bytes
    }

    /// Bytes of all regions together.
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// How many regions there are, in the set or not.
    pub fn region_count(&self) -> u64 {
        self.total_bytes.div_ceil(self.region_bytes)
    }

    /// How many regions are in the set.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// No region is in the set.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether the region of this number is in the set.
    pub fn is_set(&self, index: u64) -> bool {
        index < self.region_count() && self.words[word_of(index)] & bit_of(index) != 0
    }

    /// Puts the region of this number into the set; beyond the last, nothing happens.
    pub fn set(&mut self, index: u64) {
        if index < self.region_count() && !self.is_set(index) {
            self.words[word_of(index)] |= bit_of(index);
            self.count += 1;
        }
    }

    /// Takes the region of this number out of the set.
    pub fn clear(&mut self, index: u64) {
        if self.is_set(index) {
            self.words[word_of(index)] &= !bit_of(index);
            self.count -= 1;
        }
    }

    /// Puts all regions into the set.
    pub fn set_all(&mut self) {
        (0..self.region_count()).for_each(|index| self.set(index));
    }

    /// Puts every region into the set that the range touches.
    pub fn insert(&mut self, range: Range<u64>) {
        self.touched(&range).for_each(|index| self.set(index));
    }

    /// Takes every region out of the set that lies within the range as a whole.
    pub fn remove(&mut self, range: Range<u64>) {
        let first = range.start.div_ceil(self.region_bytes);
        let end = if range.end >= self.total_bytes { self.region_count() } else { range.end / self.region_bytes };
        (first..end).for_each(|index| self.clear(index));
    }

    /// Puts every region into the set that touches one of the other set's.
    pub fn insert_all(&mut self, other: &Self) {
        let mut from = 0;
        while let Some(run) = other.next_set(from) {
            from = run.end;
            self.insert(run);
        }
    }

    /// Whether this byte lies in a region of the set.
    pub fn contains(&self, offset: u64) -> bool {
        self.is_set(offset / self.region_bytes)
    }

    /// Whether any byte of the range lies in a region of the set.
    pub fn touches(&self, range: Range<u64>) -> bool {
        self.next_set(range.start).is_some_and(|run| run.start < range.end)
    }

    /// The next run of regions in the set at or after `from`, in bytes; it starts at `from` if that
    /// lies within it.
    pub fn next_set(&self, from: u64) -> Option<Range<u64>> {
        let first = self.next_index(from / self.region_bytes, true)?;
        let end = self.next_index(first, false).unwrap_or_else(|| self.region_count());
        Some((first * self.region_bytes).max(from)..(end * self.region_bytes).min(self.total_bytes))
            .filter(|run| run.start < run.end)
    }

    /// The numbers of the regions that a range touches.
    fn touched(&self, range: &Range<u64>) -> Range<u64> {
        let end = range.end.min(self.total_bytes);
        if range.start >= end {
            return 0..0;
        }
        range.start / self.region_bytes..end.div_ceil(self.region_bytes)
    }

    /// The first region from this number on that is in the set, or not in it.
    fn next_index(&self, from: u64, wanted: bool) -> Option<u64> {
        let count = self.region_count();
        if from >= count {
            return None;
        }
        let of_wanted = |word: u64| if wanted { word } else { !word };
        let first = word_of(from);
        let rest = of_wanted(self.words[first]) >> (from % WORD_REGIONS);
        let found = if rest != 0 {
            from + u64::from(rest.trailing_zeros())
        } else {
            // Most words of a large set are alike: this loop is all that is slow here.
            let skipped = self.words[first + 1..].iter().position(|word| of_wanted(*word) != 0)?;
            let word = first + 1 + skipped;
            word as u64 * WORD_REGIONS + u64::from(of_wanted(self.words[word]).trailing_zeros())
        };
        Some(found).filter(|found| *found < count)
    }
}

fn word_of(index: u64) -> usize {
    (index / WORD_REGIONS) as usize
}

fn bit_of(index: u64) -> u64 {
    1 << (index % WORD_REGIONS)
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;

    fn runs(regions: &Regions) -> Vec<Range<u64>> {
        let mut from = 0;
        core::iter::from_fn(|| {
            let run = regions.next_set(from)?;
            from = run.end;
            Some(run)
        })
        .collect()
    }

    #[test]
    fn what_a_range_touches_comes_in_and_only_what_lies_within_it_goes() {
        let mut regions = Regions::new(10, 2005);
        assert_eq!((regions.region_count(), regions.next_set(0)), (201, None));
        regions.insert(15..31);
        regions.insert(1999..3000);
        regions.insert(700..700);
        assert_eq!(runs(&regions), [10..40, 1990..2005]);
        assert_eq!(regions.next_set(25), Some(25..40));
        regions.remove(15..31);
        regions.remove(1995..2005);
        assert_eq!(runs(&regions), [10..20, 30..40, 1990..2000]);
        assert_eq!(regions.count(), 3);
        assert!(regions.touches(0..11) && !regions.touches(20..30) && !regions.touches(15..15));
        assert!(regions.contains(39) && !regions.contains(40) && !regions.contains(2004));
    }

    #[test]
    fn runs_go_over_words() {
        let mut regions = Regions::new(1, 300);
        regions.insert(60..200);
        assert_eq!(runs(&regions), [60..200]);
        regions.set_all();
        assert_eq!((runs(&regions), regions.count()), (vec![0..300], 300));
        let mut coarse = Regions::new(128, 300);
        let mut fine = Regions::new(1, 300);
        fine.insert(127..128);
        fine.insert(299..300);
        coarse.insert_all(&fine);
        assert_eq!(runs(&coarse), [0..128, 256..300]);
    }
}
