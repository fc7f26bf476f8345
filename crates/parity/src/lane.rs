//! The operations of a kernel, written once over a vector of bytes that the kernel's module
//! provides.
//!
//! The bytes go by tiles: for as many vectors as the registers hold sums for, every block is read
//! once, from the first to the last, and the sums are stored. So each block is read in runs of
//! several cache lines, which the processor's prefetcher recognises, and nothing is written but the
//! results. What is left after the last whole tile goes by single vectors, and the last bytes go to
//! the scalar kernel.
//!
//! The usual small numbers of blocks have loops of their own, in which the compiler knows the
//! number and keeps the addresses in registers: the bytes that fill no vector are left to the
//! caller, so that no list of addresses has to be in memory. They are measured to do better with
//! narrower tiles, and larger numbers with wider ones.

use crate::operation::{Data, Output, Syndromes};
use crate::scalar;

/// A vector of bytes in a register.
///
/// # Safety
///
/// All functions are unsafe to call on a processor without the vector's instructions; `load` and
/// `store` need [`Lane::BYTES`] bytes to be there. An implementation may rely on nothing else.
pub(crate) unsafe trait Lane: Copy {
    /// The size of the vector.
    const BYTES: usize;

    /// A multiplication by a constant, prepared.
    type Factor: Copy;

    unsafe fn zero() -> Self;
    unsafe fn load(address: *const u8) -> Self;
    unsafe fn store(self, address: *mut u8);
    unsafe fn xor(self, other: Self) -> Self;
    unsafe fn factor(value: u8) -> Self::Factor;
    unsafe fn multiply(self, factor: Self::Factor) -> Self;

    /// The XOR of three.
    #[inline(always)]
    unsafe fn xor3(self, second: Self, third: Self) -> Self {
        // SAFETY: as the caller promises.
        unsafe { self.xor(second).xor(third) }
    }

    /// P and Q of `N` vectors of every data block, from byte `offset` on.
    ///
    /// # Safety
    ///
    /// Every data block has at least `offset + N * BYTES` bytes.
    unsafe fn sums<const N: usize>(data: Data<'_>, offset: usize) -> Sums<Self, N>;
}

/// P and Q of some columns.
pub(crate) struct Sums<L, const N: usize> {
    pub(crate) p: [L; N],
    pub(crate) q: [L; N],
}

/// XOR of `N` vectors of all sources. Two at a time, since some vectors have an instruction for
/// three operands.
///
/// # Safety
///
/// Every block has at least `offset + N * BYTES` bytes.
#[inline(always)]
unsafe fn xor_tile<L: Lane, const N: usize>(target: *mut u8, sources: &[&[u8]], offset: usize) {
    // SAFETY: the caller promises that the vectors lie in the blocks.
    unsafe {
        let mut sums = [L::zero(); N];
        let (head, pairs) = sources.as_rchunks::<2>();
        if let [first] = head {
            let first = first.as_ptr().add(offset);
            for (index, sum) in sums.iter_mut().enumerate() {
                *sum = L::load(first.add(index * L::BYTES));
            }
        }
        for (number, [first, second]) in pairs.iter().enumerate() {
            let (first, second) = (first.as_ptr().add(offset), second.as_ptr().add(offset));
            let is_start = number == 0 && head.is_empty();
            for (index, sum) in sums.iter_mut().enumerate() {
                let (first, second) = (L::load(first.add(index * L::BYTES)), L::load(second.add(index * L::BYTES)));
                *sum = if is_start { first.xor(second) } else { sum.xor3(first, second) };
            }
        }
        store(&sums, target.add(offset));
    }
}

/// # Safety
///
/// `N * BYTES` bytes can be written at `address`.
#[inline(always)]
unsafe fn store<L: Lane, const N: usize>(vectors: &[L; N], address: *mut u8) {
    for (index, vector) in vectors.iter().enumerate() {
        // SAFETY: as the caller promises.
        unsafe { vector.store(address.add(index * L::BYTES)) }
    }
}

/// `target` = XOR of all sources, by tiles of `FEW`, `SOME` or `MANY` vectors for up to 4, up to 8,
/// or more sources.
///
/// # Safety
///
/// All blocks have one length, and the processor has the instructions.
#[inline(always)]
pub(crate) unsafe fn xor<L: Lane, const FEW: usize, const SOME: usize, const MANY: usize>(
    target: &mut [u8],
    sources: &[&[u8]],
) {
    // SAFETY: as the caller promises.
    let done = unsafe {
        match *sources {
            [a, b, c] => xor_tiles::<L, FEW>(target, &[a, b, c]),
            [a, b, c, d] => xor_tiles::<L, FEW>(target, &[a, b, c, d]),
            [a, b, c, d, e] => xor_tiles::<L, SOME>(target, &[a, b, c, d, e]),
            [a, b, c, d, e, f] => xor_tiles::<L, SOME>(target, &[a, b, c, d, e, f]),
            [a, b, c, d, e, f, g, h] => xor_tiles::<L, SOME>(target, &[a, b, c, d, e, f, g, h]),
            _ => xor_tiles::<L, MANY>(target, sources),
        }
    };
    if done < target.len() {
        scalar::xor(done, target, sources);
    }
}

/// All whole vectors; how many bytes these are.
///
/// # Safety
///
/// As for [`xor`].
#[inline(always)]
unsafe fn xor_tiles<L: Lane, const N: usize>(target: &mut [u8], sources: &[&[u8]]) -> usize {
    let length = target.len();
    let address = target.as_mut_ptr();
    let mut offset = 0;
    while offset + N * L::BYTES <= length {
        // SAFETY: the tile ends in the blocks.
        unsafe { xor_tile::<L, N>(address, sources, offset) };
        offset += N * L::BYTES;
    }
    while offset + L::BYTES <= length {
        // SAFETY: the vector ends in the blocks.
        unsafe { xor_tile::<L, 1>(address, sources, offset) };
        offset += L::BYTES;
    }
    offset
}

/// P and Q of the data, by tiles of `FEW` or `MANY` vectors.
///
/// # Safety
///
/// All blocks have one length, and the processor has the instructions.
#[inline(always)]
pub(crate) unsafe fn pq<L: Lane, const FEW: usize, const MANY: usize>(data: Data<'_>, p: &mut [u8], q: &mut [u8]) {
    // SAFETY: as the caller promises.
    let done = unsafe {
        match *data {
            [Some(a), Some(b), Some(c)] => pq_tiles::<L, FEW>(&[a, b, c].map(Some), p, q),
            [Some(a), Some(b), Some(c), Some(d)] => pq_tiles::<L, FEW>(&[a, b, c, d].map(Some), p, q),
            [Some(a), Some(b), Some(c), Some(d), Some(e)] => pq_tiles::<L, FEW>(&[a, b, c, d, e].map(Some), p, q),
            [Some(a), Some(b), Some(c), Some(d), Some(e), Some(f)] => {
                pq_tiles::<L, FEW>(&[a, b, c, d, e, f].map(Some), p, q)
            }
            _ => pq_tiles::<L, MANY>(data, p, q),
        }
    };
    if done < p.len() {
        scalar::pq(done, data, p, q);
    }
}

/// All whole vectors; how many bytes these are.
///
/// # Safety
///
/// As for [`pq`].
#[inline(always)]
unsafe fn pq_tiles<L: Lane, const N: usize>(data: Data<'_>, p: &mut [u8], q: &mut [u8]) -> usize {
    let length = p.len();
    let (p_address, q_address) = (p.as_mut_ptr(), q.as_mut_ptr());
    let mut offset = 0;
    while offset + N * L::BYTES <= length {
        // SAFETY: the tile ends in the blocks.
        unsafe {
            let sums = L::sums::<N>(data, offset);
            store(&sums.p, p_address.add(offset));
            store(&sums.q, q_address.add(offset));
        }
        offset += N * L::BYTES;
    }
    while offset + L::BYTES <= length {
        // SAFETY: the vector ends in the blocks.
        unsafe {
            let sums = L::sums::<1>(data, offset);
            store(&sums.p, p_address.add(offset));
            store(&sums.q, q_address.add(offset));
        }
        offset += L::BYTES;
    }
    offset
}

/// `target` ^= `factor` * (`old` ^ `new`). A factor of one costs no multiplication.
///
/// # Safety
///
/// All blocks have one length, and the processor has the instructions.
#[inline(always)]
pub(crate) unsafe fn update<L: Lane>(target: &mut [u8], factor: u8, old: &[u8], new: &[u8]) {
    // SAFETY: the processor has the instructions.
    let prepared = unsafe { L::factor(factor) };
    let whole = target.len() - target.len() % L::BYTES;
    let address = target.as_mut_ptr();
    for offset in (0..whole).step_by(L::BYTES) {
        // SAFETY: the vector ends in the blocks.
        unsafe {
            let (old, new) = (L::load(old.as_ptr().add(offset)), L::load(new.as_ptr().add(offset)));
            let address = address.add(offset);
            let sum = if factor == 1 {
                L::load(address).xor3(old, new)
            } else {
                L::load(address).xor(old.xor(new).multiply(prepared))
            };
            sum.store(address);
        }
    }
    scalar::update(whole, target, factor, old, new);
}

/// The syndromes of `N` vectors, and from them the same vectors of every output.
///
/// # Safety
///
/// All blocks have at least `offset + N * BYTES` bytes.
#[inline(always)]
unsafe fn recover_tile<L: Lane, const N: usize>(
    syndromes: Syndromes<'_>,
    outputs: &mut [Output<'_>],
    factors: &[[L::Factor; 2]; 2],
    offset: usize,
) {
    // SAFETY: the caller promises that the vectors lie in the blocks.
    unsafe {
        let Sums { mut p, mut q } = L::sums::<N>(syndromes.data, offset);
        for (sums, stored) in [(&mut p, syndromes.p), (&mut q, syndromes.q)] {
            let Some(stored) = stored else { continue };
            let stored = stored.as_ptr().add(offset);
            for (index, sum) in sums.iter_mut().enumerate() {
                *sum = sum.xor(L::load(stored.add(index * L::BYTES)));
            }
        }
        for (output, [p_factor, q_factor]) in outputs.iter_mut().zip(factors) {
            let target = output.target.as_mut_ptr().add(offset);
            for (index, (p, q)) in p.iter().zip(&q).enumerate() {
                p.multiply(*p_factor).xor(q.multiply(*q_factor)).store(target.add(index * L::BYTES));
            }
        }
    }
}

/// Every output, in one pass over memory, by tiles of `N` vectors.
///
/// # Safety
///
/// All blocks have one length, there are at most two outputs, and the processor has the
/// instructions.
#[inline(always)]
pub(crate) unsafe fn recover<L: Lane, const N: usize>(syndromes: Syndromes<'_>, outputs: &mut [Output<'_>]) {
    let length = outputs.first().map_or(0, |output| output.target.len());
    let factor = |index: usize| outputs.get(index).map_or((0, 0), |output| (output.p_factor, output.q_factor));
    let factors = [factor(0), factor(1)].map(|(p_factor, q_factor)| {
        // SAFETY: the processor has the instructions.
        unsafe { [L::factor(p_factor), L::factor(q_factor)] }
    });
    let mut offset = 0;
    while offset + N * L::BYTES <= length {
        // SAFETY: the tile ends in the blocks.
        unsafe { recover_tile::<L, N>(syndromes, outputs, &factors, offset) };
        offset += N * L::BYTES;
    }
    while offset + L::BYTES <= length {
        // SAFETY: the vector ends in the blocks.
        unsafe { recover_tile::<L, 1>(syndromes, outputs, &factors, offset) };
        offset += L::BYTES;
    }
    scalar::recover(offset, syndromes, outputs);
}

/// [`Lane::sums`] by Horner's rule, for vectors that are doubled more cheaply than multiplied.
///
/// # Safety
///
/// Every data block has at least `offset + N * BYTES` bytes, and `double` needs nothing but the
/// lane's instructions.
#[inline(always)]
pub(crate) unsafe fn sums_by_doubling<L: Lane, const N: usize>(
    data: Data<'_>,
    offset: usize,
    double: impl Fn(L) -> L,
) -> Sums<L, N> {
    // SAFETY: the caller promises that the vectors lie in the blocks.
    unsafe {
        let (mut p, mut q) = ([L::zero(); N], [L::zero(); N]);
        let mut rest = data;
        if let [lower @ .., Some(highest)] = data {
            rest = lower;
            for (index, sum) in p.iter_mut().enumerate() {
                *sum = L::load(highest.as_ptr().add(offset + index * L::BYTES));
            }
            q = p;
        }
        for block in rest.iter().rev() {
            for sum in &mut q {
                *sum = double(*sum);
            }
            let Some(block) = block else { continue };
            let address = block.as_ptr().add(offset);
            for index in 0..N {
                let vector = L::load(address.add(index * L::BYTES));
                p[index] = p[index].xor(vector);
                q[index] = q[index].xor(vector);
            }
        }
        Sums { p, q }
    }
}
