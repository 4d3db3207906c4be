//! All streams of a test, at either end, and their counters.

use core::net::SocketAddr;

use super::json::{PartialWriter, Reader};
use super::parameters::{Direction, Parameters};
use super::results::{self, Count, DATAGRAMS, JITTER_NS, OCTETS, Tally};
use super::stream::{Channel, Role, Stream};
use crate::answer::{NOBODY, same_host, with_port};
use crate::octets::divide;
use crate::{Connection, Datagram, Instant, MS, SECOND, Udp};

/// After the end of the test, data missing after this silence are lost; with TCP they may have to be
/// retransmitted first.
const QUIET_UDP_NS: u64 = 250 * MS;
const QUIET_TCP_NS: u64 = 2 * SECOND;

#[derive(Debug)]
pub(super) struct Streams<const N: usize, const HISTORY: usize> {
    /// `NEVER` before that.
    began: Instant,
    ended: Instant,
    /// Everything before this time is omitted; `NEVER` if nothing is.
    omits_until: Instant,
    /// The results are being sent: nothing is counted any more.
    pub(super) frozen: bool,
    serial: u32,
    /// Index of the stream whose turn it is to send a datagram.
    turn: usize,
    pub(super) test: Parameters,
    pub(super) peer: SocketAddr,
    slots: [Stream<HISTORY>; N],
}

/// Counters to sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Sent,
    Reported,
    Received,
}

impl<const N: usize, const HISTORY: usize> Streams<N, HISTORY> {
    /// No streams, and no test: to be [restarted](Self::restart). Zeros, which take no space in flash.
    pub(super) const fn new() -> Self {
        Self {
            test: Parameters::NONE,
            peer: NOBODY,
            began: Instant::from_ns(0),
            ended: Instant::from_ns(0),
            omits_until: Instant::from_ns(0),
            frozen: false,
            serial: 0,
            turn: 0,
            slots: [Stream::FREE; N],
        }
    }

    /// Prepares for the test of a peer.
    pub(super) fn restart(&mut self, peer: &SocketAddr) {
        for slot in &mut self.slots {
            slot.channel = Channel::Free;
        }
        self.peer = *peer;
        self.began = Instant::NEVER;
        self.omits_until = Instant::NEVER;
        self.ended = Instant::NEVER;
        self.frozen = false;
    }

    /// Keeps the streams' counters only.
    pub(super) fn abandon(&mut self) {
        for stream in self.iter_mut() {
            stream.channel = Channel::Gone;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Stream<HISTORY>> {
        self.slots.iter().filter(|slot| !slot.is_free())
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream<HISTORY>> {
        self.slots.iter_mut().filter(|slot| !slot.is_free())
    }

    /// Number of open streams.
    pub(super) fn len(&self) -> usize {
        self.iter().count()
    }

    /// Adds a stream, if there is a slot and the test needs one; returns false if not.
    pub(super) fn open(&mut self, channel: Channel) -> bool {
        if self.len() >= self.test.streams() {
            return false;
        }
        let Some(free) = self.slots.iter_mut().find(|slot| slot.is_free()) else {
            return false;
        };
        self.serial = self.serial.wrapping_add(1);
        free.open(channel, self.serial);
        true
    }

    pub(super) fn by_channel(&mut self, channel: Channel) -> Option<&mut Stream<HISTORY>> {
        self.iter_mut().find(|stream| stream.channel == channel)
    }

    /// The stream of a datagram's sender.
    pub(super) fn by_peer(
        &mut self,
        socket: Udp,
        from: &SocketAddr,
    ) -> Option<&mut Stream<HISTORY>> {
        if !same_host(&self.peer, from) {
            return None;
        }
        self.by_channel(Channel::Udp(socket, from.port()))
    }

    /// True if one of the streams has this channel.
    pub(super) fn has(&self, channel: Channel) -> bool {
        self.iter().any(|stream| stream.channel == channel)
    }

    /// Removes a connection from the streams.
    pub(super) fn forget(&mut self, connection: Connection) {
        if let Some(stream) = self.by_channel(Channel::Tcp(connection)) {
            stream.channel = Channel::Free;
        }
    }

    /// Assigns ids and directions when all streams are open. Data are accepted from now on, as the first may
    /// overtake the announcement of the test's start. Streams are numbered in the order in which they were
    /// opened: first those on which the client sends.
    pub(super) fn arm(&mut self, is_client: bool) {
        let sending = match self.test.direction {
            Direction::Forward => usize::MAX,
            Direction::Reverse => 0,
            Direction::Both => usize::from(self.test.parallel),
        };
        let mut before = 0;
        for index in 0..N {
            let mut next: Option<&mut Stream<HISTORY>> = None;
            for stream in self.iter_mut().filter(|it| it.serial > before) {
                if next.as_ref().is_none_or(|it| stream.serial < it.serial) {
                    next = Some(stream);
                }
            }
            let Some(stream) = next else {
                return;
            };
            before = stream.serial;
            // iperf numbers streams 1, 3, 4, 5 ...
            let id = if index == 0 { 1 } else { index + 2 };
            stream.arm(id as u8, (index < sending) == is_client);
        }
    }

    /// Begins the test.
    pub(super) fn begin(&mut self, now: Instant) {
        self.began = now;
        if self.test.omit_ns > 0 {
            self.omits_until = now.after_ns(self.test.omit_ns);
        }
        let rate = self.test.rate_bits_per_s;
        for stream in self.iter_mut() {
            stream.begin(rate, now);
        }
    }

    /// Time when the test began, or the omitted time ended; `NEVER` before that.
    pub(super) const fn began(&self) -> Instant {
        self.began
    }

    pub(super) fn has_begun(&self) -> bool {
        self.began != Instant::NEVER
    }

    /// Stops sending.
    pub(super) fn end(&mut self, now: Instant) {
        self.ended = self.ended.earlier(now);
    }

    pub(super) fn is_running(&self) -> bool {
        self.has_begun() && self.ended == Instant::NEVER
    }

    /// Ends the omitted time if it is over; call it before counting.
    pub(super) fn omit(&mut self, now: Instant) {
        if now < self.omits_until {
            return;
        }
        self.omits_until = Instant::NEVER;
        self.began = now;
        for stream in self.iter_mut() {
            stream.omit();
        }
    }

    pub(super) fn omits(&self) -> bool {
        self.omits_until != Instant::NEVER
    }

    /// Payload sent and received.
    pub(super) fn octets(&self) -> (u64, u64) {
        let mut sum = (0, 0);
        for stream in self.iter() {
            let (sent, received) = stream.octets();
            sum = (sum.0 + sent, sum.1 + received);
        }
        sum
    }

    /// Counts octets received over TCP; true if the connection is one of the streams.
    pub(super) fn received(&mut self, connection: Connection, len: usize, now: Instant) -> bool {
        self.omit(now);
        let frozen = self.frozen;
        let Some(stream) = self.by_channel(Channel::Tcp(connection)) else {
            return false;
        };
        if !frozen {
            stream.received(len, now);
        }
        true
    }

    /// Counts a datagram received on a stream; true if it is one's.
    pub(super) fn datagram(
        &mut self,
        socket: Udp,
        from: &SocketAddr,
        octets: &[u8],
        now: Instant,
    ) -> bool {
        self.omit(now);
        let (frozen, wide) = (self.frozen, self.test.wide_numbers);
        let Some(stream) = self.by_peer(socket, from) else {
            return false;
        };
        if !frozen {
            stream.datagram(octets, wide, now);
        }
        true
    }

    /// Number of zeros to send on a connection, `most` at most.
    pub(super) fn zeros(&mut self, connection: Connection, most: u64, now: Instant) -> usize {
        self.omit(now);
        if !self.is_running() {
            return 0;
        }
        let test = self.test;
        self.by_channel(Channel::Tcp(connection))
            .map_or(0, |stream| stream.zeros(&test, most, now))
    }

    /// The driver begins another turn.
    pub(super) fn turn(&mut self) {
        for stream in self.iter_mut() {
            stream.space.turn();
        }
    }

    /// Writes the next due datagram, round-robin over the streams.
    pub(super) fn next_datagram(&mut self, buffer: &mut [u8], now: Instant) -> Option<Datagram> {
        self.omit(now);
        if !self.is_running() {
            return None;
        }
        for stream in self.iter_mut() {
            stream.on_space_offered(now);
        }
        for step in 0..N {
            let at = (self.turn + step) % N;
            let Some(stream) = self.slots.get_mut(at) else {
                continue;
            };
            let Channel::Udp(socket, port) = stream.channel else {
                continue;
            };
            if let Some(len) = stream.next(buffer, &self.test, now) {
                self.turn = at + 1;
                let to = with_port(&self.peer, port);
                return Some(Datagram { socket, to, len });
            }
        }
        None
    }

    /// The peer closed its end of a connection; true if it is a stream's.
    pub(super) fn ended(&mut self, connection: Connection) -> bool {
        let stream = self.by_channel(Channel::Tcp(connection));
        stream.map(|stream| stream.is_ended = true).is_some()
    }

    /// The connection is gone.
    pub(super) fn closed(&mut self, connection: Connection) {
        if let Some(stream) = self.by_channel(Channel::Tcp(connection)) {
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

    /// Stores the other end's counters of a stream, unless they are invalid.
    pub(super) fn report(&mut self, results: &Reader) {
        let Some(id) = results::id(results) else {
            return;
        };
        let counted = if self.test.udp { DATAGRAMS } else { OCTETS };
        if let Some(stream) = self.iter_mut().find(|it| u64::from(it.id) == id) {
            stream.is_reported = true;
            match &mut stream.role {
                Role::None => {}
                Role::Sends { reported, .. } => results::count(results, reported),
                Role::Receives { reported, .. } => *reported = results.values[counted],
            }
        }
    }

    /// True if the other end reported counters of each stream on which this end sends.
    pub(super) fn are_reported(&self) -> bool {
        self.iter().all(|it| !it.sends() || it.is_reported)
    }

    /// True if everything that the other end reports as sent has arrived.
    pub(super) fn all_received(&self) -> bool {
        let udp = self.test.udp;
        self.test.omit_ns == 0
            && self.iter().all(|stream| {
                let Role::Receives { sink, reported } = &stream.role else {
                    return true;
                };
                stream.is_reported
                    && if stream.is_ended {
                        true
                    } else if udp {
                        sink.sequence.lost(Some(*reported)) == 0
                    } else {
                        sink.octets >= *reported
                    }
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
        let mut last = self.ended;
        for stream in self.iter() {
            if let Role::Receives { sink, .. } = &stream.role {
                last = last.max(sink.last_or_zero());
            }
        }
        last.after_ns(if self.test.udp {
            QUIET_UDP_NS
        } else {
            QUIET_TCP_NS
        })
    }

    #[inline(never)]
    fn count(&self, stream: &Stream<HISTORY>, now: Instant) -> Tally {
        let ended = self.ended.earlier(now);
        // Each end determines the start of counting itself, so with an omitted time the counters are not
        // comparable.
        let is_comparable = stream.is_reported && self.test.omit_ns == 0;
        let began = if self.has_begun() { self.began } else { ended };
        let planned = began.after_ns(self.test.span_ns);
        stream.count(began, planned, ended, is_comparable, self.test.udp)
    }

    /// Writes what was counted.
    pub(super) fn emit(&self, writer: &mut PartialWriter) {
        let sends = self.iter().any(Stream::sends);
        results::emit(writer, sends, |writer| {
            for stream in self.iter() {
                let count = self.count(stream, Instant::NEVER);
                results::emit_stream(writer, stream.id, stream.sends(), &count);
            }
        });
    }

    /// Sums of the counters until `now` of what was sent, of the other end's counters of it, and of what was received:
    /// each `None` without such a stream.
    pub(super) fn counts(&self, now: Instant) -> [Option<Count>; 3] {
        let mut counts = [None; 3];
        for (count, source) in
            counts
                .iter_mut()
                .zip([Source::Sent, Source::Reported, Source::Received])
        {
            let mut sum = Tally::default();
            let mut streams = 0;
            for stream in self.iter() {
                match (&stream.role, source) {
                    (Role::Sends { reported, .. }, Source::Reported) if stream.is_reported => {
                        results::add(&mut sum, reported);
                    }
                    (Role::Sends { .. }, Source::Sent)
                    | (Role::Receives { .. }, Source::Received) => {
                        results::add(&mut sum, &self.count(stream, now));
                    }
                    _ => continue,
                }
                streams += 1;
            }
            if streams > 0 {
                divide(&mut sum[JITTER_NS], streams);
                *count = Some(Count::of(&sum));
            }
        }
        counts
    }
}
