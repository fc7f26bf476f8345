//! What a kernel does: four operations, as a table of functions that the kernel's module provides.
//!
//! All blocks of one call have the same length, which [`Parity`](crate::Parity) has checked before.

use crate::scalar;

/// Data blocks in the order of their exponents; `None` is a block of zeros.
pub(crate) type Data<'a> = &'a [Option<&'a [u8]>];

/// The known blocks of a stripe. Summing them up gives two syndromes per column, which depend on
/// the lost blocks alone: `p` of the data XOR the stored P, and the same for Q.
#[derive(Clone, Copy)]
pub(crate) struct Syndromes<'a> {
    pub(crate) data: Data<'a>,
    pub(crate) p: Option<&'a [u8]>,
    pub(crate) q: Option<&'a [u8]>,
}

/// One block to be computed: `p_factor` * P syndrome ^ `q_factor` * Q syndrome.
pub(crate) struct Output<'a> {
    pub(crate) target: &'a mut [u8],
    pub(crate) p_factor: u8,
    pub(crate) q_factor: u8,
}

/// A kernel's functions. Calling one is sound when the processor has the kernel's instructions, all
/// blocks have one length, and where Q matters there are at most 255 of them.
pub(crate) struct Operations {
    /// `target` = XOR of all sources.
    pub(crate) xor: unsafe fn(target: &mut [u8], sources: &[&[u8]]),
    /// P and Q of the data.
    pub(crate) pq: unsafe fn(data: Data<'_>, p: &mut [u8], q: &mut [u8]),
    /// `target` ^= `factor` * (`old` ^ `new`).
    pub(crate) update: unsafe fn(target: &mut [u8], factor: u8, old: &[u8], new: &[u8]),
    /// Every output, in one pass over memory.
    pub(crate) recover: unsafe fn(syndromes: Syndromes<'_>, outputs: &mut [Output<'_>]),
}

/// The operations of the scalar kernel.
pub(crate) static SCALAR: Operations = Operations {
    xor: |target, sources| scalar::xor(0, target, sources),
    pq: |data, p, q| scalar::pq(0, data, p, q),
    update: |target, factor, old, new| scalar::update(0, target, factor, old, new),
    recover: |syndromes, outputs| scalar::recover(0, syndromes, outputs),
};
