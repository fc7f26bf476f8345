//! The field GF(2^8) of md's RAID 6: bytes are polynomials over GF(2), multiplied modulo
//! x^8 + x^4 + x^3 + x^2 + 1 (0x11d), and 2 generates all 255 values that are not zero.
//!
//! Addition is XOR. Everything here is for single bytes and for the tables that kernels are made
//! from; the tables are computed while compiling.

/// What is left of x^8 after the reduction: the polynomial without its highest bit.
pub(crate) const POLYNOMIAL: u8 = 0x1d;

/// The number of values that are not zero, after which the powers of 2 repeat.
pub(crate) const ORDER: usize = 255;

static POWERS: [u8; ORDER] = powers();

static LOGARITHMS: [u8; 256] = logarithms();

/// Twice the value.
pub(crate) const fn double(value: u8) -> u8 {
    (value << 1) ^ if value & 0x80 == 0 { 0 } else { POLYNOMIAL }
}

const fn powers() -> [u8; ORDER] {
    let mut table = [1; ORDER];
    let mut exponent = 1;
    while exponent < ORDER {
        table[exponent] = double(table[exponent - 1]);
        exponent += 1;
    }
    table
}

/// The entry of zero, which has no logarithm, is never used.
const fn logarithms() -> [u8; 256] {
    let powers = powers();
    let mut table = [0; 256];
    let mut exponent = 0;
    while exponent < ORDER {
        table[powers[exponent] as usize] = exponent as u8;
        exponent += 1;
    }
    table
}

/// The product by long multiplication, which needs no table.
pub(crate) const fn multiply(left: u8, right: u8) -> u8 {
    let mut product = 0;
    let mut shifted = left;
    let mut bit = 0;
    while bit < 8 {
        if right >> bit & 1 == 1 {
            product ^= shifted;
        }
        shifted = double(shifted);
        bit += 1;
    }
    product
}

/// 2 to the power of `exponent`.
pub(crate) fn power(exponent: usize) -> u8 {
    POWERS[exponent % ORDER]
}

/// The value that multiplied by `value` gives 1. Zero has none.
pub(crate) fn inverse(value: u8) -> u8 {
    assert_ne!(value, 0, "zero has no inverse");
    power(ORDER - usize::from(LOGARITHMS[usize::from(value)]))
}

/// The products of `value` with every low half of a byte, and with every high half: a byte's
/// product is the sum of two.
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), expect(dead_code))]
pub(crate) fn half_products(value: u8) -> [[u8; 16]; 2] {
    let mut tables = [[0; 16]; 2];
    for half in 0..16 {
        tables[0][usize::from(half)] = multiply(value, half);
        tables[1][usize::from(half)] = multiply(value, half << 4);
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_those_of_the_polynomial() {
        let known = [1, 2, 4, 8, 16, 32, 64, 128, 0x1d, 0x3a, 0x74, 0xe8, 0xcd, 0x87, 0x13, 0x26];
        for (exponent, &value) in known.iter().enumerate() {
            assert_eq!(power(exponent), value, "2^{exponent}");
        }
        assert_eq!(power(254), 0x8e, "the inverse of 2");
        assert_eq!(power(255), 1);
    }

    #[test]
    fn products_that_are_known() {
        assert_eq!(multiply(0x80, 2), 0x1d);
        assert_eq!(multiply(0x8e, 2), 1);
        assert_eq!(multiply(0xff, 0), 0);
        assert_eq!(multiply(0xff, 1), 0xff);
        assert_eq!(multiply(0xff, 0xff), 0xe2);
    }

    #[test]
    fn every_value_but_zero_is_a_power_and_has_an_inverse() {
        for value in 1..=255 {
            assert_eq!(multiply(value, inverse(value)), 1, "{value}");
            assert_eq!(power(usize::from(LOGARITHMS[usize::from(value)])), value);
        }
    }

    #[test]
    fn multiplication_commutes_and_distributes() {
        for left in 0..=255 {
            for right in 0..=255 {
                let product = multiply(left, right);
                assert_eq!(product, multiply(right, left));
                assert_eq!(product ^ multiply(left, 0x53), multiply(left, right ^ 0x53));
            }
        }
    }
}
