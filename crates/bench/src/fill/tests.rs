#![allow(clippy::unwrap_used)]

use std::collections::HashSet;

use proptest::prelude::*;
use shoal_volume::{Arena, Memory};

use super::buffers::WriteBuffers;
use super::{Fill, Found, WrongUnit};

fn wrong_units(fill: &Fill, offset: u64, pass: u64, bytes: &[u8]) -> Vec<WrongUnit> {
    let mut wrong = Vec::new();
    fill.check(offset, pass, bytes, &mut |unit| wrong.push(unit));
    wrong
}

fn wrong_stamped(fill: &Fill, offset: u64, bytes: &[u8]) -> Vec<WrongUnit> {
    let mut wrong = Vec::new();
    fill.check_stamped(offset, bytes, &mut |unit| wrong.push(unit));
    wrong
}

fn filled(fill: &Fill, offset: u64, pass: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fill.write(offset, pass, &mut bytes);
    bytes
}

#[test]
fn the_unit_follows_from_the_alignment() {
    assert_eq!(Fill::new(0, 1 << 20).unit_bytes(), 4096);
    assert_eq!(Fill::new(0, 4096).unit_bytes(), 4096);
    assert_eq!(Fill::new(0, 2048).unit_bytes(), 512);
    assert_eq!(Fill::new(0, 512).unit_bytes(), 512);
}

#[test]
fn what_is_found_is_named() {
    let fill = Fill::new(1, 4096);
    let at = 1 << 20;
    let found = |bytes: &[u8]| wrong_units(&fill, at, 5, bytes).iter().map(|unit| unit.found).collect::<Vec<_>>();
    let good = filled(&fill, at, 5, 8192);
    assert_eq!(found(&good), []);
    assert_eq!(found(&filled(&fill, at, 4, 8192)), [Found::OtherPass { pass: 4 }; 2]);
    assert_eq!(found(&filled(&fill, 8192, 5, 4096)), [Found::OtherOffset { offset: 8192, pass: 5 }]);
    assert_eq!(found(&filled(&Fill::new(2, 4096), at, 5, 4096)), [Found::OtherRun]);
    assert_eq!(found(&[0; 4096]), [Found::Zeros]);
    assert_eq!(found(&[0x5a; 4096]), [Found::Garbage]);
    let mut torn = good.clone();
    torn[512..1024].copy_from_slice(&good[4096 + 512..4096 + 1024]);
    assert_eq!(found(&torn), [Found::Damaged { first_byte: 512 }]);
}

#[test]
fn content_does_not_repeat_and_has_no_pattern() {
    let fill = Fill::new(3, 512);
    let bytes = filled(&fill, 0, 0, 1 << 20);
    let words: HashSet<&[u8]> = bytes.chunks_exact(8).collect();
    // Only the tag and the pass come more than once.
    assert!(words.len() >= (1 << 17) - 2 * 2048, "{} distinct words", words.len());
    let mut counts = [0_u32; 256];
    bytes.chunks_exact(512).for_each(|unit| unit[40..].iter().for_each(|byte| counts[usize::from(*byte)] += 1));
    let mean = f64::from(counts.iter().sum::<u32>()) / 256.0;
    let chi_square: f64 = counts.iter().map(|count| (f64::from(*count) - mean).powi(2) / mean).sum();
    assert!((150.0..400.0).contains(&chi_square), "chi-square over byte values is {chi_square}, 255 +- 23 expected");
}

#[test]
fn load_content_is_checkable_and_never_repeats_a_unit() {
    let (block, count) = (16_384_u32, 3_u32);
    let fill = Fill::new(9, u64::from(block));
    let arena = Arena::new((block * count) as usize).unwrap();
    let mut buffers = WriteBuffers::new(fill, 7, count, block);
    let mut seen = HashSet::new();
    for round in 0..20_u64 {
        let buffer = u32::try_from(round).unwrap() % count;
        let memory = Memory { offset: (buffer * block) as usize, length: block };
        if round == 10 {
            arena.write(memory, &vec![0xaa; block as usize]);
            buffers.spoil(buffer);
        }
        let offset = round * u64::from(block);
        buffers.prepare(&arena, buffer, memory, offset);
        let mut bytes = vec![0; block as usize];
        arena.read(memory, &mut bytes);
        assert_eq!(wrong_stamped(&fill, offset, &bytes), []);
        assert_eq!(
            wrong_stamped(&fill, offset + 4096, &bytes[..4096]),
            [WrongUnit { offset: offset + 4096, found: Found::OtherOffset { offset, pass: 7 } }]
        );
        for unit in bytes.chunks_exact(4096) {
            assert!(seen.insert(unit.to_vec()), "round {round}");
        }
    }
}

#[test]
fn small_writes_through_one_buffer_are_checkable_and_are_renewed_in_turn() {
    for unit in [512_u32, 4096] {
        let fill = Fill::new(9, u64::from(unit));
        let arena = Arena::new(4096).unwrap();
        let memory = Memory { offset: 0, length: unit };
        let mut buffers = WriteBuffers::new(fill, 0, 1, unit);
        let mut written: Vec<Vec<u8>> = Vec::new();
        for round in 0..40 {
            let offset = round * u64::from(unit);
            buffers.prepare(&arena, 0, memory, offset);
            let mut bytes = vec![0; unit as usize];
            arena.read(memory, &mut bytes);
            assert_eq!(wrong_stamped(&fill, offset, &bytes), [], "write {round}");
            written.push(bytes);
        }
        // After as many writes as there are slices nothing is left but the tag and the pass.
        let slices = (unit / 512) as usize;
        for (one, other) in written.iter().zip(&written[slices..]) {
            let equal = one.chunks_exact(8).zip(other.chunks_exact(8)).filter(|(one, other)| one == other).count();
            assert!(equal <= 2, "{equal} words alike");
        }
    }
}

#[test]
fn a_slice_of_an_earlier_write_is_seen() {
    let fill = Fill::new(9, 4096);
    let arena = Arena::new(4096).unwrap();
    let memory = Memory { offset: 0, length: 4096 };
    let mut buffers = WriteBuffers::new(fill, 0, 1, 4096);
    let (mut earlier, mut later) = (vec![0; 4096], vec![0; 4096]);
    for (round, bytes) in [(0, &mut earlier), (1, &mut vec![0; 4096]), (2, &mut later)] {
        buffers.prepare(&arena, 0, memory, round * 4096);
        arena.read(memory, bytes);
    }
    // The third write renewed the second slice.
    later[512..1024].copy_from_slice(&earlier[512..1024]);
    let expected = WrongUnit { offset: 8192, found: Found::Damaged { first_byte: 512 } };
    assert_eq!(wrong_stamped(&fill, 8192, &later), [expected]);
}

proptest! {
    #[test]
    fn a_flipped_bit_is_seen(unit in 0_usize..4, bit in 0_usize..4096 * 8, small in any::<bool>(), seed in any::<u64>()) {
        let fill = Fill::new(seed, if small { 512 } else { 4096 });
        let mut bytes = filled(&fill, 40_960, 1, 4 * 4096);
        let place = unit * 4096 + bit / 8;
        bytes[place] ^= 1 << (bit % 8);
        let wrong = wrong_units(&fill, 40_960, 1, &bytes);
        let unit_bytes = u64::from(fill.unit_bytes());
        prop_assert_eq!(wrong.len(), 1);
        prop_assert_eq!(wrong[0].offset, (40_960 + place as u64) / unit_bytes * unit_bytes);
        prop_assert_eq!(wrong_stamped(&fill, 40_960, &bytes).len(), 1);
    }
}
