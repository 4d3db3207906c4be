//! One data stream, at either end.

use core::net::SocketAddr;

use super::datagram_header::DatagramHeader;
use super::parameters::{MIN_UDP_OCTETS, Test};
use super::results::Count;
use crate::answer::same_endpoint;
use crate::count::Sink;
use crate::pace::{Pace, SendSpace};
use crate::{Connection, Instant, Udp, span};

/// Transport of a stream.
#[derive(Debug, Clone, Copy)]
pub(super) enum Channel {
    Tcp(Connection),
    Udp(Udp, SocketAddr),
    /// The connection is closed, and its number may be reused.
    Gone,
}

impl Channel {
    pub(super) fn is_connection(&self, connection: Connection) -> bool {
        matches!(self, Self::Tcp(it) if *it == connection)
    }

    pub(super) fn matches_peer(&self, socket: Udp, peer: &SocketAddr) -> bool {
        matches!(self, Self::Udp(it, to) if *it == socket && same_endpoint(to, peer))
    }
}

#[derive(Debug, Clone, Copy)]
#[allow(clippy::large_enum_variant)]
pub(super) enum Role {
    Sends {
        octets: u64,
        datagrams: u64,
        /// Octets sent and received in the omitted time.
        omitted: (u64, u64),
        pace: Pace,
    },
    Receives(Sink),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    pub(super) channel: Channel,
    /// Order in which it was opened.
    pub(super) serial: u32,
    /// Octets of the cookie received; all of them once the stream belongs to the test.
    pub(super) cookie: u8,
    /// The peer's hello must be answered.
    pub(super) to_answer: bool,
    pub(super) id: u8,
    /// `None` before the test.
    pub(super) role: Option<Role>,
    /// Blocked-on-space state of a stream with a rate.
    pub(super) space: SendSpace,
    /// The peer has closed its end.
    pub(super) is_ended: bool,
    /// Counters of the other end.
    pub(super) reported: Option<Count>,
}

impl Stream {
    pub(super) const fn new(channel: Channel, serial: u32) -> Self {
        Self {
            channel,
            serial,
            cookie: 0,
            to_answer: false,
            id: 0,
            role: None,
            space: SendSpace::Available,
            is_ended: false,
            reported: None,
        }
    }

    /// Sets the stream's id and direction.
    pub(super) fn arm(&mut self, id: u8, sends: bool) {
        self.id = id;
        self.role = Some(if sends {
            Role::Sends {
                octets: 0,
                datagrams: 0,
                omitted: (0, 0),
                pace: Pace::new(0, Instant::from_ns(0)),
            }
        } else {
            Role::Receives(Sink::new(1))
        });
    }

    /// Begins the test.
    pub(super) fn begin(&mut self, rate_bits_per_s: u64, now: Instant) {
        if let Some(Role::Sends { pace, .. }) = &mut self.role {
            *pace = Pace::new(rate_bits_per_s, now);
        }
    }

    pub(super) const fn sends(&self) -> bool {
        matches!(self.role, Some(Role::Sends { .. }))
    }

    pub(super) const fn receives(&self) -> bool {
        matches!(self.role, Some(Role::Receives(_)))
    }

    /// Excludes everything so far from the counters.
    pub(super) fn omit(&mut self) {
        match &mut self.role {
            Some(Role::Sends {
                octets,
                datagrams,
                omitted,
                ..
            }) => *omitted = (*octets, *datagrams),
            Some(Role::Receives(sink)) => {
                let sequence = &sink.sequence;
                *sink = Sink::new(sequence.next());
            }
            None => {}
        }
    }

    /// Counted payload, sent and received.
    pub(super) fn octets(&self) -> (u64, u64) {
        match &self.role {
            Some(Role::Sends {
                octets, omitted, ..
            }) => (octets - omitted.0, 0),
            Some(Role::Receives(sink)) => (0, sink.octets),
            None => (0, 0),
        }
    }

    /// Time when the next data are due; never if the stream only waits for buffer space, or its connection is
    /// gone.
    pub(super) fn due(&self) -> Instant {
        match (&self.role, self.channel) {
            (_, Channel::Gone) => Instant::NEVER,
            (Some(Role::Sends { pace, .. }), _) if self.space != SendSpace::Blocked => pace.due(),
            _ => Instant::NEVER,
        }
    }

    /// Called when the driver has offered all its space.
    pub(super) fn on_space_offered(&mut self, now: Instant) {
        if let (Channel::Tcp(_), Some(Role::Sends { pace, .. })) = (self.channel, &self.role) {
            self.space.check(now >= pace.due());
        }
    }

    /// Counts octets received over TCP.
    pub(super) fn received(&mut self, len: usize, now: Instant) {
        if let Some(Role::Receives(sink)) = &mut self.role {
            sink.octets(len, now);
        }
    }

    /// Counts a received datagram.
    pub(super) fn datagram(&mut self, octets: &[u8], wide: bool, now: Instant) {
        let Some(Role::Receives(sink)) = &mut self.role else {
            return;
        };
        if let Some(reported) = DatagramHeader::parse(octets, wide) {
            sink.arrived(reported.number, reported.sent_ns, octets.len(), now);
        }
    }

    /// Number of zeros to send over TCP now, `most` at most.
    pub(super) fn zeros(&mut self, test: &Test, most: u64, now: Instant) -> usize {
        let Some(Role::Sends { octets, pace, .. }) = &mut self.role else {
            return 0;
        };
        let paced = test.rate_bits_per_s > 0;
        if paced && now < pace.due() {
            return 0;
        }
        let mut len = usize::try_from(most).unwrap_or(usize::MAX);
        if paced {
            len = len.min(test.block() as usize);
            pace.sent(len);
        }
        *octets += len as u64;
        if len > 0 {
            self.space = SendSpace::Available;
        }
        len
    }

    /// Writes the due datagram, if any.
    pub(super) fn next(&mut self, buffer: &mut [u8], test: &Test, now: Instant) -> Option<usize> {
        let Some(Role::Sends {
            octets,
            datagrams,
            pace,
            ..
        }) = &mut self.role
        else {
            return None;
        };
        let len = buffer.len().min(test.block() as usize);
        if now < pace.due() || len < MIN_UDP_OCTETS as usize {
            return None;
        }
        pace.sent(len);
        *octets += len as u64;
        *datagrams += 1;
        let datagram = &mut buffer[..len];
        datagram.fill(0);
        DatagramHeader::emit(*datagrams, test.wide_numbers, now, datagram);
        Some(len)
    }

    /// Counters of a test that counts from `began`, was planned to end by `planned`, and whose end was
    /// announced at `ended`. `sent`: the sender's own count of datagrams.
    pub(super) fn count(
        &self,
        began: Instant,
        planned: Instant,
        ended: Instant,
        sent: Option<u64>,
    ) -> Count {
        match &self.role {
            None => Count::default(),
            Some(Role::Sends {
                octets,
                datagrams,
                omitted,
                ..
            }) => Count {
                octets: octets - omitted.0,
                datagrams: datagrams - omitted.1,
                span: span(ended.ns_since(began)),
                ..Count::default()
            },
            Some(Role::Receives(sink)) => {
                // If its own data fill the link, the announcement of the end may be lost and arrive late.
                let ended = ended.min(planned);
                let last = sink.last().unwrap_or(ended).max(ended);
                let sequence = &sink.sequence;
                Count {
                    octets: sink.octets,
                    span: span(last.ns_since(began)),
                    datagrams: sequence.sent().max(sent.unwrap_or(0)),
                    lost: match self.channel {
                        Channel::Tcp(_) | Channel::Gone => 0,
                        Channel::Udp(..) => sequence.lost(sent),
                    },
                    out_of_order: sequence.out_of_order(),
                    duplicates: sequence.duplicates(),
                    jitter: span(sink.jitter.ns()),
                }
            }
        }
    }
}
