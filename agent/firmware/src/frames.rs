//! Raw test frames, handled before the stack: counted, or reflected.

use crate::console::event;
use core::fmt::Write;
use linerate_agent::Instant;
use linerate_agent::frame::{ETHERTYPE, Receiver, ReflectFilter, reflect};
use linerate_ether::frame::{ADDRESSES_LEN, EtherType, HEADER_LEN, MacAddress, TAG_LEN};
use linerate_nic::device::{RxToken, TxToken};

/// Length of the frame's VLAN tag in octets; 0 without a tag.
fn tag_of(frame: &[u8]) -> usize {
    let is_tagged = type_at(frame, 0) == Some(EtherType::VLAN);
    usize::from(is_tagged) * TAG_LEN
}

/// `EtherType` behind the addresses and a tag of `tag` octets.
fn type_at(frame: &[u8], tag: usize) -> Option<EtherType> {
    let [high, low] = frame.get(tag + ADDRESSES_LEN..tag + HEADER_LEN)? else {
        return None;
    };
    Some(EtherType(u16::from_be_bytes([*high, *low])))
}

/// Counts the frames of one stream and reflects those that request it.
#[derive(Debug)]
pub struct TestFrames {
    own: MacAddress,
    stream: u8,
    receiver: Receiver,
    reflected: u64,
}

impl TestFrames {
    /// Creates a counter for this stream of frames to `own`.
    #[must_use]
    pub const fn new(own: MacAddress, stream: u8) -> Self {
        Self {
            own,
            stream,
            receiver: Receiver::new(own.0, stream),
            reflected: 0,
        }
    }

    /// True for a generator's frame, with or without a tag.
    pub fn is_test_frame(frame: &[u8]) -> bool {
        type_at(frame, tag_of(frame)) == Some(EtherType(ETHERTYPE))
    }

    /// Counts a test frame, and reflects it if requested: without its tag.
    pub fn handle(&mut self, frame: impl RxToken, slot: impl TxToken, now: Instant) {
        let own = self.own.0;
        frame.consume(|octets| {
            let tag = tag_of(octets);
            if tag > 0 {
                octets.copy_within(..ADDRESSES_LEN, tag);
            }
            let octets = &mut octets[tag..];
            let arrived = self.receiver.received(octets, now);
            if arrived.is_some() && reflect(octets, own, ReflectFilter::Marked) {
                self.reflected += 1;
                // A received frame is not too long to send.
                let _ = slot.consume(octets.len(), |to| to.copy_from_slice(octets));
            }
        });
    }

    /// Counts another stream, from zero.
    pub fn count(&mut self, stream: u8) {
        *self = Self::new(self.own, stream);
    }

    /// Prints the counters so far.
    pub fn report(&self, to: &mut impl Write) {
        let Receiver {
            sink,
            altered,
            for_others,
            ..
        } = &self.receiver;
        let sequence = &sink.sequence;
        event(
            to,
            "frames",
            format_args!(
                "\"stream\":{},\"frames\":{},\"octets\":{},\"lost\":{},\"out_of_order\":{},\
                 \"duplicates\":{},\"altered\":{altered},\"for_others\":{for_others},\
                 \"reflected\":{},\"span_us\":{},\"jitter_ns\":{}",
                self.stream,
                sequence.received(),
                sink.octets,
                sequence.lost(None),
                sequence.out_of_order(),
                sequence.duplicates(),
                self.reflected,
                sink.span().as_micros() as u64,
                sink.jitter.ns(),
            ),
        );
    }
}
