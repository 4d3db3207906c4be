//! All streams of a test, at either end, and their counters.

use core::net::SocketAddr;

use super::json::PartialWriter;
use super::parameters::{Amount, Direction, Test};
use super::results::{self, Count};
use super::stream::{Channel, Role, Stream};
use crate::{Connection, Datagram, Instant, MS, SECOND, Udp, ns, span};

/// After the end of the test, data missing after this silence are lost; with TCP they may have to be
/// retransmitted first.
const QUIET_UDP_NS: u64 = 250 * MS;
const QUIET_TCP_NS: u64 = 2 * SECOND;

#[derive(Debug)]
pub(super) struct Streams<const N: usize> {
    pub(super) slots: [Option<Stream>; N],
    pub(super) test: Test,
    serial: u32,
    /// Index of the stream whose turn it is to send a datagram.
    turn: usize,
    began: Option<Instant>,
    /// Everything before this time is omitted.
    omits_until: Option<Instant>,
    ended: Option<Instant>,
    /// The results are being sent: nothing is counted any more.
    pub(super) frozen: bool,
}

impl<const N: usize> Streams<N> {
    pub(super) const fn new(test: Test) -> Self {
        Self {
            slots: [None; N],
            test,
            serial: 0,
            turn: 0,
            began: None,
            omits_until: None,
            ended: None,
            frozen: false,
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Stream> {
        self.slots.iter().flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.slots.iter_mut().flatten()
    }

    /// Adds a stream, if there is a slot and the test needs one.
    pub(super) fn open(&mut self, channel: Channel) -> Option<&mut Stream> {
        if self.iter().count() >= self.test.streams() {
            return None;
        }
        self.serial = self.serial.wrapping_add(1);
        let serial = self.serial;
        let free = self.slots.iter_mut().find(|slot| slot.is_none())?;
        Some(free.insert(Stream::new(channel, serial)))
    }

    #[inline(never)]
    pub(super) fn by_connection(&mut self, connection: Connection) -> Option<&mut Stream> {
        self.iter_mut()
            .find(|stream| stream.channel.is_connection(connection))
    }

    #[inline(never)]
    pub(super) fn by_peer(&mut self, socket: Udp, peer: &SocketAddr) -> Option<&mut Stream> {
        self.iter_mut()
            .find(|stream| stream.channel.matches_peer(socket, peer))
    }

    /// Assigns ids and directions when all streams are open. Data are accepted from now on, as the first may
    /// overtake the announcement of the test's start. Streams are numbered in the order in which they were
    /// opened: first those on which the client sends.
    pub(super) fn arm(&mut self, is_client: bool) {
        let (direction, parallel) = (self.test.direction, usize::from(self.test.parallel));
        let mut before = 0;
        for index in 0..self.iter().count() {
            let later = self.iter_mut().filter(|it| it.serial > before);
            let Some(stream) = later.min_by_key(|it| it.serial) else {
                return;
            };
            before = stream.serial;
            let client_sends = match direction {
                Direction::Forward => true,
                Direction::Reverse => false,
                Direction::Both => index < parallel,
            };
            // iperf numbers streams 1, 3, 4, 5 ...
            let id = if index == 0 { 1 } else { index + 2 };
            stream.arm(id as u8, client_sends == is_client);
        }
    }

    /// Begins the test.
    pub(super) fn begin(&mut self, now: Instant) {
        self.began = Some(now);
        self.omits_until = (!self.test.omit.is_zero()).then(|| now.after(self.test.omit));
        let rate = self.test.rate_bits_per_s;
        self.iter_mut().for_each(|stream| stream.begin(rate, now));
    }

    pub(super) const fn began(&self) -> Option<Instant> {
        self.began
    }

    /// Stops sending.
    pub(super) fn end(&mut self, now: Instant) {
        self.ended.get_or_insert(now);
    }

    pub(super) const fn is_running(&self) -> bool {
        self.began.is_some() && self.ended.is_none()
    }

    /// Ends the omitted time if it is over; call it before counting.
    pub(super) fn omit(&mut self, now: Instant) {
        if self.omits_until.is_some_and(|until| now >= until) {
            self.omits_until = None;
            self.began = Some(now);
            self.iter_mut().for_each(Stream::omit);
        }
    }

    pub(super) const fn omits(&self) -> bool {
        self.omits_until.is_some()
    }

    /// Payload sent and received.
    pub(super) fn octets(&self) -> (u64, u64) {
        let add = |sum: (u64, u64), stream: &Stream| {
            let (sent, received) = stream.octets();
            (sum.0 + sent, sum.1 + received)
        };
        self.iter().fold((0, 0), add)
    }

    /// Counts octets received over TCP; true if the connection is one of the streams.
    pub(super) fn received(&mut self, connection: Connection, len: usize, now: Instant) -> bool {
        self.omit(now);
        let frozen = self.frozen;
        let Some(stream) = self.by_connection(connection) else {
            return false;
        };
        if !frozen {
            stream.received(len, now);
        }
        true
    }

    /// Counts a datagram received on a stream.
    pub(super) fn datagram(&mut self, socket: Udp, from: &SocketAddr, octets: &[u8], now: Instant) {
        self.omit(now);
        let (frozen, wide) = (self.frozen, self.test.wide_numbers);
        if let Some(stream) = self.by_peer(socket, from).filter(|_| !frozen) {
            stream.datagram(octets, wide, now);
        }
    }

    /// Number of zeros to send on a connection, `most` at most.
    pub(super) fn zeros(&mut self, connection: Connection, most: u64, now: Instant) -> usize {
        self.omit(now);
        if !self.is_running() {
            return 0;
        }
        let test = self.test;
        self.by_connection(connection)
            .map_or(0, |stream| stream.zeros(&test, most, now))
    }

    /// The driver begins another turn.
    pub(super) fn turn(&mut self) {
        self.iter_mut().for_each(|stream| stream.space.turn());
    }

    /// Writes the next due datagram, round-robin over the streams.
    pub(super) fn next_datagram(&mut self, buffer: &mut [u8], now: Instant) -> Option<Datagram> {
        self.omit(now);
        if !self.is_running() {
            return None;
        }
        self.iter_mut()
            .for_each(|stream| stream.on_space_offered(now));
        for step in 0..N {
            let at = (self.turn + step) % N;
            let Some(stream) = &mut self.slots[at] else {
                continue;
            };
            let Channel::Udp(socket, to) = stream.channel else {
                continue;
            };
            if let Some(len) = stream.next(buffer, &self.test, now) {
                self.turn = at + 1;
                return Some(Datagram { socket, to, len });
            }
        }
        None
    }

    /// The peer closed its end of a connection; true if it is a stream's.
    pub(super) fn ended(&mut self, connection: Connection) -> bool {
        let stream = self.by_connection(connection);
        stream.map(|stream| stream.is_ended = true).is_some()
    }

    /// The connection is gone.
    pub(super) fn closed(&mut self, connection: Connection) {
        if let Some(stream) = self.by_connection(connection) {
            stream.channel = Channel::Gone;
        }
    }

    /// Time when data are due: datagrams, or TCP data with a rate.
    pub(super) fn due(&self) -> Instant {
        let waits = self.test.udp || self.test.rate_bits_per_s > 0;
        let mut first = Instant::NEVER;
        if self.is_running() && waits {
            for stream in self.iter() {
                first = first.earlier(stream.due());
            }
        }
        first
    }

    /// Stores the other end's counters.
    pub(super) fn report(&mut self, id: u64, count: &Count) {
        if let Some(stream) = self.iter_mut().find(|it| u64::from(it.id) == id) {
            stream.reported = Some(*count);
        }
    }

    /// True if the other end reported counters of each stream on which this end sends.
    pub(super) fn are_reported(&self) -> bool {
        let mut sending = self.iter().filter(|stream| stream.sends());
        sending.all(|stream| stream.reported.is_some())
    }

    /// True if everything that the other end reports as sent has arrived.
    pub(super) fn all_received(&self) -> bool {
        self.test.omit.is_zero()
            && self
                .iter()
                .all(|stream| match (&stream.role, stream.reported) {
                    (Some(Role::Receives(sink)), Some(reported)) => {
                        stream.is_ended
                            || if self.test.udp {
                                sink.sequence.lost(Some(reported.datagrams)) == 0
                            } else {
                                sink.octets >= reported.octets
                            }
                    }
                    (Some(Role::Receives(_)), None) => false,
                    _ => true,
                })
    }

    /// True if the peer has closed all streams on which it sends.
    pub(super) fn are_ended(&self) -> bool {
        self.iter().all(|it| !it.receives() || it.is_ended)
    }

    pub(super) fn receive(&self) -> bool {
        self.iter().any(Stream::receives)
    }

    /// Time after the end of the test when missing data count as lost.
    pub(super) fn drain_deadline(&self) -> Instant {
        let mut last = self.ended.unwrap_or_default();
        for stream in self.iter() {
            if let Some(Role::Receives(sink)) = &stream.role {
                last = last.max(sink.last().unwrap_or_default());
            }
        }
        last.after_ns(if self.test.udp {
            QUIET_UDP_NS
        } else {
            QUIET_TCP_NS
        })
    }

    fn count(&self, stream: &Stream, now: Instant) -> Count {
        let ended = self.ended.unwrap_or(now);
        // Each end determines the start of counting itself, so with an omitted time the counters are not
        // comparable.
        let reported = stream.reported.filter(|_| self.test.omit.is_zero());
        let sent = reported.map(|reported| reported.datagrams);
        let began = self.began.unwrap_or(ended);
        let planned = match self.test.amount {
            Amount::Span(span) => began.after(span),
            Amount::Octets(_) | Amount::Blocks(_) => Instant::NEVER,
        };
        stream.count(began, planned, ended, sent)
    }

    /// Writes what was counted.
    pub(super) fn emit(&self, writer: &mut PartialWriter) {
        let sends = self.iter().any(Stream::sends);
        results::emit(writer, sends, |writer| {
            for (index, stream) in self.iter().enumerate() {
                if index > 0 {
                    writer.raw(b",");
                }
                let count = self.count(stream, Instant::from_ns(0));
                results::emit_stream(writer, stream.id, stream.sends(), &count);
            }
        });
    }

    /// Counters of what was sent.
    pub(super) fn sent(&self, now: Instant) -> Option<Count> {
        self.sum(true, Some(now))
    }

    /// The other end's counters of it.
    pub(super) fn reported(&self) -> Option<Count> {
        self.sum(true, None)
    }

    /// Counters of what was received.
    pub(super) fn received_count(&self, now: Instant) -> Option<Count> {
        self.sum(false, Some(now))
    }

    /// Sum of all streams in one direction, as counted here until `until`, or as reported by the other end.
    fn sum(&self, sent: bool, until: Option<Instant>) -> Option<Count> {
        let mut streams = 0;
        let mut jitter_ns = 0_u64;
        let mut sum = Count::default();
        for stream in self.iter() {
            let is_of_it = if sent {
                stream.sends()
            } else {
                stream.receives()
            };
            let one = match until {
                Some(now) => Some(self.count(stream, now)),
                None => stream.reported,
            };
            let Some(one) = one.filter(|_| is_of_it) else {
                continue;
            };
            streams += 1;
            jitter_ns = jitter_ns.saturating_add(ns(one.jitter));
            sum.add(&one);
        }
        sum.jitter = span(jitter_ns.checked_div(streams)?);
        Some(sum)
    }
}
