//! Raw test frames, handled before the stack: counted, or reflected.

use linerate_agent::Instant;
use linerate_agent::frame::{ETHERTYPE, Receiver, ReflectFilter, reflect};
use linerate_ether::frame::{ADDRESSES_LEN, HEADER_LEN};

use crate::{
    config::MAC_ADDRESS,
    event,
    net::{Frame, Sender},
};

/// Counts the frames of one stream and reflects those that request it.
pub struct Frames {
    stream: u8,
    receiver: Receiver,
    reflected: u64,
}

impl Frames {
    /// Creates a counter for this stream.
    pub const fn of(stream: u8) -> Self {
        Self {
            stream,
            receiver: Receiver::new(MAC_ADDRESS.0, stream),
            reflected: 0,
        }
    }

    /// Handles a frame if it is a generator's. Its content is checked if `has_time`.
    pub fn take(
        &mut self,
        frame: &mut Frame,
        sender: &mut Sender,
        has_time: bool,
        now: Instant,
    ) -> bool {
        let octets = frame.bytes_mut();
        if octets.get(ADDRESSES_LEN..HEADER_LEN) != Some(&ETHERTYPE.to_be_bytes()[..]) {
            return false;
        }
        let arrived = if has_time {
            self.receiver.received(octets, now)
        } else {
            self.receiver.received_unchecked(octets, now)
        };
        if arrived.is_some() && reflect(octets, MAC_ADDRESS.0, ReflectFilter::Marked) {
            self.reflected += 1;
            // A received frame is not too long to send.
            let _ = sender.send(octets.len(), |room| room.copy_from_slice(octets));
        }
        true
    }

    /// Prints the counters so far.
    pub fn report(&self) {
        let Receiver {
            sink,
            altered,
            for_others,
            ..
        } = &self.receiver;
        let sequence = &sink.sequence;
        event!(
            "frames",
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
        );
    }
}
