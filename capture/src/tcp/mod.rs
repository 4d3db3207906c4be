//! TCP connections of a capture.
//!
//! | module | contents |
//! |---|---|
//! | `segment` | header and options |
//! | `flags` | tshark's analysis flags of a packet |
//! | `tshark` | tshark's rules for them |
//! | `sender` | one direction: retransmissions and their reasons, round trips, windows, bursts |
//! | `occurrences` | packet numbers of an event in a capture |
//! | `spacing` | loss by the distance to the sender's previous packet |
//! | `unacked` | data sent and not yet acknowledged |
//! | `log` | the packets of a connection, a few octets each |
//! | `histogram` | distributions of times |
//! | `trace` | one direction over time, for plots |
//!
//! A [`Connection`] takes segments in capture order and stores no packet: its memory is bounded by the unacknowledged
//! data.

mod flags;
mod histogram;
mod log;
mod occurrences;
mod segment;
mod sender;
mod spacing;
#[cfg(test)]
mod tests;
mod trace;
mod tshark;
mod unacked;

pub use flags::AnalysisFlags;
pub use histogram::Histogram;
pub use log::{LoggedPacket, PacketClass, PacketLog};
pub use occurrences::Occurrences;
pub(crate) use segment::seq_lt;
pub use segment::{Options, Sack, Segment};
pub use sender::{
    BURST_POSITIONS, DELAY_RANGES, FIRST_DELAY_BOUND_NS, FLIGHT_BINS, RetransmitReason,
    SenderCounts, SenderStats,
};
pub use spacing::{LossBySpacing, LossCount, poisson_at_most};
pub use trace::{Column, GapHistogram, GapRange, MAX_COLUMNS, Mark, MarkKind, Trace};

use sender::{SendClass, Sender};
use trace::SenderSnapshot;
use tshark::Analyzer;

/// Longer than any captured connection: 833 days. A later timestamp is damaged.
const MAX_DURATION_NS: u64 = 1 << 56;

/// The capture point is at one end if the round trip to the other end is this much longer.
const MIN_RTT_RATIO: u64 = 4;
/// No host repeats a SYN sooner (RFC 6298 section 2.1 has 1 s, stacks of boards less): it is a copy that the path made.
pub const MIN_SYN_TIMEOUT_NS: u64 = 200_000_000;

/// Which end of a connection sent a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The end whose packet came first.
    First,
    /// The other end.
    Second,
}

impl End {
    /// The other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// A TCP connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Number of its first packet in the capture.
    pub first_packet: u64,
    /// Number of its last packet so far.
    pub last_packet: u64,
    /// When its first packet was captured.
    pub start_ns: u64,
    /// Time of its last packet so far.
    pub end_ns: u64,
    /// Initial sequence numbers of both ends, from their SYNs or inferred.
    isns: [Option<u32>; 2],
    analyzer: Option<Box<Analyzer>>,
    senders: [Sender; 2],
    handshake: Handshake,
    /// The end that sent a SYN-ACK.
    accepter: Option<End>,
    /// See [`Handshake::far_rtts_ns`].
    far_rtt_ns: [u64; 2],
    traces: Option<Box<[Trace; 2]>>,
    log: PacketLog,
    /// Counters when the log was full.
    logged_stats: Option<Box<[SenderStats; 2]>>,
}

/// Times of the three-way handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    /// The last SYN, not counting copies that the path made.
    pub syn_ns: Option<u64>,
    /// The last SYN-ACK, in the same way.
    pub syn_ack_ns: Option<u64>,
    /// The first acknowledgment without SYN; where the SYN-ACK was captured, of the end that receives it.
    pub ack_ns: Option<u64>,
}

impl Handshake {
    /// Round trip between the ends, independent of the capture point.
    pub fn rtt_ns(&self) -> Option<u64> {
        self.ack_ns?.checked_sub(self.syn_ns?)
    }

    /// Round trips from the capture point to the first end and to the second one.
    pub fn legs_ns(&self) -> Option<[u64; 2]> {
        let answer_ns = self.syn_ack_ns?;
        Some([
            self.ack_ns?.saturating_sub(answer_ns),
            answer_ns.saturating_sub(self.syn_ns?),
        ])
    }

    /// The end at which the capture was taken, if the other one is much farther away.
    pub fn nearer_end(&self) -> Option<End> {
        let [first_ns, second_ns] = self.legs_ns()?;
        if second_ns / MIN_RTT_RATIO > first_ns {
            Some(End::First)
        } else if first_ns / MIN_RTT_RATIO > second_ns {
            Some(End::Second)
        } else {
            None
        }
    }

    /// For each end, the round trip from the capture point to it, if the other one is much nearer; else 0.
    fn far_rtts_ns(&self) -> [u64; 2] {
        let rtts_ns = self.legs_ns().unwrap_or_default();
        [End::First, End::Second].map(|end| {
            if self.nearer_end() == Some(end.other()) {
                rtts_ns[end as usize]
            } else {
                0
            }
        })
    }
}

impl Connection {
    /// A connection without packets so far.
    pub fn new(number: u64, time_ns: u64) -> Self {
        Self {
            first_packet: number,
            last_packet: number,
            start_ns: time_ns,
            end_ns: time_ns,
            isns: [None; 2],
            analyzer: None,
            senders: Default::default(),
            handshake: Handshake::default(),
            accepter: None,
            far_rtt_ns: [0; 2],
            traces: None,
            log: PacketLog::default(),
            logged_stats: None,
        }
    }

    /// Makes [`record_segment`](Self::record_segment) return flags from now on. They take time and memory.
    pub fn enable_flags(&mut self) {
        self.analyzer = Some(Box::default());
    }

    /// Starts or stops recording traces of both directions.
    pub fn set_tracing(&mut self, enabled: bool) {
        self.traces = enabled.then(Box::default);
    }

    /// Trace of the data that `end` sent, if traces are recorded.
    pub fn trace(&self, end: End) -> Option<&Trace> {
        self.traces.as_ref().map(|traces| &traces[end as usize])
    }

    /// True if `segment` of `end` does not belong to this connection but opens another between the same ports.
    #[inline]
    pub fn is_new_connection(&self, end: End, segment: &Segment<'_>) -> bool {
        let isn = self.isns[end as usize];
        segment.is_initial_syn() && isn.is_some_and(|isn| isn != segment.seq)
    }

    /// True if both ends have closed the connection, or one has reset it.
    pub fn is_closed(&self) -> bool {
        let is_done = |sender: &Sender| sender.fin_sent && !sender.has_unacked();
        self.senders.iter().all(is_done) || self.senders.iter().any(|end| end.stats.resets > 0)
    }

    /// Its logged packets.
    pub fn log(&self) -> &PacketLog {
        &self.log
    }

    /// Discards its logged packets, and logs no further ones: nothing is known about its path.
    pub fn discard_log(&mut self) {
        self.log.discard();
    }

    /// Records a segment that `end` sent. Returns its analysis flags if they are [enabled](Self::enable_flags).
    #[inline]
    pub fn record_segment(
        &mut self,
        end: End,
        segment: &Segment<'_>,
        time_ns: u64,
        number: u64,
    ) -> AnalysisFlags {
        let reused = self.learn_isns(end, segment);
        let mut flags = AnalysisFlags::default();
        if let Some(analyzer) = &mut self.analyzer {
            flags = analyzer.analyze(end, segment, time_ns);
            flags |= reused;
        }
        // Capture clocks may step back.
        let since_start_ns = time_ns.saturating_sub(self.start_ns).min(MAX_DURATION_NS);
        let time_ns = self.start_ns + since_start_ns;
        if self.log.is_complete() && self.logged_stats.is_none() {
            self.keep_logged_stats();
        }
        let (sender, receiver) = own_and_other(&mut self.senders, end);
        let sent = sender.on_sent(segment, time_ns, number);
        self.log.push(end, segment, sent, since_start_ns, number);
        let shift = match (sender.shift, receiver.shift) {
            (Some(shift), Some(_)) => shift,
            _ => 0,
        };
        let is_selective = sender.sack_permitted && receiver.sack_permitted;
        receiver.on_ack(segment, shift, is_selective, time_ns, number);
        self.update_handshake(end, segment, time_ns);
        if self.traces.is_some() {
            self.record_trace(end, segment, sent, time_ns);
        }
        self.end_ns = self.end_ns.max(time_ns);
        self.last_packet = number;
        flags
    }

    /// Keeps the counters of the logged packets.
    #[cold]
    fn keep_logged_stats(&mut self) {
        let stats = self.senders.each_ref().map(|sender| sender.stats.clone());
        self.logged_stats = Some(Box::new(stats));
    }

    /// Records a packet in the traces.
    #[cold]
    fn record_trace(&mut self, end: End, segment: &Segment<'_>, sent: SendClass, time_ns: u64) {
        let Some(traces) = &mut self.traces else {
            return;
        };
        let snapshot = |end: End| {
            let sender = &self.senders[end as usize];
            SenderSnapshot {
                in_flight: sender.in_flight(),
                window_edges: sender.window_edges(),
            }
        };
        let (own, back) = own_and_other(traces, end);
        let at_ns = time_ns - self.start_ns;
        let since_ns = self.end_ns.min(time_ns) - self.start_ns;
        own.record_sent(segment, sent, snapshot(end), (since_ns, at_ns));
        back.record_ack(segment, snapshot(end.other()), at_ns);
    }

    /// Learns the initial sequence numbers from `segment`.
    #[inline]
    fn learn_isns(&mut self, end: End, segment: &Segment<'_>) -> AnalysisFlags {
        let known = matches!(self.isns, [Some(_), Some(_)]);
        if known && !segment.has_any(Segment::SYN) {
            AnalysisFlags::default()
        } else {
            self.set_isn(end, segment)
        }
    }

    /// A SYN-ACK with another sequence number belongs to another connection, which inherits the state of this one.
    #[cold]
    fn set_isn(&mut self, end: End, segment: &Segment<'_>) -> AnalysisFlags {
        let (own, back) = own_and_other(&mut self.isns, end);
        let syn = segment.has_any(Segment::SYN);
        let isn = *own.get_or_insert(segment.seq.wrapping_sub(u32::from(!syn)));
        if back.is_none() && segment.has_any(Segment::ACK) {
            *back = Some(segment.ack.wrapping_sub(1));
        }
        if syn && !segment.is_initial_syn() && isn != segment.seq {
            *own = Some(segment.seq);
            return AnalysisFlags::REUSED_PORTS;
        }
        AnalysisFlags::default()
    }

    #[inline]
    fn update_handshake(&mut self, end: End, segment: &Segment<'_>, time_ns: u64) {
        if segment.has_any(Segment::SYN) {
            self.on_syn(end, segment, time_ns);
        } else if self.handshake.ack_ns.is_none()
            && self.handshake.syn_ns.is_some()
            && segment.has_any(Segment::ACK)
            && self.accepter != Some(end)
        {
            self.handshake.ack_ns = Some(time_ns);
            self.update_far_rtts();
        }
    }

    fn update_far_rtts(&mut self) {
        self.far_rtt_ns = self.handshake.far_rtts_ns();
        for (sender, far_rtt_ns) in self.senders.iter_mut().zip(self.far_rtt_ns) {
            sender.far_rtt_ns = far_rtt_ns;
        }
    }

    /// Records times and options of a SYN.
    #[cold]
    fn on_syn(&mut self, end: End, segment: &Segment<'_>, time_ns: u64) {
        let options = segment.parse_options();
        let last_ns = if segment.has_any(Segment::ACK) {
            self.accepter = Some(end);
            &mut self.handshake.syn_ack_ns
        } else {
            &mut self.handshake.syn_ns
        };
        let is_copy =
            last_ns.is_some_and(|last_ns| time_ns.saturating_sub(last_ns) < MIN_SYN_TIMEOUT_NS);
        if !is_copy {
            *last_ns = Some(time_ns);
        }
        self.update_far_rtts();
        let (own, back) = own_and_other(&mut self.senders, end);
        if segment.is_cut {
            // What it offers is unknown.
            return;
        }
        own.syn_seen = true;
        own.shift = options.window_shift;
        own.sack_permitted = options.sack_permitted;
        back.set_mss(options.mss);
    }

    /// The end that sends the payload: the one that has sent more of it so far.
    #[inline]
    pub fn data_sender(&self) -> End {
        let [first, second] = &self.senders;
        if second.stats.payload_bytes > first.stats.payload_bytes {
            End::Second
        } else {
            End::First
        }
    }

    /// Counters of what `end` sent and of the acknowledgments for it.
    pub fn stats(&self, end: End) -> &SenderStats {
        &self.senders[end as usize].stats
    }

    /// Octets of `end` that are sent and not acknowledged.
    pub fn in_flight(&self, end: End) -> u32 {
        self.senders[end as usize].in_flight()
    }

    /// The [counters](Self::stats) of the [logged](Self::log) packets only.
    pub fn logged_stats(&self, end: End) -> &SenderStats {
        match &self.logged_stats {
            Some(stats) => &stats[end as usize],
            None => self.stats(end),
        }
    }

    /// Window scale of `end`; `None` if its SYN was not captured, 0 if it or the other end does not offer the option.
    pub fn window_shift(&self, end: End) -> Option<u8> {
        let (own, back) = (
            &self.senders[end as usize],
            &self.senders[end.other() as usize],
        );
        own.syn_seen
            .then(|| own.shift.and(back.shift).and(own.shift).unwrap_or(0))
    }

    /// False if the SYN of an end lacks the window scale option, so that no window is scaled (RFC 7323 section 2.2). `None`
    /// if that is unknown.
    pub fn is_window_scaled(&self) -> Option<bool> {
        let of = |it: &Sender| it.syn_seen.then_some(it.shift.is_some());
        match self.senders.each_ref().map(of) {
            [Some(one), Some(other)] => Some(one && other),
            [one, other] => one.or(other).filter(|offers| !offers),
        }
    }

    /// True if `end` offered to scale windows in its SYN (RFC 7323 section 2.2). `None` if that was not captured.
    pub fn offers_window_scale(&self, end: End) -> Option<bool> {
        let own = &self.senders[end as usize];
        own.syn_seen.then_some(own.shift.is_some())
    }

    /// Maximum segment size that `end` announced in its SYN.
    pub fn mss(&self, end: End) -> Option<u16> {
        self.senders[end.other() as usize].mss()
    }

    /// True if `end` offered SACK.
    pub fn sack_permitted(&self, end: End) -> bool {
        self.senders[end as usize].sack_permitted
    }

    /// Times of the handshake, as far as captured.
    pub fn handshake(&self) -> Handshake {
        self.handshake
    }
}

#[inline]
fn own_and_other<T>(pair: &mut [T; 2], end: End) -> (&mut T, &mut T) {
    let [first, second] = pair;
    match end {
        End::First => (first, second),
        End::Second => (second, first),
    }
}
