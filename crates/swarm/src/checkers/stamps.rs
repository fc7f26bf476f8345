//! What blocks hold: each says which block and version it is, over all of its length.

use super::content::{BLOCK_BYTES, Version};

/// Version 0 of a block.
const ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];

/// What a block says that it is: its number and version.
pub(super) fn name_of(bytes: &[u8]) -> (usize, Version) {
    let word = u64::from_le_bytes(bytes[..8].try_into().expect("a block is longer"));
    ((word >> 32) as usize, word as Version)
}

/// Fills the blocks from `first` on with what a version of them looks like.
pub(crate) fn stamp(first: usize, version: Version, bytes: &mut [u8]) {
    for (number, block) in (first..).zip(bytes.chunks_mut(BLOCK_BYTES)) {
        for (word, place) in block.chunks_exact_mut(8).zip(0..) {
            word.copy_from_slice(&stamp_word(number, version, place).to_le_bytes());
        }
    }
}

/// The first word says what it is, the others depend on it.
fn stamp_word(number: usize, version: Version, place: u32) -> u64 {
    let name = (number as u64) << 32 | u64::from(version);
    match (version, place) {
        (0, _) => 0,
        (_, 0) => name,
        _ => name.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(place),
    }
}

pub(super) fn is_stamped(number: usize, version: Version, bytes: &[u8]) -> bool {
    if version == 0 {
        return *bytes == ZEROS[..bytes.len()];
    }
    let mut words = bytes.chunks_exact(8).zip(0..);
    words.all(|(word, place)| word == stamp_word(number, version, place).to_le_bytes())
}

pub(super) fn digest(bytes: &[u8]) -> u64 {
    let word = |word: &[u8]| u64::from_le_bytes(word.try_into().expect("eight bytes"));
    bytes.chunks_exact(8).map(word).fold(0x51_7c_c1_b7_27_22_0a_95, |digest: u64, word| {
        (digest.rotate_left(5) ^ word).wrapping_mul(0x51_7c_c1_b7_27_22_0a_95)
    })
}
