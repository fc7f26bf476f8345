//! Parity by the book, slow and independent of the kernels that ship: GF(2^8) with polynomial 0x11d
//! and generator 2, multiplication from its definition, recovery by solving two equations.

use std::sync::OnceLock;

/// One block of a stripe.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input<'a> {
    /// Content.
    Known(&'a [u8]),
    /// To be computed.
    Lost,
    /// Zeros if it is data; neither known nor wanted if it is parity.
    Absent,
}

/// What [`solve`] computed.
#[derive(Debug, Default)]
pub(crate) struct Solution {
    /// Lost data blocks, by index, ascending.
    pub(crate) data: Vec<Vec<u8>>,
    pub(crate) p: Option<Vec<u8>>,
    pub(crate) q: Option<Vec<u8>>,
}

fn multiply_slowly(left: u8, right: u8) -> u8 {
    let (mut product, mut left) = (0, left);
    for bit in 0..8 {
        if right & (1 << bit) != 0 {
            product ^= left;
        }
        left = (left << 1) ^ if left & 0x80 != 0 { 0x1d } else { 0 };
    }
    product
}

/// All products of one factor.
fn products(factor: u8) -> &'static [u8; 256] {
    static TABLE: OnceLock<Vec<[u8; 256]>> = OnceLock::new();
    let row = |left: u8| std::array::from_fn(|right| multiply_slowly(left, right as u8));
    &TABLE.get_or_init(|| (0..=255).map(row).collect())[usize::from(factor)]
}

fn inverse(factor: u8) -> u8 {
    products(factor).iter().position(|&product| product == 1).expect("only zero has no inverse") as u8
}

/// 2 to the power of `exponent`.
pub(crate) fn power_of_two(exponent: usize) -> u8 {
    (0..exponent % 255).fold(1, |power, _| multiply_slowly(power, 2))
}

/// `sum += factor * block`
pub(crate) fn add_scaled(sum: &mut [u8], factor: u8, block: &[u8]) {
    assert_eq!(sum.len(), block.len(), "blocks of different lengths");
    if factor == 1 {
        sum.iter_mut().zip(block).for_each(|(sum, byte)| *sum ^= byte);
    } else {
        let products = products(factor);
        sum.iter_mut().zip(block).for_each(|(sum, byte)| *sum ^= products[usize::from(*byte)]);
    }
}

fn scaled(factor: u8, block: &[u8]) -> Vec<u8> {
    let mut result = vec![0; block.len()];
    add_scaled(&mut result, factor, block);
    result
}

/// Computes every lost block of a stripe.
///
/// # Panics
/// If more is lost than the known parity can give: nobody may ask for that.
pub(crate) fn solve(data: &[Input<'_>], p: Input<'_>, q: Input<'_>, length: usize) -> Solution {
    assert!(data.len() <= 255, "exponents repeat from 255 on");
    let mut p_sum = vec![0; length];
    let mut q_sum = vec![0; length];
    let mut lost = Vec::new();
    let wants_q = !matches!(q, Input::Absent);
    let mut factor = 1;
    for block in data {
        match block {
            Input::Known(bytes) => {
                add_scaled(&mut p_sum, 1, bytes);
                if wants_q {
                    add_scaled(&mut q_sum, factor, bytes);
                }
            }
            Input::Lost => lost.push(factor),
            Input::Absent => {}
        }
        factor = multiply_slowly(factor, 2);
    }
    let mut solution = Solution { data: recover(&lost, &p_sum, &q_sum, p, q), p: None, q: None };
    for (factor, block) in lost.iter().zip(&solution.data) {
        add_scaled(&mut p_sum, 1, block);
        add_scaled(&mut q_sum, *factor, block);
    }
    solution.p = matches!(p, Input::Lost).then_some(p_sum);
    solution.q = matches!(q, Input::Lost).then_some(q_sum);
    solution
}

/// The lost data blocks, whose factors in Q are given, from parity and the sums over the known
/// blocks.
fn recover(lost: &[u8], p_sum: &[u8], q_sum: &[u8], p: Input<'_>, q: Input<'_>) -> Vec<Vec<u8>> {
    let missing = |parity: Input<'_>, sum: &[u8]| match parity {
        Input::Known(bytes) => {
            let mut difference = sum.to_vec();
            add_scaled(&mut difference, 1, bytes);
            Some(difference)
        }
        Input::Lost | Input::Absent => None,
    };
    match (lost, missing(p, p_sum), missing(q, q_sum)) {
        ([], _, _) => vec![],
        ([_], Some(p_missing), _) => vec![p_missing],
        ([x], None, Some(q_missing)) => vec![scaled(inverse(*x), &q_missing)],
        ([x, y], Some(p_missing), Some(q_missing)) => {
            // Dx + Dy = p_missing and x Dx + y Dy = q_missing.
            let mut numerator = q_missing;
            add_scaled(&mut numerator, *y, &p_missing);
            let first = scaled(inverse(x ^ y), &numerator);
            let mut second = p_missing;
            add_scaled(&mut second, 1, &first);
            vec![first, second]
        }
        _ => panic!("{} data blocks are asked for: more than the known parity can give", lost.len()),
    }
}
