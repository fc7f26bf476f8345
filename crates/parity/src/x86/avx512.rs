//! AVX-512 with GFNI: 64 bytes at a time. Multiplication by a constant is linear over the bits of a
//! byte, hence one instruction, which multiplies by an 8x8 matrix of bits. The field that other
//! GFNI instructions know is AES's, which is not ours.

use core::arch::x86_64::*;

use crate::gf;
use crate::lane::{self, Lane, Sums};
use crate::operation::{Data, Operations, Output, Syndromes};

/// Sound to call on processors with AVX-512F, AVX-512BW and GFNI.
pub(crate) static OPERATIONS: Operations = Operations { xor, pq, update, recover };

#[target_feature(enable = "avx512f,avx512bw,gfni")]
unsafe fn xor(target: &mut [u8], sources: &[&[u8]]) {
    // SAFETY: as the caller promises.
    unsafe { lane::xor::<__m512i, 2, 4, 8>(target, sources) }
}

#[target_feature(enable = "avx512f,avx512bw,gfni")]
unsafe fn pq(data: Data<'_>, p: &mut [u8], q: &mut [u8]) {
    // SAFETY: as the caller promises.
    unsafe { lane::pq::<__m512i, 4, 8>(data, p, q) }
}

#[target_feature(enable = "avx512f,avx512bw,gfni")]
unsafe fn update(target: &mut [u8], factor: u8, old: &[u8], new: &[u8]) {
    // SAFETY: as the caller promises.
    unsafe { lane::update::<__m512i>(target, factor, old, new) }
}

#[target_feature(enable = "avx512f,avx512bw,gfni")]
unsafe fn recover(syndromes: Syndromes<'_>, outputs: &mut [Output<'_>]) {
    // SAFETY: as the caller promises.
    unsafe { lane::recover::<__m512i, 4>(syndromes, outputs) }
}

/// The matrices that multiply by the powers of 2.
static POWER_MATRICES: [u64; gf::ORDER] = power_matrices();

const fn power_matrices() -> [u64; gf::ORDER] {
    let mut matrices = [0; gf::ORDER];
    let mut power = 1;
    let mut exponent = 0;
    while exponent < gf::ORDER {
        matrices[exponent] = matrix(power);
        power = gf::double(power);
        exponent += 1;
    }
    matrices
}

/// The matrix that multiplies by `value`. Byte `7 - i` of it is the row for bit `i` of the product:
/// its bit `j` says whether bit `j` of the other factor counts.
const fn matrix(value: u8) -> u64 {
    let mut rows = [0u8; 8];
    let mut column = 0;
    while column < 8 {
        let product = gf::multiply(value, 1 << column);
        let mut bit = 0;
        while bit < 8 {
            rows[bit] |= (product >> bit & 1) << column;
            bit += 1;
        }
        column += 1;
    }
    u64::from_be_bytes(rows)
}

// SAFETY: vectors have 64 bytes, and only AVX-512F, AVX-512BW and GFNI are used.
unsafe impl Lane for __m512i {
    const BYTES: usize = 64;

    type Factor = Self;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the processor has AVX-512F.
        unsafe { _mm512_setzero_si512() }
    }

    #[inline(always)]
    unsafe fn load(address: *const u8) -> Self {
        // SAFETY: the processor has AVX-512F, and 64 bytes can be read.
        unsafe { _mm512_loadu_si512(address.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, address: *mut u8) {
        // SAFETY: the processor has AVX-512F, and 64 bytes can be written.
        unsafe { _mm512_storeu_si512(address.cast(), self) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the processor has AVX-512F.
        unsafe { _mm512_xor_si512(self, other) }
    }

    #[inline(always)]
    unsafe fn xor3(self, second: Self, third: Self) -> Self {
        /// The truth table of the XOR of three bits.
        const ODD: i32 = 0x96;
        // SAFETY: the processor has AVX-512F.
        unsafe { _mm512_ternarylogic_epi64::<ODD>(self, second, third) }
    }

    #[inline(always)]
    unsafe fn factor(value: u8) -> Self {
        // SAFETY: the processor has AVX-512F.
        unsafe { _mm512_set1_epi64(matrix(value).cast_signed()) }
    }

    #[inline(always)]
    unsafe fn multiply(self, factor: Self) -> Self {
        // SAFETY: the processor has AVX-512F and GFNI.
        unsafe { _mm512_gf2p8affine_epi64_epi8::<0>(self, factor) }
    }

    /// Every block is multiplied by its own power: chains of dependent instructions stay short, and
    /// blocks of zeros cost nothing. Two blocks at a time, to have their sum by one instruction.
    #[inline(always)]
    unsafe fn sums<const N: usize>(data: Data<'_>, offset: usize) -> Sums<Self, N> {
        // SAFETY: the processor has the instructions, and the vectors lie in the blocks.
        unsafe {
            let (mut sums, mut exponent) = match *data {
                [Some(first), Some(second), ..] => (first_two([first, second], offset), 2),
                _ => (Sums { p: [Self::zero(); N], q: [Self::zero(); N] }, 0),
            };
            let (pairs, rest) = data[exponent..].as_chunks::<2>();
            for pair in pairs {
                match *pair {
                    [Some(first), Some(second)] => add_two(&mut sums, [first, second], exponent, offset),
                    [Some(first), None] => add_one(&mut sums, first, exponent, offset),
                    [None, Some(second)] => add_one(&mut sums, second, exponent + 1, offset),
                    [None, None] => {}
                }
                exponent += 2;
            }
            if let [Some(last)] = *rest {
                add_one(&mut sums, last, exponent, offset);
            }
            sums
        }
    }
}

/// # Safety
///
/// The processor has AVX-512F, and the exponent is less than the field's order.
#[inline(always)]
unsafe fn power_matrix(exponent: usize) -> __m512i {
    debug_assert!(exponent < gf::ORDER);
    // SAFETY: as the caller promises.
    unsafe { _mm512_set1_epi64(POWER_MATRICES.get_unchecked(exponent).cast_signed()) }
}

/// The sums of the first two blocks, one of which needs no multiplication.
///
/// # Safety
///
/// As for [`Lane::sums`].
#[inline(always)]
unsafe fn first_two<const N: usize>(blocks: [&[u8]; 2], offset: usize) -> Sums<__m512i, N> {
    // SAFETY: as the caller promises.
    unsafe {
        let mut sums = Sums { p: [__m512i::zero(); N], q: [__m512i::zero(); N] };
        let [first, second] = blocks.map(|block| block.as_ptr().add(offset));
        let double = power_matrix(1);
        for index in 0..N {
            let first = __m512i::load(first.add(index * 64));
            let second = __m512i::load(second.add(index * 64));
            sums.p[index] = first.xor(second);
            sums.q[index] = first.xor(second.multiply(double));
        }
        sums
    }
}

/// Adds two neighbours to the sums.
///
/// # Safety
///
/// As for [`Lane::sums`].
#[inline(always)]
unsafe fn add_two<const N: usize>(sums: &mut Sums<__m512i, N>, blocks: [&[u8]; 2], exponent: usize, offset: usize) {
    // SAFETY: as the caller promises.
    unsafe {
        let [first, second] = blocks.map(|block| block.as_ptr().add(offset));
        let (first_matrix, second_matrix) = (power_matrix(exponent), power_matrix(exponent + 1));
        for index in 0..N {
            let first = __m512i::load(first.add(index * 64));
            let second = __m512i::load(second.add(index * 64));
            sums.p[index] = sums.p[index].xor3(first, second);
            sums.q[index] = sums.q[index].xor3(first.multiply(first_matrix), second.multiply(second_matrix));
        }
    }
}

/// Adds one block to the sums.
///
/// # Safety
///
/// As for [`Lane::sums`].
#[inline(always)]
unsafe fn add_one<const N: usize>(sums: &mut Sums<__m512i, N>, block: &[u8], exponent: usize, offset: usize) {
    // SAFETY: as the caller promises.
    unsafe {
        let matrix = power_matrix(exponent);
        for index in 0..N {
            let vector = __m512i::load(block.as_ptr().add(offset + index * 64));
            sums.p[index] = sums.p[index].xor(vector);
            sums.q[index] = sums.q[index].xor(vector.multiply(matrix));
        }
    }
}
