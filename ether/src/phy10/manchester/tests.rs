use super::*;
use proptest::prelude::*;
use std::format;
use std::vec;
use std::vec::Vec;

fn push_all(writer: &mut HalfBitWriter<'_>, levels: impl IntoIterator<Item = bool>) {
    for level in levels {
        writer.push(level).unwrap();
    }
}

fn encoded(frame: &[u8], lead: &[bool]) -> Vec<u64> {
    let mut words = vec![0; (encoded_len(frame.len()) + lead.len()).div_ceil(64) + 1];
    let mut writer = HalfBitWriter::new(&mut words);
    push_all(&mut writer, lead.iter().copied());
    encode(frame, &mut writer).unwrap();
    words
}

fn decoded(stream: HalfBits<'_>) -> Result<(Decoded, Vec<u8>), DecodeError> {
    let mut out = vec![0; 2000];
    let decoded = decode(stream, &mut out)?;
    out.truncate(decoded.len);
    Ok((decoded, out))
}

/// Clause 7.3.1.1: one is low then high, zero is high then low.
#[test]
fn line_levels_as_the_standard_draws_them() {
    let mut words = [0; 4];
    let mut writer = HalfBitWriter::new(&mut words);
    encode(&[0b0000_1101], &mut writer).unwrap();
    let line = format!("{:?}", writer.finish());
    assert!(line.starts_with("_--__--__--_"));
    // The SFD's 10101011, then 10110000, then TP_IDL.
    assert_eq!(&line[112..], "_--__--__--__-_-_--__-_--_-_-_-_------");
}

#[test]
fn encode_all_or_nothing() {
    let mut words = [0; 2];
    let mut writer = HalfBitWriter::new(&mut words);
    assert_eq!(encode(&[], &mut writer), Err(BufferFull));
    assert_eq!(writer.len(), 0);
}

#[test]
fn errors_give_kind_and_position() {
    let words = encoded(&[0xA5; 10], &[]);
    let stream = HalfBits::new(&words);
    let frame_start = 8 * 16;
    let error = |words: &[u64]| decoded(HalfBits::new(words)).unwrap_err();

    // Second half of the 20th bit inverted: a violation there.
    let mut broken = words.clone();
    let at = frame_start + 19 * 2;
    broken[(at + 1) / 64] ^= 1 << ((at + 1) % 64);
    assert_eq!(
        error(&broken),
        DecodeError {
            kind: DecodeErrorKind::Violation,
            at,
            len: 2
        }
    );
    assert_eq!(error(&broken).cause(), DropCause::SymbolError);

    // Cut off after 25 bits, by silence or by the end of the stream.
    let at = frame_start + 25 * 2;
    let cut = stream.slice(0, at);
    let expected = DecodeError {
        kind: DecodeErrorKind::Truncated,
        at,
        len: 3,
    };
    assert_eq!(decoded(cut), Err(expected));
    let mut silent = vec![0; 8];
    let mut writer = HalfBitWriter::new(&mut silent);
    push_all(&mut writer, cut);
    assert_eq!(error(&silent), expected);

    assert_eq!(error(&[]).kind, DecodeErrorKind::NoSfd);
    assert_eq!(error(&[u64::MAX; 9]).kind, DecodeErrorKind::NoSfd);
    assert_eq!(
        decode(stream, &mut [0; 9]),
        Err(DecodeError {
            kind: DecodeErrorKind::BufferTooSmall,
            at: frame_start + 9 * 16,
            len: 9
        })
    );
    assert_eq!(decode(stream, &mut [0; 10]).unwrap().len, 10);
}

/// A frame that is cut anywhere is truncated, and the reported position is within the stream.
#[test]
fn every_cut_is_truncation() {
    let words = encoded(&[0x00, 0xFF, 0x5A], &[]);
    let end = 11 * 16;
    for cut in 8 * 16..end + TP_IDL_SEEN {
        let error = decoded(HalfBits::new(&words).slice(0, cut)).unwrap_err();
        assert_eq!(error.kind, DecodeErrorKind::Truncated, "{cut}");
        assert!(error.at <= cut && cut - error.at < 4, "{cut}: {error:?}");
    }
    let whole = HalfBits::new(&words).slice(0, end + TP_IDL_SEEN);
    assert_eq!(decoded(whole).unwrap().1, [0x00, 0xFF, 0x5A]);
}

#[test]
fn dribble_bits_are_counted() {
    let words = encoded(&[0xA5; 10], &[]);
    let whole = HalfBits::new(&words);
    for extra in 0..8 {
        let mut out = vec![0; 8];
        let mut writer = HalfBitWriter::new(&mut out);
        let end = 8 * 16 + 3 * 16 + extra * 2;
        push_all(&mut writer, whole.slice(0, end));
        writer.push_level(true, 5).unwrap();
        let (decoded, bytes) = decoded(writer.finish()).unwrap();
        assert_eq!(usize::from(decoded.dribble_bits), extra);
        assert_eq!((decoded.end, &bytes[..]), (end, &[0xA5; 3][..]));
    }
}

#[test]
fn frames_follow_one_another() {
    let mut words = vec![0; 40];
    let mut writer = HalfBitWriter::new(&mut words);
    for frame in [&b"first"[..], b"second", b"third"] {
        encode(frame, &mut writer).unwrap();
        writer.push_level(false, 186).unwrap();
    }
    let (mut stream, mut found) = (writer.finish(), Vec::new());
    while let Ok((decoded, bytes)) = decoded(stream) {
        found.push(bytes);
        stream = stream.skip(decoded.end);
    }
    assert_eq!(found, [&b"first"[..], b"second", b"third"]);
}

proptest! {
    #[test]
    fn octets_encode_by_the_rule(octets in any::<[u8; 4]>()) {
        let word = u32::from_le_bytes(octets);
        let encoded = encode_word(word);
        for bit in 0..32 {
            let one = u64::from(word >> bit & 1);
            prop_assert_eq!(encoded >> (2 * bit) & 3, one << 1 | (one ^ 1));
        }
        prop_assert_eq!(gather(encoded >> 1), word);
    }

    /// The frame is decoded after any idle time, at any alignment of the words, with any part of
    /// the preamble missing.
    #[test]
    fn round_trip_at_any_alignment(
        frame in prop::collection::vec(any::<u8>(), 0..150),
        idle in 0..200_usize,
        missed in 0..112_usize,
    ) {
        let words = encoded(&frame, &vec![false; idle]);
        let (first, bytes) = decoded(HalfBits::new(&words)).unwrap();
        prop_assert_eq!(&bytes, &frame);
        prop_assert_eq!(first.dribble_bits, 0);
        prop_assert_eq!(first.start, idle + 8 * 16);
        prop_assert_eq!(first.end, first.start + frame.len() * 16);
        let (late, bytes) = decoded(HalfBits::new(&words).skip(idle + missed)).unwrap();
        prop_assert_eq!(&bytes, &frame);
        prop_assert_eq!(late.start, 8 * 16 - missed);
    }

    #[test]
    fn any_half_bits_are_safe(
        words in prop::collection::vec(any::<u64>(), 0..40),
        from in 0..70_usize,
        room in 0..20_usize,
    ) {
        crate::exercise::manchester_words(&words, from, room);
    }
}
