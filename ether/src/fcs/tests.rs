use super::*;
use proptest::prelude::*;
use std::vec::Vec;

/// The check value that all CRC catalogues list for CRC-32/ISO-HDLC.
#[test]
fn check_value() {
    assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    assert_eq!(crc32(b""), 0);
    assert_eq!(
        Crc32::with(&Bitwise).update(b"123456789").finish(),
        0xCBF4_3926
    );
}

#[test]
fn constants_agree() {
    assert_eq!(POLYNOMIAL_REFLECTED, 0xEDB8_8320);
    assert_eq!(RESIDUE_MSB_FIRST, 0xC704_DD7B);
    assert_eq!(CHECK, 0x2144_DF1C);
    assert_eq!(BYTEWISE.bytewise()[1], 0x7707_3096);
    assert_eq!(BYTEWISE.bytewise()[255], 0x2D02_EF8D);
}

/// 802.3 clause 3.2.9 step by step, most significant bit first: complement the first 32 bits,
/// divide, complement the remainder, send it from the highest power down.
#[test]
fn agrees_with_the_wording_of_the_standard() {
    let frame = [0x01, 0x80, 0xC2, 0x55, 0xFE, 0x00, 0x7F];
    let (mut bits, mut register) = (0, 0_u32);
    let mut shift = |bit: u32| {
        let bit = if bits < 32 { bit ^ 1 } else { bit };
        bits += 1;
        let carry = register >> 31;
        register = register << 1 | bit;
        if carry != 0 {
            register ^= POLYNOMIAL;
        }
        register
    };
    for byte in frame {
        for bit in 0..8 {
            shift(u32::from(byte) >> bit & 1);
        }
    }
    let remainder = (0..32).map(|_| shift(0)).last().unwrap();
    assert_eq!((!remainder).reverse_bits(), crc32(&frame));
}

#[test]
fn append_needs_room() {
    let mut buffer = *b"123456789\0\0\0\0";
    assert_eq!(append(&mut buffer, 10), Err(BufferTooSmall));
    assert_eq!(append(&mut buffer, usize::MAX), Err(BufferTooSmall));
    assert_eq!(&buffer, b"123456789\0\0\0\0");
    assert_eq!(append(&mut buffer, 9), Ok(13));
    assert_eq!(buffer[9..], [0x26, 0x39, 0xF4, 0xCB]);
    assert!(is_good(&buffer));
    assert!(!is_good(&buffer[..12]));
    assert!(!is_good(&[]));
}

fn oracle(bytes: &[u8]) -> u32 {
    crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(bytes)
}

fn in_portions<M: CrcMethod>(method: &M, bytes: &[u8], cut: usize) -> u32 {
    let (first, second) = bytes.split_at(cut);
    let mut crc = Crc32::with(method);
    crc.update(first);
    Crc32::resume(method, crc.register())
        .update(second)
        .finish()
}

fn by_words<M: CrcMethod>(method: &M, words: &[u32], cut: usize) -> u32 {
    Crc32::with(method)
        .update_words(&words[..cut])
        .update_words(&words[cut..])
        .finish()
}

proptest! {
    #[test]
    fn every_method_in_any_portions_agrees_with_the_oracle(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        cut in any::<prop::sample::Index>(),
    ) {
        let cut = cut.index(bytes.len() + 1);
        let expected = oracle(&bytes);
        prop_assert_eq!(in_portions(&Bitwise, &bytes, cut), expected);
        prop_assert_eq!(in_portions(&BYTEWISE, &bytes, cut), expected);
        prop_assert_eq!(in_portions(&SLICING_4, &bytes, cut), expected);
        prop_assert_eq!(in_portions(&SLICING_8, &bytes, cut), expected);
    }

    #[test]
    fn words_equal_bytes(
        words in prop::collection::vec(any::<u32>(), 0..50),
        cut in any::<prop::sample::Index>(),
    ) {
        let cut = cut.index(words.len() + 1);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let expected = oracle(&bytes);
        prop_assert_eq!(by_words(&Bitwise, &words, cut), expected);
        prop_assert_eq!(by_words(&BYTEWISE, &words, cut), expected);
        prop_assert_eq!(by_words(&SLICING_4, &words, cut), expected);
        prop_assert_eq!(by_words(&SLICING_8, &words, cut), expected);
    }

    #[test]
    fn a_frame_and_its_fcs_leave_the_residue(
        mut bytes in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let len = bytes.len();
        bytes.resize(len + LEN, 0);
        append(&mut bytes, len).unwrap();
        prop_assert_eq!(Crc32::new().update(&bytes).register(), RESIDUE);
        prop_assert_eq!(crc32(&bytes), CHECK);
    }
}

proptest! {
    #[test]
    fn parts_make_the_whole(
        first in prop::collection::vec(any::<u8>(), 0..100),
        second in prop::collection::vec(any::<u8>(), 0..3000),
    ) {
        let whole = crc32(&[&first[..], &second].concat());
        let (a, b) = (crc32(&first), crc32(&second));
        let advance = Advance::over(second.len());
        prop_assert_eq!(advance.combine(a, b), whole);
        prop_assert_eq!(advance.split(whole, a), b);
    }
}
