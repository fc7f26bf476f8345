//! AVX2: 32 bytes at a time. Multiplication by a constant looks up the products of both halves of a
//! byte; doubling, which is all that generation needs, is a shift and a masked XOR.

use core::arch::x86_64::*;

use crate::gf;
use crate::lane::{self, Lane, Sums};
use crate::operation::{Data, Operations, Output, Syndromes};

/// Sound to call on processors with AVX2.
pub(crate) static OPERATIONS: Operations = Operations { xor, pq, update, recover };

#[target_feature(enable = "avx2")]
unsafe fn xor(target: &mut [u8], sources: &[&[u8]]) {
    // SAFETY: as the caller promises.
    unsafe { lane::xor::<__m256i, 4, 4, 8>(target, sources) }
}

#[target_feature(enable = "avx2")]
unsafe fn pq(data: Data<'_>, p: &mut [u8], q: &mut [u8]) {
    // SAFETY: as the caller promises.
    unsafe { lane::pq::<__m256i, 4, 4>(data, p, q) }
}

#[target_feature(enable = "avx2")]
unsafe fn update(target: &mut [u8], factor: u8, old: &[u8], new: &[u8]) {
    // SAFETY: as the caller promises.
    unsafe { lane::update::<__m256i>(target, factor, old, new) }
}

#[target_feature(enable = "avx2")]
unsafe fn recover(syndromes: Syndromes<'_>, outputs: &mut [Output<'_>]) {
    // SAFETY: as the caller promises.
    unsafe { lane::recover::<__m256i, 4>(syndromes, outputs) }
}

/// The products of one factor with the low and with the high half of a byte; each table twice, once
/// per 128 bits.
#[derive(Clone, Copy)]
pub(crate) struct Tables {
    low: __m256i,
    high: __m256i,
}

// SAFETY: vectors have 32 bytes, and only AVX2 is used.
unsafe impl Lane for __m256i {
    const BYTES: usize = 32;

    type Factor = Tables;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the processor has AVX2.
        unsafe { _mm256_setzero_si256() }
    }

    #[inline(always)]
    unsafe fn load(address: *const u8) -> Self {
        // SAFETY: the processor has AVX2, and 32 bytes can be read.
        unsafe { _mm256_loadu_si256(address.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, address: *mut u8) {
        // SAFETY: the processor has AVX2, and 32 bytes can be written.
        unsafe { _mm256_storeu_si256(address.cast(), self) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the processor has AVX2.
        unsafe { _mm256_xor_si256(self, other) }
    }

    #[inline(always)]
    unsafe fn factor(value: u8) -> Tables {
        let [low, high] = gf::half_products(value);
        // SAFETY: the processor has AVX2, and the tables have 16 bytes.
        unsafe {
            let twice = |table: &[u8; 16]| _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast()));
            Tables { low: twice(&low), high: twice(&high) }
        }
    }

    #[inline(always)]
    unsafe fn multiply(self, factor: Tables) -> Self {
        // SAFETY: the processor has AVX2.
        unsafe {
            let mask = _mm256_set1_epi8(0x0f);
            let low = _mm256_and_si256(self, mask);
            let high = _mm256_and_si256(_mm256_srli_epi64::<4>(self), mask);
            _mm256_xor_si256(_mm256_shuffle_epi8(factor.low, low), _mm256_shuffle_epi8(factor.high, high))
        }
    }

    #[inline(always)]
    unsafe fn sums<const N: usize>(data: Data<'_>, offset: usize) -> Sums<Self, N> {
        // SAFETY: as the caller promises.
        unsafe { lane::sums_by_doubling(data, offset, |vector| double(vector)) }
    }
}

/// Twice every byte: those with the highest bit set, which are negative, are reduced by the
/// polynomial.
///
/// # Safety
///
/// The processor has AVX2.
#[inline(always)]
unsafe fn double(vector: __m256i) -> __m256i {
    // SAFETY: the processor has AVX2.
    unsafe {
        let carries = _mm256_cmpgt_epi8(_mm256_setzero_si256(), vector);
        let reduction = _mm256_and_si256(carries, _mm256_set1_epi8(gf::POLYNOMIAL.cast_signed()));
        _mm256_xor_si256(_mm256_add_epi8(vector, vector), reduction)
    }
}
