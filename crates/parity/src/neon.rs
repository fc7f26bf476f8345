//! NEON: 16 bytes at a time. Multiplication by a constant looks up the products of both halves of a
//! byte; doubling, which is all that generation needs, is a shift and a masked XOR.

use core::arch::aarch64::*;

use crate::gf;
use crate::lane::{self, Lane, Sums};
use crate::operation::{Data, Operations, Output, Syndromes};

/// Sound to call on processors with NEON.
pub(crate) static OPERATIONS: Operations = Operations { xor, pq, update, recover };

#[target_feature(enable = "neon")]
unsafe fn xor(target: &mut [u8], sources: &[&[u8]]) {
    // SAFETY: as the caller promises.
    unsafe { lane::xor::<uint8x16_t, 4, 4, 8>(target, sources) }
}

#[target_feature(enable = "neon")]
unsafe fn pq(data: Data<'_>, p: &mut [u8], q: &mut [u8]) {
    // SAFETY: as the caller promises.
    unsafe { lane::pq::<uint8x16_t, 4, 4>(data, p, q) }
}

#[target_feature(enable = "neon")]
unsafe fn update(target: &mut [u8], factor: u8, old: &[u8], new: &[u8]) {
    // SAFETY: as the caller promises.
    unsafe { lane::update::<uint8x16_t>(target, factor, old, new) }
}

#[target_feature(enable = "neon")]
unsafe fn recover(syndromes: Syndromes<'_>, outputs: &mut [Output<'_>]) {
    // SAFETY: as the caller promises.
    unsafe { lane::recover::<uint8x16_t, 4>(syndromes, outputs) }
}

/// The products of one factor with the low and with the high half of a byte.
#[derive(Clone, Copy)]
pub(crate) struct Tables {
    low: uint8x16_t,
    high: uint8x16_t,
}

// SAFETY: vectors have 16 bytes, and only NEON is used.
unsafe impl Lane for uint8x16_t {
    const BYTES: usize = 16;

    type Factor = Tables;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the processor has NEON.
        unsafe { vdupq_n_u8(0) }
    }

    #[inline(always)]
    unsafe fn load(address: *const u8) -> Self {
        // SAFETY: the processor has NEON, and 16 bytes can be read.
        unsafe { vld1q_u8(address) }
    }

    #[inline(always)]
    unsafe fn store(self, address: *mut u8) {
        // SAFETY: the processor has NEON, and 16 bytes can be written.
        unsafe { vst1q_u8(address, self) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the processor has NEON.
        unsafe { veorq_u8(self, other) }
    }

    #[inline(always)]
    unsafe fn factor(value: u8) -> Tables {
        let [low, high] = gf::half_products(value);
        // SAFETY: the processor has NEON, and the tables have 16 bytes.
        unsafe { Tables { low: vld1q_u8(low.as_ptr()), high: vld1q_u8(high.as_ptr()) } }
    }

    #[inline(always)]
    unsafe fn multiply(self, factor: Tables) -> Self {
        // SAFETY: the processor has NEON.
        unsafe {
            let low = vandq_u8(self, vdupq_n_u8(0x0f));
            let high = vshrq_n_u8::<4>(self);
            veorq_u8(vqtbl1q_u8(factor.low, low), vqtbl1q_u8(factor.high, high))
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
/// The processor has NEON.
#[inline(always)]
unsafe fn double(vector: uint8x16_t) -> uint8x16_t {
    // SAFETY: the processor has NEON.
    unsafe {
        let carries = vcltzq_s8(vreinterpretq_s8_u8(vector));
        let reduction = vandq_u8(carries, vdupq_n_u8(gf::POLYNOMIAL));
        veorq_u8(vshlq_n_u8::<1>(vector), reduction)
    }
}
