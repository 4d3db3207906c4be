//! Entry points for fuzzers and property tests: they run any input and assert the invariants.
//!
//! They panic only if the crate has a bug.

use crate::checksum::Sum;
use crate::fcs::{self, Bitwise, Crc32, SLICING_4};
use crate::frame::{Frame, Tag, check_received, finish, insert_tag, remove_tag};
use crate::pause::Pause;
use crate::phy10::{HalfBitWriter, HalfBits, decode, encode, encoded_len};
use crate::preamble::{
    PREAMBLE_AND_SFD_BITS, align_in_place, align_into, align_words_in_place_with_crc, aligned_len,
    find_frame, find_frame_bitwise,
};

/// Longest input that the entry points use, octets; the rest is ignored.
pub const MAX_INPUT: usize = 2048;

/// Treats `data` as a frame: views, checks, tags, FCS, checksum, PAUSE, alignment.
pub fn frame(data: &[u8]) {
    let data = &data[..data.len().min(MAX_INPUT)];
    let mut buffer = [0; MAX_INPUT + 8];

    if let Ok(frame) = Frame::new_checked(data) {
        let header = frame.header();
        assert!(header.len() + frame.payload().len() <= data.len());
        let start = header
            .emit(&mut buffer)
            .expect("the header was parsed from a shorter buffer");
        // A service tag becomes a customer tag; everything else is unchanged.
        let again = Frame::new_checked(&buffer[..data.len().max(start)]).expect("same header");
        assert_eq!(again.header(), header);
    }
    if let Ok(pause) = Pause::parse(data) {
        pause.emit(&mut buffer).expect("60 octets fit");
        assert_eq!(Pause::parse(&buffer[..60]), Ok(pause));
    }
    if let Ok(frame) = check_received(data) {
        assert!(frame.as_bytes().len() + fcs::LEN == data.len());
    }

    assert_eq!(
        Crc32::with(&Bitwise).update(data).finish(),
        fcs::crc32(data)
    );
    let (first, second) = data.split_at(data.len() / 3);
    let mut sum = Sum::new();
    sum.add(first).append(*Sum::new().add(second));
    assert_eq!(sum.checksum(), crate::checksum::checksum(data));

    buffer[..data.len()].copy_from_slice(data);
    if let Ok(len) = finish(&mut buffer, data.len()) {
        assert!(fcs::is_good(&buffer[..len]));
        assert_eq!(
            Crc32::with(&SLICING_4).update(&buffer[..len]).register(),
            fcs::RESIDUE
        );
    }
    buffer[..data.len()].copy_from_slice(data);
    let tag = Tag::from_bits(data.len() as u16);
    if let Ok(len) = insert_tag(&mut buffer, data.len(), tag) {
        assert_eq!(remove_tag(&mut buffer[..len]), Some(tag));
        assert_eq!(buffer[..data.len()], *data);
    }

    let start = find_frame(data);
    assert_eq!(start, find_frame_bitwise(data, PREAMBLE_AND_SFD_BITS));
    let start = start.unwrap_or(data.len());
    buffer[..data.len()].copy_from_slice(data);
    let len = align_in_place(&mut buffer[..data.len()], start);
    assert_eq!(len, aligned_len(data.len(), start));
    let mut copy = [0; MAX_INPUT];
    assert_eq!(align_into(data, start, &mut copy), len);
    assert_eq!(buffer[..len], copy[..len]);

    let mut words = [0_u32; MAX_INPUT / 4];
    for (word, chunk) in words.iter_mut().zip(data.chunks(4)) {
        let mut octets = [0; 4];
        octets[..chunk.len()].copy_from_slice(chunk);
        *word = u32::from_ne_bytes(octets);
    }
    let words = &mut words[..data.len().div_ceil(4)];
    let register = align_words_in_place_with_crc(words, start, len, &SLICING_4);
    assert_eq!(!register, fcs::crc32(&copy[..len]));
    let octets = words.iter().flat_map(|word| word.to_ne_bytes());
    assert!(octets.take(len).eq(copy[..len].iter().copied()));
}

/// Treats `data` as packed half-bits and decodes all frames in it; then encodes `data` itself as a
/// frame and decodes that. The first two octets select the alignment and the length of the buffer.
pub fn manchester(data: &[u8]) {
    let [from, room, data @ ..] = data else {
        return;
    };
    let data = &data[..data.len().min(MAX_INPUT)];
    let mut words = [0; MAX_INPUT / 8];
    for (word, chunk) in words.iter_mut().zip(data.chunks(8)) {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        *word = u64::from_le_bytes(bytes);
    }
    manchester_words(
        &words[..data.len().div_ceil(8)],
        usize::from(*from),
        usize::from(*room),
    );

    let mut encoded = [0; (MAX_INPUT * 16 + 512) / 64];
    let idle = usize::from(*from);
    let mut writer = HalfBitWriter::new(&mut encoded);
    writer.push_level(false, idle).expect("room for idle");
    encode(data, &mut writer).expect("room for the frame");
    assert_eq!(writer.len(), idle + encoded_len(data.len()));
    let mut out = [0; MAX_INPUT];
    let decoded = decode(writer.finish(), &mut out).expect("the encoded frame decodes");
    assert_eq!(&out[..decoded.len], data);
}

/// Decodes every frame in `words` from half-bit `from` on, into buffers of `room` octets (at most
/// [`MAX_INPUT`]).
pub fn manchester_words(words: &[u64], from: usize, room: usize) {
    let mut out = [0; MAX_INPUT];
    let out = &mut out[..room.min(MAX_INPUT)];
    let mut stream = HalfBits::new(words).skip(from);
    while !stream.is_empty() {
        let next = match decode(stream, out) {
            Ok(decoded) => {
                assert!(decoded.start <= decoded.end && decoded.end <= stream.len());
                let half_bits = decoded.end - decoded.start;
                assert_eq!(
                    half_bits,
                    decoded.len * 16 + usize::from(decoded.dribble_bits) * 2
                );
                decoded.end
            }
            Err(error) => {
                assert!(error.len <= out.len());
                error.at
            }
        };
        assert!(next > 0 && next <= stream.len());
        stream = stream.skip(next);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes(data in prop::collection::vec(any::<u8>(), 0..300)) {
            super::frame(&data);
            super::manchester(&data);
        }
    }
}
