//! Computes the lost blocks of a stripe from the known ones.
//!
//! The known blocks leave two syndromes, one of P and one of Q. Each is a linear equation in the
//! lost blocks; solved, every lost block is a linear combination of the two syndromes, and a kernel
//! computes all of them in one pass. Where P alone is enough, a lost block is just the XOR of the
//! others.

use std::fmt;

use crate::operation::{Operations, Output, Syndromes};
use crate::{Block, gf};

/// More blocks are lost than the known parity can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsolvable {
    /// The number of lost data blocks.
    pub lost_data: usize,
    /// The number of known parity blocks.
    pub known_parity: usize,
}

impl fmt::Display for Unsolvable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lost_data, known_parity } = self;
        write!(formatter, "{lost_data} data blocks of a stripe are lost, and {known_parity} parity blocks are known")
    }
}

impl std::error::Error for Unsolvable {}

/// A stripe of up to this many blocks needs no memory from the heap.
const SMALL_STRIPE: usize = 32;

/// Runs `work` with a list of `length` entries that are all `empty`.
fn with_list<T: Copy, R>(length: usize, empty: T, work: impl FnOnce(&mut [T]) -> R) -> R {
    if length <= SMALL_STRIPE { work(&mut [empty; SMALL_STRIPE][..length]) } else { work(&mut vec![empty; length]) }
}

/// A data block to be computed.
struct Lost<'a> {
    exponent: usize,
    target: &'a mut [u8],
}

/// The blocks of a stripe, sorted by what is known of them. More than two lost data blocks are
/// refused earlier.
struct Stripe<'a> {
    known: &'a [Option<&'a [u8]>],
    lost: [Option<Lost<'a>>; 2],
    p: Block<'a>,
    q: Block<'a>,
}

/// Computes every lost block with the functions of one kernel.
///
/// # Safety
///
/// The processor must have the instructions of `operations`, all blocks must have one length, and
/// with a Q that is known or lost, there must be at most 255 data blocks.
pub(crate) unsafe fn solve(
    operations: &Operations,
    data: &mut [Block<'_>],
    p: Block<'_>,
    q: Block<'_>,
) -> Result<(), Unsolvable> {
    let lost_data = data.iter().filter(|block| matches!(block, Block::Lost(_))).count();
    let known_parity = [&p, &q].into_iter().filter(|block| matches!(block, Block::Known(_))).count();
    if lost_data > known_parity {
        return Err(Unsolvable { lost_data, known_parity });
    }
    with_list(data.len(), None, |known| {
        let mut lost = [None, None];
        let mut places = lost.iter_mut();
        for (exponent, block) in data.iter_mut().enumerate() {
            match block {
                Block::Known(source) => known[exponent] = Some(*source),
                Block::Lost(target) => {
                    let place = places.next().expect("two parity blocks give at most two lost ones");
                    *place = Some(Lost { exponent, target });
                }
                Block::Absent => {}
            }
        }
        // SAFETY: as the caller promises.
        unsafe { solve_stripe(operations, Stripe { known, lost, p, q }) }
    });
    Ok(())
}

/// # Safety
///
/// As for [`solve`].
unsafe fn solve_stripe(operations: &Operations, stripe: Stripe<'_>) {
    let Stripe { known, lost, p, q } = stripe;
    match (lost, p, q) {
        ([None, _], Block::Lost(p), Block::Lost(q)) => {
            // SAFETY: as the caller promises.
            unsafe { (operations.pq)(known, p, q) }
        }
        ([None, _], Block::Lost(target), _) => {
            // SAFETY: as the caller promises.
            unsafe { xor_known(operations, target, known, None) }
        }
        ([Some(lost), None], Block::Known(p), Block::Known(_) | Block::Absent) => {
            // SAFETY: as the caller promises.
            unsafe { xor_known(operations, lost.target, known, Some(p)) }
        }
        (lost, p, q) => {
            // SAFETY: as the caller promises.
            unsafe { solve_by_syndromes(operations, Stripe { known, lost, p, q }) }
        }
    }
}

/// `target` = XOR of all known blocks.
///
/// # Safety
///
/// As for [`solve`].
unsafe fn xor_known(operations: &Operations, target: &mut [u8], known: &[Option<&[u8]>], p: Option<&[u8]>) {
    with_list(known.len() + 1, [].as_slice(), |sources| {
        let mut count = 0;
        for &source in known.iter().chain([&p]).flatten() {
            sources[count] = source;
            count += 1;
        }
        // SAFETY: as the caller promises.
        unsafe { (operations.xor)(target, &sources[..count]) }
    });
}

/// The cases that need Q.
///
/// # Safety
///
/// As for [`solve`].
unsafe fn solve_by_syndromes(operations: &Operations, stripe: Stripe<'_>) {
    let Stripe { known: data, lost, p, q } = stripe;
    let syndromes = |p, q| Syndromes { data, p, q };
    let output = |target, p_factor, q_factor| Output { target, p_factor, q_factor };
    let run = |syndromes, outputs: &mut [Output<'_>]| {
        // SAFETY: as the caller promises.
        unsafe { (operations.recover)(syndromes, outputs) }
    };
    match (lost, p, q) {
        ([Some(first), Some(second)], Block::Known(p), Block::Known(q)) => {
            let (first_power, second_power) = (gf::power(first.exponent), gf::power(second.exponent));
            let scale = gf::inverse(first_power ^ second_power);
            let first = output(first.target, gf::multiply(second_power, scale), scale);
            let second = output(second.target, gf::multiply(first_power, scale), scale);
            run(syndromes(Some(p), Some(q)), &mut [first, second]);
        }
        ([Some(lost), None], Block::Known(p), Block::Lost(q)) => {
            let power = gf::power(lost.exponent);
            run(syndromes(Some(p), None), &mut [output(lost.target, 1, 0), output(q, power, 1)]);
        }
        ([Some(lost), None], p, Block::Known(q)) => {
            let scale = gf::inverse(gf::power(lost.exponent));
            let lost = output(lost.target, 0, scale);
            match p {
                Block::Lost(p) => run(syndromes(None, Some(q)), &mut [lost, output(p, 1, scale)]),
                Block::Known(_) | Block::Absent => run(syndromes(None, Some(q)), &mut [lost]),
            }
        }
        ([None, _], _, Block::Lost(q)) => run(syndromes(None, None), &mut [output(q, 0, 1)]),
        _ => {} // nothing is lost
    }
}
