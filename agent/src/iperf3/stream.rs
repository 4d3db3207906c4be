//! One data stream, at either end.

use super::datagram_header::DatagramHeader;
use super::parameters::{MIN_UDP_OCTETS, Parameters};
use super::results::{
    DATAGRAMS, DUPLICATES, JITTER_NS, LOST, OCTETS, OUT_OF_ORDER, Reported, SPAN_NS, Tally,
};
use crate::count::Sink;
use crate::octets::start;
use crate::pace::{Pace, SendSpace};
use crate::{Connection, Instant, Udp};

/// Transport of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    /// No stream: the slot is free.
    Free,
    Tcp(Connection),
    /// The own socket, and the peer's port.
    Udp(Udp, u16),
    /// The connection is closed, and its number may be reused.
    Gone,
}

/// The stream's data.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub(super) enum Role<const HISTORY: usize> {
    /// Before the test.
    None,
    Sends {
        /// Payload and datagrams that count, and the number of the last datagram.
        octets: u64,
        datagrams: u64,
        number: u64,
        pace: Pace,
        /// The other end's counters.
        reported: Reported,
    },
    Receives {
        /// The other end's counter of datagrams, or of octets over TCP.
        reported: u64,
        sink: Sink<HISTORY>,
    },
}

/// A stream, or a free slot for one.
#[derive(Debug)]
pub(super) struct Stream<const HISTORY: usize> {
    pub(super) channel: Channel,
    pub(super) id: u8,
    /// Octets of the cookie received; all of them once the stream belongs to the test.
    pub(super) cookie: u8,
    /// The peer's hello must be answered.
    pub(super) to_answer: bool,
    /// Blocked-on-space state of a stream with a rate.
    pub(super) space: SendSpace,
    /// The peer has closed its end.
    pub(super) is_ended: bool,
    /// The other end's counters have arrived.
    pub(super) is_reported: bool,
    /// Order in which it was opened.
    pub(super) serial: u32,
    pub(super) role: Role<HISTORY>,
}

impl<const HISTORY: usize> Stream<HISTORY> {
    /// A free slot.
    pub(super) const FREE: Self = Self {
        channel: Channel::Free,
        id: 0,
        cookie: 0,
        to_answer: false,
        space: SendSpace::Available,
        is_ended: false,
        is_reported: false,
        serial: 0,
        role: Role::None,
    };

    /// Uses a free slot.
    pub(super) fn open(&mut self, channel: Channel, serial: u32) {
        self.channel = channel;
        self.id = 0;
        self.cookie = 0;
        self.to_answer = false;
        self.space = SendSpace::Available;
        self.is_ended = false;
        self.is_reported = false;
        self.serial = serial;
        self.role = Role::None;
    }

    #[inline]
    pub(super) fn is_free(&self) -> bool {
        self.channel == Channel::Free
    }

    /// Sets the stream's id and direction.
    pub(super) fn arm(&mut self, id: u8, sends: bool) {
        self.id = id;
        if sends {
            self.role = Role::Sends {
                octets: 0,
                datagrams: 0,
                number: 0,
                pace: Pace::new(0, Instant::from_ns(0)),
                reported: [0; 5],
            };
        } else {
            self.receive(1);
        }
    }

    /// Counts what is received, from the number `first` on.
    #[inline(never)]
    fn receive(&mut self, first: u64) {
        self.role = Role::Receives {
            sink: Sink::EMPTY,
            reported: 0,
        };
        if let Role::Receives { sink, .. } = &mut self.role {
            sink.begin(first);
        }
    }

    /// Begins the test.
    pub(super) fn begin(&mut self, rate_bits_per_s: u64, now: Instant) {
        if let Role::Sends { pace, .. } = &mut self.role {
            *pace = Pace::new(rate_bits_per_s, now);
        }
    }

    pub(super) const fn sends(&self) -> bool {
        matches!(self.role, Role::Sends { .. })
    }

    pub(super) const fn receives(&self) -> bool {
        matches!(self.role, Role::Receives { .. })
    }

    /// Excludes everything so far from the counters.
    pub(super) fn omit(&mut self) {
        match &mut self.role {
            Role::Sends {
                octets, datagrams, ..
            } => (*octets, *datagrams) = (0, 0),
            Role::Receives { sink, .. } => {
                let next = sink.sequence.next();
                self.receive(next);
            }
            Role::None => {}
        }
    }

    /// Counted payload, sent and received.
    pub(super) fn octets(&self) -> (u64, u64) {
        match &self.role {
            Role::Sends { octets, .. } => (*octets, 0),
            Role::Receives { sink, .. } => (0, sink.octets),
            Role::None => (0, 0),
        }
    }

    /// Time when the next data are due; never if the stream only waits for buffer space, or its connection is
    /// gone.
    pub(super) fn due(&self) -> Instant {
        match &self.role {
            Role::Sends { pace, .. }
                if self.channel != Channel::Gone && self.space != SendSpace::Blocked =>
            {
                pace.due()
            }
            _ => Instant::NEVER,
        }
    }

    /// Called when the driver has offered all its space.
    pub(super) fn on_space_offered(&mut self, now: Instant) {
        if let (Channel::Tcp(_), Role::Sends { pace, .. }) = (self.channel, &self.role) {
            self.space.check(now >= pace.due());
        }
    }

    /// Counts octets received over TCP.
    pub(super) fn received(&mut self, len: usize, now: Instant) {
        if let Role::Receives { sink, .. } = &mut self.role {
            sink.octets(len, now);
        }
    }

    /// Counts a received datagram.
    pub(super) fn datagram(&mut self, octets: &[u8], wide: bool, now: Instant) {
        let Role::Receives { sink, .. } = &mut self.role else {
            return;
        };
        if let Some(reported) = DatagramHeader::parse(octets, wide) {
            sink.arrived(reported.number, reported.sent_ns, octets.len(), now);
        }
    }

    /// Number of zeros to send over TCP now, `most` at most.
    pub(super) fn zeros(&mut self, test: &Parameters, most: u64, now: Instant) -> usize {
        let Role::Sends { octets, pace, .. } = &mut self.role else {
            return 0;
        };
        let paced = test.rate_bits_per_s > 0;
        if paced && now < pace.due() {
            return 0;
        }
        let mut len = usize::try_from(most).unwrap_or(usize::MAX);
        if paced {
            len = len.min(test.block as usize);
            pace.sent(len);
        }
        *octets += len as u64;
        if len > 0 {
            self.space = SendSpace::Available;
        }
        len
    }

    /// Writes the due datagram, if any.
    pub(super) fn next(
        &mut self,
        buffer: &mut [u8],
        test: &Parameters,
        now: Instant,
    ) -> Option<usize> {
        let Role::Sends {
            octets,
            datagrams,
            number,
            pace,
            ..
        } = &mut self.role
        else {
            return None;
        };
        let len = buffer.len().min(test.block as usize);
        if now < pace.due() || len < MIN_UDP_OCTETS as usize {
            return None;
        }
        pace.sent(len);
        *octets += len as u64;
        *datagrams += 1;
        *number += 1;
        let datagram = start(buffer, len);
        datagram.fill(0);
        DatagramHeader::emit(*number, test.wide_numbers, now, datagram);
        Some(len)
    }

    /// Counters of a test that counts from `began`, was planned to end by `planned`, and whose end was
    /// announced at `ended`. `is_comparable`: the sender's own count of datagrams is known and began with them.
    pub(super) fn count(
        &self,
        began: Instant,
        planned: Instant,
        ended: Instant,
        is_comparable: bool,
        udp: bool,
    ) -> Tally {
        let mut tally = Tally::default();
        let mut last = ended;
        match &self.role {
            Role::None => return tally,
            Role::Sends {
                octets, datagrams, ..
            } => {
                tally[OCTETS] = *octets;
                tally[DATAGRAMS] = *datagrams;
            }
            Role::Receives { sink, reported } => {
                let sent = (is_comparable && udp).then_some(*reported);
                let sequence = &sink.sequence;
                tally[OCTETS] = sink.octets;
                tally[JITTER_NS] = sink.jitter.ns();
                if udp {
                    tally[LOST] = sequence.lost(sent);
                }
                tally[DATAGRAMS] = sequence.sent().max(sent.unwrap_or(0));
                tally[OUT_OF_ORDER] = sequence.out_of_order();
                tally[DUPLICATES] = sequence.duplicates();
                // If its own data fill the link, the announcement of the end may be lost and arrive late.
                last = sink.last_or_zero().max(ended.earlier(planned));
            }
        }
        tally[SPAN_NS] = last.ns_since(began);
        tally
    }
}
