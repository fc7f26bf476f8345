//! Randomness that is the same on every machine: SplitMix64.

use std::ops::Range;

/// A stream of numbers that its seed determines.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// A number of the range, each about equally likely.
    pub(crate) fn within(&mut self, range: Range<u64>) -> u64 {
        assert!(!range.is_empty(), "nothing to choose from");
        range.start + self.next() % (range.end - range.start)
    }

    /// An index below `count`.
    pub(crate) fn index(&mut self, count: usize) -> usize {
        self.within(0..count as u64) as usize
    }

    /// True once in so many times.
    pub(crate) fn one_in(&mut self, times: u64) -> bool {
        self.within(0..times) == 0
    }

    /// One of the choices.
    pub(crate) fn choose<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }
}

/// Scrambles a number, one to one.
pub(crate) fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
