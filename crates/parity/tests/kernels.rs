//! Every kernel that this processor can run gives the bytes that the scalar one gives, whatever the
//! lengths and alignments; and the scalar one gives what is known by hand.

use proptest::prelude::*;
use shoal_parity::{Kernel, Parity};

fn scalar() -> Parity {
    Parity::with_kernel(Kernel::Scalar).expect("scalar is everywhere")
}

fn kernels() -> impl Iterator<Item = Parity> {
    Kernel::available().map(|kernel| Parity::with_kernel(kernel).expect("it is available"))
}

/// Bytes that begin at any place of a cache line.
#[derive(Clone, Debug)]
struct Shifted {
    bytes: Vec<u8>,
    shift: usize,
}

impl Shifted {
    fn new(content: &[u8], shift: usize) -> Self {
        let mut bytes = vec![0xee; shift];
        bytes.extend_from_slice(content);
        bytes.extend_from_slice(&GUARD);
        Self { bytes, shift }
    }

    fn content(&self) -> &[u8] {
        &self.bytes[self.shift..self.bytes.len() - GUARD.len()]
    }

    fn content_mut(&mut self) -> &mut [u8] {
        let end = self.bytes.len() - GUARD.len();
        &mut self.bytes[self.shift..end]
    }

    /// Nothing was written outside of the content.
    fn assert_guarded(&self) {
        assert!(self.bytes[..self.shift].iter().all(|&byte| byte == 0xee));
        assert_eq!(self.bytes[self.bytes.len() - GUARD.len()..], GUARD);
    }
}

/// What follows a block, to notice a write past its end.
const GUARD: [u8; 64] = [0xdd; 64];

/// Some bytes that no pattern explains, from a seed.
fn content(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| next()).collect()
}

prop_compose! {
    /// 1 to 32 blocks of one length, each with its own alignment.
    fn blocks()(length in prop_oneof![0..300usize, 0..6000usize], count in 1..=32usize)(
        length in Just(length),
        shifts in prop::collection::vec(0..64usize, count),
        seed in any::<u64>(),
    ) -> Vec<Shifted> {
        let block = |(index, &shift): (usize, &usize)| Shifted::new(&content(length, seed ^ index as u64), shift);
        shifts.iter().enumerate().map(block).collect()
    }
}

/// A place for a result, of a block's length.
fn result(blocks: &[Shifted], shift: usize) -> Shifted {
    Shifted::new(&vec![0x55; blocks[0].content().len()], shift)
}

proptest! {
    #[test]
    fn xor_is_that_of_the_scalar_kernel(blocks in blocks(), shift in 0..64usize) {
        let sources: Vec<&[u8]> = blocks.iter().map(Shifted::content).collect();
        let mut expected = result(&blocks, 0);
        scalar().xor(expected.content_mut(), &sources);
        for parity in kernels() {
            let mut target = result(&blocks, shift);
            parity.xor(target.content_mut(), &sources);
            target.assert_guarded();
            prop_assert_eq!(target.content(), expected.content(), "{:?}", parity);
        }
    }

    #[test]
    fn pq_is_that_of_the_scalar_kernel(
        blocks in blocks(),
        present in any::<u32>(),
        p_shift in 0..64usize,
        q_shift in 0..64usize,
    ) {
        for present in [present, u32::MAX] {
            let is_present = |index: usize| present >> index & 1 == 1;
            let data: Vec<Option<&[u8]>> =
                blocks.iter().enumerate().map(|(index, block)| is_present(index).then_some(block.content())).collect();
            let (mut expected_p, mut expected_q) = (result(&blocks, 0), result(&blocks, 0));
            scalar().pq(&data, expected_p.content_mut(), expected_q.content_mut());
            for parity in kernels() {
                let (mut p, mut q) = (result(&blocks, p_shift), result(&blocks, q_shift));
                parity.pq(&data, p.content_mut(), q.content_mut());
                p.assert_guarded();
                q.assert_guarded();
                prop_assert_eq!(p.content(), expected_p.content(), "P, {:?}", parity);
                prop_assert_eq!(q.content(), expected_q.content(), "Q, {:?}", parity);
            }
        }
    }

    #[test]
    fn an_update_gives_the_parity_of_the_new_data(blocks in blocks(), place in any::<prop::sample::Index>(), shift in 0..64usize) {
        let place = place.index(blocks.len());
        let new = Shifted::new(&content(blocks[0].content().len(), 7), shift);
        let mut data: Vec<Option<&[u8]>> = blocks.iter().map(|block| Some(block.content())).collect();
        let (mut old_p, mut old_q) = (result(&blocks, 0), result(&blocks, 0));
        scalar().pq(&data, old_p.content_mut(), old_q.content_mut());
        data[place] = Some(new.content());
        let (mut new_p, mut new_q) = (result(&blocks, 0), result(&blocks, 0));
        scalar().pq(&data, new_p.content_mut(), new_q.content_mut());
        for parity in kernels() {
            let (mut p, mut q) = (Shifted::new(old_p.content(), shift), Shifted::new(old_q.content(), 63 - shift));
            let (old, new) = (blocks[place].content(), new.content());
            let exponent = u16::try_from(place).expect("few blocks");
            parity.update(Some(p.content_mut()), None, exponent, old, new);
            parity.update(None, Some(q.content_mut()), exponent, old, new);
            p.assert_guarded();
            q.assert_guarded();
            prop_assert_eq!(p.content(), new_p.content(), "P, {:?}", parity);
            prop_assert_eq!(q.content(), new_q.content(), "Q, {:?}", parity);
            parity.update(Some(p.content_mut()), Some(q.content_mut()), exponent, new, old);
            prop_assert_eq!(p.content(), old_p.content(), "P back, {:?}", parity);
            prop_assert_eq!(q.content(), old_q.content(), "Q back, {:?}", parity);
        }
    }
}

#[test]
fn known_parity() {
    let data: [&[u8]; 3] = [&[0x01, 0x80, 0xff], &[0x01, 0x80, 0x00], &[0x01, 0x80, 0x10]];
    for parity in kernels() {
        let (mut p, mut q) = ([0; 3], [0; 3]);
        parity.pq(&data.map(Some), &mut p, &mut q);
        assert_eq!(p, [0x01, 0x80, 0xef], "{parity:?}");
        assert_eq!(q, [0x01 ^ 0x02 ^ 0x04, 0x80 ^ 0x1d ^ 0x3a, 0xff ^ 0x40], "{parity:?}");
        let mut target = [9; 3];
        parity.xor(&mut target, &data);
        assert_eq!(target, p, "{parity:?}");
        parity.xor(&mut target, &[]);
        assert_eq!(target, [0; 3], "{parity:?}");
    }
}

#[test]
fn every_exponent_has_its_power() {
    let block = [1; 100];
    let mut power: u8 = 1;
    for exponent in 0..255 {
        for parity in kernels() {
            let mut data = vec![None; exponent + 1];
            data[exponent] = Some(block.as_slice());
            let (mut p, mut q) = ([0; 100], [0; 100]);
            parity.pq(&data, &mut p, &mut q);
            assert_eq!(p, block, "{parity:?}, exponent {exponent}");
            assert_eq!(q, [power; 100], "{parity:?}, exponent {exponent}");
        }
        power = (power << 1) ^ if power < 0x80 { 0 } else { 0x1d };
    }
}

#[test]
fn a_forced_kernel_is_used_or_refused() {
    for kernel in Kernel::ALL {
        match Parity::with_kernel(kernel) {
            Ok(parity) => {
                assert_eq!(parity.kernel(), kernel);
                assert!(Kernel::available().any(|available| available == kernel));
            }
            Err(refusal) => {
                assert_eq!(refusal.0, kernel);
                assert!(Kernel::available().all(|available| available != kernel));
                let message = refusal.to_string();
                assert!(message.contains(kernel.name()) && message.ends_with("scalar"), "{message}");
            }
        }
    }
    assert_eq!(Kernel::available().next(), Some(Parity::best().kernel()));
}

#[test]
#[should_panic(expected = "blocks of one length")]
fn lengths_that_differ_are_a_mistake_of_the_caller() {
    Parity::best().xor(&mut [0; 4], &[&[1; 4], &[1; 5]]);
}

#[test]
#[should_panic(expected = "at most 255 data blocks")]
fn more_blocks_than_powers_are_a_mistake_of_the_caller() {
    Parity::best().pq(&[None; 256], &mut [0; 4], &mut [0; 4]);
}
