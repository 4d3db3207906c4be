//! CRC-32C (Castagnoli): polynomial 0x1EDC6F41, reflected, as in RFC 3720 appendix B.4.
//!
//! It detects every pattern of up to five wrong bits in a frame of this link (Hamming distance 6 up to 5,243 bits)
//! and every odd number of wrong bits; `docs/link-protocol.md` gives the sources.

/// The polynomial 0x1EDC6F41 with its bits reversed.
const POLYNOMIAL_REFLECTED: u32 = 0x82F6_3B78;

/// The register before the first octet.
pub(crate) const INITIAL: u32 = !0;

/// Contribution of four bits: 64 bytes, where the usual table takes 1,024.
static TABLE: [u32; 16] = {
    let mut table = [0; 16];
    let mut index = 0;
    while index < 16 {
        let mut register = index as u32;
        let mut bit = 0;
        while bit < 4 {
            let carry = register & 1;
            register >>= 1;
            if carry != 0 {
                register ^= POLYNOMIAL_REFLECTED;
            }
            bit += 1;
        }
        table[index] = register;
        index += 1;
    }
    table
};

/// Advances the register over one octet.
pub(crate) fn update(register: u32, octet: u8) -> u32 {
    let register = four_bits(register ^ u32::from(octet));
    four_bits(register)
}

fn four_bits(register: u32) -> u32 {
    (register >> 4) ^ TABLE[(register & 15) as usize]
}

/// CRC of two session numbers: it is added to the check of every frame between these two sessions.
pub(crate) fn of_sessions(from: u32, to: u32) -> u32 {
    let octets = [from.to_le_bytes(), to.to_le_bytes()];
    let register = octets
        .as_flattened()
        .iter()
        .fold(INITIAL, |r, &o| update(r, o));
    !register
}

#[cfg(test)]
mod tests {
    use super::{INITIAL, update};

    #[test]
    fn the_check_value_of_the_catalogue_is_met() {
        let register = b"123456789".iter().fold(INITIAL, |r, &o| update(r, o));
        assert_eq!(!register, 0xE306_9283);
    }
}
