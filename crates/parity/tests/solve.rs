//! Recovery: every pattern of one or two lost blocks gives back what was there, by every kernel.

use shoal_parity::{Block, Kernel, Parity, Unsolvable};

/// More than a few tiles of the widest kernel, and some bytes over.
const LENGTH: usize = 1300;

/// A stripe whose content is right: data, P and Q. Absent data blocks are zeros.
struct Stripe {
    data: Vec<Option<Vec<u8>>>,
    p: Vec<u8>,
    q: Vec<u8>,
}

/// What is known of a parity block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    Known,
    Lost,
    Absent,
}

const GIVEN: [Given; 3] = [Given::Known, Given::Lost, Given::Absent];

impl Stripe {
    /// Data by a simple generator; every third block is absent, if `gaps`.
    fn new(count: usize, gaps: bool) -> Self {
        let byte = |block: usize, index: usize| (index * (2 * block + 3) + index / 7 + 91 * block) as u8;
        let block = |block| (!gaps || block % 3 != 1).then(|| (0..LENGTH).map(|index| byte(block, index)).collect());
        let data: Vec<Option<Vec<u8>>> = (0..count).map(block).collect();
        let (mut p, mut q) = (vec![0; LENGTH], vec![0; LENGTH]);
        let known: Vec<Option<&[u8]>> = data.iter().map(Option::as_deref).collect();
        Parity::with_kernel(Kernel::Scalar).expect("scalar is everywhere").pq(&known, &mut p, &mut q);
        Self { data, p, q }
    }

    /// Every list of up to three data blocks that are not absent.
    fn losses(&self) -> Vec<Vec<usize>> {
        let present: Vec<usize> = (0..self.data.len()).filter(|&block| self.data[block].is_some()).collect();
        let mut losses = vec![vec![]];
        for (index, &first) in present.iter().enumerate() {
            losses.push(vec![first]);
            for (further, &second) in present.iter().enumerate().skip(index + 1) {
                losses.push(vec![first, second]);
                losses.extend(present.get(further + 1).map(|&third| vec![first, second, third]));
            }
        }
        losses
    }

    /// Loses these blocks, has them solved, and compares; or expects the refusal.
    fn check(&self, parity: Parity, lost: &[usize], p_given: Given, q_given: Given) {
        let what = format!("{parity:?}, {} blocks, lost {lost:?}, P {p_given:?}, Q {q_given:?}", self.data.len());
        let mut buffers = vec![vec![0x77; LENGTH]; self.data.len()];
        let (mut p, mut q) = (vec![0x77; LENGTH], vec![0x77; LENGTH]);
        let mut blocks: Vec<Block<'_>> = buffers
            .iter_mut()
            .enumerate()
            .map(|(index, buffer)| match &self.data[index] {
                None => Block::Absent,
                Some(_) if lost.contains(&index) => Block::Lost(buffer),
                Some(content) => Block::Known(content),
            })
            .collect();
        let solved = parity.solve(&mut blocks, given(p_given, &self.p, &mut p), given(q_given, &self.q, &mut q));
        let known_parity = [p_given, q_given].into_iter().filter(|&given| given == Given::Known).count();
        if lost.len() > known_parity {
            assert_eq!(solved, Err(Unsolvable { lost_data: lost.len(), known_parity }), "{what}");
            let untouched = |bytes: &Vec<u8>| bytes.iter().all(|&byte| byte == 0x77);
            assert!(buffers.iter().chain([&p, &q]).all(untouched), "{what}");
            return;
        }
        assert_eq!(solved, Ok(()), "{what}");
        for &index in lost {
            assert!(Some(&buffers[index]) == self.data[index].as_ref(), "data {index}: {what}");
        }
        assert!(p_given != Given::Lost || p == self.p, "P: {what}");
        assert!(q_given != Given::Lost || q == self.q, "Q: {what}");
    }
}

fn given<'a>(given: Given, content: &'a [u8], place: &'a mut [u8]) -> Block<'a> {
    match given {
        Given::Known => Block::Known(content),
        Given::Lost => Block::Lost(place),
        Given::Absent => Block::Absent,
    }
}

fn check_every_pattern(kernel: Kernel) {
    let Ok(parity) = Parity::with_kernel(kernel) else {
        println!("SKIPPED: recovery by {kernel} needs a processor that can run it");
        return;
    };
    for gaps in [false, true] {
        for count in 1..=14 {
            let stripe = Stripe::new(count, gaps);
            for lost in stripe.losses() {
                for p in GIVEN {
                    for q in GIVEN {
                        stripe.check(parity, &lost, p, q);
                    }
                }
            }
        }
    }
}

#[test]
fn scalar_recovers_every_pattern() {
    check_every_pattern(Kernel::Scalar);
}

#[test]
fn avx2_recovers_every_pattern() {
    check_every_pattern(Kernel::Avx2);
}

#[test]
fn avx512_gfni_recovers_every_pattern() {
    check_every_pattern(Kernel::Avx512Gfni);
}

#[test]
fn neon_recovers_every_pattern() {
    check_every_pattern(Kernel::Neon);
}

#[test]
fn stripes_of_255_blocks_are_solved_and_wider_ones_without_q() {
    let stripe = Stripe::new(255, false);
    for lost in [vec![], vec![0], vec![254], vec![0, 254], vec![31, 32], vec![253, 254]] {
        stripe.check(Parity::best(), &lost, Given::Known, Given::Known);
        stripe.check(Parity::best(), &lost[..lost.len().min(1)], Given::Known, Given::Lost);
    }
    let wide = vec![[3; 5]; 300];
    let mut lost = [0; 5];
    let mut blocks: Vec<Block<'_>> = wide.iter().map(|block| Block::Known(block)).collect();
    blocks[299] = Block::Lost(&mut lost);
    assert_eq!(Parity::best().solve(&mut blocks, Block::Known(&[9; 5]), Block::Absent), Ok(()));
    assert_eq!(lost, [9 ^ 3; 5]);
}

#[test]
fn a_refusal_says_what_is_missing() {
    let (mut first, mut second) = ([0; 3], [0; 3]);
    let mut blocks = [Block::Lost(&mut first), Block::Lost(&mut second)];
    let refusal = Parity::best().solve(&mut blocks, Block::Known(&[1; 3]), Block::Absent).expect_err("two unknowns");
    assert_eq!(refusal.to_string(), "2 data blocks of a stripe are lost, and 1 parity blocks are known");
}
