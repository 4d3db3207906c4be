//! Frames with their check in both directions, without anything above them: the sources of the link, compiled alone.

use core::hint::black_box;

use crate::decoder::{Decoded, Decoder, End};
use crate::encoder::Encoder;
use crate::wire::{Header, Kind};

/// Sends a frame from a buffer, and receives one to it.
pub fn run() {
    let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new());
    let mut payload = black_box([0_u8; 16]);
    loop {
        let header = Header::new(Kind::Data, black_box(0), black_box(1), black_box([0; 3]));
        encoder.begin(header, payload.len(), black_box(false));
        let octet = |at: usize| payload.get(at).copied().unwrap_or_default();
        while let Some(octet) = encoder.next(|| black_box(0), octet) {
            black_box(octet);
        }
        match decoder.push(black_box(0)) {
            Decoded::Payload(at, octet) => {
                if let Some(place) = payload.get_mut(at) {
                    *place = octet;
                }
            }
            Decoded::End(end) => {
                if let End::Whole { difference: 0, .. } = end {
                    black_box((decoder.header(), &payload));
                }
                decoder.restart();
            }
            Decoded::Nothing | Decoded::Header => {}
        }
    }
}
