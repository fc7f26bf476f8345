//! A random order in which every block comes once, without a map of the blocks visited.
//!
//! A four-round Feistel network permutes the numbers of an even number of bits; a result that is
//! too large is permuted again until it fits ("cycle walking"), which keeps it a permutation of
//! `0..count`. The power of four that covers `count` is less than four times as large, so that
//! takes fewer than four steps on average.

const ROUNDS: u64 = 4;

/// A permutation of `0..count`, chosen by a key.
#[derive(Clone, Debug)]
pub(super) struct Permutation {
    count: u64,
    half_bits: u32,
    key: u64,
}

impl Permutation {
    pub(super) fn new(count: u64, key: u64) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        Self { count, half_bits: bits.div_ceil(2).max(1), key }
    }

    /// Where `index`, below `count`, goes.
    pub(super) fn at(&self, index: u64) -> u64 {
        let mut value = index;
        loop {
            value = self.permute(value);
            if value < self.count {
                return value;
            }
        }
    }

    fn permute(&self, value: u64) -> u64 {
        let mask = (1_u64 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for round in 0..ROUNDS {
            let mixed = crate::fill::mix(right ^ self.key.wrapping_add(round << 32)) & mask;
            (left, right) = (right, left ^ mixed);
        }
        (left << self.half_bits) | right
    }
}
