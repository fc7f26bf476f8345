//! The reference: one byte at a time, by the definitions. Every other kernel is tested against it,
//! and hands it the bytes at the end that fill no whole vector; hence every function begins at byte
//! `start`.

use crate::gf;
use crate::operation::{Data, Output, Syndromes};

/// `target` = XOR of all `sources`.
pub(crate) fn xor(start: usize, target: &mut [u8], sources: &[&[u8]]) {
    for (index, byte) in target.iter_mut().enumerate().skip(start) {
        *byte = sources.iter().fold(0, |sum, source| sum ^ source[index]);
    }
}

/// P and Q of one column, by Horner's rule from the highest exponent down.
fn column(data: Data<'_>, index: usize) -> (u8, u8) {
    data.iter().rev().fold((0, 0), |(p, q), block| {
        let byte = block.map_or(0, |block| block[index]);
        (p ^ byte, gf::double(q) ^ byte)
    })
}

/// `p` and `q` of all data.
pub(crate) fn pq(start: usize, data: Data<'_>, p: &mut [u8], q: &mut [u8]) {
    for (index, (p, q)) in p.iter_mut().zip(q).enumerate().skip(start) {
        (*p, *q) = column(data, index);
    }
}

/// `target` ^= `factor` * (`old` ^ `new`).
pub(crate) fn update(start: usize, target: &mut [u8], factor: u8, old: &[u8], new: &[u8]) {
    for (index, byte) in target.iter_mut().enumerate().skip(start) {
        *byte ^= gf::multiply(old[index] ^ new[index], factor);
    }
}

/// Fills the outputs from what the known data leaves of P and Q.
pub(crate) fn recover(start: usize, syndromes: Syndromes<'_>, outputs: &mut [Output<'_>]) {
    let length = outputs.first().map_or(0, |output| output.target.len());
    for index in start..length {
        let (data_p, data_q) = column(syndromes.data, index);
        let p = data_p ^ syndromes.p.map_or(0, |block| block[index]);
        let q = data_q ^ syndromes.q.map_or(0, |block| block[index]);
        for output in outputs.iter_mut() {
            output.target[index] = gf::multiply(p, output.p_factor) ^ gf::multiply(q, output.q_factor);
        }
    }
}
