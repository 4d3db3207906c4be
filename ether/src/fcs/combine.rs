//! CRC-32 of a concatenation from the CRC-32s of its parts.
//!
//! A CRC is linear: the CRC of two parts is that of the first, advanced over as many zero octets as
//! the second has, exclusive-or that of the second. So the CRC of the data of a packet follows from
//! the FCS of the frame and the CRC of the headers, without reading the data.

use super::POLYNOMIAL_REFLECTED;

/// x^0 in the reflected representation: the highest bit.
const ONE: u32 = 1 << 31;
/// x^8: advances by one octet.
const OCTET: u32 = ONE >> 8;

/// The product of two polynomials modulo the generator, reflected.
const fn multiply(a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    let mut bit = ONE;
    while bit != 0 {
        // Masks instead of branches: faster on a core with poor branch prediction.
        product ^= b & 0_u32.wrapping_sub((a & bit != 0) as u32);
        b = b >> 1 ^ POLYNOMIAL_REFLECTED & 0_u32.wrapping_sub(b & 1);
        bit >>= 1;
    }
    product
}

/// Advances a CRC-32 over a fixed number of octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advance(u32);

impl Advance {
    /// Advances over `octets` octets. Costs two multiplications of some 200 instructions for each
    /// bit of `octets`; worth caching for a frequent length.
    #[must_use]
    pub const fn over(mut octets: usize) -> Self {
        let (mut power, mut product) = (OCTET, ONE);
        while octets != 0 {
            if octets & 1 != 0 {
                product = multiply(product, power);
            }
            power = multiply(power, power);
            octets >>= 1;
        }
        Self(product)
    }

    /// CRC-32 of two parts, given those of the `first` and the `second`, which has as many octets
    /// as this advances by. One multiplication.
    ///
    /// ```
    /// use linerate_ether::fcs::{Advance, crc32};
    /// assert_eq!(Advance::over(3).combine(crc32(b"ab"), crc32(b"cde")), crc32(b"abcde"));
    /// ```
    #[must_use]
    pub const fn combine(self, first: u32, second: u32) -> u32 {
        multiply(first, self.0) ^ second
    }

    /// CRC-32 of the second of two parts, given those of the `whole` and of the `first`.
    #[must_use]
    pub const fn split(self, whole: u32, first: u32) -> u32 {
        // Addition and subtraction are the same.
        self.combine(first, whole)
    }
}
