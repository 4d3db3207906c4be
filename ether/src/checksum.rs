//! The Internet checksum: RFC 1071, incremental update by RFC 1624, pseudo-header for IPv4.
//!
//! Sums are kept in memory order: 32-bit little-endian words are added with end-around carry and
//! the result is swapped once at the end, which gives the big-endian sum because the one's
//! complement sum does not depend on byte order (RFC 1071 section 2(B)).

/// The sum of a range of bytes, before folding and complement.
///
/// Parts may have any length and therefore start at odd offsets.
///
/// ```
/// use linerate_ether::checksum::{Sum, checksum};
/// let mut sum = Sum::new();
/// sum.add(b"abc").add(b"de");
/// assert_eq!(sum.checksum(), checksum(b"abcde"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum {
    /// One's complement sum of little-endian words, 32 bits with end-around carry.
    words: u32,
    /// True after an odd number of bytes: the next byte is the second of its 16-bit word.
    odd: bool,
}

/// Adds with end-around carry.
const fn add_carry(a: u32, b: u32) -> u32 {
    let (sum, carry) = a.overflowing_add(b);
    // Cannot overflow again: after a carry the sum is at most 2^32 - 2.
    sum + carry as u32
}

impl Sum {
    /// The sum of no bytes.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            words: 0,
            odd: false,
        }
    }

    /// Appends bytes.
    pub fn add(&mut self, bytes: &[u8]) -> &mut Self {
        let (words, rest) = bytes.as_chunks::<4>();
        let mut sum = 0;
        for word in words {
            sum = add_carry(sum, u32::from_le_bytes(*word));
        }
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        sum = add_carry(sum, u32::from_le_bytes(last));
        self.append(Self {
            words: sum,
            odd: bytes.len() % 2 == 1,
        })
    }

    /// Appends words in memory order: whole-word loads on cores that trap unaligned access.
    pub fn add_words(&mut self, words: &[u32]) -> &mut Self {
        let sum = words
            .iter()
            .fold(0, |sum, word| add_carry(sum, word.to_le()));
        self.append(Self {
            words: sum,
            odd: false,
        })
    }

    /// Like [`Self::add_words`], eight words per iteration: for long ranges where a branch costs as
    /// much as adding a word.
    pub fn add_words_unrolled(&mut self, words: &[u32]) -> &mut Self {
        let (rounds, rest) = words.as_chunks::<8>();
        let mut sum = 0;
        for round in rounds {
            for word in round {
                sum = add_carry(sum, word.to_le());
            }
        }
        self.append(Self {
            words: sum,
            odd: false,
        });
        self.add_words(rest)
    }

    /// Appends one 16-bit field in network byte order.
    pub fn add_u16(&mut self, field: u16) -> &mut Self {
        self.append(Self {
            words: u32::from(field.swap_bytes()),
            odd: false,
        })
    }

    /// Appends a range that was summed separately.
    pub fn append(&mut self, next: Self) -> &mut Self {
        // At an odd offset every byte of the range changes places within its 16-bit word.
        let words = if self.odd {
            next.words.rotate_left(8)
        } else {
            next.words
        };
        self.words = add_carry(self.words, words);
        self.odd ^= next.odd;
        self
    }

    /// The sum as 16 bits in network byte order, not complemented.
    #[must_use]
    pub const fn fold(self) -> u16 {
        fold(self.words).swap_bytes()
    }

    /// The checksum field for these bytes.
    #[must_use]
    pub const fn checksum(self) -> u16 {
        !self.fold()
    }

    /// True if these bytes, their checksum field included, are intact.
    #[must_use]
    pub const fn is_good(self) -> bool {
        self.fold() == 0xFFFF
    }
}

/// Folds a 32-bit one's complement sum to 16 bits.
#[must_use]
pub const fn fold(sum: u32) -> u16 {
    let halves = (sum & 0xFFFF) + (sum >> 16);
    ((halves & 0xFFFF) + (halves >> 16)) as u16
}

/// The checksum of `bytes`, whose checksum field is zero.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u16 {
    Sum::new().add(bytes).checksum()
}

/// True if `bytes`, their checksum field included, are intact.
#[must_use]
pub fn is_good(bytes: &[u8]) -> bool {
    Sum::new().add(bytes).is_good()
}

/// The checksum after one 16-bit field changed from `old` to `new` (RFC 1624 equation 3).
///
/// Equals a full recalculation unless all summed words become zero: then it yields 0x0000 instead
/// of 0xFFFF, and both verify.
#[must_use]
pub const fn update(checksum: u16, old: u16, new: u16) -> u16 {
    !fold(!checksum as u32 + !old as u32 + new as u32)
}

/// IP protocol number of TCP.
pub const TCP: u8 = 6;
/// IP protocol number of UDP.
pub const UDP: u8 = 17;

/// Sum of the pseudo-header of TCP (RFC 9293 section 3.1) or UDP (RFC 768) over IPv4; `len` is the
/// length of header and payload in octets.
#[must_use]
pub fn pseudo_header(source: [u8; 4], destination: [u8; 4], protocol: u8, len: u16) -> Sum {
    let mut sum = Sum::new();
    sum.add(&source)
        .add(&destination)
        .add_u16(u16::from(protocol))
        .add_u16(len);
    sum
}

/// Checksum field of a TCP or UDP `segment` over IPv4 whose checksum field is zero.
///
/// For UDP a result of zero becomes 0xFFFF, since zero means "no checksum" (RFC 768). `None` if the
/// segment is longer than IPv4 can carry.
#[must_use]
pub fn transport_checksum(
    source: [u8; 4],
    destination: [u8; 4],
    protocol: u8,
    segment: &[u8],
) -> Option<u16> {
    let len = u16::try_from(segment.len()).ok()?;
    let sum = pseudo_header(source, destination, protocol, len)
        .add(segment)
        .checksum();
    Some(if protocol == UDP && sum == 0 {
        0xFFFF
    } else {
        sum
    })
}

/// True if a TCP or UDP `segment` over IPv4 is intact. The caller handles a UDP checksum field of
/// zero ("none") first.
#[must_use]
pub fn transport_is_good(
    source: [u8; 4],
    destination: [u8; 4],
    protocol: u8,
    segment: &[u8],
) -> bool {
    u16::try_from(segment.len()).is_ok_and(|len| {
        pseudo_header(source, destination, protocol, len)
            .add(segment)
            .is_good()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    /// RFC 1071 section 3: the bytes 00 01 f2 03 f4 f5 f6 f7 sum to ddf2.
    #[test]
    fn rfc_1071_example() {
        let bytes = [0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7];
        assert_eq!(Sum::new().add(&bytes).fold(), 0xDDF2);
        assert_eq!(checksum(&bytes), !0xDDF2);
    }

    /// RFC 1624 section 4: the case that equation 4 gets wrong.
    #[test]
    fn rfc_1624_example() {
        assert_eq!(update(0xDD2F, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn udp_never_sends_zero() {
        // A segment of one word that completes the pseudo-header's sum to 0xFFFF.
        let sum = pseudo_header([0; 4], [0; 4], UDP, 2).fold();
        let word = (!sum).to_be_bytes();
        assert_eq!(transport_checksum([0; 4], [0; 4], UDP, &word), Some(0xFFFF));
        let sum = pseudo_header([0; 4], [0; 4], TCP, 2).fold();
        let word = (!sum).to_be_bytes();
        assert_eq!(transport_checksum([0; 4], [0; 4], TCP, &word), Some(0));
        assert_eq!(
            transport_checksum([0; 4], [0; 4], TCP, &vec![0; 65536]),
            None
        );
    }

    /// The definition: big-endian 16-bit words, a last odd byte padded with zero.
    fn reference(bytes: &[u8]) -> u16 {
        let mut sum = 0_u64;
        for word in bytes.chunks(2) {
            sum += u64::from(word[0]) << 8 | u64::from(*word.get(1).unwrap_or(&0));
        }
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        !(sum as u16)
    }

    proptest! {
        #[test]
        fn any_cut_equals_the_whole(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            cuts in prop::collection::vec(0..200_usize, 0..5),
        ) {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
            cuts.push(bytes.len());
            cuts.sort_unstable();
            let (mut sum, mut from) = (Sum::new(), 0);
            for cut in cuts {
                // Every other range is summed on its own and appended.
                if cut % 2 == 0 {
                    sum.add(&bytes[from..cut]);
                } else {
                    sum.append(*Sum::new().add(&bytes[from..cut]));
                }
                from = cut;
            }
            prop_assert_eq!(sum.checksum(), reference(&bytes));
            prop_assert_eq!(checksum(&bytes), reference(&bytes));
        }

        #[test]
        fn words_equal_bytes(words in prop::collection::vec(any::<u32>(), 0..50)) {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            prop_assert_eq!(Sum::new().add_words(&words).checksum(), reference(&bytes));
        }

        #[test]
        fn update_equals_a_new_calculation(
            mut words in prop::collection::vec(any::<u16>(), 1..20),
            at in any::<prop::sample::Index>(),
            new in any::<u16>(),
        ) {
            let sum = |words: &[u16]| {
                let mut sum = Sum::new();
                for &word in words {
                    sum.add_u16(word);
                }
                sum.checksum()
            };
            let at = at.index(words.len());
            let before = sum(&words);
            let updated = update(before, words[at], new);
            words[at] = new;
            prop_assume!(words.iter().any(|&word| word != 0));
            prop_assert_eq!(updated, sum(&words));
        }

        #[test]
        fn agrees_with_etherparse(
            source in any::<[u8; 4]>(),
            destination in any::<[u8; 4]>(),
            payload in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let tcp = etherparse::TcpHeader::new(80, 5000, 1, 2);
            let expected = tcp.calc_checksum_ipv4_raw(source, destination, &payload).unwrap();
            let mut segment = tcp.to_bytes().to_vec();
            segment.extend_from_slice(&payload);
            prop_assert_eq!(
                transport_checksum(source, destination, TCP, &segment),
                Some(expected)
            );
            segment[16..18].copy_from_slice(&expected.to_be_bytes());
            prop_assert!(transport_is_good(source, destination, TCP, &segment));
            segment[0] ^= 1;
            prop_assert!(!transport_is_good(source, destination, TCP, &segment));
        }
    }
}
